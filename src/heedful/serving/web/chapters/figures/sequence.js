// A translation as it is written: what was read, what has been written so far, and what is likely to come next.

import { html, useState } from "/insight/vendor/preact.js";
import { Slider } from "/insight/parts.js";
import { spelled } from "/insight/drawing.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Bars, Figure, stateFor } from "./frame.js";

export function SequenceFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useTrace(example);
  const [moved, setMoved] = useState({ figure: null, step: 0 });
  const count = answer.data?.target.tokens.length ?? 1;
  const step = Math.min(moved.figure === figure ? moved.step : figure.step ?? 0, count - 1);
  const open = () => stateFor(example, { view: "decoding", step });
  return html`
    <${Figure} name="sequence" answers=${[answer]} open=${open} caption=${() => said.stepOf(step + 1, count)}>
      ${() => html`
        <p class="label">${said.read}</p>
        <p class="chips">${answer.data.source.tokens.map((token, at) => html`<${Chip} key=${at} token=${token} />`)}</p>
        <p class="label">${said.written}</p>
        <p class="chips">
          <span class="chip special">${said.start}</span>
          ${answer.data.target.tokens.slice(0, step).map((token, at) => html`<${Chip} key=${at} token=${token} />`)}
          <span class="chip coming">?</span>
        </p>
        <p class="label">${said.likely}</p>
        <${Bars} label=${said.likely} rows=${answer.data.steps[step].top.slice(0, 5).map((one) => ({
          name: spelled(one), part: Math.exp(one.log_prob), shown: Math.exp(one.log_prob).toFixed(3),
          isChosen: one.id === answer.data.target.tokens[step].id,
        }))} />
        <div class="tools"><${Slider} label=${said.stepLabel} min=${1} max=${count} value=${step + 1}
          onSlide=${(value) => setMoved({ figure, step: value - 1 })} /></div>`}
    <//>`;
}

function Chip({ token }) {
  return html`<span class=${`chip ${token.special ? "special" : ""}`}>${spelled(token)}</span>`;
}
