// Lines over a number, drawn as shapes of the page: both axes in proportion or by powers of ten.

import { html } from "/insight/vendor/preact.js";

const [WIDTH, HEIGHT] = [560, 300];
const EDGE = { left: 62, right: 14, top: 12, bottom: 40 };
const COLOURS = ["--heat", "--against"]; // then shades of grey, told apart by their dashes
const DASHES = ["none", "none", "7 4", "2 4", "9 3 2 3", "1 3"];

/** A number in few signs: 0.02, 350, 2k, 10⁻⁹. */
export function brief(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-3) {
    const power = Math.floor(Math.log10(size) + 1e-9);
    const digits = String(Math.abs(power)).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
    const front = (value / 10 ** power).toFixed(0);
    return `${front === "1" ? "" : `${front}·`}10${power < 0 ? "⁻" : ""}${digits}`;
  }
  return String(Number(value.toPrecision(size >= 100 ? 4 : 2)));
}

function axis(values, isLog, start, end) {
  const scale = isLog ? Math.log : (value) => value;
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (!isLog) low = Math.min(0, low);
  if (low === high) [low, high] = isLog ? [low / 2, high * 2] : [low - 1, high + 1];
  const place = (value) => start + ((end - start) * (scale(value) - scale(low))) / (scale(high) - scale(low));
  return { place, ticks: isLog ? powers(low, high) : steps(low, high) };
}

function powers(low, high) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const apart = Math.max(1, Math.ceil((last - first) / 6));
  const found = [];
  for (let power = first; power <= last; power += apart) found.push(10 ** power);
  return found.length > 1 ? found : [low, high];
}

function steps(low, high) {
  const rough = (high - low) / 5;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) found.push(value);
  return found;
}

const colourOf = (at) => (at < COLOURS.length ? `rgb(var(${COLOURS[at]}))` : "var(--soft)");

/** series: [{name, points: [[x, y], …]}]; xTicks, where given, are the only ones. */
export function Chart({ series, xLabel, yLabel, logX = false, logY = false, xTicks = null, label }) {
  const points = series.flatMap((one) => one.points).filter(([, y]) => !logY || y > 0);
  if (!points.length) return null;
  const x = axis(points.map((one) => one[0]), logX, EDGE.left, WIDTH - EDGE.right);
  const y = axis(points.map((one) => one[1]), logY, HEIGHT - EDGE.bottom, EDGE.top);
  return html`
    <p class="side">↑ ${yLabel}</p>
    <svg class="chart" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${label}>
      ${y.ticks.map((tick) => html`<g key=${tick}>
        <line class="grid" x1=${EDGE.left} x2=${WIDTH - EDGE.right} y1=${y.place(tick)} y2=${y.place(tick)} />
        <text x=${EDGE.left - 8} y=${y.place(tick) + 4} text-anchor="end">${brief(tick)}</text></g>`)}
      ${(xTicks ?? x.ticks).map((tick) => html`<text key=${tick} x=${x.place(tick)} y=${HEIGHT - EDGE.bottom + 18}
        text-anchor="middle">${brief(tick)}</text>`)}
      <text x=${(EDGE.left + WIDTH - EDGE.right) / 2} y=${HEIGHT - 4} text-anchor="middle">${xLabel}</text>
      ${series.map((one, at) => {
        const drawn = one.points.filter((point) => !logY || point[1] > 0);
        return html`<g key=${one.name} style=${{ color: colourOf(at) }} data-line=${one.name}>
          <polyline points=${drawn.map((point) => `${x.place(point[0])},${y.place(point[1])}`).join(" ")}
            stroke-dasharray=${DASHES[at % DASHES.length]} />
          ${drawn.length < 20 && drawn.map((point) => html`<circle key=${point[0]} r="3" cx=${x.place(point[0])}
            cy=${y.place(point[1])}><title>${one.name}: ${brief(point[0])}, ${brief(point[1])}</title></circle>`)}
        </g>`;
      })}
    </svg>
    <ul class="legend">${series.map((one, at) => html`<li key=${one.name} style=${{ color: colourOf(at) }}>
      <svg viewBox="0 0 30 8" aria-hidden="true"><line x1="0" x2="30" y1="4" y2="4"
        stroke-dasharray=${DASHES[at % DASHES.length]} /></svg><span>${one.name}</span></li>`)}</ul>`;
}
