// Two small recurrent networks, run here, number by number: digits are read, then written again in order. The first has
// nothing but the reader's last state, the second looks back at all of them. Their weights, and how many unseen
// sequences of each length they write exactly, come from benchmarks/digit_networks.py.

import { html, useState } from "/insight/vendor/preact.js";
import { unpack } from "/insight/drawing.js";
import { softmax, largest } from "../rules.js";
import { useAnswer } from "../traces.js";
import { chapterWords, decimal } from "../words.js";
import { Heat } from "./attention.js";
import { Bars, Figure } from "./frame.js";

const [START, END] = [10, 11];
const sigmoid = (value) => 1 / (1 + Math.exp(-value));
const dot = (one, other) => one.reduce((sum, value, at) => sum + value * other[at], 0);

/** The rows of a packed matrix, or the numbers of a packed vector. */
function numbersOf(packed) {
  const { shape, values } = unpack(packed);
  const numbers = [...values];
  if (shape.length === 1) return numbers;
  return Array.from({ length: shape[0] }, (_, row) => numbers.slice(row * shape[1], (row + 1) * shape[1]));
}

const unpacked = new WeakMap();

function weightsOf(network) {
  if (!unpacked.has(network)) {
    const named = Object.entries(network.weights).map(([name, packed]) => [name, numbersOf(packed)]);
    unpacked.set(network, Object.fromEntries(named));
  }
  return unpacked.get(network);
}

/** What becomes of a state when a gated recurrent unit reads one vector more. */
function stepped(weights, unit, input, state) {
  const size = state.length;
  const mapped = (matrix, bias, vector) => matrix.map((row, at) => dot(row, vector) + bias[at]);
  const read = mapped(weights[`${unit}.weight_ih_l0`], weights[`${unit}.bias_ih_l0`], input);
  const kept = mapped(weights[`${unit}.weight_hh_l0`], weights[`${unit}.bias_hh_l0`], state);
  return state.map((old, at) => {
    const reset = sigmoid(read[at] + kept[at]);
    const update = sigmoid(read[size + at] + kept[size + at]);
    const candidate = Math.tanh(read[2 * size + at] + reset * kept[2 * size + at]);
    return (1 - update) * candidate + update * old;
  });
}

/** Let a network read digits and write: the symbols it writes, and where it looked for each, if it looks. */
export function write(network, digits) {
  const weights = weightsOf(network);
  const states = [];
  let state = weights["embedding.weight"][0].map(() => 0);
  for (const digit of digits) {
    state = stepped(weights, "reader", weights["embedding.weight"][digit], state);
    states.push(state);
  }
  const written = [];
  const looks = [];
  while (written.at(-1) !== END && written.length < digits.length + 3) {
    state = stepped(weights, "writer", weights["embedding.weight"][written.at(-1) ?? START], state);
    let found = state.map(() => 0);
    if (network.looksBack) {
      const asked = weights["between.weight"].map((row) => dot(row, state));
      const parts = softmax(states.map((one) => dot(asked, one)));
      found = found.map((_, at) => dot(parts, states.map((one) => one[at])));
      looks.push(parts);
    }
    const both = [...state, ...found];
    written.push(largest(weights["output.weight"].map((row, at) => dot(row, both) + weights["output.bias"][at])));
  }
  return { written: written.at(-1) === END ? written.slice(0, -1) : written, looks };
}

export const useDigits = () => useAnswer("/web/chapters/digits.json");

const spelled = (digits) => digits.map((digit) => (digit < START ? String(digit) : "?"));

function Written({ name, read, written }) {
  const said = chapterWords().digits;
  const missing = Math.max(0, read.length - written.length);
  const wrong = missing + spelled(written).filter((digit, at) => digit !== read[at]).length;
  return html`
    <p class="label">${said.networks[name]} ${wrong === 0 ? said.right : said.wrong(wrong)}</p>
    <p class="chips" data-network=${name}>${spelled(written).map((digit, at) => html`<span
      key=${at} class=${`chip ${digit === read[at] ? "" : "coming"}`}>${digit}</span>`)}</p>`;
}

function Shares({ data, names }) {
  const said = chapterWords().digits;
  return names.map((name) => html`
    <p key=${name} class="label">${said.networks[name]}</p>
    <${Bars} label=${said.exact} rows=${data[name].exact.map((part, at) => ({
      name: said.long(at + 1), part, shown: `${decimal(100 * part, 0)} %`, isChosen: false,
    }))} />`);
}

/** Digits one can type, and what the networks write of them; or how often each is right, by length. */
export function DigitsFigure({ figure }) {
  const said = chapterWords().digits;
  const answer = useDigits();
  const [text, setText] = useState(figure.digits ?? "");
  const digits = [...text].filter((letter) => letter >= "0" && letter <= "9").slice(0, 12);
  const found = answer.status === "ready" && !figure.isMeasured
    ? Object.fromEntries(figure.networks.map((name) => [name, write(answer.data[name], digits.map(Number))])) : {};
  const looks = figure.isMap ? found.attention?.looks ?? [] : [];
  const token = (digit) => ({ text: digit, isSpecial: digit === said.end });
  return html`
    <${Figure} name="digits" answers=${[answer]}
      caption=${() => (figure.isMeasured ? said.measured : said.typed)}>${() => (figure.isMeasured
      ? html`<${Shares} data=${answer.data} names=${figure.networks} />`
      : html`
        <div class="tools"><label>${said.read} <input class="field" inputmode="numeric" maxlength="12" value=${text}
          onInput=${(event) => setText(event.target.value)} /></label></div>
        ${figure.networks.map((name) => html`<${Written}
          key=${name} name=${name} read=${digits} written=${found[name].written} />`)}
        ${looks.length > 0 && digits.length > 0 && html`<${Heat} weights=${looks} label=${said.looks}
          use=${{ from: "target", at: "source", causal: false }} columns=${digits.map(token)}
          rows=${looks.map((_, at) => token(spelled(found.attention.written)[at] ?? said.end))} />`}`)}
    <//>`;
}
