// The state all views share: one signal for each thing, all of it in the URL, so that what one sees can be sent on.
// Knows names and how they are spelled in a query; it does not know what any view does with them.

import { batch, effect, signal } from "/insight/vendor/preact.js";

const LONGEST_IN_ADDRESS = 4000; // characters of a text as an address spells them; servers refuse lines of 64 kB
const [MOST_CHANGES, SPAN] = [50, 5000]; // of the address, within so many milliseconds; browsers refuse a few hundred

/** What stands in the field before anybody has typed. */
export const EXAMPLES = {
  translation: "Where is the nearest station, please?",
  classification: "The story is slow at first, but the actors are wonderful.",
  language_modeling: "The city was founded in",
};

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
  text: word(EXAMPLES.translation),
  source: word("auto"),
  target: word(null),
  glossary: word(""), // terms and what they become, a line each
  beam: number(null),
  kind: word(null), // which use of attention; none is the one from target to source
  layer: number(null), // none is the last
  head: number(-1), // -1 is the mean of all
  heads: numbers, // several, where a view can show them at once
  step: number(0),
  pass: number(0), // of a speculative search
  held: number(null),
  mass: number(0.9),
  units: oneOf("tokens", "words"),
  symbols: oneOf("shown", "hidden"),
  cell: numbers, // row and column of the weight that is opened
  shading: oneOf("attention", "attribution"),
  prefix: numbers,
  sentence: number(0), // which one of a text is looked into
  hypothesis: word(null), // another translation that was chosen; none is the model's own
  off: word(""),
  side: oneOf("source", "target"),
  positions: number(64), // how many are shown
  position: number(null), // none is pointed at
  dimension: number(4),
  order: oneOf("stored", "sorted"), // of the dimensions
  run: word(null),
  runs: word(""), // whose curves are compared; none is the one that matters most
  checkpoint: number(null),
  chapter: number(0),
  temperature: number(0.8),
  topk: number(0), // 0 draws from all symbols
  topp: number(1),
  seed: number(0),
  length: number(200),
  language: { ...word(null), read: (text) => (["en", "zh"].includes(text) ? text : null) }, // none is the browser's
};

export const state = Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, signal(field.fallback)]));

export const asOnFirstVisit = (...names) => Object.fromEntries(names.map((name) => [name, FIELDS[name].fallback]));

/** What was chosen inside one sentence: another one makes it meaningless. */
export const OF_SENTENCE = asOnFirstVisit("held", "cell", "prefix", "hypothesis", "sentence", "step", "pass");

/** What was chosen for one model: another one has other languages and layers. */
export const OF_MODEL = {
  ...OF_SENTENCE, ...asOnFirstVisit("source", "target", "layer", "head", "heads", "off", "run", "checkpoint"),
};

/** Change several things at once. */
export const change = (changes) => batch(() => {
  for (const [name, value] of Object.entries(changes)) state[name].value = value;
});

/** Follow a link that changes the state without loading the page; with a modifier the browser does as always. */
export function follow(event, changes) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  change(changes);
}

/** What one types may be too long for an address. */
const TYPED = ["text", "glossary"];
const isLong = (text) => new URLSearchParams({ text }).toString().length > LONGEST_IN_ADDRESS;
const longOnes = () => TYPED.map((name) => [name, state[name].value]).filter(([, text]) => isLong(text));

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
    if (value === field.fallback || value === null || (TYPED.includes(name) && isLong(value))) continue;
    query.set(name, field.write(value));
  }
  const spelled = query.toString();
  return spelled ? `?${spelled}` : location.pathname;
}

/**
 * Keep the address in step with the state: going to another view can be undone with the browser's back button. What is
 * typed and too long for an address is kept beside it in the browser's history, so that it outlives a reload.
 */
export function followAddress() {
  let [place, timer, times] = [null, null, []];
  // All at once: an address between the old one and the new one would be a place nobody went to.
  const arrive = () => batch(() => {
    readQuery(location.search);
    for (const name of TYPED) if (history.state?.[name]) state[name].value = history.state[name];
    place = `${state.view.value} ${state.chapter.value}`;
  });
  arrive();
  addEventListener("popstate", arrive);
  effect(() => {
    const address = queryWith();
    const long = longOnes();
    const there = `${state.view.value} ${state.chapter.value}`;
    const isSame = address === location.search || (address === location.pathname && !location.search);
    clearTimeout(timer);
    if (isSame && TYPED.every((name) => history.state?.[name] === Object.fromEntries(long)[name])) return;
    const write = () => {
      const kept = long.length > 0 ? Object.fromEntries(long) : null;
      history[there === place ? "replaceState" : "pushState"](kept, "", address);
      place = there;
      times = [...times.slice(1 - MOST_CHANGES), performance.now()];
    };
    const isMany = there === place && times.length === MOST_CHANGES;
    const pause = isMany ? times[0] + SPAN - performance.now() : 0;
    if (pause > 0) timer = setTimeout(write, pause);
    else write();
  });
}

export const language = () => state.language.value ?? (navigator.language.startsWith("zh") ? "zh" : "en");
