// The page of one translation that was written all at once, complete in one file.

import { Facts, showPage, trace } from "./explained_frame.js";
import { ParallelView } from "./parallel.js";
import { parallelWords } from "./parallel_words.js";
import { html, signal } from "./vendor/preact.js";

const state = { pass: signal(0) };
const barWords = (language) => ({ ...parallelWords(language), title: parallelWords(language).pageTitle });

function Sentence({ side }) {
  const { language, text } = trace[side];
  return html`<div class=${`sentence ${side}`}><span class="language">${language ?? ""}</span>
    ${side === "target" ? html`<h1>${text}</h1>` : html`<p>${text}</p>`}</div>`;
}

function Body({ language }) {
  return html`
    <div class="sentences"><${Sentence} side="source" /><${Sentence} side="target" /></div>
    <${Facts} facts=${[]}>
      ${trace.warnings.map((warning) => html`<span key=${warning.code} class="warning">⚠ ${warning.message}</span>`)}
    <//>
    <${ParallelView} trace=${trace} state=${state} language=${language} />`;
}

showPage(trace.target.text, barWords, Body);
