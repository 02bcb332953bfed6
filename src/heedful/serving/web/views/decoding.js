// The view "decoding": how the translation came about token by token, the search as a tree, and ways to change it.

import { html } from "/insight/vendor/preact.js";
import { BeamView } from "/insight/beam.js";
import { decodingWords, minused } from "/insight/decoding_words.js";
import { DecodingView } from "/insight/steps.js";
import { WithTrace } from "../sentence.js";
import { language, state } from "../state.js";
import { extras, want } from "../tracing.js";

const actions = (data) => {
  const continueWith = (ids) => {
    state.prefix.value = ids;
    state.step.value = ids.length - 1;
  };
  return {
    attribute: () => want("attribution"),
    continueFrom: (step, tokenId) => continueWith([...data.target.tokens.slice(0, step).map((one) => one.id), tokenId]),
    continueWith,
    searchWith: (size) => { state.beam.value = size; },
  };
};

function Translation({ data }) {
  const { facts } = decodingWords(language());
  return html`
    <div class="outcome">
      <p class="sentence target" lang=${data.target.language}>${data.target.text}</p>
      <p class="facts">
        <span>${facts.score} <b>${minused(data.score, 3)}</b></span>
        <span>${facts.logProb} <b>${minused(data.log_prob, 2)}</b></span>
        <span>${facts.length} <b>${data.target.tokens.length}</b></span>
      </p>
    </div>`;
}

function Decoded({ data, layers }) {
  const attribution = extras.attribution.value;
  const shown = attribution?.data ? { ...data, attribution: attribution.data } : data;
  const shared = { state, language: language(), actions: actions(data) };
  return html`
    <${Translation} data=${data} />
    ${attribution?.status === "failed" && html`<p class="refusal" role="alert">${attribution.error}</p>`}
    <${DecodingView} trace=${shown} layers=${layers} ...${shared} />
    <${BeamView} trace=${shown} ...${shared} />`;
}

export function DecodingPage() {
  return html`<${WithTrace}>${({ data, layers }) => html`<${Decoded} data=${data} layers=${layers} />`}<//>`;
}
