// Writing all positions at once: every source token gets several positions, all of them speak in one pass, and what
// they say is collapsed. One goes through it: copies of the source, what they become layer by layer, repeats, blanks.

import { html } from "./vendor/preact.js";
import { decodingWords, minused, percentOf } from "./decoding_words.js";
import { spelled } from "./drawing.js";
import { parallelWords } from "./parallel_words.js";
import { Card } from "./parts.js";
import { Player, usePlaying, within } from "./player.js";

/** The moments one can go to: copies, one for each layer, then what is merged and what is dropped. */
export const momentsOf = ({ positions }) =>
  ["copies", ...(positions[0]?.byLayer ?? []).map((_, layer) => layer), "merged", "collapsed"];

/** How many positions there are of each fate. */
export function countsOf({ positions }) {
  const counts = { written: 0, repeat: 0, blank: 0, end: 0, unread: 0 };
  for (const { fate } of positions) counts[fate] += 1;
  return counts;
}

export function ParallelView({ trace, state, language }) {
  const said = parallelWords(language);
  const moments = momentsOf(trace);
  const last = moments.length - 1;
  const at = within(state.pass, last);
  const playing = usePlaying(trace.positions, state.pass, last);
  const told = said.moment(moments[at], moments.length - 3);
  return html`
    <${Card} title=${said.title} hint=${said.hint}>
      <p class="facts">
        ${said.facts(countsOf(trace), trace).map(
          ([name, value]) => html`<span key=${name}>${name} <b>${value}</b></span>`,
        )}
      </p>
      <${Player}
        playing=${playing} place=${state.pass} last=${last} label=${said.momentLabel} told=${told}
        said=${decodingWords(language)}
      />
      <p class="unseen" aria-live="polite">${playing.isPlaying ? "" : told}</p>
      <div class="positions" data-moment=${moments[at]}>
        ${trace.source.tokens.map((token, number) => html`<div key=${number} class="copies">
          <span class="of">${spelled(token)}</span>
          <span class="row">${trace.positions.filter((one) => one.source === number).map((one, place) => html`<${Cell}
            key=${place} one=${one} token=${token} moment=${moments[at]} said=${said}
          />`)}</span>
        </div>`)}
      </div>
      <p class="label">${said.outcome}</p>
      <div class="chips stacked outcome-tokens">
        ${trace.target.tokens.map((token, number) => html`<span
          key=${number} class=${token.isSpecial ? "chip special" : "chip"}
          style=${{ background: `rgb(var(--heat) / ${0.32 * Math.exp(trace.tokenLogProbs[number])})` }}
        >${spelled(token)}<small>${percentOf(trace.tokenLogProbs[number])}</small></span>`)}
      </div>
      <p class="hint">${said.outcomeHint} ${said.logProb} <b>${minused(trace.logProb, 2)}</b></p>
    <//>`;
}

/** One position at one moment: what it says, how sure it is of that, and whether that remains. */
function Cell({ one, token, moment, said }) {
  if (moment === "copies") return html`<span class="cell copy">${spelled(token)}</span>`;
  const isEnd = moment === "merged" || moment === "collapsed";
  const now = isEnd ? one.byLayer.at(-1) : one.byLayer[moment];
  const isBlank = now.text === "";
  const gone = isEnd && one.fate === "repeat" || moment === "collapsed" && one.fate !== "written";
  const isKept = isEnd && one.fate === "written";
  const others = one.top.map((other) => `${nameOf(other, said)} ${percentOf(other.logProb)}`).join(", ");
  return html`<span
    class=${["cell", isBlank && "blank", gone && "gone", isKept && "kept"].filter(Boolean).join(" ")}
    title=${isEnd ? `${said.fates[one.fate]} · ${others}` : others}
    style=${{ background: `rgb(var(--heat) / ${0.32 * Math.exp(now.logProb)})` }}
  >${isBlank ? "·" : spelled(now)}<small>${percentOf(now.logProb)}</small></span>`;
}

const nameOf = (choice, said) => (choice.text === "" ? said.blank : spelled(choice));
