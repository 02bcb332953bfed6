// The pictures of the view "positions": a grid of signed numbers and a curve. They know numbers, names of axes and what
// is marked; they do not know what the numbers mean.

import { html, useRef, useState } from "/insight/vendor/preact.js";
import { colour, context, pixelsOf } from "/insight/drawing.js";
import { Painting, useWidth } from "/insight/parts.js";

const FONT = '11px system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif';
const [LEFT, TOP] = [40, 34];
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200];

/** Numbers to write at an axis, with at least `apart` pixels between two. */
function ticks(count, cell, apart) {
  const step = STEPS.find((one) => one * cell >= apart) ?? count;
  return Array.from({ length: Math.ceil(count / step) }, (_, number) => number * step);
}

function paintGrid(canvas, width, { numbers, limit, cellHeight, leastWidth, names, marked }) {
  const [rows, columns] = numbers.shape;
  const cell = Math.max(leastWidth, (width - LEFT - 2) / columns);
  const height = cellHeight ?? cell;
  const pen = context(canvas, LEFT + cell * columns + 2, TOP + height * rows + 2);
  const [soft, wash, accent] = ["--soft", "--wash", "--accent"].map(colour);
  pen.fillStyle = wash;
  pen.fillRect(LEFT, TOP, cell * columns, height * rows);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(pixelsOf(numbers, (value) => value / limit), LEFT, TOP, cell * columns, height * rows);
  pen.font = FONT;
  pen.fillStyle = soft;
  pen.textAlign = "left";
  pen.fillText(`${names.row} ↓`, 0, 11);
  pen.fillText(`${names.column} →`, Math.max(LEFT, pen.measureText(`${names.row} ↓`).width + 16), 11);
  for (const column of ticks(columns, cell, 40)) {
    const text = String(names.columns?.[column] ?? column);
    const isInside = column * cell + pen.measureText(text).width <= columns * cell;
    if (isInside) pen.fillText(text, LEFT + column * cell, TOP - 6);
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const row of ticks(rows, height, 22)) pen.fillText(String(row), LEFT - 6, TOP + (row + 0.5) * height);
  pen.strokeStyle = accent;
  pen.lineWidth = 1.5;
  if (marked.row !== null) pen.strokeRect(LEFT, TOP + marked.row * height, cell * columns, height);
  if (marked.column !== null) pen.strokeRect(LEFT + marked.column * cell, TOP, cell, height * rows);
  return { cell, height };
}

/**
 * A grid of numbers {shape: [rows, columns], values}. Pointing tells of a cell, a click or the arrow keys mark one:
 * `onMark({row, column})`; `say(row, column)` are the words for a cell, `rest` those for none.
 */
export function Grid({ numbers, limit, names, marked, onMark, say, rest, label, cellHeight = null, leastWidth = 2 }) {
  const drawn = useRef({ cell: 1, height: 1 });
  const [pointed, setPointed] = useState(null);
  const [rows, columns] = numbers.shape;
  const cellAt = (event) => {
    const column = Math.floor((event.offsetX - LEFT) / drawn.current.cell);
    const row = Math.floor((event.offsetY - TOP) / drawn.current.height);
    return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
  };
  const onKeyDown = (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const within = (value, most) => Math.max(0, Math.min(most - 1, value));
    onMark({
      row: marked.row === null ? 0 : within(marked.row + move[0], rows),
      column: marked.column === null ? 0 : within(marked.column + move[1], columns),
    });
  };
  const told = pointed ?? (marked.row !== null && marked.column !== null ? marked : null);
  return html`
    <p class="caption" aria-live="polite">${told && told.row < rows ? say(told.row, told.column) : rest}</p>
    <${Painting}
      label=${label} tabindex="0" when=${[numbers, marked.row, marked.column, pointed?.row, pointed?.column, names.row]}
      paint=${(canvas, width) => {
        const shown = { numbers, limit, cellHeight, leastWidth, names, marked: pointed ?? marked };
        drawn.current = paintGrid(canvas, width, shown);
      }}
      onKeyDown=${onKeyDown} onMouseMove=${(event) => setPointed(cellAt(event))} onMouseLeave=${() => setPointed(null)}
      onClick=${(event) => cellAt(event) && onMark(cellAt(event))}
    />`;
}

function pathOf(values, x, y) {
  return values.map((value, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

/** A wave so small that it only shows its shape. */
export function Miniature({ values, limit }) {
  const x = (at) => 2 + (at * 96) / (values.length - 1 || 1);
  return html`<svg viewBox="0 0 100 36" aria-hidden="true" preserveAspectRatio="none">
    <path class="own" d=${pathOf(values, x, (value) => 18 - (15 * value) / limit)} />
  </svg>`;
}

/** Curves over positions: the first is the one in question, a second is dashed; `marked` is a position or null. */
export function Curve({ curves, limit, least = -limit, name, marked, onMark, label }) {
  const box = useRef(null);
  const width = useWidth(box);
  const [height, left, top, right] = [210, 44, 10, 8];
  const count = curves[0].length;
  const x = (at) => left + ((width - left - right) * at) / (count - 1 || 1);
  const y = (value) => top + ((limit - value) / (limit - least)) * (height - top - 30);
  const levels = least < 0 ? [limit, 0, least] : [limit, least];
  const point = (event) => {
    const at = Math.round(((event.offsetX - left) / (width - left - right)) * (count - 1));
    if (at >= 0 && at < count && at !== marked) onMark(at);
  };
  return html`
    <div class="curve" ref=${box}>
      ${width > 0 && html`<svg
        width=${width} height=${height} role="img" aria-label=${label} onMouseMove=${point} onClick=${point}
      >
        ${levels.map((level) => html`<g key=${level}>
          <line class=${level === 0 ? "zero" : "level"} x1=${left} x2=${width - right} y1=${y(level)} y2=${y(level)} />
          <text x=${left - 8} y=${y(level) + 4} text-anchor="end">${Number(level.toFixed(2))}</text>
        </g>`)}
        ${ticks(count, (width - left - right) / count, 44).map((at) => html`
          <text key=${`at${at}`} x=${x(at)} y=${height - 14} text-anchor="middle">${at}</text>`)}
        <text x=${width - right} y=${height - 1} text-anchor="end">${name} →</text>
        ${curves[1] && html`<path class="other" d=${pathOf(curves[1], x, y)} />`}
        <path class="own" d=${pathOf(curves[0], x, y)} />
        ${marked !== null && marked < count && html`
          <line class="marked" x1=${x(marked)} x2=${x(marked)} y1=${top} y2=${height - 30} />
          ${curves.map((values, number) => html`<circle
            key=${number} class=${number ? "other" : "own"} cx=${x(marked)} cy=${y(values[marked])} r="4.5" />`)}`}
      </svg>`}
    </div>`;
}
