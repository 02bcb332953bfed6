// What `heedful study` has measured, drawn: the result that ships, or the reader's own report.json, which the browser
// reads and sends nowhere.

import { html, signal, useState } from "/insight/vendor/preact.js";
import { Choice } from "/insight/parts.js";
import { useAnswer } from "../traces.js";
import { studyWords } from "../study_words.js";
import { Chart } from "./chart.js";
import { Figure } from "./frame.js";

const own = signal({}); // by the name of the study: {file, data}
const refused = signal({}); // by the name of the study: the file that was none

/** The study a figure draws: the reader's own where one was opened, else the one that ships. */
export function useStudy(name) {
  const shipped = useAnswer(`/web/chapters/studies/${name}.json`);
  const opened = own.value[name];
  return opened ? { status: "ready", data: opened.data, file: opened.file } : shipped;
}

async function open(name, file) {
  if (!file) return;
  let data = null;
  try {
    data = JSON.parse(await file.text());
  } catch { /* not JSON: refused below like any other file */ }
  const isOne = data?.report === name && DRAWN[name].isWhole(data);
  refused.value = { ...refused.value, [name]: isOne ? null : file.name };
  if (isOne) own.value = { ...own.value, [name]: { file: file.name, data } };
}

function Opener({ name, answer }) {
  const said = studyWords();
  const close = () => { own.value = { ...own.value, [name]: null }; };
  return html`
    <p class="side measured-on">${said.measuredOn(answer.data["measured_on"], answer.file)}</p>
    <div class="tools opener">
      <label class="plain">${said.open}<input type="file" accept=".json,application/json"
        onChange=${(event) => open(name, event.target.files[0])} /></label>
      ${answer.file && html`<button type="button" class="plain" onClick=${close}>${said.shipped}</button>`}
      <code>heedful study ${name}</code>
    </div>
    ${refused.value[name] && html`<p class="refusal" role="alert">${said.refused(refused.value[name], name)}</p>`}`;
}

const ORDER = ["attention", "recurrent", "convolution", "restricted", "projected", "unfused"];
const total = (cell) => cell.forward + cell.backward;

/** The lines of one width on one device: {family, points}, attention first. */
export function linesOf(data, device, width, value = total) {
  const cells = data.cells.filter((cell) => cell.device === device && cell.width === width);
  return ORDER.map((family) => ({
    family,
    points: cells.filter((cell) => cell.family === family).sort((a, b) => a.length - b.length)
      .map((cell) => [cell.length, value(cell)]),
  })).filter((line) => line.points.length);
}

/** From which length on the first line lies above the second, between points by powers; null where it never does. */
export function crossing(first, second) {
  const at = new Map(second.map(([x, y]) => [x, y]));
  const gaps = first.filter(([x]) => at.has(x)).map(([x, y]) => [x, Math.log(y / at.get(x))]);
  for (let i = gaps.length - 1; i >= 0; i--) {
    if (gaps[i][1] > 0) continue;
    if (i === gaps.length - 1) return null;
    const [[x0, g0], [x1, g1]] = [gaps[i], gaps[i + 1]];
    return Math.exp(Math.log(x0) + (Math.log(x1 / x0) * -g0) / (g1 - g0));
  }
  return gaps.length ? gaps[0][0] : null;
}

