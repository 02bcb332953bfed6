// What a classifier makes of a text: the label, the words that moved it, and where its heads look.

import { html, signal, useEffect, useRef, useState } from "/insight/vendor/preact.js";
import { headOf, unpack } from "/insight/drawing.js";
import { HeatMap } from "/insight/heat_map.js";
import { Card } from "/insight/parts.js";
import { isAborted, post } from "../api.js";
import { model } from "../served.js";
import { state } from "../state.js";
import { HeadPictures, HeadTools } from "./head_tools.js";
import { words } from "./labels_words.js";

const PAUSE = 300; // milliseconds without a change before the server is asked
const MOST_CHARACTERS = 20000;
const MOST_TRACED = 1000; // characters the server looks into
const MOST_WORDS = 126; // with the symbols at both ends, as many tokens as the server looks into, or more
const NUM_STRONGEST = 8;
const NOTHING = { status: "none", data: null, error: null };

const decision = signal(NOTHING);
const look = signal(NOTHING);

const percent = (share) => `${(100 * share).toFixed(1)} %`;

async function ask(into, path, body, leaving) {
  try {
    into.value = { status: "ready", data: await post(path, body, leaving), text: body.q, error: null };
  } catch (error) {
    if (!isAborted(error)) into.value = { ...NOTHING, status: "failed", error: error.message };
  }
}

/** Ask for the label and then for the attention of a text, after a short rest; returns how to leave it. */
function follow(text, id) {
  if (!text.trim()) {
    decision.value = look.value = NOTHING;
    return undefined;
  }
  const leaving = new AbortController();
  decision.value = { ...decision.peek(), status: "loading" };
  const timer = setTimeout(async () => {
    await ask(decision, "/api/classify", { q: text, model: id, explain: true }, leaving.signal);
    const numWords = decision.value.data?.words.length ?? 0;
    if (text.length > MOST_TRACED || numWords > MOST_WORDS) look.value = { ...NOTHING, status: "long" };
    else if (!leaving.signal.aborted) await ask(look, "/api/classify/trace", { q: text, model: id }, leaving.signal);
  }, decision.peek().data ? PAUSE : 0);
  return () => {
    clearTimeout(timer);
    leaving.abort();
  };
}

function Decision() {
  const said = words();
  const { status, data, error } = decision.value;
  if (status === "failed") return html`<p class="refusal" role="alert">${said.failed(error)}</p>`;
  if (!data?.label) {
    return html`<p class="empty" role="status">${status === "loading" ? said.reading : said.nothing}</p>`;
  }
  return html`
    <div class=${status === "loading" ? "stale" : ""}>
      <p class="verdict" role="status">
        <strong>${data.label}</strong> <span>${said.sure(percent(data.probabilities[data.label]))}</span>
      </p>
      <div class="top">
        ${Object.entries(data.probabilities).sort(([, a], [, b]) => b - a).map(([label, share]) => [
          html`<span key=${`${label} name`} class=${label === data.label ? "written" : ""}>${label}</span>`,
          html`<span key=${`${label} bar`} class="track"><i style=${{ width: `${100 * share}%` }}></i></span>`,
          html`<span key=${`${label} number`} class="number">${percent(share)}</span>`,
        ])}
      </div>
      ${data.unreadTokens > 0 && html`<p class="warning">${said.unread(data.unreadTokens)}</p>`}
    </div>`;
}

/** How strongly a word is shaded: blue where it speaks for the label, orange where against it. */
function shadeOf(value, strongest) {
  const share = strongest > 0 ? Math.abs(value) / strongest : 0;
  return { background: `rgb(var(${value < 0 ? "--against" : "--heat"}) / ${(0.6 * share ** 0.7).toFixed(3)})` };
}

/** The text in pieces: the words as they were judged, and what is between them. Places count whole characters. */
function piecesOf(text, found) {
  const characters = Array.from(text);
  const pieces = [];
  let at = 0;
  found.forEach((word, number) => {
    pieces.push({ text: characters.slice(at, word.start).join("") });
    pieces.push({ text: characters.slice(word.start, word.end).join(""), word, number });
    at = word.end;
  });
  return [...pieces, { text: characters.slice(at).join("") }];
}

