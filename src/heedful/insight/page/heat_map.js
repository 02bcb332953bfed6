// Weights as a heat map that says its numbers: pointed at with the mouse, or gone over with the arrow keys.
// Takes weights and names; whose they are is the matter of the view around it.

import { colour, drawHeat, spelled } from "./drawing.js";
import { Painting } from "./parts.js";
import { html, useMemo, useRef, useState } from "./vendor/preact.js";

const MOVES = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
const never = () => false;
const rowOf = (at) => ({ shown: at && { side: "row", index: at.row }, framed: [] });

/**
 * `spell(row, column, weight)` is the sentence for a cell, its weight null where `isMasked`; it stands beside `caption`
 * or, without one, in the place of `label`. `draw(canvas, room)` paints the map and says where its cells are, anew when
 * something in `when` changes; `mark(cell)` says what is not veiled {side, index} and which cells are framed. Arrow
 * keys begin at `start` and tell `onMove`; a click and Enter tell `onChoose`.
 */
export function HeatMap({
  weights, rows, columns, isMasked = never, nameOf = spelled, spell, label, caption = null, role = "img",
  className = "heat", draw = null, when = [], mark = rowOf, start = { row: 0, column: -1 }, onMove = null,
  onChoose = null, children = null,
}) {
  const whole = useRef(null);
  const [cursor, setCursor] = useState(null);
  const [height, width] = [rows.length, columns.length];
  const at = cursor && cursor.row < height && cursor.column < width ? cursor : null;
  const marks = mark(at);
  const drawn = [weights, rows, columns, isMasked, ...when];
  useMemo(() => { whole.current = null; }, drawn);

  const paint = (canvas, room) => {
    if (whole.current?.room !== room || whole.current.heat !== colour("--heat")) {
      const picture = document.createElement("canvas");
      const place = draw ? draw(picture, room) : drawHeat(picture, weights, rows, columns, room, null, isMasked);
      whole.current = { picture, place, room, heat: colour("--heat") };
    }
    paintMarked(canvas, whole.current, height, width, marks);
  };
  const cellAt = (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const { left, top, cell } = whole.current.place;
    const column = Math.floor((event.clientX - bounds.left - left) / cell.x);
    const row = Math.floor((event.clientY - bounds.top - top) / cell.y);
    return row >= 0 && column >= 0 && row < height && column < width ? { row, column } : null;
  };
  const onMouseMove = (event) => {
    const cell = cellAt(event);
    if (cell?.row !== cursor?.row || cell?.column !== cursor?.column) setCursor(cell);
  };
  const onKeyDown = (event) => {
    const move = MOVES[event.key];
    if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    if (move) {
      const next = moved(at ?? start, move, height, width);
      setCursor(next);
      onMove?.(next);
    } else if ((event.key === "Enter" || event.key === " ") && at && onChoose) onChoose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = (event) => {
    const cell = cellAt(event);
    if (cell) onChoose(cell);
  };
  const leave = () => setCursor(null);
  const weight = at && (isMasked(at.row, at.column) ? null : weights[at.row][at.column].toFixed(3));
  const said = at && spell(nameOf(rows[at.row]), nameOf(columns[at.column]), weight);
  return html`
    <div class=${className}>
      ${caption === null ? html`<p class="caption" aria-live="polite">${said ?? label}</p>` : html`
        <div class="captions">
          <p class="caption">${caption}</p>
          <p class="caption value" aria-live="polite">${said}</p>
        </div>`}
      <${Painting}
        paint=${paint} label=${label} role=${role} tabindex="0" when=${[...drawn, JSON.stringify(marks)]}
        onMouseMove=${onMouseMove} onMouseLeave=${leave} onBlur=${leave} onKeyDown=${onKeyDown}
        onClick=${onChoose && onClick}
      />
      ${children}
    </div>`;
}

function moved(from, [down, right], height, width) {
  const within = (value, count) => Math.max(0, Math.min(count - 1, value));
  return { row: within(from.row + down, height), column: within(from.column + right, width) };
}

/** The whole map as it was painted once, with a veil over what is not shown and a frame around the cells named. */
function paintMarked(canvas, { picture, place: { left, top, cell } }, height, width, { shown, framed }) {
  Object.assign(canvas, { width: picture.width, height: picture.height });
  Object.assign(canvas.style, { width: picture.style.width, height: picture.style.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  pen.scale(picture.width / parseFloat(picture.style.width), picture.height / parseFloat(picture.style.height));
  if (shown) {
    pen.globalAlpha = 0.65;
    pen.fillStyle = colour("--card");
    const veil = (row, column, rows, columns) =>
      pen.fillRect(left + column * cell.x, top + row * cell.y, columns * cell.x, rows * cell.y);
    if (shown.side === "row") {
      veil(0, 0, shown.index, width);
      veil(shown.index + 1, 0, height - shown.index - 1, width);
    } else {
      veil(0, 0, height, shown.index);
      veil(0, shown.index + 1, height, width - shown.index - 1);
    }
    pen.globalAlpha = 1;
  }
  pen.lineWidth = 2;
  pen.strokeStyle = colour("--warm");
  for (const one of framed) {
    if (one) pen.strokeRect(left + one.column * cell.x - 0.5, top + one.row * cell.y - 0.5, cell.x, cell.y);
  }
}
