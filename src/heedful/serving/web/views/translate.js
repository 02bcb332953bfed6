// The view "translate".

import { html } from "/insight/vendor/preact.js";

export function TranslatePage() {
  return html`<section><h2>Translate</h2></section>`;
}
