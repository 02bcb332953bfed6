// One layer of attention and one recurrent layer, computed here, in the reader's browser, over growing lengths. The
// arithmetic is the plain sum of products, so that what is timed is what the formulas count.

import { html, useState } from "/insight/vendor/preact.js";
import { Choice } from "/insight/parts.js";
import { studyWords } from "../study_words.js";
import { Chart } from "./chart.js";
import { Figure } from "./frame.js";
import { crossing } from "./study.js";

const LENGTHS = [16, 32, 64, 128, 256, 512];
const LEAST = 12; // milliseconds a measurement takes at least, by doing it again: clocks of browsers are coarse

const drawn = (count) => Float32Array.from({ length: count }, (_, at) => Math.sin(12.9898 * at + 1));

/** softmax(X Xᵀ / √d) X for X [n, d]. */
export function attend(x, n, d) {
  const out = new Float32Array(n * d);
  const weights = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let j = 0; j < n; j++) {
      let score = 0;
      for (let k = 0; k < d; k++) score += x[i * d + k] * x[j * d + k];
      sum += weights[j] = Math.exp(score / Math.sqrt(d));
    }
    for (let j = 0; j < n; j++) {
      const weight = weights[j] / sum;
      for (let k = 0; k < d; k++) out[i * d + k] += weight * x[j * d + k];
    }
  }
  return out;
}

/** h_t = tanh(W x_t + U h_{t-1}) for X [n, d], W and U [d, d]. */
export function recur(x, n, d, w, u) {
  const out = new Float32Array(n * d);
  for (let t = 0; t < n; t++) {
    for (let i = 0; i < d; i++) {
      let sum = 0;
      for (let k = 0; k < d; k++) sum += w[i * d + k] * x[t * d + k];
      if (t > 0) for (let k = 0; k < d; k++) sum += u[i * d + k] * out[(t - 1) * d + k];
      out[t * d + i] = Math.tanh(sum);
    }
  }
  return out;
}

function milliseconds(work) {
  let best = Infinity;
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    let times = 0;
    do { work(); times++; } while (performance.now() - start < LEAST);
    best = Math.min(best, (performance.now() - start) / times);
  }
  return best;
}

const pause = () => new Promise((resolve) => { setTimeout(resolve, 0); });

/** Measure both layers at every length; `tell` is given what is known after each. */
async function race(d, tell) {
  const [w, u] = [drawn(d * d).map((value) => value / d), drawn(d * d).map((value) => value / d)];
  const found = { attention: [], recurrent: [] };
  for (const n of [LENGTHS[0], ...LENGTHS]) { // the first once more: until then the browser has not compiled the loops
    const x = drawn(n * d);
    const times = {};
    for (const [name, work] of [["attention", () => attend(x, n, d)], ["recurrent", () => recur(x, n, d, w, u)]]) {
      await pause();
      times[name] = milliseconds(work);
    }
    if (found.attention.length === 1 && found.attention[0][0] === n) found.attention = [], found.recurrent = [];
    for (const name of Object.keys(found)) found[name] = [...found[name], [n, times[name]]];
    tell({ ...found });
  }
}

export function RaceFigure() {
  const said = studyWords();
  const [width, setWidth] = useState(64);
  const [state, setState] = useState({ status: "none", found: null, width });
  const isRunning = state.status === "running";
  const run = async () => {
    setState({ status: "running", found: null, width });
    await race(width, (found) => setState({ status: "running", found, width }));
    setState((before) => ({ ...before, status: "done" }));
  };
  const lines = state.found ? Object.entries(state.found) : [];
  const met = state.status === "done" ? crossing(state.found.attention, state.found.recurrent) : null;
  const caption = () => (state.status !== "done" ? said.race.about
    : `${met === null ? said.complexity.never(LENGTHS.at(-1)) : said.complexity.met(Math.round(met))} ${
      said.complexity.counted(state.width)}`);
  return html`
    <${Figure} name="race" caption=${caption}>${() => html`
      <${Choice} label=${said.complexity.width} value=${width} onChoose=${setWidth}
        options=${[32, 64, 128].map((one) => [one, `d = ${one}`])} />
      <div class="tools"><button type="button" class="plain" disabled=${isRunning} onClick=${run}
        data-race=${state.status}>${isRunning ? said.race.running : said.race.run}</button></div>
      ${lines.length > 0 && lines[0][1].length > 1 && html`<${Chart} logX=${true} logY=${true} xTicks=${LENGTHS}
        xLabel=${said.complexity.length} yLabel=${said.race.time} label=${said.race.time}
        series=${lines.map(([name, points]) => ({ name: said.complexity.families[name], points }))} />`}`}
    <//>`;
}
