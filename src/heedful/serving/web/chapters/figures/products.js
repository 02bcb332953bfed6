// Dot products of numbers one can check by hand: tastes and films, and a look-up by the hour.

import { html, useState } from "/insight/vendor/preact.js";
import { Slider } from "/insight/parts.js";
import { largest, softmax } from "../rules.js";
import { chapterWords, decimal } from "../words.js";
import { Figure } from "./frame.js";

/** How much action, romance and humour each film has; their names stand in the words. */
const FILMS = [[1.0, -0.4, 0.2], [-0.6, 1.0, 0.3], [-0.2, 0.3, 1.0], [0.9, 0.2, -0.9]];

/** Hours at which a thermometer was read, and what it showed. */
const READINGS = [[6, 8], [9, 13], [12, 19], [15, 21], [18, 16]];

export const dot = (one, other) => one.reduce((sum, value, at) => sum + value * other[at], 0);

/** The dot product of a viewer with each film. */
export const tastes = (viewer) => FILMS.map((film) => dot(viewer, film));

/** Where the hand of a clock with 24 hours points. */
const hand = (hour) => [Math.cos((2 * Math.PI * hour) / 24), Math.sin((2 * Math.PI * hour) / 24)];

/** What is found at an hour with a query of some length: scores, weights and the sum of the values. */
export function lookUp(hour, sharpness) {
  const scores = READINGS.map(([key]) => sharpness * dot(hand(hour), hand(key)));
  const weights = softmax(scores);
  return { scores, weights, found: dot(weights, READINGS.map(([, value]) => value)) };
}

export const VALUES = READINGS.map(([, value]) => value);

export function TasteFigure({ figure }) {
  const said = chapterWords().taste;
  const [viewer, setViewer] = useState(figure.viewer);
  const sums = tastes(viewer);
  const most = Math.max(0.01, ...sums.map(Math.abs));
  const best = largest(sums);
  const slide = (at) => (value) => setViewer(viewer.map((old, one) => (one === at ? value : old)));
  return html`
    <${Figure} name="taste" caption=${() => said.best(said.films[best], decimal(sums[best]))}>${() => html`
      <table class="sums">
        <thead><tr><th scope="col">${said.film}</th>
          ${said.qualities.map((quality) => html`<th key=${quality} scope="col">${quality}</th>`)}
          <th scope="col">${said.sum}</th><td></td></tr></thead>
        <tbody>${FILMS.map((film, row) => html`
          <tr key=${row} class=${row === best ? "chosen" : ""}>
            <th scope="row">${said.films[row]}</th>
            ${film.map((value, at) => html`<td key=${at}>${decimal(value, 1)}</td>`)}
            <td>${decimal(sums[row])}</td>
            <td class="track"><i style=${{ width: `${(100 * Math.max(0, sums[row])) / most}%` }}></i></td>
          </tr>`)}
        </tbody>
      </table>
      <div class="tools">${said.qualities.map((quality, at) => html`<${Slider}
        key=${quality} label=${said.likes(quality)} min=${-1} max=${1} step=${0.1} value=${viewer[at]}
        shown=${decimal(viewer[at], 1)} onSlide=${slide(at)} />`)}
      </div>`}
    <//>`;
}

export function LookupFigure({ figure }) {
  const said = chapterWords().lookup;
  const [hour, setHour] = useState(figure.hour);
  const [sharpness, setSharpness] = useState(figure.sharpness);
  const { scores, weights, found } = lookUp(hour, sharpness);
  return html`
    <${Figure} name="lookup" caption=${() => said.found(hour, decimal(found, 1))}>${() => html`
      <table class="sums">
        <thead><tr><th scope="col">${said.key}</th><th scope="col">q·k</th><th scope="col">${said.weight}</th>
          <th scope="col">${said.value}</th><td></td></tr></thead>
        <tbody>${READINGS.map(([key, value], row) => html`
          <tr key=${key} class=${row === largest(weights) ? "chosen" : ""}>
            <th scope="row">${said.hour(key)}</th><td>${decimal(scores[row])}</td><td>${weights[row].toFixed(3)}</td>
            <td>${value} °C</td>
            <td class="track"><i style=${{ width: `${100 * weights[row]}%` }}></i></td>
          </tr>`)}
        </tbody>
      </table>
      <div class="tools">
        <${Slider} label=${said.query} min=${6} max=${18} step=${0.5} value=${hour} shown=${said.hour(hour)}
          onSlide=${setHour} />
        <${Slider} label=${said.length} min=${0} max=${80} value=${sharpness} onSlide=${setSharpness} />
      </div>`}
    <//>`;
}
