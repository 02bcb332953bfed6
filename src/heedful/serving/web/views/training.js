// How models come to be: the runs, their curves, what each checkpoint makes of a sentence, what was written meanwhile.

import { html, useEffect } from "/insight/vendor/preact.js";
import { Card, Choice } from "/insight/parts.js";
import { nameOf } from "../served.js";
import { Checkpoints } from "./training_checkpoints.js";
import { colourOf, Curves } from "./training_curves.js";
import {
  closer, failure, followRuns, isExampleAlone, lookCloser, runs, shown, stepOf, toggle,
} from "./training_runs.js";
import { Samples } from "./training_samples.js";
import { words } from "./training_words.js";

function Progress({ run }) {
  const said = words();
  const step = stepOf(run);
  if (run.isRunning) return html`<span class="live">${said.training(step, run.maxSteps)}</span>`;
  return step >= run.maxSteps ? said.finished(step) : said.stopped(step, run.maxSteps);
}

function Run({ run }) {
  const said = words();
  const isShown = shown.value.some((one) => one.id === run.id);
  const isLast = isShown && shown.value.length === 1;
  const languages = run.source && `${nameOf(run.source)} → ${nameOf(run.target)}`;
  return html`
    <li>
      <label>
        <input type="checkbox" checked=${isShown} disabled=${isLast} onChange=${() => toggle(run)} />
        <i class="swatch" style=${{ color: isShown ? `var(${colourOf(run)})` : "var(--edge)" }}></i>
        <strong>${run.id}</strong>
        <span class="hint">${[said.tasks[run.task], languages].filter(Boolean).join(" · ")}</span>
        <span class="progress" role="status"><${Progress} run=${run} /></span>
        <progress max=${run.maxSteps} value=${stepOf(run)} aria-hidden="true"></progress>
      </label>
    </li>`;
}

function OwnRun() {
  const said = words();
  return html`
    <div class="own-run">
      <p>${runs.value.length > 0 && said.example} ${said.ownRun}</p>
      <pre>${said.commands.join("\n")}</pre>
      <p class="hint">${said.ownRunLater}</p>
    </div>`;
}

/** Of several runs, the one whose checkpoints and samples are shown. */
function Closer() {
  const options = shown.value.map((run) => [run.id, run.id]);
  const choose = (id) => lookCloser(shown.value.find((run) => run.id === id));
  return html`
    <div class="look-closer">
      <${Choice} label=${words().closer} options=${options} value=${closer.value.id} onChoose=${choose} />
    </div>`;
}

export function TrainingPage() {
  const said = words();
  useEffect(() => {
    const leaving = new AbortController();
    followRuns(leaving.signal);
    return () => leaving.abort();
  }, []);
  const all = runs.value;
  if (all === null) {
    return html`<p class="empty">${failure.value === null ? said.asking : said.failed(failure.value)}</p>`;
  }
  return html`
    <${Card} title=${said.runs} hint=${all.length > 1 ? said.runsHint : null}>
      ${failure.value !== null && html`<p class="refusal" role="alert">${said.failed(failure.value)}</p>`}
      ${all.length === 0 && html`<p class="empty">${said.none}</p>`}
      <ul class="runs">${all.map((run) => html`<${Run} key=${run.id} run=${run} />`)}</ul>
      ${isExampleAlone.value && html`<${OwnRun} />`}
    <//>
    ${shown.value.length > 0 && html`<${Curves} />`}
    ${shown.value.length > 1 && html`<${Closer} />`}
    ${shown.value.length > 0 && html`<${Checkpoints} /><${Samples} />`}`;
}
