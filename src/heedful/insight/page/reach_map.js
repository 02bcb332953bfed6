// Attention of a language model as a map as wide as the page: what is read down, what is looked at across, and the line
// where the memory ends and the text that is read now begins.

import { colour, context, drawThumbnail } from "./drawing.js";
import { HeatMap } from "./heat_map.js";
import { shortened, visible } from "./symbols.js";
import { html, useMemo } from "./vendor/preact.js";

const LEFT = 26;
const TOP = 22;
const LEAST_FOR_LETTERS = 8; // pixels of a cell in which a letter can be read
const unmarked = () => ({ shown: null, framed: [] }); // the row is marked in the drawing itself

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
    if (cell.x >= LEAST_FOR_LETTERS) pen.fillText(shortened(symbol, 1), LEFT + (column + 0.5) * cell.x, TOP - 9);
  });
  pen.textAlign = "right";
  read.forEach((symbol, number) => {
    pen.fillStyle = colour(number === row ? "--accent" : "--ink");
    if (cell.y >= LEAST_FOR_LETTERS) pen.fillText(shortened(symbol, 3), LEFT - 5, TOP + (number + 0.5) * cell.y);
  });
  if (remembered.length) {
    pen.fillStyle = colour("--warm");
    pen.fillRect(LEFT + remembered.length * cell.x - 1, TOP - 16, 2, cell.y * read.length + 18);
  }
  pen.strokeStyle = colour("--accent");
  pen.lineWidth = 1.5;
  pen.strokeRect(LEFT, TOP + row * cell.y, cell.x * columns, cell.y);
  return { left: LEFT, top: TOP, cell };
}

/** `row` is the signal of the symbol that is looked at; a click and the arrow keys choose it. */
export function ReachMap({ data, weights, row, about, spell }) {
  const { remembered, read } = data;
  const symbols = useMemo(() => [...remembered, ...read], [data]);
  const place = Math.min(row.value ?? read.length - 1, read.length - 1);
  const choose = (cell) => { row.value = cell.row; };
  return html`
    <${HeatMap}
      className="reach-map" weights=${weights} rows=${read} columns=${symbols} nameOf=${visible} spell=${spell}
      label=${about} draw=${(canvas, width) => drawMap(canvas, { weights, data, width, row: place })}
      when=${[place]} mark=${unmarked} start=${{ row: place, column: remembered.length + place }} onMove=${choose}
      onChoose=${choose}
    />`;
}
