// The view "labels".

import { html } from "/insight/vendor/preact.js";

export function LabelsPage() {
  return html`<section><h2>Labels</h2></section>`;
}
