// Questions a reader answers before going on. What is right is computed from the same trace the figure shows, never
// written down. Each kind is a hook that gives {answers, about, options}: `about` goes into the question, options are
// {text, isRight, said}, where `said` tells what the model makes of that choice.

import { tokensOf, useBetween, useNamed } from "/insight/attention_map.js";
import { headOf, spelled, unpack } from "/insight/drawing.js";
import { headFor, usesIn } from "./figures/attention.js";
import { useCell } from "./figures/cell.js";
import { cosine, sine } from "./figures/circle.js";
import { useDigits, write } from "./figures/digits.js";
import { mixedPass } from "./figures/parallel.js";
import { usePositions } from "./figures/positions.js";
import { lookUp, tastes, VALUES } from "./figures/products.js";
import { useBoth } from "./figures/search.js";
import { changedRows, useStudy } from "./figures/study.js";
import { useReference } from "./figures/training.js";
import { parallelWords } from "./parallel_words.js";
import { largest, least, placeOf } from "./rules.js";
import { exampleOf, useAbout, useTrace } from "./traces.js";
import { studyWords } from "./study_words.js";
import { chapterWords, decimal } from "./words.js";

const WRITTEN = ["target", "target"]; // from what is being written to what was written before
const isReady = (...answers) => answers.every((one) => one.status === "ready");
const byText = (a, b) => (a.text < b.text ? -1 : 1); // an order that does not give the answer away

function nextToken(figure) {
  const answer = useTrace(exampleOf(figure));
  if (!isReady(answer)) return { answers: [answer] };
  const { target, steps } = answer.data;
  const step = Math.min(figure.step, target.tokens.length - 1);
  const options = steps[step].top.slice(0, 4).map((one) => ({
    text: spelled(one),
    isRight: one.id === target.tokens[step].id,
    said: chapterWords().probabilityIs(Math.exp(one.logProb)),
  }));
  const about = target.tokens.slice(0, step).map((token) => token.text).join("").replaceAll("▁", " ").trim();
  return { answers: [answer], about, options: options.sort(byText) };
}

function lookedAt(figure) {
  const answer = useTrace(exampleOf(figure), {}, usesIn(figure));
  if (!isReady(answer)) return { answers: [answer] };
  const found = headFor(figure, answer);
  const { rows, columns } = tokensOf(answer.data, useNamed(answer.data, found.kind));
  const row = placeOf(rows, figure.row) ?? 1;
  const weights = headOf(answer.layers[found.kind][found.layer], found.head)[row];
  const right = largest([...weights]);
  const options = columns.map((token, at) => ({
    text: spelled(token), isRight: at === right, said: chapterWords().weightIs(weights[at]),
  }));
  return { answers: [answer], about: spelled(rows[row]), options };
}

function topScore(figure) {
  const { answer, question, cell } = useCell(figure);
  if (!isReady(answer, cell)) return { answers: [cell] };
  const { rows, columns } = tokensOf(answer.data, useNamed(answer.data, question.kind));
  const right = largest(cell.data.rowScores.map((score) => score ?? -Infinity));
  const options = columns.map((token, at) => ({
    text: spelled(token),
    note: cell.data.rowScores[at] === null ? "−∞" : decimal(cell.data.rowScores[at], 1),
    isRight: at === right,
    said: chapterWords().weightIs(cell.data.rowWeights[at]),
  }));
  return { answers: [answer, cell], about: spelled(rows[question.row]), options };
}

function hidden(figure) {
  const answer = useTrace(exampleOf(figure), {}, [WRITTEN]);
  if (!isReady(answer)) return { answers: [answer] };
  const row = placeOf(answer.data.target.tokens, figure.row) ?? 1;
  const weights = headOf(answer.layers[useBetween(answer.data, ...WRITTEN).name].at(-1), -1)[row];
  const options = answer.data.inputs.map((token, at) => ({
    text: at === 0 ? chapterWords().start : spelled(token),
    isRight: at > row,
    said: chapterWords().weightIs(weights[at]),
  }));
  return { answers: [answer], about: spelled(answer.data.target.tokens[row]), options };
}

