// What the server has: its models and languages, asked for once.

import { computed, signal } from "/insight/vendor/preact.js";
import { get } from "./api.js";
import { language, state } from "./state.js";

export const models = signal([]);
export const languages = signal([]);
export const failure = signal(null);

/** The views of each task. Those of several tasks belong to none of them. */
export const VIEWS_OF = {
  translation: ["translate", "attention", "decoding", "positions", "heads"],
  classification: ["labels"],
  language_modeling: ["writing"],
};
export const taskOf = (view) => Object.keys(VIEWS_OF).find((task) => VIEWS_OF[task].includes(view)) ?? null;
const firstFor = (task) => models.value.find((one) => one.task === task);

/** The model the page is about: the one the state names, else the first that the view can show, else the first. */
export const model = computed(
  () => models.value.find((one) => one.id === state.model.value)
    ?? firstFor(taskOf(state.view.value)) ?? models.value[0] ?? null,
);

/** The tasks there are models for. */
export const tasks = computed(() => Object.keys(VIEWS_OF).filter(firstFor));

/** The languages the model reads, each with those it can be put into. */
export const directions = computed(() => {
  const spoken = languages.value;
  const own = new Set((model.value?.directions ?? []).flat());
  return spoken.filter((one) => one.targets.length > 0 && own.has(one.code));
});

/** The language to translate into: the state's, else the model's first. */
export const target = computed(() => state.target.value ?? model.value?.directions[0]?.[1] ?? null);

export async function load() {
  try {
    [models.value, languages.value] = await Promise.all([get("/api/models"), get("/languages")]);
  } catch (error) {
    failure.value = error.message;
  }
}

/** A language's name in the language of the page. */
export function nameOf(code) {
  try {
    return new Intl.DisplayNames([language()], { type: "language" }).of(code);
  } catch {
    return code; // no code that browsers know
  }
}