function ShadedText({ text, found, label, strongest, chosen, onChoose }) {
  const box = useRef(null);
  const onKeyDown = (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.max(0, Math.min(found.length - 1, (chosen ?? 0) + move));
    onChoose(next);
    box.current.querySelectorAll("button")[next].focus();
  };
  return html`
    <p class="shaded" role="group" aria-label=${words().words} ref=${box} onKeyDown=${onKeyDown}>
      ${piecesOf(text, found).map((piece, place) => (piece.word
        ? html`<button
            key=${place} type="button" tabindex=${piece.number === (chosen ?? 0) ? 0 : -1}
            style=${shadeOf(piece.word.influence, strongest)}
            aria-label=${words().influence(piece.text, piece.word.influence, label)}
            onMouseEnter=${() => onChoose(piece.number)} onFocus=${() => onChoose(piece.number)}
          >${piece.text}</button>`
        : piece.text))}
    </p>`;
}

function Strongest({ found, strongest }) {
  const said = words();
  const order = [...found].sort((a, b) => Math.abs(b.influence) - Math.abs(a.influence)).slice(0, NUM_STRONGEST);
  return html`
    <div>
      <p class="label">${said.strongest}</p>
      <div class="leaning">
        ${order.map((word, place) => [
          html`<span key=${`${place} word`} class="word-name">${word.word}</span>`,
          html`<span key=${`${place} bar`} class="balance" aria-hidden="true"><i
            class=${word.influence < 0 ? "against" : "for"}
            style=${{ width: `${(50 * Math.abs(word.influence)) / strongest}%` }}
          ></i></span>`,
          html`<span key=${`${place} number`} class="number">${said.number(word.influence)}</span>`,
        ])}
      </div>
    </div>`;
}

function Influences() {
  const said = words();
  const [chosen, setChosen] = useState(null);
  const { data, text, status } = decision.value;
  useEffect(() => setChosen(null), [data]);
  if (!data?.label || !data.words.length) return null;
  const found = data.words.map((word) => ({ ...word, influence: word.influence ?? 0 }));
  const strongest = Math.max(...found.map((word) => Math.abs(word.influence))) || 1;
  const [speaksFor, speaksAgainst] = said.legend(data.label);
  const word = found[chosen] ?? null;
  return html`
    <${Card} title=${said.words} hint=${said.wordsHint}>
      <p class="influence-legend">
        <span><i class="for"></i>${speaksFor}</span><span><i class="against"></i>${speaksAgainst}</span>
        <b aria-live="polite">${word && said.influence(word.word, word.influence, data.label)}</b>
      </p>
      <div class=${`influences ${status === "loading" ? "stale" : ""}`}>
        <${ShadedText}
          text=${text} found=${found} label=${data.label} strongest=${strongest} chosen=${chosen} onChoose=${setChosen}
        />
        <${Strongest} found=${found} strongest=${strongest} />
      </div>
    <//>`;
}

function Heads({ data }) {
  const said = words();
  const layers = data.layers;
  if (!layers.length) return html`<p class="empty">${said.noLayers}</p>`;
  const layer = Math.min(state.layer.value ?? layers.length - 1, layers.length - 1);
  const heads = layers[layer].shape[0];
  const head = Math.min(state.head.value, heads - 1);
  return html`
    <${HeadTools} layers=${layers} layer=${layer} head=${head} said=${said} />
    <div class="two">
      <${HeatMap}
        weights=${headOf(layers[layer], head)} rows=${data.tokens} columns=${data.tokens} label=${said.axes}
        spell=${said.weight}
      />
      <${HeadPictures} layers=${layers} layer=${layer} head=${head} label=${said.allHeads} about=${said.which} />
    </div>`;
}

function Attention() {
  const said = words();
  const { status, data, error } = look.value;
  const unpacked = useRef({ data: null });
  if (data && unpacked.current.data !== data) {
    unpacked.current = { data, tokens: data.tokens, layers: data.attention.map(unpack) };
  }
  if (status === "none") return null;
  return html`
    <${Card} title=${said.attention} hint=${said.attentionHint}>
      ${status === "long" && html`<p class="empty">${said.tooLong(MOST_TRACED)}</p>`}
      ${status === "failed" && html`<p class="refusal">${said.failed(error)}</p>`}
      ${data && html`<${Heads} data=${unpacked.current} />`}
    <//>`;
}

export function LabelsPage() {
  const said = words();
  const [text, id] = [state.text.value, model.value.id];
  useEffect(() => follow(text, id), [text, id]);
  return html`
    <div class="task-pair">
      <${Card} title=${said.text} hint=${said.textHint}>
        <textarea
          class="task-text" rows="7" aria-label=${said.text} maxlength=${MOST_CHARACTERS} value=${text}
          spellcheck=${false} onInput=${(event) => { state.text.value = event.target.value; }}
        ></textarea>
      <//>
      <${Card} title=${said.decision}><${Decision} /><//>
    </div>
    <${Influences} /><${Attention} />`;
}
