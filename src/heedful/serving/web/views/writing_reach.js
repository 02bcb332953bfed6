// Asks how far back a language model looks while it reads what is written, and shows it.

import { html, signal, useEffect } from "/insight/vendor/preact.js";
import { unpack } from "/insight/drawing.js";
import { Card, Slider } from "/insight/parts.js";
import { ReachView } from "/insight/reach.js";
import { textWords } from "/insight/text_words.js";
import { afterRest, isAborted, post } from "../api.js";
import { model } from "../served.js";
import { language, state } from "../state.js";
import { isWriting, wholeText } from "./writing_stream.js";

const PAUSE = 400; // milliseconds without a change before the server is asked
const MOST_CHARACTERS = 8000; // that the server looks at; those before are further back than any memory here
const NOTHING = { status: "none", data: null, layers: null, error: null };

const look = signal(NOTHING);
const numRead = signal(48);

function follow(text, id, count) {
  if (!text.trim()) {
    look.value = NOTHING;
    return undefined;
  }
  look.value = { ...look.peek(), status: "loading" };
  return afterRest(PAUSE, async (leaving) => {
    try {
      const asked = { q: text.slice(-MOST_CHARACTERS), model: id, numRead: count };
      const data = await post("/api/text/trace", asked, leaving);
      look.value = { status: "ready", data, layers: data.attention.map(unpack), error: null };
    } catch (error) {
      if (!isAborted(error)) look.value = { ...NOTHING, status: "failed", error: error.message };
    }
  });
}

export function Reach() {
  const said = textWords(language());
  const [text, id, count] = [wholeText.value ?? state.text.value, model.value.id, numRead.value];
  useEffect(() => (isWriting.value ? undefined : follow(text, id, count)), [isWriting.value, text, id, count]);
  const { status, data, layers, error } = look.value;
  const isLoading = status === "loading";
  return html`
    <${Card} title=${said.reach} hint=${said.reachHint}>
      <div class="tools">
        <${Slider}
          label=${said.numRead} min=${8} max=${128} step=${8} value=${count}
          onSlide=${(value) => { numRead.value = value; }}
        />
        <span class="busy" data-on=${isLoading} role="status">${isLoading ? said.reading : ""}</span>
      </div>
      ${status === "failed" && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
      ${status === "none" && html`<p class="empty">${said.tooShort}</p>`}
      ${data && status !== "failed" && html`
        <div class=${isLoading ? "stale" : ""}><${ReachView}
          data=${data} layers=${layers} state=${state} words=${said}
        /></div>`}
    <//>`;
}
