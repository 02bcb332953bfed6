// What a language model writes, as it comes: each symbol with its probability and what else was likely.
// Knows the route and how to stop it; how symbols look is the views' matter.

import { computed, signal } from "/insight/vendor/preact.js";
import { isAborted, listen } from "../api.js";

const NUM_CHOICES = 10;

/** {status: "none"|"writing"|"done"|"failed", prompt, pieces: [{text, probability, choices}], error}. */
export const written = signal({ status: "none", prompt: "", pieces: [], error: null });

/** Changes seldom, unlike the pieces: who needs no more is not drawn again with every symbol. */
export const isWriting = computed(() => written.value.status === "writing");

/** The whole text once it is written, null before. */
export const wholeText = computed(() => (written.value.status === "done" ? textOf(written.value) : null));

/** The symbol that is looked at; null is the last. */
export const chosen = signal(null);

let leaving = null;

const textOf = ({ prompt, pieces }) => prompt + pieces.map((piece) => piece.text).join("");

/** Let the model go on with a text; what it was writing before is left. */
export async function write(body) {
  leaving?.abort();
  const mine = new AbortController();
  leaving = mine;
  const pieces = [];
  let [failure, frame] = [null, null];
  const tell = (status) => {
    cancelAnimationFrame(frame);
    frame = null;
    if (leaving === mine) written.value = { status, prompt: body.prompt, pieces: [...pieces], error: failure };
  };
  const hear = (name, data) => {
    if (name === "error") failure = data.error;
    if (name !== "text") return;
    pieces.push(data);
    frame ??= requestAnimationFrame(() => tell("writing")); // symbols may come quicker than pictures
  };
  chosen.value = null;
  tell("writing");
  try {
    await listen("/api/generate", { body: { ...body, top: NUM_CHOICES }, signal: mine.signal, hear });
  } catch (error) {
    if (!isAborted(error)) failure = error.message;
  }
  tell(failure === null ? "done" : "failed");
}

export function stop() {
  leaving?.abort();
}
