// The view "decoding": how the translation came about token by token, the search as a tree, and ways to change it.

import { batch, html } from "/insight/vendor/preact.js";
import { followKey } from "/insight/attention_map.js";
import { BeamView } from "/insight/beam.js";
import { GuessView } from "/insight/guesses.js";
import { decodingWords, minused } from "/insight/decoding_words.js";
import { ParallelView } from "/insight/parallel.js";
import { useKeys } from "/insight/parts.js";
import { DecodingView } from "/insight/steps.js";
import { WithTrace } from "../sentence.js";
import { language, state } from "../state.js";
import { extras, trace, want } from "../tracing.js";

const LONG = 120; // characters of a translation that is set in smaller letters

/** What can be done with the translation of `data`; an attribution that was refused is not offered again. */
function actionsOn(data, isRefused) {
  const continueWith = (ids) => batch(() => {
    state.hypothesis.value = null;
    state.prefix.value = ids;
    state.step.value = ids.length - 1;
  });
  return {
    attribute: isRefused ? null : () => want("attribution"),
    continueFrom: (step, tokenId) => continueWith([...data.target.tokens.slice(0, step).map((one) => one.id), tokenId]),
    continueWith,
    searchWith: (size) => { state.beam.value = size; },
  };
}

function Translation({ data }) {
  const { facts } = decodingWords(language());
  return html`
    <div class=${data.target.text.length > LONG ? "outcome long" : "outcome"}>
      <p class="sentence target" aria-live="polite" lang=${data.target.language}>${data.target.text}</p>
      <p class="facts">
        <span>${facts.score} <b>${minused(data.score, 3)}</b></span>
        <span>${facts.logProb} <b>${minused(data.logProb, 2)}</b></span>
        <span>${facts.length} <b>${data.target.tokens.length}</b></span>
      </p>
    </div>`;
}

/** ⇧ ← → go through the heads, ⇧ ↑ ↓ through the layers, as in the view of attention. */
function onKey(event) {
  const { data, layers } = trace.peek();
  if (!data || !event.shiftKey || event.defaultPrevented || event.target.closest?.("input, textarea, select")) return;
  if (followKey(event, data, layers, state)) event.preventDefault();
}

function Decoded({ data, layers }) {
  const attribution = extras.attribution.value;
  const shown = attribution?.data ? { ...data, attribution: attribution.data } : data;
  const isRefused = attribution?.status === "failed";
  const shared = { state, language: language(), actions: actionsOn(data, isRefused) };
  return html`
    <${Translation} data=${data} />
    ${isRefused && html`<p class="refusal" role="alert">${attribution.error}</p>`}
    ${data.refinement && html`<${ParallelView} trace=${data} state=${state} language=${language()} />`}
    <${DecodingView} trace=${shown} layers=${layers} ...${shared} />
    <${BeamView} trace=${shown} ...${shared} />
    <${GuessView} trace=${shown} ...${shared} />`;
}

function Collapsed({ data }) {
  return html`
    <div class="outcome">
      <p class="sentence target" aria-live="polite" lang=${data.target.language}>${data.target.text}</p>
    </div>
    <${ParallelView} trace=${data} state=${state} language=${language()} />`;
}

export function DecodingPage() {
  useKeys(onKey);
  return html`<${WithTrace} atOnce=${Collapsed}>${({ data, layers }) => html`<${Decoded}
    data=${data} layers=${layers}
  />`}<//>`;
}
