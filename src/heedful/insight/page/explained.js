// The page of one translation, complete in one file: it holds the state that all views of the trace share.

import { AttentionView } from "./attention.js";
import { followKey } from "./attention_map.js";
import { BeamView } from "./beam.js";
import { GuessView } from "./guesses.js";
import { minused } from "./decoding_words.js";
import { layersOf, shade } from "./drawing.js";
import { Facts, showPage, trace } from "./explained_frame.js";
import { ParallelView } from "./parallel.js";
import { useKeys } from "./parts.js";
import { DecodingView } from "./steps.js";
import { html, signal, useSignal } from "./vendor/preact.js";
import { attentionWords, pageWords } from "./words.js";

const layers = layersOf(trace);
const FIRST = {
  kind: null, layer: null, head: -1, heads: null, step: 0, held: null, cell: null, mass: 0.9, units: "tokens",
  symbols: "shown", shading: "attention", beam: null, pass: 0,
};
const state = Object.fromEntries(Object.entries(FIRST).map(([name, value]) => [name, signal(value)]));

/** Where the words of a side begin and end in its text, with what stands between them. */
function partsOf(side) {
  const { text, tokens } = trace[side];
  const parts = [];
  let done = 0;
  trace.alignment[side].forEach((word, number) => {
    const { end } = tokens[word.end - 1];
    const { start } = tokens[word.first];
    const begin = Math.max(done, Math.min(end, text[start] === " " ? start + 1 : start));
    parts.push({ text: text.slice(done, begin), number: null }, { text: text.slice(begin, end), number });
    done = Math.max(done, end);
  });
  return [...parts, { text: text.slice(done), number: null }];
}

const PARTS = { source: partsOf("source"), target: partsOf("target") };

/** How brightly a word shines when `lit` is pointed at: by how much the one looks at the other. */
function glow(lit, side, number) {
  if (lit === null) return "";
  const { weights } = trace.alignment;
  const weight = lit.side === side ? 0.6 * Number(lit.number === number)
    : lit.side === "target" ? weights[lit.number][number] : weights[number][lit.number];
  return weight > 0.04 ? `rgb(var(--heat) / ${0.6 * shade(weight)})` : "";
}

function Sentence({ side, lit }) {
  const words = PARTS[side].map(({ text, number }, key) =>
    number === null ? text : html`<span
      key=${key} class="word" style=${{ background: glow(lit.value, side, number) }}
      onMouseEnter=${() => { lit.value = { side, number }; }} onMouseLeave=${() => { lit.value = null; }}
    >${text}</span>`,
  );
  return html`
    <div class=${`sentence ${side}`}>
      <span class="language">${trace[side].language ?? ""}</span>
      ${side === "target" ? html`<h1>${words}</h1>` : html`<p>${words}</p>`}
    </div>`;
}

function Sentences() {
  const lit = useSignal(null);
  const isLong = trace.source.text.length + trace.target.text.length > 240;
  return html`
    <div class=${isLong ? "sentences long" : "sentences"}>
      <${Sentence} side="source" lit=${lit} /><${Sentence} side="target" lit=${lit} />
    </div>`;
}

function Numbers({ words }) {
  const facts = [
    [words.score, minused(trace.score, 3)],
    [words.logProb, minused(trace.logProb, 2)],
    [words.perplexity, Math.exp(-trace.logProb / trace.target.tokens.length).toFixed(2)],
  ];
  if (trace.engine === "int8") facts.push([words.int8, Math.abs(trace.logProb - trace.forcedLogProb).toFixed(4)]);
  return html`
    <${Facts} facts=${facts}>
      ${trace.warnings.map((warning) => html`<span key=${warning.code} class="warning">⚠ ${warning.message}</span>`)}
    <//>`;
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (followKey(event, trace, layers, state)) event.preventDefault();
}

function Body({ language, words }) {
  useKeys(onKey);
  const shared = { trace, layers, state, language };
  return html`
    <${Sentences} />
    <${Numbers} words=${words} />
    <${AttentionView} ...${shared} words=${attentionWords(language)} />
    ${trace.refinement && html`<${ParallelView} ...${shared} />`}
    <${DecodingView} ...${shared} />
    <${BeamView} ...${shared} />
    <${GuessView} ...${shared} />
    <footer>
      <p class="keys">${words.keys.map(([keys, text]) => html`<span key=${keys}><kbd>${keys}</kbd> ${text}</span>`)}</p>
    </footer>`;
}

showPage(trace.target.text, pageWords, Body);
