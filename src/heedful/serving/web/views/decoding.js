// The view "decoding": how the translation came about token by token, the search as a tree, and ways to change it.

import { html, useEffect } from "/insight/vendor/preact.js";
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

/** ⇧ ← → go through the heads, ⇧ ↑ ↓ through the layers, as in the view "attention". */
function useHeadKeys(layers) {
  useEffect(() => {
    const within = (value, first, last) => Math.max(first, Math.min(last, value));
    const onKey = (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by || !event.shiftKey || event.target.closest("input, textarea, select")) return;
      const [last, heads] = [layers.cross.length - 1, layers.cross[0].shape[0]];
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        state.head.value = within(state.head.value + by, -1, heads - 1);
      } else state.layer.value = within((state.layer.value ?? last) + by, 0, last);
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [layers]);
}

function Decoded({ data, layers }) {
  useHeadKeys(layers);
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
