// What the view "translate" asks of the server, and the answer as it stands. A short text is asked for as a whole, with
// its numbers; of a long one the sentences are heard one after the other. An older question is taken back.

import { computed, effect, signal } from "/insight/vendor/preact.js";
import { isAborted, listen, post } from "../api.js";
import { termsOf } from "../glossary.js";
import { model, target } from "../served.js";
import { state } from "../state.js";

const LONG = 600; // characters; what takes longer than one likes to wait without seeing anything
const MOST_ALTERNATIVES = 10; // the server gives no more
const NOTHING = { status: "none", request: null, whole: null, heard: null, about: [], detected: null, error: null };

/**
 * {status: "none" | "loading" | "ready" | "refused" | "crowded", request, detected: a code or null,
 *  whole: {text, alternatives, units, direction, warnings, milliseconds} or null,
 *  heard: sentences {before, text, warnings, terms} or null, about: warnings of the whole of what is heard,
 *  error: {sentence, status, seconds}}
 */
export const answer = signal(NOTHING);

const attempts = signal(0);

const pairs = computed(() => termsOf(state.glossary.value).pairs);

/**
 * What the beam holds beside the best: for more, the search would be another one, with another translation. So it is
 * for terms, which are put where they belong in one translation only.
 */
const numAlternatives = computed(() => {
  if (pairs.value.length > 0) return 0;
  const beam = state.beam.value ?? model.value?.beam ?? 1;
  return Math.max(0, Math.min(MOST_ALTERNATIVES, Math.trunc(beam) - 1));
});

/** The request as it is sent for a text that is asked for as a whole. */
export const question = computed(() => ({
  q: state.text.value,
  source: state.source.value,
  target: target.value,
  model: model.value?.id,
  ...(state.beam.value === null ? {} : { beam: state.beam.value }),
  ...(pairs.value.length === 0 ? {} : { glossary: pairs.value }),
  alternatives: numAlternatives.value,
  details: true,
}));
const asked = computed(() => JSON.stringify(question.value));

/** Keep the answer in step with the question, as long as the view is shown; returns how to stop. */
export function followQuestion() {
  return effect(() => {
    attempts.value; // a new attempt asks again
    const request = asked.value;
    const before = answer.peek();
    if (model.value?.task !== "translation") return undefined; // on the way to a view of another task
    if (before.request === request && before.status === "ready") return undefined;
    if (!question.peek().q.trim()) {
      answer.value = { ...NOTHING, request };
      return undefined;
    }
    const leaving = new AbortController();
    let timer = null;
    answer.value = { ...before, status: "loading", error: null };
    const work = question.peek().q.length > LONG ? hearSentences : askWhole;
    work(JSON.parse(request), request, leaving.signal).catch((error) => {
      if (isAborted(error)) return;
      const isCrowded = error.status === 429 || error.status === 503;
      const seconds = error.retryAfter ?? 1;
      answer.value = {
        ...NOTHING, request, status: isCrowded ? "crowded" : "refused",
        error: { sentence: error.message, status: error.status ?? null, seconds },
      };
      if (isCrowded) timer = setTimeout(() => { attempts.value++; }, 1000 * seconds);
    });
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  });
}

async function askWhole(asking, request, leaving) {
  const began = performance.now();
  const found = await post("/translate", asking, leaving);
  const text = found.translatedText;
  answer.value = {
    ...NOTHING, request, status: "ready", detected: found.detectedLanguage?.language ?? null,
    whole: {
      text,
      alternatives: [...new Set(found.alternatives ?? [])].filter((one) => one !== text),
      units: found.details,
      direction: `${found.detectedLanguage?.language ?? asking.source}-${asking.target}`,
      warnings: found.warnings,
      milliseconds: Math.round(performance.now() - began),
    },
  };
}

/** Hear the sentences one after the other; what stands before each, line ends and all, comes with it. */
async function hearSentences(asking, request, leaving) {
  const detected = asking.source === "auto" ? (await post("/detect", { q: asking.q }, leaving))[0].language : null;
  const sentences = [];
  let about = [];
  const tell = (status) => {
    answer.value = { ...NOTHING, request, status, detected, heard: [...sentences], about };
  };
  const hear = (name, data) => {
    if (name === "error") throw new Error(data.error);
    if (name === "done") about = data.warnings;
    if (name !== "sentence") return;
    sentences.push({ before: data.before, text: data.text, warnings: data.warnings, terms: data.terms ?? [] });
    tell("loading");
  };
  const { alternatives, details, ...body } = asking;
  await listen("/api/translate/stream", { body, signal: leaving, hear });
  tell("ready");
}

/** The text of an answer, whichever way it came. */
export function textOf({ whole, heard }) {
  return whole ? whole.text : (heard ?? []).map(({ before, text }) => before + text).join("");
}
