// A language model at work: a beginning, how boldly to go on, the text as it comes, and how far the model looks back.

import { html } from "/insight/vendor/preact.js";
import { Card, Slider } from "/insight/parts.js";
import { textWords } from "/insight/text_words.js";
import { model } from "../served.js";
import { language, state } from "../state.js";
import { Reach } from "./writing_reach.js";
import { isWriting, stop, write } from "./writing_stream.js";
import { WrittenText } from "./writing_text.js";

const MOST_CHARACTERS = 20000;
const LARGEST_SEED = 999;
const MOST_OF_TOP = 100; // at the end of the slider all symbols may be drawn

function begin(prompt) {
  const topK = state.topk.value;
  write({
    prompt,
    model: model.value.id,
    maxTokens: state.length.value,
    temperature: state.temperature.value,
    topK: topK > 0 ? topK : null,
    topP: state.topp.value < 1 ? state.topp.value : null,
    seed: state.seed.value,
  });
}

/** Take another symbol than the one that was written, and go on from there. */
function continueWith(prompt) {
  state.text.value = prompt;
  begin(prompt);
}

function Settings() {
  const said = textWords(language());
  const slide = (name) => (value) => { state[name].value = value; };
  const { temperature, topk, topp, seed, length } = state;
  return html`
    <div class="tools writing-tools">
      <${Slider}
        label=${said.temperature} min=${0} max=${2} step=${0.05} value=${temperature.value}
        onSlide=${slide("temperature")} shown=${temperature.value === 0 ? said.likeliest : temperature.value.toFixed(2)}
      />
      <${Slider}
        label=${said.topK} min=${1} max=${MOST_OF_TOP} value=${topk.value || MOST_OF_TOP}
        shown=${topk.value || said.all} onSlide=${(value) => { topk.value = value === MOST_OF_TOP ? 0 : value; }}
      />
      <${Slider}
        label=${said.topP} min=${0.05} max=${1} step=${0.05} value=${topp.value} onSlide=${slide("topp")}
        shown=${topp.value < 1 ? `${Math.round(100 * topp.value)} %` : said.all}
      />
      <${Slider} label=${said.seed} min=${0} max=${LARGEST_SEED} value=${seed.value} onSlide=${slide("seed")} />
      <${Slider}
        label=${said.length} min=${10} max=${1000} step=${10} value=${length.value} onSlide=${slide("length")}
      />
    </div>`;
}

export function WritingPage() {
  const said = textWords(language());
  const onKeyDown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) begin(state.text.value);
  };
  return html`
    <${Card} title=${said.prompt} hint=${said.promptHint}>
      <textarea
        class="task-text" rows="3" aria-label=${said.prompt} maxlength=${MOST_CHARACTERS} value=${state.text.value}
        spellcheck=${false} onKeyDown=${onKeyDown} onInput=${(event) => { state.text.value = event.target.value; }}
      ></textarea>
      <${Settings} />
      <p class="writing-buttons">
        <button type="button" class="strong" onClick=${() => (isWriting.value ? stop() : begin(state.text.value))}>
          ${isWriting.value ? said.stop : said.write}
        </button>
        <kbd>${said.key}</kbd>
      </p>
    <//>
    <${WrittenText} onContinue=${continueWith} />
    <${Reach} />`;
}
