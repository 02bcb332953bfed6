// One head on one sentence: lines between the tokens, or a heat map. The head is named, or found by a rule.

import { html, useState } from "/insight/vendor/preact.js";
import { tokensOf, useBetween, useNamed } from "/insight/attention_map.js";
import { Painting } from "/insight/parts.js";
import { drawHeat, headOf, spelled } from "/insight/drawing.js";
import { RULES, headBy, largest, placeOf } from "../rules.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Figure, stateFor } from "./frame.js";

const ROW = 27;
const LEAST = 0.04; // weights below are not drawn: they would be a haze

/** The sides [from, at] of what a figure shows. */
export const usesIn = ({ rule, rules = [rule], use }) => (use ? [use] : rules.map((one) => RULES[one].use));

/** The head a figure is about: by its rule, else by its numbers; layer −1 is the last. */
export function headFor(figure, answer) {
  if (figure.rule) return headBy(figure.rule, answer);
  const { name: kind } = useBetween(answer.data, ...figure.use);
  const layers = answer.layers[kind];
  const layer = figure.layer < 0 ? layers.length + figure.layer : Math.min(figure.layer, layers.length - 1);
  return { kind, layer, head: figure.head ?? -1 };
}

/** What a figure of one head needs: its example, the answer to it and, once that is there, the head and its map. */
function useHead(figure) {
  const example = exampleOf(figure);
  const answer = useTrace(example, {}, usesIn(figure));
  if (answer.status !== "ready") return { example, answer };
  const found = headFor(figure, answer);
  const use = useNamed(answer.data, found.kind);
  const { rows, columns } = tokensOf(answer.data, use);
  const weights = headOf(answer.layers[found.kind][found.layer], found.head);
  return { example, answer, found, use, rows, columns, weights, named: figure.row ? placeOf(rows, figure.row) : null };
}

const opening = (example, { kind, layer, head }, held) =>
  stateFor(example, { view: "attention", kind, layer, head, held });

/** What a rule found, in words. */
export function foundBy(rule, found) {
  const said = chapterWords();
  if (rule === "mostSpread") return said.even(found.part);
  return said[found.isClear ? "clear" : "unclear"](said.rules[rule], found.part);
}

/** Lines from tokens to what they look at: of the row under the pointer, else of the one that is held, else of all. */
export function Lines({ weights, rows, columns, held, onHold, sides }) {
  const [pointed, setPointed] = useState(null);
  const shown = pointed ?? held;
  const height = ROW * Math.max(rows.length, columns.length);
  const middle = (at) => (at + 0.5) * ROW;
  const lines = weights.flatMap((row, from) => [...row].map((weight, to) => ({ from, to, weight })))
    .filter(({ from, weight }) => weight >= LEAST && (shown === null || shown === from));
  return html`
    <div class="pair">
      <p class="side">${sides[0]}</p><span></span><p class="side">${sides[1]}</p>
      <div class="tokens from">
        ${rows.map((token, at) => html`<button
          key=${at} type="button" class=${token.isSpecial ? "special" : ""} aria-pressed=${held === at}
          onMouseEnter=${() => setPointed(at)} onMouseLeave=${() => setPointed(null)}
          onFocus=${() => setPointed(at)} onBlur=${() => setPointed(null)}
          onClick=${() => onHold(held === at ? null : at)}
        >${spelled(token)}</button>`)}
      </div>
      <svg class="links" viewBox=${`0 0 100 ${height}`} preserveAspectRatio="none" height=${height} aria-hidden="true">
        ${lines.map(({ from, to, weight }) => html`<path
          key=${`${from} ${to}`} d=${`M0 ${middle(from)} C40 ${middle(from)} 60 ${middle(to)} 100 ${middle(to)}`}
          stroke-opacity=${Math.min(1, 0.08 + 0.92 * weight)} stroke-width=${0.7 + 2.8 * weight}
        />`)}
      </svg>
      <div class="tokens to">
        ${columns.map((token, at) => html`<span
          key=${at} class=${token.isSpecial ? "special" : ""}
          style=${{ background: shown === null ? "none" : `rgb(var(--heat) / ${0.55 * weights[shown][at]})` }}
        >${spelled(token)}</span>`)}
      </div>
    </div>`;
}

export function LinesFigure({ figure }) {
  const said = chapterWords();
  const { example, answer, found, use, rows, columns, weights, named } = useHead(figure);
  const [chosen, setChosen] = useState({ figure: null, row: null });
  const held = chosen.figure === figure ? chosen.row : named;
  const caption = () => {
    const at = held === null ? null : largest([...weights[held]]);
    const looks = at === null
      ? said.hoverRow
      : said.looks(spelled(rows[held]), spelled(columns[at]), weights[held][at]);
    return `${said.place(found)}${said.stop}${figure.rule ? `${foundBy(figure.rule, found)} ` : ""}${looks}`;
  };
  const open = () => opening(example, found, held);
  return html`
    <${Figure} name="lines" answers=${[answer]} caption=${caption} open=${open}>${() => html`
      <${Lines} weights=${weights} rows=${rows} columns=${columns} held=${held} sides=${said.sides(use)}
        onHold=${(row) => setChosen({ figure, row })} />`}
    <//>`;
}

/** A head as a heat map whose axes are named. */
export function Heat({ weights, rows, columns, use, marked = null, label }) {
  const sides = chapterWords().sides(use);
  const isMasked = (row, column) => use.causal && column > row; // what is not written yet
  return html`
    <p class="side">↓ ${sides[0]} · → ${sides[1]}</p>
    <${Painting} when=${[weights, marked]} label=${label}
      paint=${(canvas, width) => drawHeat(canvas, weights, rows, columns, width, marked, isMasked)} />`;
}

export function HeatFigure({ figure }) {
  const said = chapterWords();
  const { example, answer, found, use, rows, columns, weights, named } = useHead(figure);
  const caption = () => `${said.place(found)}${said.stop}${figure.rule ? foundBy(figure.rule, found) : ""}`;
  const open = () => opening(example, found, named);
  return html`
    <${Figure} name="heat" answers=${[answer]} caption=${caption} open=${open}>${() => html`
      <${Heat} weights=${weights} rows=${rows} columns=${columns} marked=${named} use=${use} label=${caption()} />`}
    <//>`;
}
