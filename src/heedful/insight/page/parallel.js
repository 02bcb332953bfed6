// Writing all positions at once: every source token gets several positions, all of them speak in one pass, and what
// they say is collapsed. One goes through it: copies of the source, what they become layer by layer, repeats, blanks.

import { html } from "./vendor/preact.js";
import { decodingWords, minused, percentOf } from "./decoding_words.js";
import { spelled } from "./drawing.js";
import { parallelWords } from "./parallel_words.js";
import { Card } from "./parts.js";
import { Player, usePlayKeys, usePlaying, within } from "./player.js";

/** The moments one can go to: copies, one for each layer, then what is merged and what is dropped. */
export const momentsOf = ({ layers, fertilities }) =>
  ["copies", ...layers.map((_, layer) => layer), ...(fertilities ? [] : ["merged", "collapsed"])];

/** How many positions there are of each fate. */
export function countsOf({ fates }) {
  const counts = { written: 0, repeat: 0, blank: 0, end: 0, unread: 0 };
  for (const fate of fates) counts[fate] += 1;
  return counts;
}

export function ParallelView({ trace, state, language }) {
  const said = parallelWords(language);
  return html`
    <${Card} title=${said.title} hint=${trace.refinement.fertilities ? said.countedHint : said.hint}>
      <${AtOnce} trace=${trace} state=${state} language=${language} hearsKeys=${!trace.steps} />
    <//>`;
}

/** What positions say, moment by moment, and what that makes; keys are heard where nothing else has use for them. */
export function AtOnce({ trace, state, language, hearsKeys = false }) {
  const said = parallelWords(language);
  const { refinement } = trace;
  const moments = momentsOf(refinement);
  const last = moments.length - 1;
  const at = within(state.pass, last);
  const playing = usePlaying(refinement, state.pass, last);
  usePlayKeys(playing, state.pass, last, hearsKeys);
  const told = said.moment(moments[at], refinement.layers.length);
  const layer = typeof moments[at] === "number" ? moments[at] : at === 0 ? null : refinement.layers.length - 1;
  return html`
    <p class="facts">
      ${said.facts(countsOf(refinement), refinement).map(
        ([name, value]) => html`<span key=${name}>${name} <b>${value}</b></span>`,
      )}
    </p>
    <${Player}
      playing=${playing} place=${state.pass} last=${last} label=${said.momentLabel} told=${told}
      said=${decodingWords(language)}
    />
    <p class="unseen" aria-live="polite">${playing.isPlaying ? "" : told}</p>
    <div class="written-at-once" data-moment=${moments[at]}>
      ${trace.source.tokens.map((token, number) => html`<${Copies}
        key=${number} refinement=${refinement} number=${number} token=${token} moment=${moments[at]} said=${said}
      />`)}
    </div>
    <p class="label">${said.outcome}</p>
    <p class="so-far" lang=${trace.target.language}>${layer === null ? "…" : refinement.layers[layer].text || "∅"}</p>
    ${trace.tokenLogProbs && html`<${Outcome} trace=${trace} said=${said} />`}
    ${refinement.candidates.length > 0 && html`<${Candidates} candidates=${refinement.candidates} said=${said} />`}`;
}

/** A source token, how often it is copied where the model decides that, and its positions. */
function Copies({ refinement, number, token, moment, said }) {
  const { fertilities, fertilityProbabilities, copies } = refinement;
  return html`
    <div class="copies">
      <span class="of">${spelled(token)}${fertilities && html` <b>×${fertilities[number]}</b>`}</span>
      ${fertilities && html`<${Fertility}
        probabilities=${fertilityProbabilities[number]} chosen=${fertilities[number]} said=${said}
      />`}
      <span class="said-by">${copies.map((copy, place) => copy === number && html`<${Cell}
        key=${place} refinement=${refinement} place=${place} token=${token} moment=${moment} said=${said}
      />`)}</span>
    </div>`;
}

/** How probable it is that a source token stands for 0, 1, 2 … target tokens. */
function Fertility({ probabilities, chosen, said }) {
  const told = probabilities.map((one, count) => `${count}: ${percentOf(Math.log(one))}`).join(", ");
  return html`<span class="fertility" role="img" aria-label=${said.fertility(told)} title=${told}>
    ${probabilities.slice(0, 6).map((one, count) => html`<i
      key=${count} class=${count === chosen ? "chosen" : ""} style=${{ height: `${2 + 18 * one}px` }}></i>`)}
  </span>`;
}

/** One position at one moment: what it says, how sure it is of that, and whether that remains. */
function Cell({ refinement, place, token, moment, said }) {
  if (moment === "copies") return html`<span class="place copy">${spelled(token)}</span>`;
  const isEnd = moment === "merged" || moment === "collapsed";
  const fate = refinement.fates[place];
  const now = (isEnd ? refinement.layers.at(-1) : refinement.layers[moment]).guesses[place];
  const isGone = (isEnd && fate === "repeat") || (moment === "collapsed" && fate !== "written");
  const isKept = isEnd && fate === "written";
  return html`<span
    class=${["place", now.text === null && "blank", isGone && "gone", isKept && "kept"].filter(Boolean).join(" ")}
    title=${isEnd ? said.fates[fate] : null}
    style=${{ background: `rgb(var(--heat) / ${0.32 * Math.exp(now.logProb)})` }}
  >${now.text === null ? "·" : spelled(now)}<small>${percentOf(now.logProb)}</small></span>`;
}

/** The tokens that are left, each with the probability of all positions it was made of. */
function Outcome({ trace, said }) {
  return html`
    <div class="chips stacked outcome-tokens">
      ${trace.target.tokens.map((token, number) => html`<span
        key=${number} class=${token.isSpecial ? "chip special" : "chip"}
        style=${{ background: `rgb(var(--heat) / ${0.32 * Math.exp(trace.tokenLogProbs[number])})` }}
      >${spelled(token)}<small>${percentOf(trace.tokenLogProbs[number])}</small></span>`)}
    </div>
    <p class="hint">${said.outcomeHint} ${said.logProb} <b>${minused(trace.logProb, 2)}</b></p>`;
}

/** What a teacher chose from: outputs by other fertilities, best first. */
function Candidates({ candidates, said }) {
  return html`
    <p class="label">${said.candidates}</p>
    <div class="scroll"><table class="candidates">
      <thead><tr><th scope="col">${said.candidate}</th><th scope="col">${said.counts}</th>
        <th scope="col">${said.score}</th></tr></thead>
      <tbody>${candidates.map((one, number) => html`<tr key=${number} class=${number === 0 ? "chosen" : ""}>
        <th scope="row">${one.text || "∅"}</th><td>${one.fertilities.join(" ")}</td><td>${minused(one.score, 3)}</td>
      </tr>`)}</tbody>
    </table></div>`;
}
