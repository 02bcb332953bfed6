// The state all views share: one signal for each thing, all of it in the URL, so that what one sees can be sent to others.
// Knows names and how they are spelled in a query; it does not know what any view does with them.

import { effect, signal } from "/insight/vendor/preact.js";

const EXAMPLE = "Where is the nearest station, please?";

const word = (fallback) => ({ fallback, read: (text) => text, write: (value) => value });
const number = (fallback) => ({
  fallback,
  read: (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : fallback),
  write: String,
});
const oneOf = (...names) => ({
  fallback: names[0],
  read: (text) => (names.includes(text) ? text : names[0]),
  write: (value) => value,
});
const numbers = {
  fallback: null,
  read: (text) => (/^\d+(,\d+)*$/.test(text) ? text.split(",").map(Number) : null),
  write: (value) => value.join(","),
};

const FIELDS = {
  view: word("translate"),
  model: word(null),
  text: word(EXAMPLE),
  source: word("auto"),
  target: word(null),
  beam: number(null),
  kind: oneOf("cross", "encoder", "decoder"),
  layer: number(null), // none is the last
  head: number(-1), // -1 is the mean of all
  step: number(0),
  held: number(null),
  mass: number(0.9),
  shading: oneOf("attention", "attribution"),
  prefix: numbers,
  off: word(""),
  run: word(null),
  checkpoint: number(null),
  chapter: number(0),
  language: word(null), // none is the browser's
};

export const state = Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, signal(field.fallback)]));

/** Take over what a query says; what it does not mention is as on the first visit. */
export function readQuery(query) {
  const found = new URLSearchParams(query);
  for (const [name, field] of Object.entries(FIELDS)) {
    state[name].value = found.has(name) ? field.read(found.get(name)) : field.fallback;
  }
}

/** Spell the state, with some changes to it, as a query; what is as on the first visit is left away. */
export function queryWith(changes = {}) {
  const query = new URLSearchParams();
  for (const [name, field] of Object.entries(FIELDS)) {
    const value = name in changes ? changes[name] : state[name].value;
    if (value !== field.fallback && value !== null) query.set(name, field.write(value));
  }
  const spelled = query.toString();
  return spelled ? `?${spelled}` : location.pathname;
}

/** Keep the address in step with the state: going to another view can be undone with the browser's back button. */
export function followAddress() {
  readQuery(location.search);
  let place = `${state.view.value} ${state.chapter.value}`;
  addEventListener("popstate", () => {
    readQuery(location.search);
    place = `${state.view.value} ${state.chapter.value}`;
  });
  effect(() => {
    const address = queryWith();
    const there = `${state.view.value} ${state.chapter.value}`;
    if (address === location.search || (address === location.pathname && !location.search)) return;
    history[there === place ? "replaceState" : "pushState"](null, "", address);
    place = there;
  });
}

export const language = () => state.language.value ?? (navigator.language.startsWith("zh") ? "zh" : "en");
