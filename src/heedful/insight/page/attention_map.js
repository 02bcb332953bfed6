// What is looked at: which use, layer and heads the state speaks of, and their weights as one map, of tokens or of
// whole words, with or without symbols. Numbers only; nothing here draws.

import { headOf } from "./drawing.js";
import { batch } from "./vendor/preact.js";

const within = (value, first, last) => Math.max(first, Math.min(last, Math.trunc(value)));

/** The use of attention that is called so; undefined where the model has none. */
export const useNamed = ({ attention }, name) => attention.find((use) => use.name === name);

/** The use that looks from one side at another, the last where there are several. */
export const useBetween = ({ attention }, from, at) => attention.findLast((use) => use.from === from && use.at === at);

/** The use the state names, else that which looks from target to source, else the first there is. */
const useOf = (trace, state) =>
  useNamed(trace, state.kind.value) ?? useBetween(trace, "target", "source") ?? trace.attention[0];

/**
 * The state, held within what the model has: an address can say anything. `heads` is null for the mean of all; null
 * for a model without attention.
 */
export function lookOf(trace, layers, state) {
  const use = useOf(trace, state);
  if (!use) return null;
  const kind = use.name;
  const count = layers[kind][0].shape[0];
  const last = layers[kind].length - 1;
  const several = [...new Set(state.heads.value ?? [])].filter((head) => head < count).sort((a, b) => a - b);
  const head = within(state.head.value, -1, count - 1);
  return {
    use,
    kind,
    count,
    layer: within(state.layer.value ?? last, 0, last),
    heads: head >= 0 ? [head] : several.length > 1 ? several : null,
    mass: Math.max(0.1, Math.min(1, state.mass.value)),
  };
}

/** Look at these heads; null is the mean of all. Other views know one head or the mean, so a set is kept apart. */
export function chooseHeads(state, heads) {
  batch(() => {
    state.head.value = heads?.length === 1 ? heads[0] : -1;
    state.heads.value = heads?.length > 1 ? heads : null;
  });
}

/** Look at another use; what was held in the last one has no meaning there. */
export function chooseKind(state, kind) {
  batch(() => {
    state.kind.value = kind;
    state.held.value = null;
    state.cell.value = null;
  });
}

/** Hold a row, or none. Where rows are tokens being written, the step goes with it. */
export function holdRow(state, use, row) {
  batch(() => {
    state.held.value = row;
    if (row !== null && use.from === "target") state.step.value = row;
  });
}

/** The tokens that look (rows) and those looked at (columns). */
export function tokensOf(trace, use) {
  return {
    rows: trace[use.from].tokens,
    columns: use.at === "target" ? trace.inputs : trace.source.tokens,
  };
}

/** Rows and columns as shown: groups {text, isSpecial, first, end} of tokens, one token each unless `merged`. */
export function axesOf(trace, use, { merged, hidden }) {
  const { rows, columns } = tokensOf(trace, use);
  const { source, target } = trace.alignment;
  const before = target.map((word) => ({ ...word, first: word.first + 1, end: word.end + 1 })); // it reads one late
  const shown = (tokens, words) => grouped(tokens, merged ? words : []).filter((group) => !(hidden && group.isSpecial));
  return {
    rows: shown(rows, trace.alignment[use.from]),
    columns: shown(columns, use.at === "target" ? before : source),
  };
}

function grouped(tokens, words) {
  const begins = new Map(words.map((word) => [word.first, word]));
  const groups = [];
  for (let at = 0; at < tokens.length; at = groups.at(-1).end) {
    const word = begins.get(at);
    const { text, isSpecial } = word ? { ...word, isSpecial: false } : tokens[at];
    groups.push({ text, isSpecial, first: at, end: word ? Math.min(word.end, tokens.length) : at + 1 });
  }
  return groups;
}

/** The group a token belongs to; −1 where it is hidden. */
export function groupAt(groups, token) {
  return token === null ? -1 : groups.findIndex((group) => group.first <= token && token < group.end);
}

/**
 * The weights between groups: added over the tokens looked at, averaged over the tokens that look. Where symbols are
 * `hidden`, what remains of a row is scaled to 1.
 */
export function mapOf(layer, heads, axes, hidden) {
  const weights = meanOf(layer, heads);
  const isWhole = axes.rows.length === weights.length && axes.columns.length === weights[0].length;
  if (isWhole) return weights; // as many groups as tokens: each token stands alone
  return axes.rows.map((row) => {
    const shown = new Float32Array(axes.columns.length);
    for (let y = row.first; y < row.end; y++) {
      axes.columns.forEach((column, x) => {
        for (let k = column.first; k < column.end; k++) shown[x] += weights[y][k] / (row.end - row.first);
      });
    }
    const sum = shown.reduce((total, weight) => total + weight, 0);
    return hidden && sum > 0 ? shown.map((weight) => weight / sum) : shown;
  });
}

/** The mean of some heads, of all where `heads` is null. */
export function meanOf(layer, heads) {
  if (heads === null) return headOf(layer, -1);
  const maps = heads.map((head) => headOf(layer, head));
  if (maps.length === 1) return maps[0];
  return maps[0].map((row, y) => row.map((_, x) => maps.reduce((sum, map) => sum + map[y][x], 0) / maps.length));
}

/** The single weight behind a cell of the map that is largest: its head, the token that looks, the token looked at. */
export function strongestWithin(layer, heads, row, column) {
  let best = { weight: -1 };
  for (const head of heads ?? Array(layer.shape[0]).keys()) {
    const weights = headOf(layer, head);
    for (let y = row.first; y < row.end; y++) {
      for (let x = column.first; x < column.end; x++) {
        if (weights[y][x] > best.weight) best = { weight: weights[y][x], head, row: y, column: x };
      }
    }
  }
  return best;
}

/** The strongest weights of a row that together have the wanted part of its mass. */
export function strongest(row, mass) {
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]);
  const whole = mass * row.reduce((total, weight) => total + weight, 0);
  const kept = [];
  let sum = 0;
  for (const column of order) {
    if (sum >= whole || row[column] <= 0) break;
    kept.push(column);
    sum += row[column];
  }
  return kept;
}

/** Keys for use, layer, head and step; says whether the key was one of them. */
export function followKey(event, trace, layers, state) {
  const look = lookOf(trace, layers, state);
  if (!look) return false;
  const { use, kind, layer, heads, count } = look;
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  const isSideways = event.key === "ArrowRight" || event.key === "ArrowLeft";
  if (by && event.shiftKey && isSideways) {
    const head = within((heads === null ? -1 : by > 0 ? heads.at(-1) : heads[0]) + by, -1, count - 1);
    chooseHeads(state, head < 0 ? null : [head]);
  } else if (by && event.shiftKey) {
    state.layer.value = within(layer + by, 0, layers[kind].length - 1);
  } else if (by && isSideways && event.target.type !== "range") {
    const step = within(state.step.value + by, 0, trace.target.tokens.length - 1);
    if (state.held.value !== null && use.from === "target") holdRow(state, use, step);
    else state.step.value = step;
  } else if (trace.attention[Number(event.key) - 1]) {
    chooseKind(state, trace.attention[Number(event.key) - 1].name);
  } else {
    return false;
  }
  return true;
}
