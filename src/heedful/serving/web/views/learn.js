// The view "learn".

import { html } from "/insight/vendor/preact.js";

export function LearnPage() {
  return html`<section><h2>Learn</h2></section>`;
}
