// The curves of the runs that are looked at: one picture for each quantity, all read at the same step.

import { html, signal } from "/insight/vendor/preact.js";
import { Card, Choice, Slider } from "/insight/parts.js";
import { nearest, spellNumber } from "/insight/curves.js";
import { CurvePicture, recorded } from "/insight/curve_picture.js";
import { chooseCheckpoint, chosenStep, closer, journalOf, shown } from "./training_runs.js";
import { words } from "./training_words.js";

const COLOURS = ["--accent", "--warm", "--good", "--soft"];
const SCORES = ["bleu", "accuracy", "bits_per_byte"];

const scale = { isLogStep: signal(false), isLogValue: signal(false), smoothing: signal(0.6) };

/** The step all pictures are read at; null reads the last. */
const cursor = signal(null);

export const colourOf = (run) => COLOURS[shown.value.findIndex((one) => one.id === run.id) % COLOURS.length];

/** The [step, value] pairs of one kind of record; what was not finite was not recorded as a number. A row has the
 * names of metrics.jsonl, which are the names of the pictures. */
function pointsOf(run, kind, read) {
  const points = [];
  for (const row of journalOf(run).metrics) {
    const value = row.kind === kind ? read(row) : null;
    if (typeof value === "number") points.push([row.step, value]);
  }
  return points;
}

function lossCurves(run) {
  const loss = pointsOf(run, "train", (row) => row.loss);
  const plain = pointsOf(run, "train", (row) => row.nll);
  const isSmoothed = plain.length > 0 && plain.some(([, value], place) => value !== loss[place]?.[1]);
  // Validation knows no label smoothing: beside it stands what can be compared with it.
  return [
    { line: "training", points: isSmoothed ? plain : loss, isThin: true },
    ...(isSmoothed ? [{ line: "minimised", points: loss, isThin: true, isDashed: true }] : []),
    { line: "validation", points: pointsOf(run, "validation", (row) => row.loss), hasDots: true },
  ];
}

const judged = (name) => (run) => [
  { line: null, points: pointsOf(run, "validation", (row) => row[name]), hasDots: true },
];
const logged = (name, more = {}) => (run) => [
  { line: null, points: pointsOf(run, "train", (row) => row[name] ?? row.timing?.[name]), isThin: true, ...more },
];

/** A curve for each process of a run that several train; of one process alone there is none. */
const ofRanks = (value) => (run) => {
  const numRanks = Math.max(0, ...journalOf(run).metrics.map((row) => row.timing?.ranks?.length ?? 0));
  return Array.from({ length: numRanks }, (_, rank) => ({
    line: null,
    points: pointsOf(run, "train", (row) => value(row.timing?.ranks?.[rank])),
    isThin: true,
  }));
};
const RANKS = [
  { name: "rank_speed", of: ofRanks((rank) => rank?.["tokens_per_second"]), fromZero: true },
  { name: "rank_memory", of: ofRanks((rank) => rank && rank["memory_bytes"] / 2 ** 30), fromZero: true },
];

/** What there is a picture of: its curves for one run, and how it is drawn. */
function chartsOf(runs) {
  const scores = SCORES.filter((name) => runs.some((run) => judged(name)(run)[0].points.length));
  return [
    { name: "loss", of: lossCurves, isLarge: true },
    ...scores.map((name) => ({ name, of: judged(name), isLarge: true })),
    { name: "learning_rate", of: logged("learning_rate", { isExact: true }), fromZero: true },
    { name: "gradient_norm", of: logged("gradient_norm") },
    { name: "tokens_per_second", of: logged("tokens_per_second"), fromZero: true },
    ...RANKS.filter((chart) => runs.some((run) => chart.of(run).length)),
  ];
}

/** What a picture is called; a classifier counts texts where others count tokens. */
function titleOf({ name }, runs, said) {
  const numLabelling = runs.filter((run) => run.task === "classification").length;
  const counted = numLabelling === 0 ? "" : numLabelling === runs.length ? "_of_texts" : "_of_both";
  return said.charts[name + counted] ?? said.charts[name];
}

