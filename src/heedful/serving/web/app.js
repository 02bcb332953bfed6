// The frame of the page: which views the model has, which one is shown, and the keys that work everywhere.

import { html, render, useEffect } from "/insight/vendor/preact.js";
import { useKeys } from "/insight/parts.js";
import { failure, load, model, models, taskOf, tasks, VIEWS_OF } from "./served.js";
import { change, EXAMPLES, follow, followAddress, language, OF_MODEL, queryWith, state } from "./state.js";
import { followSentence } from "./tracing.js";
import { AttentionPage } from "./views/attention.js";
import { DecodingPage } from "./views/decoding.js";
import { HeadsPage } from "./views/heads.js";
import { LabelsPage } from "./views/labels.js";
import { LearnPage } from "./views/learn.js";
import { PositionsPage } from "./views/positions.js";
import { TrainingPage } from "./views/training.js";
import { TranslatePage } from "./views/translate.js";
import { WritingPage } from "./views/writing.js";
import { words } from "./words.js";

const VIEWS = {
  translate: TranslatePage, attention: AttentionPage, decoding: DecodingPage, positions: PositionsPage,
  heads: HeadsPage, training: TrainingPage, learn: LearnPage, labels: LabelsPage, writing: WritingPage,
};

/** The keys of views that have any beside those that work everywhere; others name their own where they are used. */
const KEYS_OF = {
  attention: ["← →", "⇧ ← →", "⇧ ↑ ↓", "1 2 3"],
  decoding: ["← →", "⇧ ← →", "⇧ ↑ ↓", "p"],
};

/** Those of every task that the server has a model for, then those of all. */
const shownViews = () => [...tasks.value.flatMap((task) => VIEWS_OF[task]), "training", "learn"];

/** The one asked for, unless the model has no such view. */
function shownView() {
  const task = taskOf(state.view.value);
  const fits = shownViews().includes(state.view.value) && (task === null || task === model.value?.task);
  return fits ? state.view.value : VIEWS_OF[model.value?.task]?.[0];
}

/** What going to a view changes: to that of another task goes its first model, with an example unless one has typed. */
function changesFor(view) {
  const task = taskOf(view);
  if (task === null || task === model.value.task) return { view };
  const isExample = Object.values(EXAMPLES).includes(state.text.value);
  return { ...OF_MODEL, model: null, view, text: isExample ? EXAMPLES[task] : state.text.value };
}

function Bar() {
  const said = words();
  const other = language() === "en" ? "zh" : "en";
  return html`
    <header class="frame">
      <a class="skip" href="#content">${said.skip}</a>
      <a class="brand" href="/"><strong>Heedful</strong><span>${said.tagline}</span></a>
      <nav aria-label="Heedful">
        ${shownViews().map(
          (view) => html`<a
            key=${view} href=${queryWith(changesFor(view))} aria-current=${view === shownView() ? "page" : null}
            onClick=${(event) => follow(event, changesFor(view))}
          >${said.views[view]}</a>`,
        )}
      </nav>
      <span class="grow"></span>
      ${models.value.length > 1 && html`
        <label class="model">${said.model}
          <select value=${model.value.id} onChange=${(event) => choose(event.target.value)}>
            ${models.value.map((one) => html`<option key=${one.id} value=${one.id}>${one.id}</option>`)}
          </select>
        </label>`}
      <a class="plain" href="/docs">${said.api}</a>
      <button type="button" class="plain" lang=${other} onClick=${() => { state.language.value = other; }}>
        ${said.other}
      </button>
    </header>`;
}

function choose(id) {
  const { task } = models.value.find((one) => one.id === id);
  change({ ...changesFor(task === model.value.task ? state.view.value : VIEWS_OF[task][0]), ...OF_MODEL, model: id });
}

/** [ and ] go through the views; letters typed into a field are left alone. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const move = { "[": -1, "]": 1 }[event.key];
  if (!move) return;
  const views = shownViews();
  change(changesFor(views[(views.indexOf(shownView()) + move + views.length) % views.length]));
}

function App() {
  const said = words();
  useKeys(onKey);
  useEffect(() => {
    document.documentElement.lang = language();
    document.title = shownView() ? `${said.views[shownView()]} – Heedful` : "Heedful";
  });
  if (failure.value !== null) {
    return html`<main class="alone"><p>${said.noServer(failure.value)}</p>
      <button type="button" class="plain" onClick=${() => location.reload()}>${said.again}</button></main>`;
  }
  if (!model.value) return html`<main class="alone"><p>${said.starting}</p></main>`;
  const View = VIEWS[shownView()];
  return html`
    <${Bar} />
    <main id="content" class=${`view ${shownView()}`} tabindex="-1"><${View} /></main>
    <footer class="frame">
      <p class="keys">${["[ ]", ...(KEYS_OF[shownView()] ?? [])].map(
        (keys) => html`<span key=${keys}><kbd>${keys}</kbd> ${said.keys[keys]}</span>`,
      )}</p>
    </footer>`;
}

followAddress();
followSentence();
render(html`<${App} />`, document.getElementById("app"));
load();
