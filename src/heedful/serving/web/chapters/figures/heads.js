// All heads of one use side by side, and the ones that rules find among them.

import { html, useLayoutEffect, useRef, useState } from "/insight/vendor/preact.js";
import { tokensOf, useNamed } from "/insight/attention_map.js";
import { useScheme } from "/insight/parts.js";
import { drawThumbnail, headOf } from "/insight/drawing.js";
import { headBy } from "../rules.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { foundBy, Heat, usesIn } from "./attention.js";
import { Figure, stateFor } from "./frame.js";

export function Thumbnail({ weights }) {
  const canvas = useRef(null);
  const scheme = useScheme();
  useLayoutEffect(() => drawThumbnail(canvas.current, weights), [weights, scheme]);
  return html`<canvas ref=${canvas} aria-hidden="true"></canvas>`;
}

export function HeadsFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useTrace(example, {}, usesIn(figure));
  const [chosen, setChosen] = useState({ figure: null });
  const isReady = answer.status === "ready";
  const current = chosen.figure === figure ? chosen : { rule: figure.rules[0] };
  const found = isReady ? current.place ?? headBy(current.rule, answer) : null;
  const kind = found?.kind;
  const use = isReady ? useNamed(answer.data, kind) : null;
  const { rows, columns } = isReady ? tokensOf(answer.data, use) : {};
  const caption = () => `${said.place(found)}${said.stop}${current.rule ? foundBy(current.rule, found) : ""}`;
  const open = () => stateFor(example, { view: "attention", kind, layer: found.layer, head: found.head });
  const numbers = isReady ? [...Array(answer.layers[kind][0].shape[0]).keys()] : [];
  const isCurrent = (layer, head) => layer === found.layer && head === found.head;
  return html`
    <${Figure} name="heads" answers=${[answer]} caption=${caption} open=${open}>${() => html`
      <div class="finders" role="group" aria-label=${said.find}>
        <span>${said.find}</span>
        ${figure.rules.map((rule) => html`<button
          key=${rule} type="button" class="plain" aria-pressed=${current.rule === rule}
          onClick=${() => setChosen({ figure, rule })}>${said.rules[rule]}</button>`)}
      </div>
      <div class="heads-and-map">
        <div>
          <p class="side">${said.grid(kind)}</p>
          <div class="thumbnails" style=${{ gridTemplateColumns: `repeat(${numbers.length}, minmax(0, 1fr))` }}>
            ${answer.layers[kind].flatMap((layer, number) => numbers.map((head) => html`<button
              key=${`${number} ${head}`} type="button" aria-pressed=${isCurrent(number, head)}
              aria-label=${said.place({ kind, layer: number, head })} title=${said.place({ kind, layer: number, head })}
              onClick=${() => setChosen({ figure, place: { kind, layer: number, head } })}
            ><${Thumbnail} weights=${headOf(layer, head)} /></button>`))}
          </div>
        </div>
        <div><${Heat} weights=${headOf(answer.layers[kind][found.layer], found.head)} rows=${rows} columns=${columns}
          use=${use} label=${caption()} /></div>
      </div>`}
    <//>`;
}
