// The model's own table of positions: as a picture, two of its dimensions as waves, and how alike positions are.

import { html, useState } from "/insight/vendor/preact.js";
import { Painting } from "/insight/parts.js";
import { colour, context, limitOf, pixelsOf, unpack } from "/insight/drawing.js";
import { exampleOf, translator, useAnswer, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Figure, stateFor } from "./frame.js";

export const LENGTH = 48;

export function usePositions() {
  const model = encodeURIComponent(translator.value?.id ?? "");
  const answer = useAnswer(model && `/api/positions?model=${model}&length=${LENGTH}&side=source`);
  return answer.status === "ready" && !answer.data.table ? { status: "lacking" } : answer;
}

/** Paint rows of numbers as cells. */
function paintCells(canvas, numbers, part, width, height) {
  const pen = context(canvas, width, height);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(pixelsOf(numbers, part), 0, 0, width, height);
}

function Waves({ table }) {
  const said = chapterWords().positions;
  const [length, dim] = table.shape;
  const chosen = [[Math.min(16, dim - 2), said.fast, "--heat"], [2 * Math.floor(dim / 8), said.slow, "--against"]];
  const paint = (canvas, width) => {
    const pen = context(canvas, width, 150);
    pen.strokeStyle = colour("--line");
    pen.strokeRect(0, 75, width, 0.5);
    const most = limitOf(table);
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
    <p class="keys-of">${chosen.map(([dimension, text, name]) => html`<span
      key=${dimension} style=${{ color: `rgb(var(${name}))` }}
    >— ${said.dimension} ${dimension + 1}, ${text}</span>`)}</p>
    <${Painting} when=${[table]} paint=${paint} label=${said.wave} />
    <p class="side">→ ${said.position} 1 – ${length}</p>`;
}

function Alike({ similarity }) {
  const said = chapterWords().positions;
  const [pointed, setPointed] = useState(null);
  const length = similarity.shape[0];
  const least = Math.min(...similarity.values);
  const part = (value) => (value - least) / Math.max(1e-6, 1 - least); // the least alike is blank, the same is full
  const point = (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const at = (part, size) => Math.max(0, Math.min(length - 1, Math.floor((part / size) * length)));
    setPointed([at(event.clientY - bounds.top, bounds.height), at(event.clientX - bounds.left, bounds.width)]);
  };
  return html`
    <p class="side">↓ ${said.position} · → ${said.position} (1 – ${length})</p>
    <${Painting} when=${[similarity]} label=${said.similarity}
      onMouseMove=${point} onMouseLeave=${() => setPointed(null)}
      paint=${(canvas, width) => paintCells(canvas, similarity, part, Math.min(width, 340), Math.min(width, 340))} />
    <p class="side value" aria-live="polite">${pointed
      ? said.alike(pointed[0] + 1, pointed[1] + 1, similarity.values[pointed[0] * length + pointed[1]])
      : said.alike(10, 11, similarity.values[9 * length + 10])}</p>`;
}

export function PositionsFigure({ figure }) {
  const said = chapterWords().positions;
  const answer = usePositions();
  const hasTable = answer.status === "ready" && answer.data.kind !== "none";
  const table = hasTable ? unpack(answer.data.table) : null;
  const caption = () => (hasTable ? said.is(said[figure.show], said.kinds[answer.data.kind]) : said.none);
  const isComputed = answer.data?.kind === "sinusoidal";
  const picture = isComputed ? sinesOf(table) : table;
  const most = hasTable ? limitOf(table) : 1;
  const parts = {
    table: () => html`
      <p class="side">↓ ${said.position} 1 – ${answer.data.length} · → ${said.dimension} 1 – ${answer.data.dim}
        ${isComputed && html` (${said.sines})`}</p>
      <${Painting} when=${[answer.data]} label=${said.table}
        paint=${(canvas, width) => paintCells(canvas, picture, (value) => value / most, width, 260)} />`,
    wave: () => html`<${Waves} table=${table} />`,
    similarity: () => html`<${Alike} similarity=${unpack(answer.data.similarity)} />`,
  };
  return html`
    <${Figure} name="positions" answers=${[answer]} caption=${caption}
      open=${() => ({ view: "positions", model: translator.value.id })}>
      ${() => hasTable && parts[figure.show]()}
    <//>`;
}

/** Every second column: sines and cosines side by side would only flicker. */
function sinesOf({ shape: [rows, columns], values }) {
  return { shape: [rows, Math.ceil(columns / 2)], values: values.filter((_, at) => (at % columns) % 2 === 0) };
}

/** The same words in two orders, and what becomes of each. */
export function OrderFigure({ figure }) {
  const said = chapterWords();
  const examples = figure.texts.map((text) => exampleOf({ text, target: figure.target }));
  const answers = [useTrace(examples[0]), useTrace(examples[1])];
  return html`
    <${Figure} name="order" answers=${answers} caption=${() => said.order}
      open=${() => stateFor(examples[0], { view: "translate" })}>
      ${() => html`<dl class="orders">${answers.map(({ data }, at) => html`<div key=${at}>
        <dt lang=${data.source.language}>${data.source.text}</dt>
        <dd lang=${data.target.language}>${data.target.text}</dd></div>`)}</dl>`}
    <//>`;
}