function alikePosition() {
  const answer = usePositions();
  if (!isReady(answer)) return { answers: [answer] };
  const { shape: [length], values } = unpack(answer.data.similarity);
  const offered = [3, 12, 24, 40].filter((position) => position <= length);
  const alike = offered.map((position) => values[9 * length + position - 1]);
  const options = offered.map((position, at) => ({
    text: String(position),
    isRight: at === largest(alike),
    said: chapterWords().positions.alike(10, position, alike[at]),
  }));
  return { answers: [answer], options };
}

function decoderRuns(figure) {
  const answer = useTrace(exampleOf(figure), {}, [WRITTEN]);
  if (!isReady(answer)) return { answers: [answer] };
  const steps = answer.data.target.tokens.length;
  const counts = [1, answer.layers[useBetween(answer.data, ...WRITTEN).name].length, steps - 1, steps, steps + 4];
  const options = [...new Set(counts)].sort((a, b) => a - b).map((count) => ({
    text: String(count), isRight: count === steps, said: "",
  }));
  return { answers: [answer], options };
}

function worstToken(figure) {
  const { answer } = useReference(figure);
  if (!isReady(answer)) return { answers: [answer] };
  const losses = answer.data.steps.map((step) => -step.logProb);
  const options = answer.data.target.tokens.map((token, at) => ({
    text: spelled(token), isRight: at === largest(losses), said: chapterWords().lossIs(losses[at]),
  }));
  return { answers: [answer], options };
}

function moreProbable(figure) {
  const { greedy, beam } = useBoth(figure);
  if (!isReady(greedy, beam)) return { answers: [greedy, beam] };
  const found = [greedy.data, beam.data];
  const best = Math.max(...found.map((data) => data.logProb));
  const options = found.map((data) => ({
    text: data.target.text,
    isRight: data.logProb === best,
    said: `${chapterWords().search.sum} ${decimal(data.logProb)}.`,
  }));
  return { answers: [greedy, beam], options: options.sort(byText) };
}

function reach() {
  const options = [64, 76, 768, 4096].map((count) => ({ text: String(count), isRight: count === 12 * 64, said: "" }));
  return { answers: [], options };
}

function sharpestIsWorth(figure) {
  const answer = useTrace(exampleOf(figure));
  const weighed = useAbout(answer, "heads");
  if (!isReady(weighed)) return { answers: [weighed] };
  const said = chapterWords();
  const [sharp, most] = [answer.data.entropy, weighed.data.heads].map(least);
  const isSame = sharp.kind === most.kind && sharp.layer === most.layer && sharp.head === most.head;
  const change = weighed.data.heads[sharp.kind][sharp.layer][sharp.head];
  const about = said.worth.change(change);
  const options = [[true, said.yes], [false, said.no]].map(([claim, text]) => ({
    text, isRight: claim === isSame, said: said.withoutIt(about),
  }));
  return { answers: [weighed], about: said.place(sharp), options };
}

function recommended(figure) {
  const said = chapterWords().taste;
  const sums = tastes(figure.viewer);
  const options = sums.map((sum, at) => ({
    text: said.films[at], isRight: at === largest(sums), said: said.sumIs(decimal(sum)),
  }));
  const about = figure.viewer.map((taste, at) => `${said.qualities[at]} ${decimal(taste, 1)}`).join(said.comma);
  return { answers: [], about, options };
}

function lookedUp(figure) {
  const { found } = lookUp(figure.hour, figure.sharpness);
  const offered = [0, Math.min(...VALUES), found, Math.max(...VALUES)];
  const options = offered.map((value) => ({ text: `${decimal(value, 1)} °C`, isRight: value === found, said: "" }));
  return { answers: [], options };
}

