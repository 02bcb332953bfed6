// The text a language model has written, shaded by how probable each symbol was, and what was likely at one place.

import { html, useRef } from "/insight/vendor/preact.js";
import { Card } from "/insight/parts.js";
import { chosen, isWhole, visible, written } from "./writing_stream.js";
import { words } from "./writing_words.js";

const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** The less probable, the warmer; the logarithm tells one in ten from one in a thousand. */
function shadeOf(probability) {
  const surprise = Math.min(1, -Math.log10(Math.max(probability, 1e-4)) / 3);
  return { background: `rgb(var(--against) / ${(0.55 * surprise).toFixed(3)})` };
}

const widthOf = (choice) => ({ width: `${100 * choice.probability}%` });
const placeOf = (pieces) => Math.min(chosen.value ?? pieces.length - 1, pieces.length - 1);

function Symbols({ prompt, pieces }) {
  const said = words();
  const box = useRef(null);
  const place = placeOf(pieces);
  const onKeyDown = (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    chosen.value = Math.max(0, Math.min(pieces.length - 1, place + move));
    box.current.querySelectorAll("button")[chosen.value].focus();
  };
  return html`
    <p class="written-text" role="group" aria-label=${said.text} ref=${box} onKeyDown=${onKeyDown}>
      <span class="prompt">${prompt}</span>
      ${pieces.map(({ text, probability = 1 }, number) => html`<button
        key=${number} type="button" tabindex=${number === place ? 0 : -1} aria-pressed=${number === place}
        style=${shadeOf(probability)} aria-label=${said.probability(visible(text), percent(probability))}
        onClick=${() => { chosen.value = number; }}
      >${text === "\n" ? "↵\n" : text || "·"}</button>`)}
    </p>`;
}

/** What was likely at the place that is looked at; what was written is there even when it was far from likely. */
function Likely({ prompt, pieces, onContinue }) {
  const said = words();
  const place = placeOf(pieces);
  const piece = pieces[place];
  if (!piece?.choices) return null;
  const before = prompt + pieces.slice(0, place).map((one) => one.text).join("");
  const isListed = piece.choices.some((choice) => choice.text === piece.text);
  const choices = isListed || !piece.text ? piece.choices : [...piece.choices, piece];
  return html`
    <div>
      <p class="label">${said.likely}: ${said.place(place + 1)}</p>
      <div class="top choices">
        ${choices.map((choice, rank) => {
          const isWritten = choice.text === piece.text;
          const canGoOn = isWhole(choice.text) && !isWritten;
          return [
            html`<button
              key=${`${rank} symbol`} type="button" class=${isWritten ? "written" : ""} disabled=${!canGoOn}
              title=${canGoOn ? said.goOn(visible(choice.text)) : null}
              onClick=${() => onContinue(before + choice.text)}
            >${visible(choice.text)}</button>`,
            html`<span key=${`${rank} bar`} class="track"><i style=${widthOf(choice)}></i></span>`,
            html`<span key=${`${rank} number`} class="number">${percent(choice.probability)}</span>`,
          ];
        })}
      </div>
      <p class="hint">${said.likelyHint}</p>
    </div>`;
}

export function WrittenText({ onContinue }) {
  const said = words();
  const { status, prompt, pieces, error } = written.value;
  const told = status === "writing" ? said.writing(pieces.length) : said.written(pieces.length);
  return html`
    <${Card} title=${said.text} hint=${said.textHint}>
      ${status === "failed" && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
      ${status === "none" ? html`<p class="empty">${said.empty}</p>` : html`
        <p class="caption" role="status"><span class="busy" data-on=${status === "writing"}>${told}</span></p>
        <div class="written-pair">
          <${Symbols} prompt=${prompt} pieces=${pieces} />
          <${Likely} prompt=${prompt} pieces=${pieces} onContinue=${onContinue} />
        </div>`}
    <//>`;
}
