// The view "heads".

import { html } from "/insight/vendor/preact.js";

export function HeadsPage() {
  return html`<section><h2>Heads</h2></section>`;
}
