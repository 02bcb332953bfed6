// The field for terms under the two panes, closed until one wants it, and what a translation with terms is cut into.

import { html, useState } from "/insight/vendor/preact.js";
import { termsOf } from "../glossary.js";
import { change, OF_SENTENCE, state } from "../state.js";
import { useTyped } from "../typing.js";
import { words } from "./translate_words.js";

const REST = 600; // milliseconds without typing before the terms count

/** The field; `found` are the terms that the text has, null as long as that is not known. */
export function TermsField({ found }) {
  const said = words();
  const [isOpen, setOpen] = useState(state.glossary.value !== "");
  const settled = (glossary) => change({ ...OF_SENTENCE, glossary });
  const { typed, settle, handlers } = useTyped(state.glossary.value, REST, settled);
  const { terms, unread } = termsOf(typed);
  return html`
    <details class="terms" open=${isOpen} onToggle=${(event) => setOpen(event.target.open)}>
      <summary>${said.terms}${terms > 0 && html` <span class="number">${terms}</span>`}
        <span class="hint">${terms === 0 ? said.termsHint : found === null ? "" : said.termsFound(found)}</span>
      </summary>
      ${isOpen && html`
        <textarea
          aria-label=${said.terms} aria-describedby="terms-help" placeholder=${said.termsExample} value=${typed}
          rows="3" spellcheck=${false} dir="auto" ...${handlers}
        ></textarea>
        <div class="under">
          <span id="terms-help">${said.termsHelp}</span>
          ${typed && html`<button type="button" class="plain" onClick=${() => settle("")}>${said.clear}</button>`}
        </div>
        ${unread.length > 0 && html`<p class="notice" role="status">${said.termsUnread(unread)}</p>`}`}
    </details>`;
}

/** The terms a translation has, each once, in order; null where none were asked for. */
export function foundTerms({ whole, heard }) {
  const units = whole?.units ?? heard;
  if (!units) return null;
  return [...new Set(units.flatMap((unit) => (unit.terms ?? []).map((term) => term.source)))];
}

/**
 * A row of parts {text, …} cut at the places of terms, {source, start, end} by characters of the row: words that have
 * a part in one get its `term`, what is no word is cut.
 */
export function withTerms(row, terms) {
  const marked = [];
  let at = 0;
  for (const part of row) {
    const end = at + part.text.length;
    const inside = terms.filter((one) => one.start < end && one.end > at);
    if (part.pieces) marked.push(inside.length > 0 ? { ...part, term: inside[0].source } : part);
    else marked.push(...cut(part.text, at, inside));
    at = end;
  }
  return marked;
}

function cut(text, at, terms) {
  const parts = [];
  let done = 0;
  for (const { source, start, end } of terms) {
    const [from, to] = [Math.max(start - at, done), Math.min(end - at, text.length)];
    parts.push({ text: text.slice(done, from) }, { text: text.slice(from, to), term: source });
    done = to;
  }
  return [...parts, { text: text.slice(done) }].filter((part) => part.text);
}
