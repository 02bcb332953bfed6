// A picture of curves that is read at one place: under the pointer, or with the arrow keys.
// What the curves are, and what is said at the place, is the matter of the view around it.

import { drawCurves, nearest } from "./curves.js";
import { Painting } from "./parts.js";
import { html, useRef } from "./vendor/preact.js";

const PAGE = 10; // points that a Page key goes
const MOVES = { ArrowLeft: -1, ArrowRight: 1, PageDown: -PAGE, PageUp: PAGE, Home: -Infinity, End: Infinity };

/** The recorded steps of curves, ascending, each once. */
export function recorded(curves) {
  const steps = new Set(curves.flatMap((curve) => curve.points.map(([step]) => step)));
  return [...steps].sort((a, b) => a - b);
}

/**
 * `picture` is what drawCurves takes, but for the width; `steps` are the places that can be read, and `cursor` is the
 * signal of the one that is. `tell(step)` says what stands there; `onChoose(step)`, where given, is a click.
 */
export function CurvePicture({ picture, steps, cursor, label, tell, when, onChoose = null }) {
  const across = useRef(null);
  const places = steps.map((step) => [step]);
  const read = cursor.value ?? steps.at(-1) ?? 0;
  const stepAt = (event) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    return nearest(places, across.current.value(x))?.[0] ?? null;
  };
  const onKeyDown = (event) => {
    const here = steps.indexOf(nearest(places, read)?.[0]);
    const move = MOVES[event.key];
    if (move === undefined || event.shiftKey || here < 0) return;
    event.preventDefault();
    event.stopPropagation();
    cursor.value = steps[Math.max(0, Math.min(steps.length - 1, here + move))];
  };
  const forget = () => { cursor.value = null; };
  return html`
    <${Painting}
      paint=${(canvas, width) => { across.current = drawCurves(canvas, { ...picture, width, cursor: cursor.value }); }}
      when=${[...when, cursor.value, ...picture.curves.map((curve) => curve.points.length)]} label=${label}
      role="slider" tabindex="0" aria-valuemin=${steps[0]} aria-valuemax=${steps.at(-1)} aria-valuenow=${read}
      aria-valuetext=${tell(read)} onPointerMove=${(event) => { cursor.value = stepAt(event); }}
      onPointerLeave=${forget} onBlur=${forget} onKeyDown=${onKeyDown}
      onClick=${onChoose && ((event) => onChoose(stepAt(event)))}
    />`;
}
