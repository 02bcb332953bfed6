// A menu of languages, named in the language of the page. What choosing one means is the matter of the view around it.

import { html } from "/insight/vendor/preact.js";
import { nameOf } from "./served.js";

/** `detect` is the text of the choice "auto", which is there only with it. */
export function LanguageMenu({ label, codes, value, detect = null, onChoose }) {
  return html`
    <select aria-label=${label} value=${value} onChange=${(event) => onChoose(event.target.value)}>
      ${detect && html`<option key="auto" value="auto">${detect}</option>`}
      ${codes.map((code) => html`<option key=${code} value=${code}>${nameOf(code)}</option>`)}
    </select>`;
}