function Complexity({ data, part }) {
  const said = studyWords().complexity;
  const devices = [...new Set(data.cells.map((cell) => cell.device))];
  const widths = [...new Set(data.cells.map((cell) => cell.width))].sort((a, b) => a - b);
  const [device, setDevice] = useState(devices[0]);
  const [width, setWidth] = useState(widths.at(-1));
  const known = devices.includes(device) ? device : devices[0];
  const wide = widths.includes(width) ? width : widths.at(-1);
  if (part === "exponents") return html`<${Exponents} data=${data} device=${known} />`;
  const value = part === "memory" ? (cell) => cell.peak / 1e6 : (cell) => 1000 * total(cell);
  const lines = linesOf(data, known, wide, value);
  const [attention, recurrent] = ["attention", "recurrent"].map((name) => lines.find((one) => one.family === name));
  const lengths = [...new Set(lines.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  const met = attention && recurrent ? crossing(attention.points, recurrent.points) : null;
  return html`
    ${devices.length > 1 && html`<${Choice} label=${said.device} value=${known} onChoose=${setDevice}
      options=${devices.map((one) => [one, one])} />`}
    <${Choice} label=${said.width} value=${wide} onChoose=${setWidth}
      options=${widths.map((one) => [one, `d = ${one}`])} />
    <${Chart} logX=${true} logY=${true} xLabel=${said.length} yLabel=${said[part]} xTicks=${lengths}
      label=${`${said[part]}, d = ${wide}`}
      series=${lines.map((one) => ({ name: said.families[one.family] ?? one.family, points: one.points }))} />
    ${part === "time" && attention && html`<p class="found" data-met=${met === null ? "" : Math.round(met)}>
      ${met === null ? said.never(lengths.at(-1)) : said.met(Math.round(met))} ${said.counted(wide)}</p>`}`;
}

const PAPER = {
  attention: "n² · d", unfused: "n² · d", projected: "n² · d + n · d²", restricted: "r · n · d", recurrent: "n · d²",
  convolution: "k · n · d²",
};

function Exponents({ data, device }) {
  const said = studyWords().complexity;
  const rows = data["time_exponents"].filter((one) => one.device === device);
  const shown = (one) => html`${one.value.toFixed(2)} <small>(${one.low.toFixed(2)}–${one.high.toFixed(2)})</small>`;
  return html`
    <p class="side">${said.grows}</p>
    <div class="wide"><table class="sums candidates">
      <thead><tr><th>${said.layer}</th><th>${said.paper}</th><th>a</th><th>b</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.family}><th scope="row">${said.families[row.family]}</th>
        <td>${PAPER[row.family]}</td><td>${shown(row.measured.n)}</td><td>${shown(row.measured.d)}</td></tr>`)}</tbody>
    </table></div>`;
}

const geometric = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

function Gradients({ data }) {
  const said = studyWords().gradients;
  const named = Object.entries(data["norms_by_distance"]);
  const isAttention = ([name]) => (name === "self-attention" ? 0 : 1);
  const series = named.sort((a, b) => isAttention(a) - isAttention(b)).map(([name, seeds]) => ({
    name: `${said.layers[name] ?? name} (× ${data["factor_per_step"][name].value.toFixed(3)})`,
    points: seeds[0]
      .map((_, distance) => [distance, geometric(seeds.map((norms) => Math.max(norms[distance], 1e-300)))])
      .filter(([, norm]) => norm > 1e-20),
  }));
  return html`<${Chart} logY=${true} series=${series} xLabel=${said.distance} yLabel=${said.norm}
    label=${said.norm} />`;
}

function Lengths({ data }) {
  const said = studyWords().lengths;
  const named = Object.entries(data.candidates);
  return html`<${Chart} xLabel=${said.words} yLabel=${data.metric} label=${said.title}
    series=${named.map(([name, buckets]) => ({
      name: said.names[name] ?? name, points: buckets.map((bucket) => [bucket["mean_length"], bucket.score.value]),
    }))} />`;
}

/** The rows in which something is changed and a score came out. */
export const changedRows = (data) => data.rows.filter((row) => row.difference && row.settings.length > 0);

function Ablation({ data }) {
  const said = studyWords().ablation;
  const rows = changedRows(data);
  const most = Math.max(...rows.map((row) => Math.abs(row.difference.value)), 0.1);
  return html`
    <p class="side">${said.title}</p>
    <div class="bars signed" role="list" aria-label=${said.title}>${rows.map((row) => {
      const { value, low, high } = row.difference;
      const isSure = low > 0 || high < 0;
      return html`<div key=${row.label} role="listitem" class=${isSure ? "chosen" : ""}>
        <span class="name">${said.labels[row.label] ?? row.label}</span>
        <span class="track" aria-hidden="true"><i style=${{ width: `${(100 * Math.abs(value)) / most}%` }}></i></span>
        <span class="number">${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(1)}</span></div>`;
    })}</div>`;
}

// How each study is drawn, and what its file must have for that.
const DRAWN = {
  complexity: { Shape: Complexity, isWhole: (data) => [data.cells, data["time_exponents"]].every(Array.isArray) },
  gradients: { Shape: Gradients, isWhole: (data) => Boolean(data["norms_by_distance"] && data["factor_per_step"]) },
  length: { Shape: Lengths, isWhole: (data) => Object.values(data.candidates ?? {}).every(Array.isArray) },
  ablation: { Shape: Ablation, isWhole: (data) => Array.isArray(data.rows) },
};

export function StudyFigure({ figure }) {
  const { study, part = null } = figure;
  const answer = useStudy(study);
  const { Shape } = DRAWN[study];
  return html`
    <${Figure} name="study" answers=${[answer]}>${() => html`
      <${Shape} key=${answer.file ?? ""} data=${answer.data} part=${part} />
      <${Opener} name=${study} answer=${answer} />`}
    <//>`;
}
