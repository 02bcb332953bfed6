// Greedy search beside a beam, and what the length penalty does to the candidates that ended.

import { html, useState } from "/insight/vendor/preact.js";
import { Slider } from "/insight/parts.js";
import { spelled } from "/insight/drawing.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords, decimal } from "../words.js";
import { Figure, stateFor } from "./frame.js";

const BEAM = 5;

export function useBoth(figure) {
  const example = exampleOf(figure);
  return { example, greedy: useTrace(example, { beam: 1 }), beam: useTrace(example, { beam: BEAM }) };
}

function Written({ data, other, name }) {
  const said = chapterWords().search;
  const parts = data.target.tokens.findIndex((token, at) => token.id !== other.target.tokens[at]?.id);
  return html`
    <div class="found">
      <p class="side">${name} · ${said.sum} <b>${decimal(data.logProb)}</b></p>
      <p class="chips" lang=${data.target.language}>${data.target.tokens.map((token, at) => html`<span
        key=${at} class=${`chip ${token.isSpecial ? "special" : ""} ${at === parts ? "parting" : ""}`}
        title=${at === parts ? said.firstDifference : null}
      >${spelled(token)}<small>${Math.exp(data.steps[at].logProb).toFixed(2)}</small></span>`)}</p>
    </div>`;
}

export function SearchFigure({ figure }) {
  const said = chapterWords().search;
  const { example, greedy, beam } = useBoth(figure);
  const caption = () => (greedy.data.target.text === beam.data.target.text
    ? said.same : said.better(beam.data.logProb - greedy.data.logProb));
  return html`
    <${Figure} name="search" answers=${[greedy, beam]} caption=${caption}
      open=${() => stateFor(example, { view: "decoding", beam: BEAM })}>${() => html`
      <${Written} data=${greedy.data} other=${beam.data} name=${said.greedy} />
      <${Written} data=${beam.data} other=${greedy.data} name=${said.beam(BEAM)} />`}
    <//>`;
}

/** All candidates of a beam that ended, as {text, logProb, length}: the tree read from its leaves to its root. */
export function endedIn(beam) {
  const nodes = new Map(beam.nodes.map((node) => [node.id, node]));
  return beam.nodes.filter((node) => node.isEnd).map((end) => {
    const pieces = [];
    for (let node = nodes.get(end.parent); node; node = nodes.get(node.parent)) pieces.unshift(node.text ?? "");
    const text = pieces.join("").replaceAll("▁", " ").trim();
    return { id: end.id, text, logProb: end.logProb, length: end.step + 1 };
  });
}

/** The paper's penalty: the log-probability divided by ((5 + length) / 6)^α. */
export const penalised = (one, alpha) => one.logProb / ((5 + one.length) / 6) ** alpha;

export function PenaltyFigure({ figure }) {
  const said = chapterWords().search;
  const example = exampleOf(figure);
  const answer = useTrace(example, { beam: BEAM });
  const [alpha, setAlpha] = useState(0);
  const isReady = answer.status === "ready" && answer.data.beam !== null;
  const sorted = isReady
    ? endedIn(answer.data.beam).sort((a, b) => penalised(b, alpha) - penalised(a, alpha)).slice(0, 6)
    : [];
  return html`
    <${Figure} name="penalty" answers=${[answer]} caption=${() => sorted.length > 0 && said.best(sorted[0].text)}
      open=${() => stateFor(example, { view: "decoding", beam: BEAM })}>${() => html`
      <div class="scroll"><table class="sums candidates">
        <thead><tr><th scope="col">${said.candidate}</th><th scope="col">${said.tokens}</th>
          <th scope="col">${said.sum}</th><th scope="col">${said.score}</th></tr></thead>
        <tbody>${sorted.map((one, at) => html`<tr key=${one.id} class=${at === 0 ? "chosen" : ""}>
          <th scope="row" lang=${example.target}>${one.text}</th><td>${one.length}</td><td>${decimal(one.logProb)}</td>
          <td>${decimal(penalised(one, alpha))}</td></tr>`)}</tbody>
      </table></div>
      <div class="tools"><${Slider} label=${said.alpha} min=${0} max=${3} step=${0.1} value=${alpha}
        shown=${alpha.toFixed(1)} onSlide=${setAlpha} /></div>`}
    <//>`;
}
