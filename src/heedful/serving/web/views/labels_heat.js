// One head as a heat map that says its numbers, under the pointer or by the arrow keys; all heads as small pictures.
// Takes weights and tokens; whose they are is the matter of the view around it.

import { html, useLayoutEffect, useRef, useState } from "/insight/vendor/preact.js";
import { drawHeat, drawThumbnail, headOf, spelled } from "/insight/drawing.js";
import { Choice, Painting, useScheme } from "/insight/parts.js";
import { state } from "../state.js";

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** `about` names the axes; `spell(row, column, weight)` is the sentence for one cell. */
export function HeatMap({ weights, rows, columns, when, about, spell }) {
  const place = useRef(null);
  const [cell, setCell] = useState(null);
  const within = ([row, column]) => row >= 0 && column >= 0 && row < rows.length && column < columns.length;
  const shown = cell && within(cell) ? cell : null;
  const onPointerMove = (event) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const { left, top, cell: size } = place.current;
    const found = [
      Math.floor((event.clientY - bounds.top - top) / size), Math.floor((event.clientX - bounds.left - left) / size),
    ];
    setCell(within(found) ? found : null);
  };
  const onKeyDown = (event) => {
    const move = MOVES[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const [row, column] = shown ?? [0, -move[1]];
    const next = [row + move[0], column + move[1]];
    if (within(next)) setCell(next);
  };
  const marked = shown?.[0] ?? null;
  const paint = (canvas, width) => { place.current = drawHeat(canvas, weights, rows, columns, width, marked); };
  const said = shown
    ? spell(spelled(rows[shown[0]]), spelled(columns[shown[1]]), weights[shown[0]][shown[1]].toFixed(3))
    : about;
  return html`
    <div class="heat">
      <p class="caption" aria-live="polite">${said}</p>
      <${Painting}
        paint=${paint} when=${[...when, marked]} label=${about} tabindex="0" onPointerMove=${onPointerMove}
        onPointerLeave=${() => setCell(null)} onKeyDown=${onKeyDown} onBlur=${() => setCell(null)}
      />
    </div>`;
}

/** Which layer and which head, or the mean of all heads. */
export function HeadTools({ layers, layer, head, said }) {
  const numbers = (count) => [...Array(count).keys()].map((number) => [number, String(number + 1)]);
  const heads = [[-1, said.mean], ...numbers(layers[layer].shape[0])];
  const choose = (name) => (value) => { state[name].value = value; };
  return html`
    <div class="tools">
      <${Choice} label=${said.layer} options=${numbers(layers.length)} value=${layer} onChoose=${choose("layer")} />
      <${Choice} label=${said.head} options=${heads} value=${head} onChoose=${choose("head")} />
    </div>`;
}

function Thumbnail({ layer, head }) {
  const canvas = useRef(null);
  const scheme = useScheme();
  useLayoutEffect(() => drawThumbnail(canvas.current, headOf(layer, head)), [layer, head, scheme]);
  return html`<canvas ref=${canvas} aria-hidden="true"></canvas>`;
}

/** All heads, a row for each layer; `about(layer, head)` says which one it is, `under` may add to a picture. */
export function HeadGrid({ layers, layer, head, label, about, under = null, onChoose }) {
  const heads = layers[0].shape[0];
  const gridTemplateColumns = `max-content repeat(${heads}, minmax(0, 84px))`;
  return html`
    <div class="grid" role="group" aria-label=${label} style=${{ gridTemplateColumns }}>
      ${layers.map((one, number) => [
        html`<span key=${`row ${number}`} class="row">${number + 1}</span>`,
        ...[...Array(heads).keys()].map((which) => html`
          <button
            key=${`${number} ${which}`} type="button" aria-pressed=${number === layer && which === head}
            aria-checked=${number === layer && which === head ? "true" : null}
            title=${about(number, which)} aria-label=${about(number, which)} onClick=${() => onChoose(number, which)}
          ><${Thumbnail} layer=${one} head=${which} />${under && under(number, which)}</button>`),
      ])}
    </div>`;
}
