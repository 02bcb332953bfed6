// All heads of one use as small pictures, a row for each layer. Takes weights; what choosing a head means, what is said
// about it and what stands under its picture are the matter of the view around it.

import { drawThumbnail, headOf } from "./drawing.js";
import { useScheme } from "./parts.js";
import { html, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

/** Where a head looks, one pixel for each weight. */
export function Thumbnail({ weights }) {
  const canvas = useRef(null);
  const scheme = useScheme();
  useLayoutEffect(() => drawThumbnail(canvas.current, weights), [weights, scheme]);
  return html`<canvas ref=${canvas} aria-hidden="true"></canvas>`;
}

const number = (layer) => html`<span key=${`row ${layer}`} class="row">${layer + 1}</span>`;

/**
 * `isOn`, `about`, `under` and `onChoose` are asked by (layer, head), `before(layer)` for what opens a row. With a
 * `role`, "radio" or "switch", the grid is one stop of the Tab key, at `reachable` [layer, head] or where one was last,
 * and arrow keys move inside it. `onPoint` hears of the head under the pointer or the focus, null when none is.
 */
export function HeadGrid({
  layers, label, role = null, className = "grid", isOn, about, under = () => null, before = number, reachable = null,
  onChoose, onPoint = null, children = null,
}) {
  const grid = useRef(null);
  const [last, setLast] = useState([0, 0]);
  const count = layers[0].shape[0];
  const heads = [...Array(count).keys()];
  const stop = (reachable ?? last).join(".");
  const onKeyDown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: count, ArrowUp: -count }[event.key];
    const pictures = [...grid.current.querySelectorAll("[data-place]")];
    if (!by || event.shiftKey || !pictures.includes(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    pictures[pictures.indexOf(event.target) + by]?.focus();
  };
  const cell = (layer, head) => {
    const place = `${layer}.${head}`;
    const state = { [role ? "aria-checked" : "aria-pressed"]: isOn(layer, head) };
    const onFocus = () => {
      setLast([layer, head]);
      onPoint?.([layer, head]);
    };
    return html`<button
      key=${place} type="button" role=${role} ...${state} data-place=${place} title=${about(layer, head)}
      aria-label=${about(layer, head)} tabindex=${role && place !== stop ? -1 : 0} onFocus=${onFocus}
      onClick=${() => onChoose(layer, head)} onMouseEnter=${() => onPoint?.([layer, head])}
    ><${Thumbnail} weights=${headOf(layers[layer], head)} />${under(layer, head)}</button>`;
  };
  return html`
    <div
      class=${className} role=${role === "radio" ? "radiogroup" : "group"} aria-label=${label} ref=${grid}
      style=${{ "--heads": count }} onKeyDown=${role && onKeyDown} onMouseLeave=${() => onPoint?.(null)}
    >
      ${layers.map((_, layer) => [before(layer), ...heads.map((head) => cell(layer, head))])}
      ${children}
    </div>`;
}
