// One wave of the table of positions as a circle: sine and cosine of a position, and of one further on.

import { html, useState } from "/insight/vendor/preact.js";
import { Slider } from "/insight/parts.js";
import { translator } from "../traces.js";
import { chapterWords, decimal } from "../words.js";
import { Figure } from "./frame.js";

const RATE = 10000 ** (-80 / 512); // of dimensions 80 and 81 of 512: a turn takes 26.5 positions
const [SIZE, RADIUS] = [240, 96];

export const sine = (position) => Math.sin(position * RATE);
export const cosine = (position) => Math.cos(position * RATE);

const place = (position) => [SIZE / 2 + RADIUS * cosine(position), SIZE / 2 - RADIUS * sine(position)];

function Point({ position, kind, radius }) {
  const [x, y] = place(position);
  return html`<circle class=${kind} r=${radius} cx=${x} cy=${y} />`;
}

export function CircleFigure({ figure }) {
  const said = chapterWords().circle;
  const [position, setPosition] = useState(figure.position);
  const [distance, setDistance] = useState(figure.distance);
  const later = position + distance;
  const rotated = sine(position) * cosine(distance) + cosine(position) * sine(distance);
  const rows = distance === 0 ? [[position, "now"]] : [[position, "now"], [later, "kept"]];
  const caption = () =>
    (distance === 0 ? said.one(position) : said.both(later, decimal(sine(later)), decimal(rotated)));
  const [x, y] = place(position);
  return html`
    <${Figure} name="circle" caption=${caption}
      open=${translator.value && (() => ({ view: "positions", model: translator.value.id }))}>${() => html`
      <svg class="segments" viewBox=${`0 0 ${SIZE} ${SIZE}`} style=${{ maxWidth: "340px" }} role="img"
        aria-label=${caption()}>
        <path d=${`M${SIZE / 2} ${SIZE / 2} L${x} ${y}`} />
        <line class="border" x1=${SIZE / 2} x2=${SIZE / 2} y1="0" y2=${SIZE} />
        <line class="border" y1=${SIZE / 2} y2=${SIZE / 2} x1="0" x2=${SIZE} />
        ${[...Array(27).keys()].map((one) => html`<${Point} key=${one} position=${one} kind="far" radius="2.5" />`)}
        ${rows.map(([one, kind]) => html`<${Point} key=${kind} position=${one} kind=${kind} radius="6" />`)}
      </svg>
      <table class="sums">
        <thead><tr><th scope="col">${said.position}</th><th scope="col">sin</th><th scope="col">cos</th></tr></thead>
        <tbody>${rows.map(([one, kind]) => html`<tr key=${kind} class=${kind === "now" ? "chosen" : ""}>
          <th scope="row">${one}</th><td>${decimal(sine(one))}</td><td>${decimal(cosine(one))}</td></tr>`)}
        </tbody>
      </table>
      <div class="tools">
        <${Slider} label=${said.position} min=${0} max=${26} value=${position} onSlide=${setPosition} />
        <${Slider} label=${said.distance} min=${0} max=${26} value=${distance} onSlide=${setDistance} />
      </div>`}
    <//>`;
}
