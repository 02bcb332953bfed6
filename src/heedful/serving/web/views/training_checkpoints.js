// A slider over the checkpoints of a run, and what each makes of the sentence: its translation and where it looks.
// The checkpoint that is chosen here is the one the other views look into.

import { html, signal, useEffect, useMemo, useState } from "/insight/vendor/preact.js";
import { useBetween } from "/insight/attention_map.js";
import { headOf, unpack } from "/insight/drawing.js";
import { HeatMap } from "/insight/heat_map.js";
import { Card } from "/insight/parts.js";
import { afterRest, isAborted, post } from "../api.js";
import { model, nameOf } from "../served.js";
import { follow, queryWith, state } from "../state.js";
import { atCheckpoint, chooseCheckpoint, chosenStep, closer, journalOf } from "./training_runs.js";
import { words } from "./training_words.js";

const PAUSE = 120; // milliseconds without a change before a checkpoint is asked
const BEAT = 900; // between two checkpoints while they are played
const MOST_KEPT = 64;

/** What checkpoints have answered, the oldest first: sliding back costs nothing. */
const answers = new Map();

/** The preview that is shown: {status, step, data, error}. */
const preview = signal({ status: "none" });

function keep(key, data) {
  answers.set(key, data);
  if (answers.size > MOST_KEPT) answers.delete(answers.keys().next().value);
}

/** Ask for the preview of a step of a run, after a short rest unless it is known; returns how to leave it. */
function ask(run, step) {
  const asked = { q: state.text.value, source: run.source, target: run.target, run: run.id, checkpoint: step };
  const key = JSON.stringify(asked);
  if (!asked.q.trim()) {
    preview.value = { status: "none" };
    return undefined;
  }
  if (answers.has(key)) {
    preview.value = { status: "ready", step, data: answers.get(key) };
    return undefined;
  }
  preview.value = { ...preview.peek(), status: "loading" };
  return afterRest(PAUSE, async (leaving) => {
    try {
      const data = await post("/api/trace", asked, leaving);
      keep(key, data);
      preview.value = { status: "ready", step, data };
    } catch (error) {
      if (!isAborted(error)) preview.value = { status: "failed", error: error.message };
    }
  });
}

function Picture({ data }) {
  const said = words();
  const use = useBetween(data, "target", "source");
  const weights = useMemo(() => use && headOf(unpack(use.layers.at(-1)), -1), [use]);
  if (!use) return null;
  return html`<${HeatMap}
    weights=${weights} rows=${data.target.tokens} columns=${data.source.tokens} label=${said.cross}
    spell=${said.weight}
  />`;
}

function Links({ run, step }) {
  const said = words();
  const changesTo = (view) => ({ ...atCheckpoint(run, step), view });
  return html`
    <p class="checkpoint-links">
      ${["attention", "decoding"].map((view) => html`<a
        key=${view} class="plain" href=${queryWith(changesTo(view))}
        onClick=${(event) => follow(event, changesTo(view))}
      >${said[view]} →</a>`)}
    </p>`;
}

function Preview({ run, step }) {
  const said = words();
  const text = state.text.value;
  useEffect(() => ask(run, step), [run.id, step, text]);
  const { status, data, error, step: seen } = preview.value;
  const written = data ? data.target.text.trim() || said.nothing : "…";
  return html`
    <div class="preview">
      <div>
        <p class="label">${nameOf(run.source)}</p>
        <input
          type="text" class="field" aria-label=${said.sentence} value=${text} maxlength="1000" spellcheck=${false}
          onInput=${(event) => { state.text.value = event.target.value; }}
        />
        <p class="label">${nameOf(run.target)} · ${said.writes(seen ?? step)}</p>
        <p class="translation" aria-live="polite" data-status=${status}>${written}</p>
        <p class="facts" role="status">
          ${status === "loading" && html`<span class="busy" data-on="true">${said.looking}</span>`}
          ${status === "failed" && html`<span class="refusal">${said.failed(error)}</span>`}
          ${status === "ready" && html`<span>${said.logProb} <b>${data.logProb.toFixed(2)}</b></span>`}
        </p>
        ${model.value.task === "translation" && html`<${Links} run=${run} step=${step} />`}
      </div>
      <div class=${status === "loading" ? "stale" : ""}>
        ${data && status !== "failed" && html`<${Picture} data=${data} />`}
      </div>
    </div>`;
}

/** The slider, and the button that moves it by itself. */
function Player({ run, steps, place }) {
  const said = words();
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (place === steps.length - 1) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => chooseCheckpoint(run, steps[place + 1]), BEAT);
    return () => clearTimeout(timer);
  }, [isPlaying, place, steps.length]);
  const play = () => {
    if (!isPlaying && place === steps.length - 1) chooseCheckpoint(run, steps[0]);
    setPlaying(!isPlaying);
  };
  const told = said.ofSteps(steps[place], place + 1, steps.length);
  return html`
    <div class="player">
      <button type="button" class="plain" onClick=${play} disabled=${steps.length < 2}>
        ${isPlaying ? said.pause : said.play}
      </button>
      <input
        type="range" min="0" max=${steps.length - 1} value=${place} aria-label=${said.checkpoint} aria-valuetext=${told}
        onInput=${(event) => chooseCheckpoint(run, steps[Number(event.target.value)])}
      />
      <span class="place">${told}</span>
    </div>`;
}

export function Checkpoints() {
  const said = words();
  const run = closer.value;
  if (run?.task !== "translation") return null;
  const steps = journalOf(run).checkpoints.length ? journalOf(run).checkpoints : run.checkpoints;
  const chosen = steps.indexOf(chosenStep.value);
  const place = chosen < 0 ? steps.length - 1 : chosen;
  return html`
    <${Card} title=${said.checkpoints} hint=${said.checkpointsHint}>
      ${steps.length === 0 ? html`<p class="empty">${said.noCheckpoints}</p>` : html`
        <${Player} key=${run.id} run=${run} steps=${steps} place=${place} />
        <${Preview} run=${run} step=${steps[place]} />`}
    <//>`;
}
