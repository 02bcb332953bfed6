// The translation on screen: its words shaded by how sure the model was of them, or another translation with what
// differs marked, or sentences as they come. A word says its numbers when pointed at or reached with the arrow keys.

import { html, useState } from "/insight/vendor/preact.js";
import { alongRow } from "/insight/parts.js";
import { levelOf, linesOf, surenessOf } from "./translate_confidence.js";
import { Reliability } from "./translate_reliability.js";
import { differences } from "../differences.js";
import { withTerms } from "./translate_terms.js";
import { words } from "./translate_words.js";

const NUM_LEAST_SURE = 3;
const LONG = 240; // characters; more are set in smaller type

export const percent = (probability) => `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)} %`;

const sized = (text) => (text.length > LONG ? "output long" : "output");

function numbersOf(word) {
  const said = words();
  const parts = word.pieces.map(([letters, probability]) => `${letters} ${percent(probability)}`).join(" · ");
  const rightness = word.confidence === null ? "" : said.right(percent(word.confidence));
  const inParts = word.pieces.length > 1 ? said.parts(parts) : "";
  const wanted = word.term ? said.ofTerm(word.term) : "";
  return said.word(word.text, percent(word.probability)) + inParts + rightness + wanted;
}

/** Words in lines; `current` is the number of the one that is told about. */
export function Shaded({ whole, language }) {
  const said = words();
  const [current, setCurrent] = useState(null);
  const lines = linesOf(whole.text, whole.units);
  const all = lines.flat().filter((part) => part.pieces);
  let number = -1;
  const show = (part) => {
    if (!part.pieces) return part.term ? html`<span class="term">${part.text}</span>` : part.text;
    const own = ++number;
    return html`<span
      class=${part.term ? "sure term" : "sure"} data-level=${levelOf(surenessOf(part))}
      tabindex=${own === (current ?? 0) ? 0 : -1} aria-label=${numbersOf(part)}
      aria-current=${own === current ? "true" : null}
      onMouseEnter=${() => setCurrent(own)} onFocus=${() => setCurrent(own)}
    >${part.text}</span>`;
  };
  return html`
    <div
      class=${sized(whole.text)} lang=${language} dir="auto" role="group" aria-label=${said.target}
      onKeyDown=${alongRow(current, setCurrent)}
      onMouseLeave=${() => setCurrent(null)}>
      ${lines.map((row, line) => html`<p key=${line}>${row.map(show)}</p>`)}
    </div>
    <${Confidence} words=${all} told=${all[current] ?? null} />
    <${Reliability} direction=${whole.direction} />`;
}

/** The legend, and in words either the word that is pointed at or those the model was least sure of. */
function Confidence({ words: all, told }) {
  const said = words();
  const least = [...all]
    .filter((word) => levelOf(surenessOf(word)) > 0)
    .sort((one, other) => surenessOf(one) - surenessOf(other))
    .slice(0, NUM_LEAST_SURE)
    .map((word) => `${word.text} ${percent(surenessOf(word))}`);
  if (all.length === 0) return null;
  return html`
    <div class="confidence">
      <p class="told" title=${said.sureHint}>
        ${told ? numbersOf(told) : least.length > 0 ? said.least(least.join(", ")) : said.allSure}
      </p>
      <p class="levels"><span>${said.sure}</span>
        ${said.levels.map((level, number) => html`<span key=${number}>
          <i class="sure" data-level=${number}></i>${level}</span>`)}
        ${all.some((word) => word.term) && html`<span><i class="term"></i>${said.isTerm}</span>`}
      </p>
    </div>`;
}

/** A text with what is new beside another one marked. */
export function Differing({ before, text }) {
  return differences(before, text).map(([part, isNew]) => (isNew ? html`<mark>${part}</mark>` : part));
}

/** Another translation, as it would have been. */
export function Another({ before, text, language }) {
  return html`<div class=${sized(text)} lang=${language} dir="auto">
    ${text.split("\n").map((line, number) => html`<p key=${number}>
      <${Differing} before=${before.split("\n")[number] ?? ""} text=${line} /></p>`)}
  </div>`;
}

/** The sentences of a long text that have come so far. */
export function Heard({ sentences, language }) {
  const said = words();
  const doubtful = sentences.filter((one) => one.warnings.length > 0).length;
  return html`
    <div class="output long" lang=${language} dir="auto">
      <p>${sentences.map(({ before, text, warnings, terms }, number) => [
        before, html`<span key=${number} class=${warnings.length > 0 ? "doubtful" : ""}>${withTerms([{ text }], terms)
          .map((part) => (part.term ? html`<span class="term" title=${said.ofTerm(part.term)}>${part.text}</span>`
            : part.text))}</span>`,
      ])}</p>
    </div>
    <div class="confidence">
      <p class="told">${doubtful > 0 ? said.doubtful(doubtful) : ""} ${said.noShading}</p>
    </div>`;
}
