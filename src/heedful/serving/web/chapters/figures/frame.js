// What every figure stands in: its name, what it says, and the way into the view where one can go on by oneself.

import { html } from "/insight/vendor/preact.js";
import { follow, OF_MODEL, queryWith } from "../../state.js";
import { words } from "../../words.js";
import { chapterWords } from "../words.js";

/** What a link into a view changes, beside what the figure names: nothing of an earlier visit shall show through. */
const CLEAN = { ...OF_MODEL, beam: null };

/** The state that shows an example in a view. */
export const stateFor = (example, changes) => ({
  ...CLEAN, model: example.model, text: example.q, source: example.source, target: example.target, ...changes,
});

export function OpenIn({ changes }) {
  const open = (event) => {
    follow(event, changes);
    if (event.defaultPrevented) scrollTo({ top: 0 });
  };
  return html`<a class="open" href=${queryWith(changes)} onClick=${open}>
    ${chapterWords().openIn(words().views[changes.view])} <span aria-hidden="true">→</span></a>`;
}

/** A figure once its answers have come; `answers` are those of `useAnswer`. */
export function Figure({ name, answers = [], caption = null, open = null, children }) {
  const said = chapterWords();
  const failed = answers.find((one) => one.status === "failed");
  const isReady = answers.every((one) => one.status === "ready");
  const isAbsent = answers.some((one) => one.status === "none" || one.status === "lacking");
  const isLacking = answers.some((one) => one.status === "lacking");
  return html`
    <figure class="figure" data-figure=${name} data-ready=${isReady} aria-busy=${!isReady && !failed && !isAbsent}>
      ${isAbsent && html`<p class="empty">${isLacking ? said.noSuchUse : said.noTranslator}</p>`}
      ${failed && html`<p class="refusal" role="alert">${said.failed(failed.error)}</p>`}
      ${!isReady && !failed && !isAbsent && html`<p class="waiting">${said.loading}</p>`}
      ${isReady && html`${children()}<figcaption>
        ${caption && html`<p aria-live="polite">${caption()}</p>`}${open && html`<${OpenIn} changes=${open()} />`}
      </figcaption>`}
    </figure>`;
}

/** Bars with a name and a number each: rows of {name, part, shown, isChosen}. */
export function Bars({ rows, label }) {
  return html`
    <div class="bars" role="list" aria-label=${label}>
      ${rows.map((row, at) => html`
        <div key=${at} role="listitem" class=${row.isChosen ? "chosen" : ""}>
          <span class="name">${row.name}</span>
          <span class="track" aria-hidden="true"><i style=${{ width: `${100 * row.part}%` }}></i></span>
          <span class="number">${row.shown}</span>
        </div>`)}
    </div>`;
}
