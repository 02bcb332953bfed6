// The view "writing".

import { html } from "/insight/vendor/preact.js";

export function WritingPage() {
  return html`<section><h2>Writing</h2></section>`;
}
