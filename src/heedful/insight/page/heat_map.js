// Attention as a heat map with its tokens: pointed at with the mouse, or gone over cell by cell with the arrow keys.

import { colour, drawHeat, spelled } from "./drawing.js";
import { Painting } from "./parts.js";
import { html, useMemo, useRef, useSignal } from "./vendor/preact.js";

/**
 * `weights` between the groups of `axes`; `pointed` and `held` as in the lines; `opened` is {row, column} or null;
 * `onChoose({row, column})` is a click on a cell, or Enter. `isMasked(row, column)` says what may not be looked at.
 */
export function HeatMap({ weights, axes, isMasked, pointed, held, opened, words, label, caption, hint, onChoose }) {
  const [whole, place] = [useRef(null), useRef(null)];
  const cursor = useSignal(null);
  const [height, width] = [axes.rows.length, axes.columns.length];
  const shown = pointed.value ?? held;
  const at = cursor.value && cursor.value.row < height && cursor.value.column < width ? cursor.value : null;
  useMemo(() => { whole.current = null; }, [weights, isMasked]);

  const paint = (canvas, room) => {
    if (whole.current?.room !== room || whole.current.heat !== colour("--heat")) {
      const picture = document.createElement("canvas");
      place.current = drawHeat(picture, weights, axes.rows, axes.columns, room, null, isMasked);
      whole.current = { picture, room, heat: colour("--heat") };
    }
    paintMarked(canvas, whole.current.picture, place.current, height, width, shown, [opened, at]);
  };
  const cellAt = (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - bounds.left - place.current.left) / place.current.cell);
    const row = Math.floor((event.clientY - bounds.top - place.current.top) / place.current.cell);
    return row >= 0 && column >= 0 && row < height && column < width ? { row, column } : null;
  };
  const onMouseMove = (event) => {
    const cell = cellAt(event);
    if (cell?.row !== cursor.value?.row || cell?.column !== cursor.value?.column) cursor.value = cell;
  };
  const onKeyDown = (event) => {
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    if (move) cursor.value = moved(at ?? opened, move, height, width);
    else if ((event.key === "Enter" || event.key === " ") && at) onChoose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = (event) => {
    const cell = cellAt(event);
    if (cell) onChoose(cell);
  };
  const said = at
    && `${spelled(axes.rows[at.row])} → ${spelled(axes.columns[at.column])}: ${
      isMasked(at.row, at.column) ? words.masked : weights[at.row][at.column].toFixed(3)}`;
  const saved = () => save(weights, axes, isMasked);
  return html`
    <div class="heat">
      <div class="captions">
        <p class="caption">${caption}</p>
        <p class="caption value" aria-live="polite">${said}</p>
      </div>
      <${Painting}
        paint=${paint} label=${label} role="application" tabindex="0"
        when=${[weights, isMasked, shown?.side, shown?.index, at?.row, at?.column, opened?.row, opened?.column]}
        onMouseMove=${onMouseMove} onMouseLeave=${() => { cursor.value = null; }} onKeyDown=${onKeyDown}
        onClick=${onClick} onBlur=${() => { cursor.value = null; }}
      />
      <p class="below">
        <span class="hint">${hint}</span>
        <button type="button" class="plain small" onClick=${saved}>${words.save}</button>
      </p>
    </div>`;
}

function moved(from, [down, right], height, width) {
  if (!from) return { row: 0, column: 0 };
  const within = (value, count) => Math.max(0, Math.min(count - 1, value));
  return { row: within(from.row + down, height), column: within(from.column + right, width) };
}

/** The whole map as it was painted once, with a veil over what is not shown and a frame around the cells named. */
function paintMarked(canvas, picture, { left, top, cell }, height, width, shown, framed) {
  Object.assign(canvas, { width: picture.width, height: picture.height });
  Object.assign(canvas.style, { width: picture.style.width, height: picture.style.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  pen.scale(picture.width / parseFloat(picture.style.width), picture.height / parseFloat(picture.style.height));
  if (shown) {
    pen.globalAlpha = 0.65;
    pen.fillStyle = colour("--card");
    const veil = (row, column, rows, columns) =>
      pen.fillRect(left + column * cell, top + row * cell, columns * cell, rows * cell);
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
    if (one) pen.strokeRect(left + one.column * cell - 0.5, top + one.row * cell - 0.5, cell, cell);
  }
}

/** Save the map as a picture on the paper of the page, wide enough that every token can be read. */
function save(weights, axes, isMasked) {
  const [heat, picture] = [document.createElement("canvas"), document.createElement("canvas")];
  drawHeat(heat, weights, axes.rows, axes.columns, 120 + 30 * axes.columns.length, null, isMasked);
  Object.assign(picture, { width: heat.width + 32, height: heat.height + 32 });
  const pen = picture.getContext("2d");
  pen.fillStyle = colour("--card");
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.drawImage(heat, 16, 16);
  picture.toBlob((blob) => {
    const link = document.createElement("a");
    Object.assign(link, { href: URL.createObjectURL(blob), download: "attention.png" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000); // the browser has begun to save by then
  });
}
