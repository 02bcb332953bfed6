// What the figures of the chapters ask the server for, each question once. A chapter has sentences of its own, so
// nothing here touches the sentence the other views look into.

import { computed, useEffect, useState } from "/insight/vendor/preact.js";
import { useBetween } from "/insight/attention_map.js";
import { layersOf } from "/insight/drawing.js";
import { get, post, traceNamed } from "../api.js";
import { model, models } from "../served.js";
import { state } from "../state.js";
import { isAtOnce } from "../tracing.js";

/** The translation model the figures look into: the one the page is about, else the first the server has. */
export const translator = computed(() =>
  model.value?.task === "translation" ? model.value : models.value.find((one) => one.task === "translation") ?? null,
);

export const modelFor = (task) => models.value.find((one) => one.task === task) ?? null;

/** Whether the model translates from English into the language a chapter's example needs. */
export const speaks = (target) =>
  (translator.value?.directions ?? []).some(([from, into]) => from === "en" && into === target);

/** What to trace for a figure: the chapter's own sentence, or, where the model cannot read it, the page's. */
export function exampleOf({ text, target = "de" }) {
  if (translator.value === null) return null;
  if (speaks(target)) return { q: text, source: "en", target, model: translator.value.id };
  return { q: state.text.value, source: "auto", target: translator.value.directions[0][1], model: translator.value.id };
}

const answers = new Map();

/** Ask once; a question that failed may be asked again. */
function ask(path, body) {
  const key = `${path} ${JSON.stringify(body)}`;
  if (!answers.has(key)) {
    const answer = (body === null ? get(path) : post(path, body)).then(withLayers);
    answer.catch(() => answers.delete(key));
    answers.set(key, answer);
  }
  return answers.get(key);
}

function withLayers(data) {
  if (data.format !== "heedful-trace") return { data };
  return { data, layers: layersOf(data) };
}

/** The answer to a question: {status: "none" (no path) | "loading" | "ready" | "failed", data, layers, error}. */
export function useAnswer(path, body = null) {
  const key = !path ? null : `${path} ${JSON.stringify(body)}`;
  const [answer, setAnswer] = useState({ key: null, status: "loading" });
  useEffect(() => {
    if (!path) return undefined;
    let isGone = false;
    const hear = (heard) => !isGone && setAnswer({ ...heard, key });
    ask(path, body).then(
      (found) => hear({ status: "ready", ...found }),
      (error) => hear({ status: "failed", error: error.message }),
    );
    return () => { isGone = true; };
  }, [key]);
  if (!path) return { status: "none" };
  return answer.key === key ? answer : { status: "loading" };
}

/**
 * The trace of an example; "lacking" where the model has none of the attentions [from, at] the figure is about, or no
 * steps at all.
 */
export function useTrace(example, more = {}, uses = []) {
  const answer = useAnswer(example === null ? null : "/api/trace", example === null ? null : { ...example, ...more });
  const isLacking = answer.status === "ready"
    && (isAtOnce(answer.data) || uses.some((use) => !useBetween(answer.data, ...use)));
  return isLacking ? { status: "lacking" } : answer;
}

/** What there is to know about the trace of an answer beside itself; nothing as long as it is not there. */
export function useAbout(answer, name, more = {}) {
  const isThere = answer.status === "ready";
  const found = useAnswer(isThere && `/api/trace/${name}`, isThere && { ...traceNamed(answer.data), ...more });
  return isThere ? found : answer;
}
