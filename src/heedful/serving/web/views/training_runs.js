// The runs the server knows and the journals of those that are looked at, kept up to date while they train.
// Knows how journals travel; what is drawn of them is the views' matter.

import { computed, signal } from "/insight/vendor/preact.js";
import { get, isAborted, listen } from "../api.js";
import { model } from "../served.js";
import { change, OF_SENTENCE, state } from "../state.js";

const PAUSE = 3000; // milliseconds between two looks at the list of runs
const MOST_HEARD = 3; // a browser keeps six connections to a server, and other questions need some
const EXAMPLE = "example"; // the run that ships with the package
const EMPTY = { metrics: [], samples: [], checkpoints: [], isRunning: false, next: 0, nextSamples: 0 };

/** All runs, or null before the server has told. */
export const runs = signal(null);
export const failure = signal(null);

/** What is known of each run that is or was looked at, by its id. */
export const journals = signal({});

/** The run that is shown when none is ticked: one that trains now, and it stays when it has finished. */
const foremost = signal(null);

/** The runs whose curves are drawn: those the state names, else the foremost. */
export const shown = computed(() => {
  const all = runs.value ?? [];
  const named = state.runs.value.split(",").filter(Boolean);
  const found = all.filter((run) => named.includes(run.id));
  return found.length ? found : all.filter((run) => run.id === foremost.value);
});

function takeIn(all) {
  const before = all.find((run) => run.id === (foremost.value ?? state.run.value));
  const isKept = before && (before.isRunning || before.id === state.run.value);
  const isOwn = (run) => run.id === model.value?.run;
  const wished = [(run) => run.isRunning, (run) => run === before, isOwn, (run) => run.id !== EXAMPLE, () => true];
  const first = isKept ? before : wished.map((is) => all.find(is)).find(Boolean);
  foremost.value = first?.id ?? null;
  runs.value = all;
}

/** The run that is looked at more closely: the state's if it is drawn, else the first. */
export const closer = computed(() => shown.value.find((run) => run.id === state.run.value) ?? shown.value[0] ?? null);

/** The checkpoint of it that is chosen; null for none, and for one that a run has not kept. */
export const chosenStep = computed(() => {
  const [run, step] = [closer.value, state.checkpoint.value];
  return run && run.id === state.run.value && journalOf(run).checkpoints.includes(step) ? step : null;
});

export const isExampleAlone = computed(() => runs.value !== null && runs.value.every((run) => run.id === EXAMPLE));

export const journalOf = (run) => journals.value[run.id] ?? EMPTY;

/** The last step that is known of a run. */
export const stepOf = (run) => Math.max(run.steps, journalOf(run).metrics.at(-1)?.step ?? 0);

/** Draw a run, or leave it out; one is always left. */
export function toggle(run) {
  const ids = shown.value.map((one) => one.id);
  const next = ids.includes(run.id) ? ids.filter((id) => id !== run.id) : [...ids, run.id];
  if (!next.length) return;
  state.runs.value = next.join(",");
  if (!next.includes(state.run.value)) lookCloser(null);
}

export function lookCloser(run) {
  state.run.value = run?.id ?? null;
  state.checkpoint.value = null;
}

/** Let the views of a trace look into a checkpoint. */
export const chooseCheckpoint = (run, step) => change(atCheckpoint(run, step));

/** What a look into a checkpoint changes; languages become those of the run. */
export const atCheckpoint = (run, step) => ({
  ...OF_SENTENCE, run: run.id, checkpoint: step, source: run.source, target: run.target,
});

/** Look after the list and the journals until `leaving` says so. */
export async function followRuns(leaving) {
  const followed = new Map(); // id → whether the run trained when it was last looked at
  const follow = (run) => {
    if (followed.has(run.id) && (followed.get(run.id) || !run.isRunning)) return;
    followed.set(run.id, run.isRunning);
    followJournal(run.id, leaving).finally(() => followed.set(run.id, false));
  };
  const stop = shown.subscribe((some) => some.forEach(follow));
  leaving.addEventListener("abort", stop);
  while (!leaving.aborted) {
    try {
      takeIn(await get("/api/runs", leaving));
      failure.value = null;
    } catch (error) {
      if (!isAborted(error)) failure.value = error.message;
    }
    await pause(leaving);
  }
}

let numHeard = 0;

/** Read a journal from its beginning, then follow what comes while the run trains. */
async function followJournal(id, leaving) {
  const address = `/api/runs/${encodeURIComponent(id)}`;
  let known = EMPTY;
  const take = (part) => {
    known = joined(known, part);
    journals.value = { ...journals.value, [id]: known };
  };
  const read = async () => {
    for (let before = -1; known.next + known.nextSamples !== before;) {
      before = known.next + known.nextSamples;
      take(await get(`${address}/journal?${placeOf(known)}`, leaving));
    }
  };
  const hear = (name, part) => {
    if (name === "error") throw new Error(part.error);
    take(part);
  };
  try {
    await read();
    while (known.isRunning && numHeard >= MOST_HEARD) {
      await pause(leaving);
      await read();
    }
    if (!known.isRunning) return;
    numHeard++;
    try {
      await listen(`${address}/events?${placeOf(known)}`, { signal: leaving, hear });
    } finally {
      numHeard--;
    }
  } catch (error) {
    if (!isAborted(error)) failure.value = error.message;
  }
}

const placeOf = (known) => `after=${known.next}&afterSamples=${known.nextSamples}`;

/** What is known with what has come; a journal that was cut back is told again from its first line. */
function joined(known, part) {
  const kept = part.from < known.next ? EMPTY : known;
  return {
    ...part,
    metrics: part.metrics.length ? [...kept.metrics, ...part.metrics] : kept.metrics,
    samples: part.samples.length ? [...kept.samples, ...part.samples] : kept.samples,
  };
}

function pause(leaving) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PAUSE);
    leaving.addEventListener("abort", () => { clearTimeout(timer); resolve(); });
  });
}
