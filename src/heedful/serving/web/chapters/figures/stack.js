// The model as two towers, each attention in it drawn with its own weights for the example: the mean of all heads.

import { html } from "/insight/vendor/preact.js";
import { headOf, spelled } from "/insight/drawing.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Figure, stateFor } from "./frame.js";
import { Thumbnail } from "./heads.js";

export function StackFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useTrace(example);
  const towers = {
    encoder: [["encoder", said.stack.self]],
    decoder: [["decoder", said.stack.masked], ["cross", said.stack.cross]],
  };
  const caption = () => said.stack.toDecoder;
  const open = () => stateFor(example, { view: "attention", kind: "cross", layer: null, head: -1 });
  const Tower = ({ side, tokens }) => html`
    <div class="tower">
      <p class="side">${said.stack[side](answer.layers[side].length)}</p>
      ${side === "decoder" && html`<div class="ends">${said.stack.output}</div>`}
      <div class="block names">${towers[side].map(([kind, name]) => html`<span key=${kind}>${name}</span>`)}
        <span>${said.stack.feedForward}</span></div>
      ${[...answer.layers[side].keys()].reverse().map((layer) => html`
        <div key=${layer} class="block">
          <span class="number">${layer + 1}</span>
          ${towers[side].map(([kind]) => html`<span
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
