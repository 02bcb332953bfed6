// All heads of one use side by side, and the ones that rules find among them.

import { html, useState } from "/insight/vendor/preact.js";
import { tokensOf, useNamed } from "/insight/attention_map.js";
import { headOf } from "/insight/drawing.js";
import { HeadGrid } from "/insight/head_grid.js";
import { headBy } from "../rules.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { foundBy, Heat, usesIn } from "./attention.js";
import { Figure, stateFor } from "./frame.js";

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
          <${HeadGrid}
            layers=${answer.layers[kind]} label=${said.grid(kind)} className="thumbnails" before=${() => null}
            isOn=${(layer, head) => layer === found.layer && head === found.head}
            about=${(layer, head) => said.place({ kind, layer, head })}
            onChoose=${(layer, head) => setChosen({ figure, place: { kind, layer, head } })}
          />
        </div>
        <div><${Heat} weights=${headOf(answer.layers[kind][found.layer], found.head)} rows=${rows} columns=${columns}
          use=${use} label=${caption()} /></div>
      </div>`}
    <//>`;
}
