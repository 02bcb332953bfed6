// The model's own table of positions: as a picture, two of its dimensions as waves, and how alike positions are.

import { html, useState } from "/insight/vendor/preact.js";
import { Painting } from "/insight/parts.js";
import { colour, context } from "/insight/drawing.js";
import { exampleOf, translator, useAnswer, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Figure, stateFor } from "./frame.js";

export const LENGTH = 48;

/** Numbers of half precision, as the server sends what has signs: {shape: [rows, columns], values}. */
export function halves(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  const raw = new Uint16Array(bytes.buffer);
  const values = Float32Array.from(raw, (bits) => {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
  return { shape: packed.shape, values };
}

export const usePositions = () =>
  useAnswer(translator.value && `/api/positions?model=${encodeURIComponent(translator.value.id)}&length=${LENGTH}&side=source`);

/** Paint rows of numbers between −most and most as cells: below zero in the warm colour, above it in the blue one. */
function paintCells(canvas, width, { shape: [rows, columns], values }, height) {
  const pen = context(canvas, width, height);
  const most = values.reduce((top, value) => Math.max(top, Math.abs(value)), 1e-6);
  const [heat, against] = [colour("--heat"), colour("--against")];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = values[row * columns + column] / most;
      pen.fillStyle = `rgb(${value < 0 ? against : heat} / ${Math.abs(value)})`;
      const [left, top] = [Math.floor((column * width) / columns), Math.floor((row * height) / rows)];
      pen.fillRect(left, top, Math.ceil(width / columns), Math.ceil(height / rows));
    }
  }
}

function Waves({ table }) {
  const said = chapterWords().positions;
  const [length, dim] = table.shape;
  const chosen = [[2, said.fast, "--heat"], [Math.floor(dim / 4) * 2 - (dim % 4 ? 0 : Math.floor(dim / 8) * 2), said.slow, "--against"]];
  const paint = (canvas, width) => {
    const pen = context(canvas, width, 150);
    pen.strokeStyle = colour("--line");
    pen.strokeRect(0, 75, width, 0.5);
    const most = table.values.reduce((top, value) => Math.max(top, Math.abs(value)), 1e-6);
    for (const [dimension, , name] of chosen) {
      pen.strokeStyle = `rgb(${colour(name)})`;
      pen.lineWidth = 2;
      pen.beginPath();
      for (let at = 0; at < length; at++) {
        const [x, y] = [4 + (at * (width - 8)) / (length - 1), 75 - (66 * table.values[at * dim + dimension]) / most];
        pen[at ? "lineTo" : "moveTo"](x, y);
      }
      pen.stroke();
    }
  };
  return html`
    <p class="keys-of">${chosen.map(([dimension, text, name]) => html`<span key=${dimension} style=${{ color: `rgb(var(${name}))` }}>
      — ${said.dimension} ${dimension + 1}, ${text}</span>`)}</p>
    <${Painting} when=${[table]} paint=${paint} label=${said.wave} />
    <p class="side">→ ${said.position} 1 – ${length}</p>`;
}

function Alike({ similarity }) {
  const said = chapterWords().positions;
  const [pointed, setPointed] = useState(null);
  const length = similarity.shape[0];
  const point = (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const at = (part, size) => Math.max(0, Math.min(length - 1, Math.floor((part / size) * length)));
    setPointed([at(event.clientY - bounds.top, bounds.height), at(event.clientX - bounds.left, bounds.width)]);
  };
  return html`
    <p class="side">↓ ${said.position} · → ${said.position} (1 – ${length})</p>
    <${Painting} when=${[similarity]} label=${said.similarity} onMouseMove=${point} onMouseLeave=${() => setPointed(null)}
      paint=${(canvas, width) => paintCells(canvas, Math.min(width, 340), similarity, Math.min(width, 340))} />
    <p class="side value" aria-live="polite">${pointed
      ? said.alike(pointed[0] + 1, pointed[1] + 1, similarity.values[pointed[0] * length + pointed[1]])
      : said.alike(10, 11, similarity.values[9 * length + 10])}</p>`;
}

export function PositionsFigure({ figure }) {
  const said = chapterWords().positions;
  const answer = usePositions();
  const hasTable = answer.status === "ready" && answer.data.kind !== "none";
  const caption = () => (hasTable ? `${said[figure.show]}: ${said.kinds[answer.data.kind]}.` : said.none);
  const parts = {
    table: () => html`
      <p class="side">↓ ${said.position} 1 – ${answer.data.length} · → ${said.dimension} 1 – ${answer.data.dim}</p>
      <${Painting} when=${[answer.data]} label=${said.table}
        paint=${(canvas, width) => paintCells(canvas, width, halves(answer.data.table), 260)} />`,
    wave: () => html`<${Waves} table=${halves(answer.data.table)} />`,
    similarity: () => html`<${Alike} similarity=${halves(answer.data.similarity)} />`,
  };
  return html`
    <${Figure} name="positions" answers=${[answer]} caption=${caption} open=${() => ({ view: "positions", model: translator.value.id })}>
      ${() => hasTable && parts[figure.show]()}
    <//>`;
}

/** The same words in two orders, and what becomes of each. */
export function OrderFigure({ figure }) {
  const said = chapterWords();
  const examples = figure.texts.map((text) => exampleOf({ text, target: figure.target }));
  const answers = [useTrace(examples[0]), useTrace(examples[1])];
  return html`
    <${Figure} name="order" answers=${answers} open=${() => stateFor(examples[0], { view: "translate" })} caption=${() => said.order}>
      ${() => html`<dl class="orders">${answers.map(({ data }, at) => html`<div key=${at}>
        <dt lang=${data.source.language}>${data.source.text}</dt><dd lang=${data.target.language}>${data.target.text}</dd></div>`)}</dl>`}
    <//>`;
}
