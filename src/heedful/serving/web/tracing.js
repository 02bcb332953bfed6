// The trace of the sentence the state speaks of: asked for when a view shows it, again when something changes.
// What costs more than the trace itself (attribution, the worth of every head) is asked for by the views that show it.

import { computed, effect, signal } from "/insight/vendor/preact.js";
import { layersOf } from "/insight/drawing.js";
import { afterRest, isAborted, post, postAbout } from "./api.js";
import { termsOf } from "./glossary.js";
import { model, target } from "./served.js";
import { state } from "./state.js";

const PAUSE = 250; // milliseconds without a change before the server is asked
const NOTHING = { status: "none", data: null, layers: null, error: null };

export const trace = signal(NOTHING);

/** Whether a trace is of a model that writes all positions at once: it has neither steps nor heads to ask about. */
export const isAtOnce = (data) => data.format === "heedful-parallel";

export const extras = { attribution: signal(null), heads: signal(null) };

/** The views that show a trace. */
const SHOWN_IN = ["attention", "decoding", "heads"];
const isShown = computed(() => SHOWN_IN.includes(state.view.value) && model.value?.task === "translation");

/** Whether the search is held to terms: what was chosen by hand is as it was chosen. */
export const hasTerms = computed(() =>
  !state.prefix.value && state.hypothesis.value === null && termsOf(state.glossary.value).terms > 0,
);

/** What is asked of the server for the sentence as it stands. */
export const wanted = computed(() => ({
  q: state.text.value,
  sentence: state.sentence.value,
  source: state.source.value,
  target: target.value,
  model: model.value?.id,
  beam: state.beam.value,
  prefixIds: state.prefix.value,
  hypothesis: state.prefix.value ? null : (state.hypothesis.value?.replaceAll("\n", " ") ?? null),
  ...(hasTerms.value ? { glossary: termsOf(state.glossary.value).pairs } : {}),
  run: state.checkpoint.value === null ? null : state.run.value,
  checkpoint: state.run.value === null ? null : state.checkpoint.value,
}));
const asked = computed(() => JSON.stringify(wanted.value));

/** Takes back what was asked for a trace that is no longer shown: it may be long in the making. */
let leavingExtras = new AbortController();

function leaveExtras() {
  leavingExtras.abort();
  leavingExtras = new AbortController();
  for (const extra of Object.values(extras)) if (extra.peek()?.status === "loading") extra.value = null;
}

export function followSentence() {
  effect(() => {
    const request = asked.value;
    if (!isShown.value || trace.peek().request !== request) leaveExtras();
    if (!isShown.value) return undefined;
    if (trace.peek().request === request && trace.peek().status !== "failed") return undefined;
    if (!wanted.peek().q.trim()) {
      trace.value = { ...NOTHING, request };
      return undefined;
    }
    trace.value = { ...trace.peek(), status: "loading", error: null };
    return afterRest(trace.peek().data ? PAUSE : 0, (leaving) => load(request, leaving));
  });
}

async function load(request, leaving) {
  try {
    const data = await post("/api/trace", JSON.parse(request), leaving);
    for (const extra of Object.values(extras)) extra.value = null;
    trace.value = { status: "ready", data, layers: layersOf(data), error: null, request };
  } catch (error) {
    if (!isAborted(error)) trace.value = { ...NOTHING, status: "failed", error: error.message, request };
  }
}

/** Ask for one of the extras of the trace that is shown; what came for a trace that is gone is thrown away. */
export async function want(name) {
  const { data, request, status } = trace.peek();
  if (status !== "ready" || isAtOnce(data) || extras[name].peek() !== null) return;
  extras[name].value = { status: "loading" };
  try {
    const found = await postAbout(data, name, {}, leavingExtras.signal);
    if (trace.peek().request !== request) return;
    extras[name].value = { status: "ready", data: found[name] };
  } catch (error) {
    if (isAborted(error) || trace.peek().request !== request) return;
    extras[name].value = { status: "failed", error: error.message };
  }
}
