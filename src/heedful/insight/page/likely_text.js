// A text shaded by how probable a language model found each symbol of it, and what was likely at one place.

import { percent } from "./curves.js";
import { alongRow } from "./parts.js";
import { isWhole, visible } from "./symbols.js";
import { html } from "./vendor/preact.js";

/** The less probable, the warmer; the logarithm tells one in ten from one in a thousand. */
function shadeOf(probability) {
  const surprise = Math.min(1, -Math.log10(Math.max(probability, 1e-4)) / 3);
  return { background: `rgb(var(--against) / ${(0.55 * surprise).toFixed(3)})` };
}

const widthOf = (choice) => ({ width: `${100 * choice.probability}%` });

function Symbols({ prompt, pieces, place, chosen, words }) {
  const onKeyDown = alongRow(place, (next) => { chosen.value = next; });
  return html`
    <p class="written-text" role="group" aria-label=${words.text} onKeyDown=${onKeyDown}>
      <span class="prompt">${prompt}</span>
      ${pieces.map(({ text, probability = 1 }, number) => html`<button
        key=${number} type="button" tabindex=${number === place ? 0 : -1} aria-pressed=${number === place}
        style=${shadeOf(probability)} aria-label=${words.probability(visible(text), percent(probability))}
        onClick=${() => { chosen.value = number; }}
      >${text === "\n" ? "↵\n" : text || "·"}</button>`)}
    </p>`;
}

/**
 * Symbols [{text, probability}] with bars. The one that is there, `written`, stands out; `onChoose(symbol)`, where
 * given, takes any other that can be typed, which `words` says.
 */
export function Choices({ choices, written = null, words = null, onChoose = null }) {
  return html`
    <div class="top choices">
      ${choices.map((choice, rank) => {
        const isWritten = choice.text === written;
        const canGoOn = onChoose !== null && isWhole(choice.text) && !isWritten;
        return [
          html`<button
            key=${`${rank} symbol`} type="button" class=${isWritten ? "written" : ""} disabled=${!canGoOn}
            title=${canGoOn ? words.goOn(visible(choice.text)) : null} onClick=${() => onChoose(choice.text)}
          >${visible(choice.text)}</button>`,
          html`<span key=${`${rank} bar`} class="track"><i style=${widthOf(choice)}></i></span>`,
          html`<span key=${`${rank} number`} class="number">${percent(choice.probability)}</span>`,
        ];
      })}
    </div>`;
}

/** What was likely at the place that is looked at; what was written is there even when it was far from likely. */
function Likely({ prompt, pieces, place, words, onContinue }) {
  const piece = pieces[place];
  if (!piece?.choices) return null;
  const before = prompt + pieces.slice(0, place).map((one) => one.text).join("");
  const isListed = piece.choices.some((choice) => choice.text === piece.text);
  const choices = isListed || !piece.text ? piece.choices : [...piece.choices, piece];
  const bits = (-Math.log2(piece.probability)).toFixed(2);
  return html`
    <div>
      <p class="label">${words.likely}: ${words.place(place + 1)}, ${words.surprisal(bits)}</p>
      <${Choices}
        choices=${choices} written=${piece.text} words=${words}
        onChoose=${onContinue && ((symbol) => onContinue(before + symbol))}
      />
      <p class="hint">${words.likelyHint} ${onContinue && words.goOnHint}</p>
    </div>`;
}

/**
 * `pieces` [{text, probability, choices}] follow the `prompt`; `chosen` is the signal of the one that is looked at,
 * null for the last. `onContinue(text)`, where given, goes on with another symbol than the one that is there.
 */
export function LikelyText({ prompt, pieces, chosen, words, onContinue = null }) {
  const place = Math.min(chosen.value ?? pieces.length - 1, pieces.length - 1);
  return html`
    <div class="written-pair">
      <${Symbols} prompt=${prompt} pieces=${pieces} place=${place} chosen=${chosen} words=${words} />
      <${Likely} prompt=${prompt} pieces=${pieces} place=${place} words=${words} onContinue=${onContinue} />
    </div>`;
}
