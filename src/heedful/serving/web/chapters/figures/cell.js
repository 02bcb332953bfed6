// One row of attention from scores to weights, with and without the division by √d.

import { html, useState } from "/insight/vendor/preact.js";
import { tokensOf, useNamed } from "/insight/attention_map.js";
import { Choice } from "/insight/parts.js";
import { headOf, spelled } from "/insight/drawing.js";
import { largest, placeOf, softmax } from "../rules.js";
import { exampleOf, useAbout, useTrace } from "../traces.js";
import { chapterWords, decimal } from "../words.js";
import { headFor, usesIn } from "./attention.js";
import { Figure, stateFor } from "./frame.js";

/** What a figure of this kind asks for once the trace is there: the row, opened at the column with most weight. */
function cellQuestion(figure, answer) {
  if (answer.status !== "ready") return null;
  const found = headFor(figure, answer);
  const { rows } = tokensOf(answer.data, useNamed(answer.data, found.kind));
  const row = placeOf(rows, figure.row) ?? Math.min(1, rows.length - 1);
  const column = largest([...headOf(answer.layers[found.kind][found.layer], found.head)[row]]);
  const { kind, layer, head } = found;
  return { kind, layer, head, row, column };
}

export function useCell(figure) {
  const example = exampleOf(figure);
  const answer = useTrace(example, {}, usesIn(figure));
  const question = cellQuestion(figure, answer);
  return { example, answer, question, cell: useAbout(answer, "cell", question) };
}

export function CellFigure({ figure }) {
  const said = chapterWords();
  const { example, answer, question, cell } = useCell(figure);
  const [isScaled, setScaled] = useState(true);
  const isReady = answer.status === "ready" && cell.status === "ready";
  const use = isReady ? useNamed(answer.data, question.kind) : null;
  const { rows, columns } = isReady ? tokensOf(answer.data, use) : {};
  const root = isReady ? cell.data.divisor : 1;
  const scores = isReady ? cell.data.rowScores.map((one) => (one === null ? null : one * (isScaled ? 1 : root))) : [];
  const weights = softmax(scores);
  const top = largest(weights);
  const caption = () =>
    said.place(question) + said.stop +
    said.cell.dim(cell.data.dim) + said.cell.top(spelled(columns[top]), weights[top]);
  const open = () => {
    const { kind, layer, head, row } = question;
    return stateFor(example, { view: "attention", kind, layer, head, held: row });
  };
  return html`
    <${Figure} name="cell" answers=${[answer, cell]} caption=${caption} open=${open}>${() => html`
      <p class="side">${said.cell.row(spelled(rows[question.row]))}</p>
      <table class="sums">
        <thead><tr><th scope="col">${said.sides(use)[1]}</th>
          <th scope="col">${isScaled ? said.cell.score : said.cell.raw}</th>
          <th scope="col">${said.cell.weight}</th><td></td></tr></thead>
        <tbody>${columns.map((token, at) => html`
          <tr key=${at} class=${at === top ? "chosen" : ""}>
            <th scope="row" class=${token.isSpecial ? "special" : ""}>${spelled(token)}</th>
            <td>${scores[at] === null ? said.cell.masked : decimal(scores[at])}</td>
            <td>${weights[at].toFixed(3)}</td>
            <td class="track"><i style=${{ width: `${100 * weights[at]}%` }}></i></td>
          </tr>`)}
        </tbody>
      </table>
      <div class="tools"><${Choice} label="√d" value=${isScaled} onChoose=${setScaled}
        options=${[[true, said.cell.scaled], [false, said.cell.unscaled]]} /></div>`}
    <//>`;
}
