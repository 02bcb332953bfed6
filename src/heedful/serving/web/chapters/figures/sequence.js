// A translation as it is written: what was read, what has been written so far, what is likely to come next, and how a
// temperature changes that.

import { html, useState } from "/insight/vendor/preact.js";
import { Slider } from "/insight/parts.js";
import { spelled } from "/insight/drawing.js";
import { softmax } from "../rules.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Bars, Figure, stateFor } from "./frame.js";

export function SequenceFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useTrace(example, figure.beam ? { beam: figure.beam } : {});
  const [moved, setMoved] = useState({ figure: null, step: 0 });
  const count = answer.data?.target.tokens.length ?? 1;
  const step = Math.min(moved.figure === figure ? moved.step : figure.step ?? 0, count - 1);
  const open = () => stateFor(example, { view: "decoding", step, beam: figure.beam ?? null });
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
          name: spelled(one), part: Math.exp(one.logProb), shown: Math.exp(one.logProb).toFixed(3),
          isChosen: one.id === answer.data.target.tokens[step].id,
        }))} />
        <div class="tools"><${Slider} label=${said.stepLabel} min=${1} max=${count} value=${step + 1}
          onSlide=${(value) => setMoved({ figure, step: value - 1 })} /></div>`}
    <//>`;
}

/** The most probable tokens of one step as they would be drawn at a temperature. */
export function TemperatureFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useTrace(example);
  const [temperature, setTemperature] = useState(1);
  const step = Math.min(figure.step, (answer.data?.steps.length ?? 1) - 1);
  const top = answer.status === "ready" ? answer.data.steps[step].top : [];
  const parts = softmax(top.map((one) => one.logProb / temperature));
  return html`
    <${Figure} name="temperature" answers=${[answer]} caption=${() => said.temperature.among(top.length)}
      open=${() => stateFor(example, { view: "decoding", step })}>${() => html`
      <p class="label">${said.written}</p>
      <p class="chips"><span class="chip special">${said.start}</span>
        ${answer.data.target.tokens.slice(0, step).map((token, at) => html`<${Chip} key=${at} token=${token} />`)}
        <span class="chip coming">?</span></p>
      <${Bars} label=${said.likely} rows=${top.map((one, at) => ({
        name: spelled(one), part: parts[at], shown: parts[at].toFixed(3), isChosen: at === 0,
      }))} />
      <div class="tools"><${Slider} label=${said.temperature.label} min=${0.2} max=${3} step=${0.1} value=${temperature}
        shown=${temperature.toFixed(1)} onSlide=${setTemperature} /></div>`}
    <//>`;
}

function Chip({ token }) {
  return html`<span class=${`chip ${token.isSpecial ? "special" : ""}`}>${spelled(token)}</span>`;
}
