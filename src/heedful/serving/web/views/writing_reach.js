// How far a language model looks back: the text shaded by attention, the map with the line where the memory begins,
// attention by distance, and all heads with their reach.

import { html, signal, useEffect, useRef } from "/insight/vendor/preact.js";
import { headOf, unpack } from "/insight/drawing.js";
import { Card, Slider } from "/insight/parts.js";
import { isAborted, post } from "../api.js";
import { spellNumber } from "../curves.js";
import { model } from "../served.js";
import { state } from "../state.js";
import { HeadPictures, HeadTools } from "./head_tools.js";
import { CurvePicture } from "./training_picture.js";
import { ReachMap } from "./writing_map.js";
import { isWriting, visible, wholeText } from "./writing_stream.js";
import { words } from "./writing_words.js";

const PAUSE = 400; // milliseconds without a change before the server is asked
const MOST_CHARACTERS = 8000; // that the server looks at; those before are further back than any memory here
const NOTHING = { status: "none", data: null, layers: null, error: null };

const look = signal(NOTHING);
const numRead = signal(48);
const row = signal(null); // the symbol being read that is looked at; null is the last
const distance = signal(null);

const percent = (share) => `${(100 * share).toFixed(1)} %`;

function follow(text, id, count) {
  if (!text.trim()) {
    look.value = NOTHING;
    return undefined;
  }
  const leaving = new AbortController();
  look.value = { ...look.peek(), status: "loading" };
  const timer = setTimeout(async () => {
    try {
      const asked = { q: text.slice(-MOST_CHARACTERS), model: id, numRead: count };
      const data = await post("/api/text/trace", asked, leaving.signal);
      row.value = null;
      look.value = { status: "ready", data, layers: data.attention.map(unpack), error: null };
    } catch (error) {
      if (!isAborted(error)) look.value = { ...NOTHING, status: "failed", error: error.message };
    }
  }, PAUSE);
  return () => {
    clearTimeout(timer);
    leaving.abort();
  };
}

/** The mean attention at each distance, as points of a curve; a symbol's distance to itself is 0. */
export function byDistance(weights, numRemembered) {
  const sums = new Float64Array(numRemembered + weights.length);
  weights.forEach((one, number) => {
    for (let column = 0; column <= numRemembered + number; column++) {
      sums[numRemembered + number - column] += one[column] / weights.length;
    }
  });
  return [...sums].map((share, back) => [back, share]);
}

/** Everything that was read, shaded by where one symbol looks; a line stands where the memory ends. */
function Strip({ data, weights, place }) {
  const said = words();
  const box = useRef(null);
  const { remembered, read } = data;
  const peak = Math.max(...weights[place]) || 1;
  const style = (column) => {
    const strength = 0.75 * Math.sqrt(weights[place][column] / peak);
    return { background: `rgb(var(--heat) / ${strength.toFixed(3)})` };
  };
  const onKeyDown = (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    row.value = Math.max(0, Math.min(read.length - 1, place + move));
    box.current.querySelectorAll("button")[row.value].focus();
  };
  return html`
    <p class="strip" role="group" aria-label=${said.strip} ref=${box} onKeyDown=${onKeyDown}>
      ${remembered.map((symbol, column) => html`<span key=${column} style=${style(column)}>${visible(symbol)}</span>`)}
      ${remembered.length > 0 && html`<i class="boundary" title=${said.memory(remembered.length)}></i>`}
      ${read.map((symbol, number) => html`<button
        key=${number} type="button" tabindex=${number === place ? 0 : -1} aria-pressed=${number === place}
        style=${style(remembered.length + number)} onClick=${() => { row.value = number; }}
      >${visible(symbol)}</button>`)}
    </p>`;
}

function Distances({ points, numRemembered, when }) {
  const said = words();
  const at = distance.value;
  const share = at === null ? null : points[at]?.[1];
  const half = Math.floor(points.length / 2);
  const far = points.slice(half).reduce((sum, [, one]) => sum + one, 0);
  const told = share == null ? said.beyond(half - 1, percent(far)) : said.atDistance(at, percent(share));
  const picture = {
    curves: [{ points, colour: "--accent", hasDots: points.length < 40 }], steps: [0, Math.max(1, points.length - 1)],
    isLogStep: false, isLogValue: false, fromZero: true, smoothing: 0, marks: [], chosen: null, axis: said.axis,
    height: 230,
  };
  return html`
    <figure class="distances">
      <figcaption><strong>${said.distances}</strong> <span class="hint">${said.distancesHint}</span></figcaption>
      <p class="caption" aria-live="polite">${told}</p>
      <${CurvePicture}
        picture=${picture} steps=${points.map(([back]) => back)} cursor=${distance} label=${said.distances}
        tell=${(back) => said.atDistance(back, percent(points[back]?.[1] ?? 0))} when=${[...when, numRemembered]}
      />
    </figure>`;
}

function Inside({ data, layers }) {
  const said = words();
  const layer = Math.min(state.layer.value ?? layers.length - 1, layers.length - 1);
  const head = Math.min(state.head.value, layers[layer].shape[0] - 1);
  const weights = headOf(layers[layer], head);
  const place = Math.min(row.value ?? data.read.length - 1, data.read.length - 1);
  const numRemembered = data.remembered.length;
  const inMemory = weights[place].subarray(0, numRemembered).reduce((sum, one) => sum + one, 0);
  const when = [data, layer, head];
  const about = (number, which) => {
    const { distance: back, memory } = data.reach[number][which];
    return said.headReach(number, which, spellNumber(back), percent(memory));
  };
  const under = (number, which) => {
    const { distance: back, memory } = data.reach[number][which];
    return html`<span class="reach">${back.toFixed(1)}<i style=${{ width: `${100 * memory}%` }}></i></span>`;
  };
  return html`
    <${HeadTools} layers=${layers} layer=${layer} head=${head} said=${said} />
    <p class="caption" role="status">
      <b>${numRemembered ? said.memory(numRemembered) : said.noMemory}</b> · ${said.readNow(data.read.length)}
      ${numRemembered > 0 && ` · ${said.memoryShare(visible(data.read[place]), percent(inMemory))}`}
    </p>
    <${Strip} data=${data} weights=${weights} place=${place} />
    <${ReachMap} data=${data} weights=${weights} row=${row} about=${said.matrix} spell=${said.weight} />
    <div class="two">
      <${Distances} points=${byDistance(weights, numRemembered)} numRemembered=${numRemembered} when=${when} />
      <${HeadPictures}
        layers=${layers} layer=${layer} head=${head} label=${said.allHeads} about=${about} under=${under}
      />
    </div>`;
}

export function Reach() {
  const said = words();
  const [text, id, count] = [wholeText.value ?? state.text.value, model.value.id, numRead.value];
  useEffect(() => (isWriting.value ? undefined : follow(text, id, count)), [isWriting.value, text, id, count]);
  const { status, data, layers, error } = look.value;
  const isLoading = status === "loading";
  return html`
    <${Card} title=${said.reach} hint=${said.reachHint}>
      <div class="tools">
        <${Slider}
          label=${said.numRead} min=${8} max=${128} step=${8} value=${count}
          onSlide=${(value) => { numRead.value = value; }}
        />
        <span class="busy" data-on=${isLoading} role="status">${isLoading ? said.reading : ""}</span>
      </div>
      ${status === "failed" && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
      ${status === "none" && html`<p class="empty">${said.tooShort}</p>`}
      ${data && status !== "failed" && html`
        <div class=${isLoading ? "stale" : ""}><${Inside} data=${data} layers=${layers} /></div>`}
    <//>`;
}
