// The view "attention".

import { html } from "/insight/vendor/preact.js";

export function AttentionPage() {
  return html`<section><h2>Attention</h2></section>`;
}
