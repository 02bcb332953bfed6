// The server's routes as functions. A refusal becomes an error whose message is the server's own sentence, in the
// page's language where it is a common one; `status` and `retryAfter` (seconds, where the server names them) say what
// can be done about it.

import { words } from "./words.js";

async function answer(response) {
  const type = response.headers.get("content-type") ?? "";
  const body = type.includes("json") ? await response.json() : null;
  if (response.ok) return body;
  const sentence = body?.error ?? `${response.status} ${response.statusText}`;
  const refusal = new Error(words().refusal(response.status, sentence));
  refusal.status = response.status;
  refusal.retryAfter = Number(response.headers.get("retry-after")) || null;
  throw refusal;
}

export async function get(path, signal) {
  return answer(await fetch(path, { signal }));
}

export async function post(path, body, signal) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }));
}

/** By what the server knows a trace it has made: what was read, what was written, and by which model. */
export const traceNamed = ({ source, target, model, run, checkpoint }) => ({
  q: source.text, target: target.language, targetIds: target.tokens.map((token) => token.id), model, run, checkpoint,
});

/** Ask for one of the things that can be known about a trace beside itself; nothing is searched for again. */
export const postAbout = (trace, name, more, signal) =>
  post(`/api/trace/${name}`, { ...traceNamed(trace), ...more }, signal);

/** Let `ask(signal)` begin after so many milliseconds of rest; returns how to leave it, begun or not. */
export function afterRest(pause, ask) {
  const leaving = new AbortController();
  const timer = setTimeout(() => ask(leaving.signal), pause);
  return () => {
    clearTimeout(timer);
    leaving.abort();
  };
}

/** Ask for server-sent events and hand each to `hear(name, data)`; resolves when the last has come. */
export async function listen(path, { body, signal, hear }) {
  const asked = body === undefined
    ? { signal }
    : { signal, method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, asked);
  if (!response.ok) await answer(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (rest + part.value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const lines = event.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? "message";
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (data) hear(name, JSON.parse(data));
    }
  }
}

export const isAborted = (error) => error.name === "AbortError";
