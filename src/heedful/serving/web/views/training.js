// The view "training".

import { html } from "/insight/vendor/preact.js";

export function TrainingPage() {
  return html`<section><h2>Training</h2></section>`;
}