function sameSine(figure) {
  const said = chapterWords().circle;
  const offered = [6, 10, 17, 20];
  const gaps = offered.map((position) => -Math.abs(sine(position) - sine(figure.position)));
  const options = offered.map((position, at) => ({
    text: String(position), isRight: at === largest(gaps),
    said: said.are(decimal(sine(position)), decimal(cosine(position))),
  }));
  return { answers: [], about: decimal(sine(figure.position)), options };
}

function rightAtLength(figure) {
  const answer = useDigits();
  if (!isReady(answer)) return { answers: [answer] };
  const share = (part) => Math.round(100 * part);
  const { exact } = answer.data[figure.networks[0]];
  const right = share(exact[figure.length - 1]);
  const offered = [...new Set([right, share(exact[figure.length - 5]), 50, 99])].sort((a, b) => a - b);
  const options = offered.map((value) => ({ text: String(value), isRight: value === right, said: "" }));
  return { answers: [answer], about: String(figure.length), options };
}

function lookedBack(figure) {
  const answer = useDigits();
  if (!isReady(answer)) return { answers: [answer] };
  const digits = [...figure.digits];
  const weights = write(answer.data.attention, digits.map(Number)).looks[2];
  const options = digits.map((digit, at) => ({
    text: digit, isRight: at === largest(weights), said: chapterWords().weightIs(weights[at]),
  }));
  return { answers: [answer], about: digits.join(" "), options };
}

function cheaperLayer({ n, d }) {
  const { multiplications, complexity } = studyWords();
  const counts = { attention: n * n * d, recurrent: n * d * d };
  const options = Object.keys(counts).map((name) => ({
    text: complexity.families[name],
    isRight: counts[name] === Math.min(...Object.values(counts)),
    said: multiplications(n, d),
  }));
  return { answers: [], about: { n, d }, options };
}

function keepsGradient() {
  const answer = useStudy("gradients");
  if (!isReady(answer)) return { answers: [answer] };
  const { gradients, factor } = studyWords();
  const factors = Object.entries(answer.data["factor_per_step"]).map(([name, rate]) => [name, rate.value]);
  const nearest = largest(factors.map(([, value]) => -Math.abs(Math.log(value))));
  const options = factors.map(([name, value], at) => ({
    text: gradients.layers[name] ?? name, isRight: at === nearest, said: factor(decimal(value, 3)),
  }));
  return { answers: [answer], options };
}

function mostMissed() {
  const answer = useStudy("ablation");
  if (!isReady(answer)) return { answers: [answer] };
  const { labels } = studyWords().ablation;
  const rows = changedRows(answer.data);
  const most = largest(rows.map((row) => -row.difference.value));
  const options = rows.map((row, at) => ({
    text: labels[row.label] ?? row.label, isRight: at === most, said: `BLEU ${decimal(row.difference.value, 1)}.`,
  }));
  return { answers: [answer], options: options.sort(byText) };
}

function keptGuesses(figure) {
  const answer = useTrace(exampleOf(figure));
  if (!isReady(answer) || !answer.data.guesses?.passes.some((one) => one.guessed.length > 0)) {
    return { answers: [answer] };
  }
  const { guessed, numAccepted } = answer.data.guesses.passes[mixedPass(answer.data.guesses)];
  const options = [0, ...guessed.map((_, at) => at + 1)].map((count) => ({
    text: String(count), isRight: count === numAccepted, said: count === numAccepted ? parallelWords().kept(count) : "",
  }));
  return { answers: [answer], about: guessed.map(spelled).join(" "), options };
}

export const EXERCISES = {
  nextToken, lookedAt, topScore, hidden, alikePosition, decoderRuns, worstToken, moreProbable, reach, sharpestIsWorth,
  recommended, lookedUp, sameSine, rightAtLength, lookedBack, cheaperLayer, keepsGradient, mostMissed,
  keptGuesses,
};
