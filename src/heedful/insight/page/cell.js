// One cell of an attention map opened up: from query and key to the weight, as the attention itself explains it.
// Knows how to show the numbers and how the formulas are written; somebody else computes them.

import { spelled } from "./drawing.js";
import { html, useEffect, useState } from "./vendor/preact.js";

const HEIGHT = 44;

/** How query and key are compared: the terms that are added up, their sum, and what the softmax is taken over. */
const FORMULAS = {
  dot_product: { terms: "q × k", sum: "q · k", score: "q · k ÷ √d" },
  additive: { terms: "v × tanh(q + k)", sum: "v · tanh(q + k)", score: "v · tanh(q + k)" },
};
const shown = (value, digits = 2) => value.toFixed(digits).replace("-", "−");

/** `place` is {kind, layer, head, row, column}; `open(place)` promises its numbers. */
export function Cell({ place, open, rowToken, columnTokens, why, words, onClose }) {
  const { kind, layer, head, row, column } = place;
  const [answer, setAnswer] = useState({ status: "loading" });
  useEffect(() => {
    let isWanted = true;
    const answered = (next) => isWanted && setAnswer(next);
    setAnswer((before) => ({ ...before, status: "loading" })); // the last numbers stay until the next have come
    open(place).then(
      (data) => answered({ status: "ready", data }),
      (error) => answered({ status: "failed", error: error.message }),
    );
    return () => { isWanted = false; };
  }, [open, kind, layer, head, row, column]);
  const names = [spelled(rowToken), spelled(columnTokens[column])];
  return html`
    <div class="cell" role="region" aria-label=${words.cell} aria-busy=${answer.status === "loading"}>
      <header>
        <h3>${words.cellTitle(...names)}</h3>
        <span class="hint">${words.nameOfUse(kind)} · ${words.place(layer, head)}${why && ` (${why})`}</span>
        <button type="button" class="plain small" onClick=${onClose}>${words.close}</button>
      </header>
      ${answer.status === "failed" && html`<p class="warning" role="alert">${words.notOpened(answer.error)}</p>`}
      ${!answer.data && answer.status === "loading" && html`<p class="label" role="status">${words.opening}</p>`}
      ${answer.data && html`
        <${Vectors} cell=${answer.data} names=${names} words=${words} />
        <div class="two">
          <${Steps} cell=${answer.data} column=${column} words=${words} />
          <${Row} cell=${answer.data} tokens=${columnTokens} column=${column} words=${words} />
        </div>`}
    </div>`;
}

function Vectors({ cell, names, words }) {
  const largest = Math.max(...cell.query.map(Math.abs), ...cell.key.map(Math.abs));
  return html`
    <div class="vectors">
      <${Bars} values=${cell.query} largest=${largest} name="q" title=${words.query(names[0])} />
      <${Bars} values=${cell.key} largest=${largest} name="k" title=${words.key(names[1])} />
      <${Bars}
        values=${cell.terms} largest=${Math.max(...cell.terms.map(Math.abs))} name=${FORMULAS[cell.formula].terms}
        title=${words.terms(FORMULAS[cell.formula].sum)}
      />
    </div>`;
}

function Steps({ cell, column, words }) {
  const scores = cell.rowScores.filter((score) => score !== null);
  const top = Math.max(...scores);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
  const numHidden = cell.rowScores.length - scores.length;
  const isHidden = cell.rowScores[column] === null;
  const step = (name, sign, text, number) => html`
    <li class=${name}><b>${sign}</b><span>${text}</span><output>${number}</output></li>`;
  return html`
    <ol class="steps">
      ${step("total", FORMULAS[cell.formula].sum, words.totals[cell.formula], shown(cell.total, 3))}
      ${cell.divisor !== 1
        && step("scaled", `÷ √${cell.dim}`, words.scale(cell.divisor), shown(cell.scaled, 3))}
      ${isHidden
        ? step("mask", words.mask, words.hidden, "−∞")
        : step("mask", words.mask, words.open(numHidden), shown(cell.scaled, 3))}
      ${step(
        "softmax", "softmax",
        isHidden ? words.nothing : words.softmax(shown(Math.exp(cell.scaled - top), 3), shown(total, 3)),
        shown(cell.weight, 4),
      )}
    </ol>`;
}

/** A vector as bars, up for positive numbers and down for negative ones. */
function Bars({ values, largest, name, title }) {
  const middle = HEIGHT / 2;
  return html`
    <figure>
      <figcaption><b>${name}</b> ${title}</figcaption>
      <svg
        viewBox=${`0 0 ${values.length} ${HEIGHT}`} preserveAspectRatio="none" role="img"
        aria-label=${`${name} ${title}`}
      >
        <line x1="0" x2=${values.length} y1=${middle} y2=${middle} />
        ${values.map((value, i) => {
          const length = (middle * Math.abs(value)) / (largest || 1);
          return html`<rect
            key=${i} class=${value < 0 ? "against" : ""} x=${i + 0.1} width="0.8" height=${length}
            y=${value < 0 ? middle : middle - length}
          ><title>${`${name} ${i + 1}: ${shown(value, 3)}`}</title></rect>`;
        })}
      </svg>
    </figure>`;
}

/** The whole row the softmax is taken over: it is a competition, and one weight is understood beside the others. */
function Row({ cell, tokens, column, words }) {
  return html`
    <div class="scroll row-scores" tabindex="0" role="group" aria-label=${words.row}>
      <table>
        <caption>${words.row}</caption>
        <thead>
          <tr>
            <th scope="col">${words.lookedAtToken}</th>
            <th scope="col">${FORMULAS[cell.formula].score}</th><th scope="col">softmax</th>
            <td></td>
          </tr>
        </thead>
        <tbody>
          ${tokens.map((token, i) => html`
            <tr key=${i} class=${i === column ? "chosen" : cell.rowScores[i] === null ? "masked" : null}>
              <th scope="row">${spelled(token)}</th>
              <td>${cell.rowScores[i] === null ? words.masked : shown(cell.rowScores[i])}</td>
              <td>${shown(cell.rowWeights[i], 3)}</td>
              <td class="track"><i style=${{ width: `${100 * cell.rowWeights[i]}%` }}></i></td>
            </tr>`)}
        </tbody>
      </table>
    </div>`;
}
