// What grew from the translator: a stack that ends in one label, and a memory that reaches past the segment.

import { html, useState } from "/insight/vendor/preact.js";
import { Slider } from "/insight/parts.js";
import { EXAMPLES } from "../../state.js";
import { modelFor, useAnswer } from "../traces.js";
import { chapterWords } from "../words.js";
import { Bars, Figure } from "./frame.js";

/** A classifier in boxes; with one among the served models, its own decision about the sentence. */
export function PoolingFigure({ figure }) {
  const said = chapterWords().pooling;
  const classifier = modelFor("classification");
  const answer = useAnswer(classifier && "/api/classify", classifier && { q: figure.text, model: classifier.id });
  const found = answer.status === "ready" ? [answer.data].flat()[0] : null;
  const byProbability = found && Object.entries(found.probabilities).sort(([, a], [, b]) => b - a);
  return html`
    <${Figure} name="pooling" answers=${classifier ? [answer] : []}
      caption=${() => (found ? said.served(found.label, byProbability[0][1]) : said.absent)}
      open=${classifier && (() => ({ view: "labels", model: classifier.id, text: figure.text }))}>${() => html`
      <div class="flow">
        <p class="chips">
          ${figure.text.split(" ").map((word, at) => html`<span key=${at} class="chip">${word}</span>`)}</p>
        ${said.flow.map((stage) => html`<p key=${stage} class="stage"><span aria-hidden="true">↓</span>${stage}</p>`)}
        ${found && html`<${Bars} label=${said.label} rows=${byProbability.map(([name, part]) => ({
          name, part, shown: part.toFixed(2), isChosen: name === found.label,
        }))} />`}
      </div>`}
    <//>`;
}

const [CELL, GAP, SEGMENTS] = [9, 26, 5]; // as many segments as the most layers reach, and the one that is read

/** Segments of a text, one row for each layer: what the last symbol can hear from, through the memory of each layer. */
export function MemoryFigure() {
  const said = chapterWords().memory;
  const [layers, setLayers] = useState(3);
  const [segment, setSegment] = useState(6);
  const count = SEGMENTS * segment;
  const height = (layers + 1) * GAP;
  const place = (position, layer) => [(position + 0.5) * CELL, height - GAP / 2 - layer * GAP];
  // The first position of a layer that the last symbol hears from: itself at the top, one segment more for each layer.
  const first = (layer) => (layer === layers ? count - 1 : count - segment * (1 + layers - layer));
  const kindOf = (position, layer) => {
    if (position < first(layer)) return "far";
    return position >= count - segment ? "now" : "kept";
  };
  const lines = [...Array(layers).keys()].map((layer) =>
    `M${place(first(layer + 1), layer + 1).join(" ")} L${place(first(layer), layer).join(" ")}`);
  const caption = () => said.reach(layers * segment);
  const writer = modelFor("language_modeling");
  return html`
    <${Figure} name="memory" caption=${caption}
      open=${writer && (() => ({ view: "writing", model: writer.id, text: EXAMPLES[writer.task] }))}>${() => html`
      <svg class="segments" viewBox=${`0 0 ${count * CELL} ${height}`} role="img" aria-label=${caption()}>
        ${[...Array(SEGMENTS - 1).keys()].map((border) => html`<line key=${border} class="border" y1="0" y2=${height}
          x1=${(border + 1) * segment * CELL} x2=${(border + 1) * segment * CELL} />`)}
        ${lines.map((line) => html`<path key=${line} d=${line} />`)}
        ${[...Array(layers + 1).keys()].flatMap((layer) => [...Array(count).keys()].map((position) => html`<circle
          key=${`${layer} ${position}`} class=${kindOf(position, layer)} r="2.8"
          cx=${place(position, layer)[0]} cy=${place(position, layer)[1]} />`))}
      </svg>
      <p class="keys-of"><span class="now">● ${said.now}</span><span class="kept">● ${said.kept}</span>
        <span class="far">● ${said.forgotten}</span></p>
      <div class="tools">
        <${Slider} label=${said.layers} min=${1} max=${4} value=${layers} onSlide=${setLayers} />
        <${Slider} label=${said.segment} min=${3} max=${10} value=${segment} onSlide=${setSegment} />
      </div>`}
    <//>`;
}
