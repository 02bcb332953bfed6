// The sentence that views look into, with its languages, and what became of it; the same line above every such view.

import { html, useEffect, useRef, useState } from "/insight/vendor/preact.js";
import { directions, nameOf, target } from "./served.js";
import { state } from "./state.js";
import { trace } from "./tracing.js";
import { words } from "./words.js";

const REST = 600; // milliseconds without typing before the sentence counts

/** What a change of the sentence makes meaningless. */
function forget() {
  for (const name of ["held", "cell", "prefix"]) state[name].value = null;
  state.step.value = 0;
}

function Languages() {
  const said = words();
  const from = directions.value.find((one) => one.code === state.source.value);
  const targets = from ? from.targets.filter((code) => code !== from.code) : directions.value.map((one) => one.code);
  const choose = (name) => (event) => {
    state[name].value = event.target.value;
    forget();
  };
  return html`
    <span class="languages">
      <select aria-label=${said.from} value=${state.source.value} onChange=${choose("source")}>
        <option value="auto">${said.detect}</option>
        ${directions.value.map((one) => html`<option key=${one.code} value=${one.code}>${nameOf(one.code)}</option>`)}
      </select>
      <span aria-hidden="true">→</span>
      <select aria-label=${said.to} value=${target.value} onChange=${choose("target")}>
        ${targets.map((code) => html`<option key=${code} value=${code}>${nameOf(code)}</option>`)}
      </select>
    </span>`;
}

/** The line to type into; what is typed takes effect on Enter, on leaving the field, or after a short rest. */
function Field() {
  const said = words();
  const [typed, setTyped] = useState(state.text.value);
  const timer = useRef(null);
  const settle = (text) => {
    clearTimeout(timer.current);
    if (text === state.text.value) return;
    state.text.value = text;
    forget();
  };
  // Only typing starts the clock: a sentence that came from elsewhere must never be overwritten by the one before.
  const type = (text) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => settle(text), REST);
  };
  useEffect(() => {
    setTyped(state.text.value);
    return () => clearTimeout(timer.current);
  }, [state.text.value]);
  return html`
    <input
      type="text" class="field" aria-label=${said.sentence} value=${typed} maxlength="1000" spellcheck=${false}
      onInput=${(event) => type(event.target.value)} onBlur=${() => settle(typed)}
      onKeyDown=${(event) => event.key === "Enter" && settle(typed)}
    />`;
}

function Origin() {
  const said = words();
  const { data } = trace.value;
  const notes = [];
  if (state.prefix.value && data?.prefix) notes.push(["prefix", said.forced(data.prefix), said.free]);
  if (state.checkpoint.value !== null && state.run.value !== null) {
    notes.push(["checkpoint", said.atCheckpoint(state.run.value, state.checkpoint.value), said.finished]);
  }
  return notes.map(
    ([name, text, undo]) => html`<p key=${name} class="origin">${text}
      <button type="button" class="plain" onClick=${() => { state[name].value = null; }}>${undo}</button></p>`,
  );
}

export function Sentence() {
  const isLoading = trace.value.status === "loading";
  return html`
    <div class="sentence-bar">
      <${Field} /><${Languages} />
      <span class="busy" data-on=${isLoading} role="status">${isLoading ? words().tracing : ""}</span>
    </div>
    <${Origin} />`;
}

/** Show a view of the trace once there is one; while the next is on its way the last stays. */
export function WithTrace({ children }) {
  const said = words();
  const { status, data, error } = trace.value;
  return html`
    <${Sentence} />
    ${status === "failed" && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
    ${status === "none" && html`<p class="empty">${said.nothing}</p>`}
    ${data && status !== "failed" && html`
      <div class=${status === "loading" ? "stale" : ""}>${children(trace.value)}</div>`}`;
}
