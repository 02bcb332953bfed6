// What a run wrote at its validations, one row for each, with the changes marked.

import { html } from "/insight/vendor/preact.js";
import { Card } from "/insight/parts.js";
import { differences } from "../differences.js";
import { chooseCheckpoint, chosenStep, closer, journalOf } from "./training_runs.js";
import { words } from "./training_words.js";

/** Samples by step, in the order they were written. */
function byStep(samples) {
  const steps = new Map();
  for (const sample of samples) steps.set(sample.step, [...(steps.get(sample.step) ?? []), sample]);
  return [...steps];
}

function Step({ run, step }) {
  const checkpoints = journalOf(run).checkpoints;
  const shown = step.toLocaleString("en-US");
  if (run.task !== "translation" || !checkpoints.includes(step)) return html`<span class="number">${shown}</span>`;
  return html`<button
    type="button" class="plain number" aria-pressed=${chosenStep.value === step}
    onClick=${() => chooseCheckpoint(run, step)}
  >${shown}</button>`;
}

function Written({ before, sample }) {
  const said = words();
  const { translation, reference } = sample;
  const parts = before === null ? [[translation, false]] : differences(before, translation);
  return html`
    <td class=${before === translation ? "same" : ""}>
      ${parts.map(([part, isNew], place) => (isNew ? html`<mark key=${place}>${part}</mark>` : part))}
      ${translation === reference && html`<span class="exact" title=${said.exact} aria-label=${said.exact}> ✓</span>`}
    </td>`;
}

function Translations({ run, rows }) {
  const said = words();
  const first = rows[0][1];
  return html`
    <table class="samples">
      <thead>
        <tr>
          <th scope="col">${said.step}</th>
          ${first.map((sample, column) => html`
            <th key=${column} scope="col">${sample.source}
              <span class="reference"><i>${said.reference}</i> ${sample.reference}</span></th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(([step, samples], row) => html`
          <tr key=${step} aria-current=${chosenStep.value === step ? "step" : null}>
            <th scope="row"><${Step} run=${run} step=${step} /></th>
            ${samples.map((sample, column) => html`<${Written}
              key=${column} sample=${sample} before=${row > 0 ? rows[row - 1][1][column]?.translation ?? null : null}
            />`)}
          </tr>`)}
      </tbody>
    </table>`;
}

function Mistakes({ rows }) {
  const said = words();
  const names = [said.step, said.text, said.label, said.decided, said.probability];
  return html`
    <table class="samples">
      <thead><tr>${names.map((name) => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
      <tbody>
        ${rows.flatMap(([step, samples]) => samples.map((sample, place) => html`
          <tr key=${`${step} ${place}`}>
            <th scope="row">${place === 0 && html`<span class="number">${step.toLocaleString("en-US")}</span>`}</th>
            <td>${sample.text}</td><td class="label">${sample.label}</td><td class="label">${sample.decided}</td>
            <td class="number">${(100 * sample.probability).toFixed(1)} %</td>
          </tr>`))}
      </tbody>
    </table>`;
}

function Texts({ rows }) {
  const said = words();
  return html`
    <table class="samples">
      <thead><tr><th scope="col">${said.step}</th><th scope="col">${said.text}</th></tr></thead>
      <tbody>
        ${rows.map(([step, samples]) => html`
          <tr key=${step}>
            <th scope="row"><span class="number">${step.toLocaleString("en-US")}</span></th>
            <td class="written">${samples.map((sample) => sample.text).join("\n")}</td>
          </tr>`)}
      </tbody>
    </table>`;
}

const TABLES = { translation: Translations, classification: Mistakes, language_modeling: Texts };

export function Samples() {
  const said = words();
  const run = closer.value;
  const rows = run ? byStep(journalOf(run).samples) : [];
  if (!rows.length) return null;
  const Table = TABLES[run.task];
  return html`
    <${Card} title=${said.samples[run.task]} hint=${said.samplesHint[run.task]}>
      <div class="scroll" tabindex="0" role="group" aria-label=${said.samples[run.task]}>
        <${Table} run=${run} rows=${rows} />
      </div>
    <//>`;
}
