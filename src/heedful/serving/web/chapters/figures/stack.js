// The model as two towers, each attention in it drawn with its own weights for the example: the mean of all heads.

import { html } from "/insight/vendor/preact.js";
import { useBetween } from "/insight/attention_map.js";
import { headOf, spelled } from "/insight/drawing.js";
import { Thumbnail } from "/insight/head_grid.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Figure, stateFor } from "./frame.js";

/** The attentions in a layer of each tower, by the sides they look from and at. */
const TOWERS = { encoder: [["source", "source"]], decoder: [["target", "target"], ["target", "source"]] };

export function StackFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useTrace(example, {}, Object.values(TOWERS).flat());
  const nameOf = ([from, at]) => useBetween(answer.data, from, at).name;
  const layersOf = (side) => answer.layers[nameOf(TOWERS[side][0])];
  const caption = () => said.stack.toDecoder;
  const open = () => stateFor(example, { view: "attention", kind: null, layer: null, head: -1 });
  const Tower = ({ side, tokens }) => html`
    <div class="tower">
      <p class="side">${said.stack[side](layersOf(side).length)}</p>
      ${side === "decoder" && html`<div class="ends">${said.stack.output}</div>`}
      <div class="block names">
        ${TOWERS[side].map((use) => html`<span key=${use}>${said.stack.attention(...use)}</span>`)}
        <span>${said.stack.feedForward}</span></div>
      ${[...layersOf(side).keys()].reverse().map((layer) => html`
        <div key=${layer} class="block">
          <span class="number">${layer + 1}</span>
          ${TOWERS[side].map(nameOf).map((kind) => html`<span
            key=${kind} class="sub" title=${said.place({ kind, layer, head: -1 })}>
            <${Thumbnail} weights=${headOf(answer.layers[kind][layer], -1)} /></span>`)}
          <span class="sub" aria-hidden="true">FFN</span>
        </div>`)}
      <div class="ends">${said.stack.embedding}</div>
      <p class="feed">${tokens.map(spelled).join(" ")}</p>
    </div>`;
  return html`
    <${Figure} name="stack" answers=${[answer]} caption=${caption} open=${open}>${() => html`
      <div class="towers">
        <${Tower} side="encoder" tokens=${answer.data.source.tokens} />
        <span class="bridge" aria-hidden="true">→</span>
        <${Tower} side="decoder" tokens=${answer.data.inputs} />
      </div>`}
    <//>`;
}
