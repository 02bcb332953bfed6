// Guessing ahead and writing all at once: passes of a speculative search, the rule that collapses positions, and the
// small translator that writes by it.

import { html, signal, useMemo, useState } from "/insight/vendor/preact.js";
import { countsOf, Passes } from "/insight/guesses.js";
import { guessWords } from "/insight/guess_words.js";
import { AtOnce } from "/insight/parallel.js";
import { models } from "../../served.js";
import { language } from "../../state.js";
import { parallelWords } from "../parallel_words.js";
import { exampleOf, useAnswer, useTrace } from "../traces.js";
import { Figure, stateFor } from "./frame.js";

const BLANK = "·";

/** The first pass in which some guesses were right and others wrong, else the first. */
export const mixedPass = ({ passes }) =>
  Math.max(0, passes.findIndex((one) => one.numAccepted > 0 && one.numAccepted < one.guessed.length));

export function GuessesFigure({ figure }) {
  const said = parallelWords();
  const example = exampleOf(figure);
  const answer = useTrace(example);
  const guesses = answer.data?.guesses;
  const pass = useMemo(() => signal(figure.pass), []);
  if (guesses && pass.value === "mixed") pass.value = mixedPass(guesses);
  return html`
    <${Figure} name="guesses" answers=${[answer]} caption=${() => (guesses ? said.saved(countsOf(guesses)) : "")}
      open=${() => stateFor(example, { view: "decoding", pass: pass.value })}>${() => html`
      <div class="found guesses">
        ${guesses
          ? html`<${Passes}
              guesses=${guesses} state=${{ pass }} said=${guessWords(language())} language=${language()}
            />`
          : html`<p class="empty chip">${said.noGuesses}</p>`}
      </div>`}
    <//>`;
}

/** What becomes of each letter of a row: [letter, "written" | "repeat" | "blank"] each. */
export function collapsed(row) {
  const letters = [...row];
  return letters.map((letter, at) => [
    letter, letter === BLANK ? "blank" : letter === letters[at - 1] ? "repeat" : "written",
  ]);
}

export function CollapseFigure({ figure }) {
  const said = parallelWords();
  const [row, setRow] = useState(figure.text);
  const fates = collapsed(row);
  const left = fates.filter(([, fate]) => fate === "written").map(([letter]) => letter).join("");
  return html`
    <${Figure} name="collapse" caption=${() => said.collapsedTo(left)}>${() => html`
      <div class="found">
        <label class="lesson">${said.positions}
          <input type="text" class="field" value=${row} maxlength="24" spellcheck=${false}
            onInput=${(event) => setRow(event.target.value.replaceAll(/[ .]/g, BLANK))} /></label>
        <p class="chips">${fates.map(([letter, fate], at) => html`<span
          key=${at} class=${`chip place ${{ written: "kept", repeat: "gone", blank: "gone blank" }[fate]}`}
          title=${said.fates[fate]}>${letter}</span>`)}</p>
        <p class="so-far"><strong>${left || "∅"}</strong></p>
      </div>`}
    <//>`;
}

export function AtOnceFigure({ figure }) {
  const said = parallelWords();
  const [text, setText] = useState(figure.text);
  const isServed = models.value.some((model) => model.id === figure.model);
  const example = { q: text, source: "en", target: "de", model: figure.model };
  const answer = useAnswer(isServed && text.trim() ? "/api/trace" : null, example);
  const pass = useMemo(() => signal(0), []);
  return html`
    <${Figure} name="atOnce" caption=${() => said.small}
      open=${isServed ? () => stateFor(example, { view: "decoding" }) : null}>${() => (!isServed
      ? html`<p class="empty">${said.absent}</p>`
      : html`
      <label class="lesson">${said.read}
        <input type="text" class="field" value=${text} maxlength="120" lang="en" spellcheck=${false}
          onChange=${(event) => setText(event.target.value)} /></label>
      <div class="found" data-lesson=${figure.model} data-ready=${answer.status === "ready"}>
        ${answer.status === "failed" && html`<p class="refusal" role="alert">${answer.error}</p>`}
        ${answer.status === "ready" && html`<${AtOnce}
          trace=${answer.data} state=${{ pass }} language=${language()}
        />`}
      </div>`)}
    <//>`;
}
