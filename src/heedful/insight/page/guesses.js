// Speculation, pass after pass: what was proposed, how much of it the model would have written itself, and what it
// wrote in the place of the first wrong one. A box is a pass; a box with several tokens has saved passes.

import { html } from "./vendor/preact.js";
import { decodingWords, percentOf } from "./decoding_words.js";
import { spelled } from "./drawing.js";
import { guessWords } from "./guess_words.js";
import { Card } from "./parts.js";
import { Player, usePlaying, within } from "./player.js";

/** How many tokens, guesses and right ones the passes have together. */
export function countsOf({ passes }) {
  const total = (count) => passes.reduce((sum, one) => sum + count(one), 0);
  const tokens = total((one) => one.written.length);
  return {
    passes: passes.length, tokens, saved: tokens - passes.length,
    guessed: total((one) => one.guessed.length), accepted: total((one) => one.numAccepted),
  };
}

export function GuessView({ trace, state, language }) {
  const said = guessWords(language);
  const { guesses } = trace;
  if (!guesses) return null;
  const counts = countsOf(guesses);
  return html`
    <${Card} title=${said.title} hint=${said.hint}>
      <p class="label">${said.by[guesses.drafter]}
        ${guesses.text !== trace.target.text && html` ${said.greedy} <span lang=${trace.target.language}
        >${guesses.text}</span>`}</p>
      <p class="facts">
        ${said.facts(counts).map(([name, value]) => html`<span key=${name}>${name} <b>${value}</b></span>`)}
      </p>
      ${counts.guessed === 0
        ? html`<p class="hint">${said.nothing[guesses.drafter]}</p>`
        : html`<${Passes} guesses=${guesses} state=${state} said=${said} language=${language} />`}
    <//>`;
}

/** The passes one can go through, and the one that is shown. */
export function Passes({ guesses, state, said, language }) {
  const { passes } = guesses;
  const last = passes.length - 1;
  const at = within(state.pass, last);
  const playing = usePlaying(guesses, state.pass, last);
  const told = said.passOf(at + 1, passes.length);
  return html`
    <${Player}
      playing=${playing} place=${state.pass} last=${last} label=${said.pass} told=${told}
      said=${decodingWords(language)}
    />
    <div class="passes">
      ${passes.map((one, number) => html`<button
        key=${number} type="button" class=${number > at ? "pass later" : "pass"}
        aria-label=${said.passNamed(number + 1, one)} aria-current=${number === at ? "step" : null}
        onClick=${() => { state.pass.value = number; }}
      >${one.written.map((token, place) => html`<span
        key=${place} class=${place < one.numAccepted ? "accepted" : "own"}>${spelled(token)}</span>`)}</button>`)}
    </div>
    <${OnePass} one=${passes[at]} said=${said} />
    <p class="unseen" aria-live="polite">${playing.isPlaying ? "" : said.passNamed(at + 1, passes[at])}</p>
    <div class="legend">
      <span><i class="accepted"></i>${said.accepted}</span><span><i class="wrong"></i>${said.wrong}</span>
      <span><i class="own"></i>${said.own}</span>
    </div>`;
}

/** One pass: the row of guesses, and under it what the model wrote. */
function OnePass({ one, said }) {
  const { guessed, numAccepted, written } = one;
  const fate = (place) => (place < numAccepted ? "accepted" : place === numAccepted ? "wrong" : "unread");
  return html`
    <div class="one-pass">
      <p class="label">${guessed.length > 0 ? said.proposed : said.noGuess}</p>
      <div class="chips proposed">
        ${guessed.map((token, place) => html`<span
          key=${place} class=${`chip ${fate(place)}`} title=${said.fates[fate(place)]}
        >${spelled(token)}</span>`)}
      </div>
      <p class="label">${said.writtenHere}</p>
      <div class="chips stacked wrote">
        ${written.map((token, place) => html`<span
          key=${place} class=${place < numAccepted ? "chip accepted" : "chip own"}
        >${spelled(token)}<small>${percentOf(token.logProb)}</small></span>`)}
      </div>
    </div>`;
}
