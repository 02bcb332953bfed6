// The view "positions".

import { html } from "/insight/vendor/preact.js";

export function PositionsPage() {
  return html`<section><h2>Positions</h2></section>`;
}
