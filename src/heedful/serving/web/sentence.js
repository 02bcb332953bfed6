// The sentence that views look into, with its languages, and what became of it; the same line above every such view.

import { spelled } from "/insight/drawing.js";
import { html } from "/insight/vendor/preact.js";
import { LanguageMenu } from "./language_menu.js";
import { directions, target } from "./served.js";
import { asOnFirstVisit, change, follow, OF_SENTENCE, queryWith, state } from "./state.js";
import { termsOf } from "./glossary.js";
import { hasTerms, isAtOnce, trace } from "./tracing.js";
import { useTyped } from "./typing.js";
import { words } from "./words.js";

const REST = 600; // milliseconds without typing before the sentence counts

/** A text of several sentences is looked into one by one. */
function Sentences() {
  const said = words();
  const all = trace.value.data?.sentences ?? [];
  if (all.length < 2) return null;
  const choose = (event) => change({ ...OF_SENTENCE, sentence: Number(event.target.value) });
  return html`
    <label class="sentences"><span>${said.sentenceOf(state.sentence.value + 1, all.length)}</span>
      <select value=${String(state.sentence.value)} onChange=${choose}>
        ${all.map((text, number) => html`<option key=${number} value=${String(number)}>${text}</option>`)}
      </select>
    </label>`;
}

function Languages() {
  const said = words();
  const from = directions.value.find((one) => one.code === state.source.value);
  const codes = directions.value.map((one) => one.code);
  const targets = from ? from.targets.filter((code) => code !== from.code) : codes;
  const choose = (name) => (code) => change({ ...OF_SENTENCE, [name]: code });
  return html`
    <span class="languages">
      <${LanguageMenu}
        label=${said.from} codes=${codes} value=${state.source.value} detect=${said.detect} onChoose=${choose("source")}
      />
      <span aria-hidden="true">→</span>
      <${LanguageMenu} label=${said.to} codes=${targets} value=${target.value} onChoose=${choose("target")} />
    </span>`;
}

/** The line to type into; what is typed takes effect on Enter, on leaving the field, or after a short rest. */
function Field() {
  const said = words();
  const { typed, settle, handlers } = useTyped(state.text.value, REST, (text) => change({ ...OF_SENTENCE, text }));
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // a line end that came with the text stays, none is added
    settle(event.target.value);
  };
  return html`
    <textarea
      rows="1" class="field" aria-label=${said.sentence} value=${typed} maxlength="1000" spellcheck=${false}
      onKeyDown=${onKeyDown} ...${handlers}
    ></textarea>`;
}

function Origin() {
  const said = words();
  const { data } = trace.value;
  const notes = [];
  if (state.prefix.value && data?.prefix) {
    const chosen = data.target.tokens[data.prefix - 1];
    notes.push(["prefix", said.forced(spelled(chosen), data.prefix), said.free]);
  }
  if (state.hypothesis.value !== null) notes.push(["hypothesis", said.another, said.free]);
  if (state.checkpoint.value !== null && state.run.value !== null) {
    notes.push(["checkpoint", said.atCheckpoint(state.run.value, state.checkpoint.value), said.finished]);
  }
  if (hasTerms.value) notes.push(["glossary", said.withTerms(termsOf(state.glossary.value).terms), said.withoutTerms]);
  return notes.map(
    ([name, text, undo]) => html`<p key=${name} class="origin">${text}
      <button type="button" class="plain" onClick=${() => change(asOnFirstVisit(name))}>${undo}</button></p>`,
  );
}

export function Sentence() {
  const isLoading = trace.value.status === "loading";
  return html`
    <div class="sentence-bar">
      <${Field} /><${Languages} />
      <span class="busy" data-on=${isLoading} role="status">${isLoading ? words().tracing : ""}</span>
    </div>
    <${Sentences} /><${Origin} />`;
}

/** What is said by views that a model without steps has nothing for. */
function NoSteps() {
  const said = words();
  const changes = { view: "decoding" };
  return html`<p class="empty">${said.atOnce} <a href=${queryWith(changes)}
    onClick=${(event) => follow(event, changes)}>${said.views.decoding} →</a></p>`;
}

/**
 * Show a view of the trace once there is one; while the next is on its way the last stays. `atOnce` shows that of a
 * model that writes all positions at once, in the place of the view.
 */
export function WithTrace({ atOnce: AtOnce = NoSteps, children }) {
  const said = words();
  const { status, data, error } = trace.value;
  return html`
    <${Sentence} />
    ${status === "failed" && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
    ${status === "none" && html`<p class="empty">${said.nothing}</p>`}
    ${data && status !== "failed" && html`
      <div class=${status === "loading" ? "stale" : ""}>${isAtOnce(data)
        ? html`<${AtOnce} data=${data} />` : children(trace.value)}</div>`}`;
}
