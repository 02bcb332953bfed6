// Attention of a language model as a map as wide as the page: what is read down, what is looked at across, and the line
// where the memory ends and the text that is read now begins.

import { html, useRef, useState } from "/insight/vendor/preact.js";
import { colour, context, drawThumbnail } from "/insight/drawing.js";
import { Painting } from "/insight/parts.js";
import { visible } from "./writing_stream.js";

const LEFT = 26;
const TOP = 22;
const LEAST_FOR_LETTERS = 8; // pixels of a cell in which a letter can be read
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function drawMap(canvas, { weights, data, width, row }) {
  const { remembered, read } = data;
  const columns = remembered.length + read.length;
  const cell = { x: (width - LEFT - 2) / columns, y: Math.max(5, Math.min(13, 420 / read.length)) };
  const pen = context(canvas, width, TOP + cell.y * read.length + 4);
  const small = document.createElement("canvas");
  drawThumbnail(small, weights);
  pen.fillStyle = colour("--wash");
  pen.fillRect(LEFT, TOP, cell.x * columns, cell.y * read.length);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, LEFT, TOP, cell.x * columns, cell.y * read.length);
  read.forEach((_, number) => { // what comes later cannot be looked at
    const future = remembered.length + number + 1;
    pen.clearRect(LEFT + future * cell.x, TOP + number * cell.y, (columns - future) * cell.x, cell.y);
  });
  pen.font = "10px ui-monospace, Menlo, Consolas, monospace";
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  [...remembered, ...read].forEach((symbol, column) => {
    pen.fillStyle = colour(column < remembered.length ? "--soft" : "--ink");
    if (cell.x >= LEAST_FOR_LETTERS) pen.fillText(visible(symbol).slice(0, 1), LEFT + (column + 0.5) * cell.x, TOP - 9);
  });
  pen.textAlign = "right";
  read.forEach((symbol, number) => {
    pen.fillStyle = colour(number === row ? "--accent" : "--ink");
    if (cell.y >= LEAST_FOR_LETTERS) pen.fillText(visible(symbol).slice(0, 3), LEFT - 5, TOP + (number + 0.5) * cell.y);
  });
  if (remembered.length) {
    pen.fillStyle = colour("--warm");
    pen.fillRect(LEFT + remembered.length * cell.x - 1, TOP - 16, 2, cell.y * read.length + 18);
  }
  pen.strokeStyle = colour("--accent");
  pen.lineWidth = 1.5;
  pen.strokeRect(LEFT, TOP + row * cell.y, cell.x * columns, cell.y);
  return cell;
}

/** `row` is the signal of the symbol that is looked at; a click and the arrow keys choose it. */
export function ReachMap({ data, weights, row, when, about, spell }) {
  const size = useRef(null);
  const [pointed, setPointed] = useState(null);
  const symbols = [...data.remembered, ...data.read];
  const place = Math.min(row.value ?? data.read.length - 1, data.read.length - 1);
  const within = ([down, across]) => down >= 0 && across >= 0 && down < data.read.length && across < symbols.length;
  const shown = pointed && within(pointed) ? pointed : null;
  const cellAt = (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const found = [
      Math.floor((event.clientY - bounds.top - TOP) / size.current.y),
      Math.floor((event.clientX - bounds.left - LEFT) / size.current.x),
    ];
    return within(found) ? found : null;
  };
  const onKeyDown = (event) => {
    const move = MOVES[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const [down, across] = shown ?? [place, data.remembered.length + place];
    const next = [down + move[0], across + move[1]];
    if (!within(next)) return;
    setPointed(next);
    row.value = next[0];
  };
  const onClick = (event) => {
    const cell = cellAt(event);
    if (cell) row.value = cell[0];
  };
  const said = shown
    ? spell(visible(data.read[shown[0]]), visible(symbols[shown[1]]), weights[shown[0]][shown[1]].toFixed(3))
    : about;
  return html`
    <div class="reach-map">
      <p class="caption" aria-live="polite">${said}</p>
      <${Painting}
        paint=${(canvas, width) => { size.current = drawMap(canvas, { weights, data, width, row: place }); }}
        when=${[...when, place]} label=${about} tabindex="0" onPointerMove=${(event) => setPointed(cellAt(event))}
        onPointerLeave=${() => setPointed(null)} onBlur=${() => setPointed(null)} onKeyDown=${onKeyDown}
        onClick=${onClick}
      />
    </div>`;
}
