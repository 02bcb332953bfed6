// Which heads are off, and what the model does without them. Heads are spelled "cross.1.3" (use, layer, head, from 0);
// the state keeps them in one text. Knows the server and the trace; knows nothing of how it is shown.

import { computed, effect, signal } from "/insight/vendor/preact.js";
import { afterRest, isAborted, postAbout } from "../api.js";
import { state } from "../state.js";
import { extras, trace, want } from "../tracing.js";

const PAUSE = 150; // milliseconds without another click before the server is asked
const NOTHING = { status: "none", key: null, data: null, error: null };

/** {status: "none" | "loading" | "ready" | "failed", data: the server's `ablation`, error} */
export const ablation = signal(NOTHING);

export const nameOf = (kind, layer, head) => `${kind}.${layer}.${head}`;

/** All heads of the traced model as [kind, layer, head]. */
export function headsIn({ entropy }) {
  return Object.entries(entropy).flatMap(([kind, layers]) =>
    layers.flatMap((row, layer) => row.map((_, head) => [kind, layer, head])));
}

/** The heads that are off and that the model has, in the order of the model. */
export const off = computed(() => {
  const named = new Set(state.off.value.split(","));
  return trace.value.data ? headsIn(trace.value.data).filter((head) => named.has(nameOf(...head))) : [];
});

export function switchOff(heads) {
  state.off.value = heads.map((head) => nameOf(...head)).join(",");
}

/** Switch heads: on again when all of them are off, else off. */
export function toggle(heads) {
  const names = new Set(heads.map((head) => nameOf(...head)));
  const rest = off.value.filter((head) => !names.has(nameOf(...head)));
  switchOff(off.value.length - rest.length === heads.length ? rest : [...rest, ...heads]);
}

/** Every head with what the translation gains without it, the most needed first; null as long as it is not known. */
export const ranked = computed(() => {
  const changes = extras.heads.value?.data;
  if (!changes || !trace.value.data) return null;
  return headsIn(trace.value.data)
    .map((head) => ({ head, change: changes[head[0]][head[1]][head[2]] }))
    .sort((one, other) => one.change - other.change);
});

/** Keep both answers in step with the sentence and the switches as long as the view is shown; returns how to stop. */
export function followSwitches() {
  const stopWeighing = effect(() => {
    if (trace.value.status === "ready") want("heads");
  });
  const stopAblating = effect(() => {
    const { status, request, data } = trace.value;
    const heads = off.value;
    if (status !== "ready") return undefined;
    const key = `${request} ${heads.map((head) => nameOf(...head)).join(",")}`;
    if (heads.length === 0) {
      ablation.value = NOTHING;
      return undefined;
    }
    if (ablation.peek().key === key && ablation.peek().status === "ready") return undefined;
    ablation.value = { ...ablation.peek(), status: "loading", error: null };
    return afterRest(PAUSE, (leaving) => load(data, heads, key, leaving));
  });
  return () => {
    stopWeighing();
    stopAblating();
  };
}

async function load(traced, headsOff, key, leaving) {
  try {
    const more = { headsOff, prefix: traced.prefix, beam: state.beam.peek() };
    const data = await postAbout(traced, "ablation", more, leaving);
    ablation.value = { status: "ready", key, data, error: null };
  } catch (error) {
    if (!isAborted(error)) ablation.value = { ...NOTHING, status: "failed", error: error.message };
  }
}
