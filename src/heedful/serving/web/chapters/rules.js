// Rules that find a head by what it does, computed from a trace: so the chapters stay true for every model.
// A rule names the sides its attention looks from and at, and gives each head a part between 0 and 1; the head with
// most of it is the one a figure shows. `enough` is how much it takes to say that a head really does so.

import { useBetween } from "/insight/attention_map.js";
import { headOf } from "/insight/drawing.js";

const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0);

/** The mean weight on the token that stands `offset` places from the one that looks. */
const beside = (offset) => (rows) => mean(
  rows.map((row, at) => row[at + offset]).filter((weight) => weight !== undefined),
);

/** The mean weight of written words on the source words they are aligned with; a full stop is no word. */
function onAligned(rows, { alignment }) {
  const links = alignment.links.filter(([written]) => /[\p{L}\p{N}]/u.test(alignment.target[written].text));
  return mean(links.map(([written, read]) => {
    const [from, to] = [alignment.target[written], alignment.source[read]];
    const ofTokens = rows.slice(from.first, from.end).map(
      (row) => row.slice(to.first, to.end).reduce((sum, weight) => sum + weight, 0),
    );
    return mean(ofTokens);
  }));
}

/** How evenly a head looks: 1 is the same weight on everything it may see. */
function evenness(rows) {
  return mean(rows.filter((row) => row.length > 1).map((row) => {
    const bits = row.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log2(weight) : 0), 0);
    return bits / Math.log2(row.length);
  }));
}

export const RULES = {
  bestAligning: { use: ["target", "source"], part: onAligned, enough: 0.5 },
  mostPrevious: { use: ["source", "source"], part: beside(-1), enough: 0.5 },
  mostNext: { use: ["source", "source"], part: beside(1), enough: 0.5 },
  mostFirst: { use: ["source", "source"], part: (rows) => mean(rows.map((row) => row[0])), enough: 0.4 },
  mostEnd: { use: ["source", "source"], part: (rows) => mean(rows.map((row) => row[row.length - 1])), enough: 0.35 },
  mostSpread: { use: ["source", "source"], part: evenness, enough: 0.8 },
};

/** The head that follows a rule most: {kind, layer, head, part, isClear}. */
export function headBy(name, { data, layers }) {
  const { use, part, enough } = RULES[name];
  const kind = useBetween(data, ...use).name;
  let best = null;
  layers[kind].forEach((layer, number) => {
    for (let head = 0; head < layer.shape[0]; head++) {
      const share = part(headOf(layer, head), data);
      if (best === null || share > best.part) best = { kind, layer: number, head, part: share };
    }
  });
  return { ...best, isClear: best.part >= enough };
}

/** The head with the least number, of changes the one a translation needs most: {kind, layer, head, value}. */
export function least(numbers) {
  const all = Object.entries(numbers).flatMap(([kind, layers]) =>
    layers.flatMap((heads, layer) => heads.map((value, head) => ({ kind, layer, head, value }))),
  );
  return all.reduce((best, one) => (one.value < best.value ? one : best));
}

/** The number of the token that is spelled so, else null: another model may cut or translate otherwise. */
export function placeOf(tokens, text) {
  const found = tokens.findIndex((token) => !token.isSpecial && token.text.replaceAll("▁", "") === text);
  return found < 0 ? null : found;
}

export const largest = (values) => values.reduce((best, value, at) => (value > values[best] ? at : best), 0);

/** What has no score is masked and gets nothing. */
export function softmax(scores) {
  const peak = Math.max(...scores.filter((score) => score !== null));
  const powers = scores.map((score) => (score === null ? 0 : Math.exp(score - peak)));
  const sum = powers.reduce((before, power) => before + power, 0);
  return powers.map((power) => power / sum);
}