function Tools() {
  const said = words();
  const options = [[false, said.linear], [true, said.log]];
  const choose = (name) => (value) => { scale[name].value = value; };
  const { isLogStep, isLogValue, smoothing } = scale;
  return html`
    <div class="tools">
      <${Choice} label=${said.values} options=${options} value=${isLogValue.value} onChoose=${choose("isLogValue")} />
      <${Choice} label=${said.steps} options=${options} value=${isLogStep.value} onChoose=${choose("isLogStep")} />
      <${Slider}
        label=${said.smoothing} min=${0} max=${0.98} step=${0.02} value=${smoothing.value}
        shown=${smoothing.value ? smoothing.value.toFixed(2) : said.off} onSlide=${choose("smoothing")}
      />
    </div>`;
}

const nameOf = (curve, isSeveral, said) =>
  [isSeveral ? curve.run.id : null, curve.line && said.lines[curve.line]].filter(Boolean).join(" · ");

/** What the curves of a picture are at the step that is read: a colour, a name and a number each. */
function Reading({ curves, isSeveral }) {
  const said = words();
  return html`
    <ul class="reading">
      ${curves.map((curve) => {
        const point = cursor.value === null ? curve.points.at(-1) : nearest(curve.points, cursor.value);
        const isElsewhere = point && cursor.value !== null && point[0] !== cursor.value;
        const line = `swatch ${curve.isThin ? "thin" : ""} ${curve.isDashed ? "dashed" : ""}`;
        return point && html`
          <li key=${`${curve.run.id} ${curve.line}`}>
            <i class=${line} style=${{ color: `var(${curve.colour})` }}></i>
            ${nameOf(curve, isSeveral, said)} <b>${spellNumber(point[1])}</b>
            ${isElsewhere && html` <span class="hint">${said.atStep(point[0])}</span>`}
          </li>`;
      })}
    </ul>`;
}

function Chart({ chart, runs, range }) {
  const said = words();
  const isSeveral = runs.length > 1;
  const curves = runs.flatMap((run) => chart.of(run).map((curve) => ({ ...curve, run, colour: colourOf(run) })));
  const steps = recorded(curves);
  const marks = closer.value ? journalOf(closer.value).checkpoints : [];
  const chosen = chosenStep.value;
  const [title, unit] = titleOf(chart, runs, said);
  const [isLogStep, isLogValue, smoothing] = [scale.isLogStep.value, scale.isLogValue.value, scale.smoothing.value];
  const tell = (step) => {
    const numbers = curves.map((curve) => {
      const point = nearest(curve.points, step);
      return point && `${nameOf(curve, isSeveral, said)} ${spellNumber(point[1])}`.trim();
    });
    return said.reading(title, step, numbers.filter(Boolean).join("; "));
  };
  const onChoose = (step) => {
    const checkpoint = nearest(marks.map((mark) => [mark]), step ?? 0)?.[0];
    if (checkpoint !== undefined && closer.value.task === "translation") chooseCheckpoint(closer.value, checkpoint);
  };
  const picture = {
    curves, marks, chosen, isLogStep, isLogValue, smoothing, axis: said.axis, fromZero: chart.fromZero,
    height: chart.isLarge ? 270 : 190, steps: isLogStep ? [Math.max(1, steps[0] ?? 1), range[1]] : range,
  };
  const ids = runs.map((run) => run.id).join();
  const when = [isLogStep, isLogValue, smoothing, chosen, marks.length, range[1], said, ids];
  return html`
    <figure class=${chart.isLarge ? "large" : ""} data-chart=${chart.name}>
      <figcaption><strong>${title}</strong> <span class="hint">${unit}</span></figcaption>
      <${Reading} curves=${curves} isSeveral=${isSeveral} />
      ${steps.length === 0 ? html`<p class="empty">${said.empty}</p>` : html`
        <${CurvePicture}
          picture=${picture} steps=${steps} cursor=${cursor} label=${title} tell=${tell} when=${when}
          onChoose=${onChoose}
        />`}
    </figure>`;
}

export function Curves() {
  const said = words();
  const runs = shown.value;
  const last = Math.max(0, ...runs.map((run) => journalOf(run).metrics.at(-1)?.step ?? 0));
  if (last === 0) return html`<${Card} title=${said.curves}><p class="empty">${said.empty}</p><//>`;
  return html`
    <${Card} title=${said.curves} hint=${said.curvesHint}>
      <${Tools} />
      <p class="at-step" aria-hidden="true">${cursor.value === null ? said.latest(last) : said.atStep(cursor.value)}</p>
      <div class="charts">
        ${chartsOf(runs).map((chart) => html`
          <${Chart} key=${chart.name} chart=${chart} runs=${runs} range=${[0, last]} />`)}
      </div>
    <//>`;
}
