// The reliability diagram of a direction: how often words were right, over what was said of them. Data are those of the
// model folder; a model without any has no diagram.

import { html } from "/insight/vendor/preact.js";
import { model } from "../served.js";
import { words } from "./translate_words.js";

const SIDE = 200;
const EDGE = 26;
const percent = (share) => `${(100 * share).toFixed(0)} %`;
const exact = (share) => `${(100 * share).toFixed(1)} %`;
const x = (share) => EDGE + share * SIDE;
const y = (share) => 8 + (1 - share) * SIDE;

/** The mean distance between what was said of words and how often they were right. */
export function calibrationError(bins, saidOf) {
  const all = bins.reduce((sum, bin) => sum + bin.words, 0);
  return bins.reduce((sum, bin) => sum + bin.words * Math.abs(bin.right - saidOf(bin)), 0) / Math.max(all, 1);
}

function Diagram({ bins }) {
  const said = words();
  const most = Math.max(...bins.map((bin) => bin.words));
  const ticks = [0, 0.5, 1];
  const trend = bins.map((bin, number) => `${number ? "L" : "M"}${x(bin.confidence)} ${y(bin.right)}`).join("");
  return html`
    <svg class="diagram" viewBox="0 0 ${SIDE + EDGE + 14} ${SIDE + 38}" role="img" aria-label=${said.reliability}>
      <path class="axis" d="M${x(0)} ${y(1)}V${y(0)}H${x(1)}" />
      <path class="ideal" d="M${x(0)} ${y(0)}L${x(1)} ${y(1)}" />
      ${ticks.map((tick) => html`
        <text key=${tick} x=${x(tick)} y=${y(0) + 14} text-anchor="middle">${100 * tick}</text>
        <text key=${`y${tick}`} x=${EDGE - 5} y=${y(tick) + 4} text-anchor="end">${100 * tick}</text>`)}
      <text x=${x(0.5)} y=${y(0) + 28} text-anchor="middle">${said.said} (%)</text>
      <text x="9" y=${y(0.5)} text-anchor="middle" transform="rotate(-90 9 ${y(0.5)})">${said.isRight} (%)</text>
      <path class="trend" d=${trend} />
      ${bins.map((bin, number) => html`
        <circle key=${number} cx=${x(bin.confidence)} cy=${y(bin.right)} r=${2.5 + 4 * Math.sqrt(bin.words / most)}>
          <title>${said.reliabilityRow(percent(bin.confidence), percent(bin.right), bin.words)}</title>
        </circle>`)}
    </svg>`;
}

export function Reliability({ direction }) {
  const said = words();
  const bins = model.value?.reliability?.[direction] ?? [];
  if (bins.length === 0) return null;
  const all = bins.reduce((sum, bin) => sum + bin.words, 0);
  const before = exact(calibrationError(bins, (bin) => bin.probability));
  const after = exact(calibrationError(bins, (bin) => bin.confidence));
  return html`
    <details class="reliability">
      <summary>${said.reliability}</summary>
      <${Diagram} bins=${bins} />
      <p>${said.reliabilityHint(all.toLocaleString(), before, after)}</p>
    </details>`;
}
