// The view "decoding".

import { html } from "/insight/vendor/preact.js";

export function DecodingPage() {
  return html`<section><h2>Decoding</h2></section>`;
}
