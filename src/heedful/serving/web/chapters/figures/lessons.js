// The small translators that ship for the chapters, side by side on a sentence one can change; and where the one with
// attention looks.

import { html, useEffect, useState } from "/insight/vendor/preact.js";
import { tokensOf, useBetween } from "/insight/attention_map.js";
import { headOf } from "/insight/drawing.js";
import { models } from "../../served.js";
import { studyWords } from "../study_words.js";
import { useTrace } from "../traces.js";
import { Heat } from "./attention.js";
import { Figure } from "./frame.js";

const REST = 350; // milliseconds without a key before a sentence is asked for

function useRested(text) {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), REST);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}

/** One translator's translation, and its map where one is wanted. */
function Lesson({ name, text, isMap }) {
  const said = studyWords();
  const answer = useTrace({ q: text, source: "en", target: "de", model: name });
  const isReady = answer.status === "ready";
  const use = isReady && isMap ? useBetween(answer.data, "target", "source") : null;
  return html`
    <div class="found" data-lesson=${name} data-ready=${isReady}>
      <p class="side">${said.lengths.names[name]}</p>
      ${answer.status === "failed" ? html`<p class="refusal" role="alert">${answer.error}</p>`
        : html`<p lang="de" aria-live="polite"><strong>${isReady ? answer.data.target.text : "…"}</strong></p>`}
      ${use && html`<${Heat} weights=${headOf(answer.layers[use.name].at(-1), -1)} label=${said.lessons.looks}
        use=${use} ...${tokensOf(answer.data, use)} />`}
    </div>`;
}

export function LessonsFigure({ figure }) {
  const said = studyWords().lessons;
  const [text, setText] = useState(figure.text);
  const rested = useRested(text).trim();
  const isServed = figure.names.every((name) => models.value.some((model) => model.id === name));
  return html`
    <${Figure} name="lessons" caption=${() => said.about}>${() => (!isServed
      ? html`<p class="empty">${said.absent}</p>`
      : html`
      <label class="lesson">${said.read}
        <textarea rows="2" maxlength="300" lang="en" value=${text} onInput=${(event) => setText(event.target.value)}
        ></textarea></label>
      ${rested && figure.names.map((name) => html`<${Lesson}
        key=${name} name=${name} text=${rested} isMap=${figure.isMap && name === "lesson-attention"} />`)}`)}
    <//>`;
}
