// The view of a classifier: a text is typed, and what the model makes of it follows.

import { html, signal, useEffect, useRef } from "/insight/vendor/preact.js";
import { unpack } from "/insight/drawing.js";
import { labelWords } from "/insight/label_words.js";
import { Decision, Influences, LabelHeads } from "/insight/labels.js";
import { Card } from "/insight/parts.js";
import { afterRest, isAborted, post } from "../api.js";
import { model } from "../served.js";
import { language, state } from "../state.js";

const PAUSE = 300; // milliseconds without a change before the server is asked
const MOST_CHARACTERS = 20000;
const MOST_TRACED = 1000; // characters the server looks into
const MOST_WORDS = 126; // with the symbols at both ends, as many tokens as the server looks into, or more
const NOTHING = { status: "none", data: null, error: null };

const decision = signal(NOTHING);
const look = signal(NOTHING);

async function ask(into, path, body, leaving) {
  try {
    into.value = { status: "ready", data: await post(path, body, leaving), text: body.q, error: null };
  } catch (error) {
    if (!isAborted(error)) into.value = { ...NOTHING, status: "failed", error: error.message };
  }
}

/** Ask for the label and then for the attention of a text, after a short rest; returns how to leave it. */
function follow(text, id) {
  if (!text.trim()) {
    decision.value = look.value = NOTHING;
    return undefined;
  }
  decision.value = { ...decision.peek(), status: "loading" };
  return afterRest(decision.peek().data ? PAUSE : 0, async (leaving) => {
    await ask(decision, "/api/classify", { q: text, model: id, explain: true }, leaving);
    const numWords = decision.value.data?.words.length ?? 0;
    if (text.length > MOST_TRACED || numWords > MOST_WORDS) look.value = { ...NOTHING, status: "long" };
    else if (!leaving.aborted) await ask(look, "/api/classify/trace", { q: text, model: id }, leaving);
  });
}

function Decided({ said }) {
  const { status, data, error } = decision.value;
  if (status === "failed") return html`<p class="refusal" role="alert">${said.failed(error)}</p>`;
  if (!data?.label) {
    return html`<p class="empty" role="status">${status === "loading" ? said.reading : said.nothing}</p>`;
  }
  return html`<${Decision} data=${data} words=${said} isStale=${status === "loading"} />`;
}

function Moved({ said }) {
  const { data, text, status } = decision.value;
  if (!data?.label) return null;
  return html`<${Influences} data=${data} text=${text} words=${said} isStale=${status === "loading"} />`;
}

function Attention({ said }) {
  const { status, data, error } = look.value;
  const unpacked = useRef({ data: null });
  if (data && unpacked.current.data !== data) {
    unpacked.current = { data, layers: data.attention.map(unpack) };
  }
  if (status === "none") return null;
  return html`
    <${Card} title=${said.attention} hint=${said.attentionHint}>
      ${status === "long" && html`<p class="empty">${said.tooLong(MOST_TRACED)}</p>`}
      ${status === "failed" && html`<p class="refusal">${said.failed(error)}</p>`}
      ${data && html`<${LabelHeads}
        tokens=${data.tokens} layers=${unpacked.current.layers} state=${state} words=${said}
      />`}
    <//>`;
}

export function LabelsPage() {
  const said = labelWords(language());
  const [text, id] = [state.text.value, model.value.id];
  useEffect(() => follow(text, id), [text, id]);
  return html`
    <div class="task-pair">
      <${Card} title=${said.text} hint=${said.textHint}>
        <textarea
          class="task-text" rows="7" aria-label=${said.text} maxlength=${MOST_CHARACTERS} value=${text}
          spellcheck=${false} onInput=${(event) => { state.text.value = event.target.value; }}
        ></textarea>
      <//>
      <${Card} title=${said.decision}><${Decided} said=${said} /><//>
    </div>
    <${Moved} said=${said} /><${Attention} said=${said} />`;
}
