// How far a language model looks back: the text shaded by attention, the map with the line where the memory begins,
// attention by distance, and all heads with their reach. Takes a trace; who asked for it is the matter of the page.

import { CurvePicture } from "./curve_picture.js";
import { percent, spellNumber } from "./curves.js";
import { headOf } from "./drawing.js";
import { HeadPictures, headShown, HeadTools } from "./head_tools.js";
import { alongRow } from "./parts.js";
import { ReachMap } from "./reach_map.js";
import { visible } from "./symbols.js";
import { html, useEffect, useSignal } from "./vendor/preact.js";

/** The mean attention at each distance, as points of a curve; a symbol's distance to itself is 0. */
function byDistance(weights, numRemembered) {
  const sums = new Float64Array(numRemembered + weights.length);
  weights.forEach((one, number) => {
    for (let column = 0; column <= numRemembered + number; column++) {
      sums[numRemembered + number - column] += one[column] / weights.length;
    }
  });
  return [...sums].map((share, back) => [back, share]);
}

/** Everything that was read, shaded by where one symbol looks; a line stands where the memory ends. */
function Strip({ data, weights, place, row, words }) {
  const { remembered, read } = data;
  const peak = Math.max(...weights[place]) || 1;
  const style = (column) => {
    const strength = 0.75 * Math.sqrt(weights[place][column] / peak);
    return { background: `rgb(var(--heat) / ${strength.toFixed(3)})` };
  };
  const onKeyDown = alongRow(place, (next) => { row.value = next; });
  return html`
    <p class="strip" role="group" aria-label=${words.strip} onKeyDown=${onKeyDown}>
      ${remembered.map((symbol, column) => html`<span key=${column} style=${style(column)}>${visible(symbol)}</span>`)}
      ${remembered.length > 0 && html`<i class="boundary" title=${words.memory(remembered.length)}></i>`}
      ${read.map((symbol, number) => html`<button
        key=${number} type="button" tabindex=${number === place ? 0 : -1} aria-pressed=${number === place}
        style=${style(remembered.length + number)} onClick=${() => { row.value = number; }}
      >${visible(symbol)}</button>`)}
    </p>`;
}

function Distances({ points, numRemembered, words, when }) {
  const distance = useSignal(null);
  const at = distance.value;
  const share = at === null ? null : points[at]?.[1];
  const half = Math.floor(points.length / 2);
  const far = points.slice(half).reduce((sum, [, one]) => sum + one, 0);
  const told = share == null ? words.beyond(half - 1, percent(far)) : words.atDistance(at, percent(share));
  const picture = {
    curves: [{ points, colour: "--accent", hasDots: points.length < 40 }], steps: [0, Math.max(1, points.length - 1)],
    isLogStep: false, isLogValue: false, fromZero: true, smoothing: 0, marks: [], chosen: null, axis: words.axis,
    height: 230,
  };
  return html`
    <figure class="distances">
      <figcaption><strong>${words.distances}</strong> <span class="hint">${words.distancesHint}</span></figcaption>
      <p class="caption" aria-live="polite">${told}</p>
      <${CurvePicture}
        picture=${picture} steps=${points.map(([back]) => back)} cursor=${distance} label=${words.distances}
        tell=${(back) => words.atDistance(back, percent(points[back]?.[1] ?? 0))} when=${[...when, numRemembered]}
      />
    </figure>`;
}

export function ReachView({ data, layers, state, words }) {
  if (!layers.length) return html`<p class="empty">${words.noAttention}</p>`;
  return html`<${Heads} data=${data} layers=${layers} state=${state} words=${words} />`;
}

function Heads({ data, layers, state, words }) {
  const row = useSignal(null); // the symbol being read that is looked at; null is the last
  useEffect(() => { row.value = null; }, [data]);
  const { layer, head } = headShown(layers, state);
  const weights = headOf(layers[layer], head);
  const place = Math.min(row.value ?? data.read.length - 1, data.read.length - 1);
  const numRemembered = data.remembered.length;
  const inMemory = weights[place].subarray(0, numRemembered).reduce((sum, one) => sum + one, 0);
  const when = [data, layer, head];
  const about = (number, which) => {
    const { distance: back, memory } = data.reach[number][which];
    return words.headReach(number, which, spellNumber(back), percent(memory));
  };
  const under = (number, which) => {
    const { distance: back, memory } = data.reach[number][which];
    return html`<span class="reach">${back.toFixed(1)}<i style=${{ width: `${100 * memory}%` }}></i></span>`;
  };
  return html`
    <${HeadTools} layers=${layers} layer=${layer} head=${head} state=${state} words=${words} />
    <p class="caption" role="status">
      <b>${numRemembered ? words.memory(numRemembered) : words.noMemory}</b> · ${words.readNow(data.read.length)}
      ${numRemembered > 0 && ` · ${words.memoryShare(visible(data.read[place]), percent(inMemory))}`}
    </p>
    <${Strip} data=${data} weights=${weights} place=${place} row=${row} words=${words} />
    <${ReachMap} data=${data} weights=${weights} row=${row} about=${words.matrix} spell=${words.weight} />
    <div class="two">
      <${Distances}
        points=${byDistance(weights, numRemembered)} numRemembered=${numRemembered} words=${words} when=${when}
      />
      <${HeadPictures}
        layers=${layers} layer=${layer} head=${head} state=${state} label=${words.allHeads} about=${about}
        under=${under}
      />
    </div>`;
}
