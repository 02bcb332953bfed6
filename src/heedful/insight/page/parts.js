// Small components that all views are made of. They show text only as text, and they know nothing of traces.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

/** A group of buttons of which one is chosen; arrow keys move inside it. `options` are [value, text] pairs. */
export function Choice({ label, options, value, onChoose }) {
  const group = useRef(null);
  const onKeyDown = (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...group.current.querySelectorAll("button")];
    const next = (buttons.indexOf(event.target) + move + options.length) % options.length;
    onChoose(options[next][0]);
    buttons[next].focus();
  };
  return html`
    <div class="choice" role="radiogroup" aria-label=${label} ref=${group} onKeyDown=${onKeyDown}>
      <span>${label}</span>
      ${options.map(
        ([one, text]) => html`<button
          key=${one} type="button" role="radio" aria-checked=${one === value} tabindex=${one === value ? 0 : -1}
          onClick=${() => onChoose(one)}
        >${text}</button>`,
      )}
    </div>`;
}

/** Keys for a row of things that can be reached: `choose(number)` hears of the next, which gets the focus. */
export const alongRow = (place, choose) => (event) => {
  const move = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  const row = event.currentTarget.querySelectorAll("[tabindex]");
  if (!move || event.shiftKey || row.length === 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = place === null ? 0 : Math.max(0, Math.min(row.length - 1, place + move));
  choose(next);
  row[next].focus();
};

/** Listen to keys wherever the focus is. */
export function useKeys(onKey) {
  useLayoutEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** A slider that says its value. */
export function Slider({ label, min, max, step = 1, value, shown = String(value), onSlide }) {
  return html`
    <label class="range">${label}
      <input
        type="range" min=${min} max=${max} step=${step} value=${value}
        onInput=${(event) => onSlide(Number(event.target.value))}
      />
      <span>${shown}</span>
    </label>`;
}

/** Something that is on or off. */
export function Switch({ label, isOn, onSwitch }) {
  return html`
    <label class="switch">
      <input type="checkbox" checked=${isOn} onChange=${(event) => onSwitch(event.target.checked)} />${label}
    </label>`;
}

/** A card with a heading and a line that says what one sees. */
export function Card({ title, hint = null, children }) {
  return html`
    <section aria-label=${title}>
      <header><h2>${title}</h2>${hint && html`<span class="hint">${hint}</span>`}</header>
      ${children}
    </section>`;
}

/** The width of the element `box` refers to, kept up to date; 0 before it is known. */
export function useWidth(box) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(box.current);
    setWidth(Math.floor(box.current.clientWidth));
    return () => observer.disconnect();
  }, []);
  return width;
}

/** Whether a media query holds, kept up to date. */
export function useMedia(query) {
  const [holds, setHolds] = useState(matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = () => setHolds(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return holds;
}

/** Whether the page is dark, so that what is painted can be painted again. */
export const useScheme = () => useMedia("(prefers-color-scheme: dark)");

/** A canvas that `paint(canvas, width)` fills whenever something in `when`, the width or the scheme changes. */
export function Painting({ paint, when, label = null, ...handlers }) {
  const [box, canvas] = [useRef(null), useRef(null)];
  const [width, scheme] = [useWidth(box), useScheme()];
  useLayoutEffect(() => {
    if (width > 0) paint(canvas.current, width);
  }, [...when, width, scheme]);
  return html`
    <div class="scroll" ref=${box}>
      <canvas
        ref=${canvas} role=${label ? "img" : null} aria-label=${label} aria-hidden=${label ? null : "true"}
        ...${handlers}
      ></canvas>
    </div>`;
}
