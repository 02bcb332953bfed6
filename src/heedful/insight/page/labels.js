// What a classifier makes of a text: the label, the words that moved it, and where its heads look.
// Takes what was found and the state; who asked for it is the matter of the page around it.

import { percent } from "./curves.js";
import { headOf } from "./drawing.js";
import { HeadPictures, headShown, HeadTools } from "./head_tools.js";
import { HeatMap } from "./heat_map.js";
import { alongRow, Card, Choice } from "./parts.js";
import { html, useEffect, useState } from "./vendor/preact.js";

const NUM_STRONGEST = 8;

/** The label, and the probabilities of all. */
export function Decision({ data, words, isStale = false }) {
  return html`
    <div class=${isStale ? "stale" : ""}>
      <p class="verdict" role="status">
        <strong>${data.label}</strong> <span>${words.sure(percent(data.probabilities[data.label]))}</span>
      </p>
      <div class="top">
        ${Object.entries(data.probabilities).sort(([, a], [, b]) => b - a).map(([label, share]) => [
          html`<span key=${`${label} name`} class=${label === data.label ? "written" : ""}>${label}</span>`,
          html`<span key=${`${label} bar`} class="track"><i style=${{ width: `${100 * share}%` }}></i></span>`,
          html`<span key=${`${label} number`} class="number">${percent(share)}</span>`,
        ])}
      </div>
      ${data.unreadTokens > 0 && html`<p class="warning">${words.unread(data.unreadTokens)}</p>`}
    </div>`;
}

/** How strongly a word is shaded: blue where it speaks for the label, orange where against it. */
function shadeOf(value, strongest) {
  const share = strongest > 0 ? Math.abs(value) / strongest : 0;
  return { background: `rgb(var(${value < 0 ? "--against" : "--heat"}) / ${(0.6 * share ** 0.7).toFixed(3)})` };
}

/** The text in pieces: the words as they were judged, and what is between them. Places count whole characters. */
function piecesOf(text, found) {
  const characters = Array.from(text);
  const pieces = [];
  let at = 0;
  found.forEach((word, number) => {
    pieces.push({ text: characters.slice(at, word.start).join("") });
    pieces.push({ text: characters.slice(word.start, word.end).join(""), word, number });
    at = word.end;
  });
  return [...pieces, { text: characters.slice(at).join("") }];
}

function ShadedText({ text, found, label, strongest, chosen, words, onChoose }) {
  return html`
    <p class="shaded" role="group" aria-label=${words.words} onKeyDown=${alongRow(chosen, onChoose)}>
      ${piecesOf(text, found).map((piece, place) => (piece.word
        ? html`<button
            key=${place} type="button" tabindex=${piece.number === (chosen ?? 0) ? 0 : -1}
            style=${shadeOf(piece.word.influence, strongest)}
            aria-label=${words.influence(piece.text, piece.word.influence, label)}
            onMouseEnter=${() => onChoose(piece.number)} onFocus=${() => onChoose(piece.number)}
          >${piece.text}</button>`
        : piece.text))}
    </p>`;
}

function Strongest({ found, strongest, words }) {
  const order = [...found].sort((a, b) => Math.abs(b.influence) - Math.abs(a.influence)).slice(0, NUM_STRONGEST);
  return html`
    <div>
      <p class="label">${words.strongest}</p>
      <div class="leaning">
        ${order.map((word, place) => [
          html`<span key=${`${place} word`} class="word-name">${word.word}</span>`,
          html`<span key=${`${place} bar`} class="balance" aria-hidden="true"><i
            class=${word.influence < 0 ? "against" : "for"}
            style=${{ width: `${(50 * Math.abs(word.influence)) / strongest}%` }}
          ></i></span>`,
          html`<span key=${`${place} number`} class="number">${words.number(word.influence)}</span>`,
        ])}
      </div>
    </div>`;
}

/** The words that moved the decision; where it is known what each did for every label, one chooses for which. */
export function Influences({ data, text, words, isStale = false }) {
  const [chosen, setChosen] = useState(null);
  const [wanted, setWanted] = useState(null);
  useEffect(() => setChosen(null), [data]);
  const labels = Object.keys(data.words[0]?.byLabel ?? {});
  const label = labels.includes(wanted) ? wanted : data.label;
  const found = data.words.map((word) => ({ ...word, influence: word.byLabel?.[label] ?? word.influence ?? 0 }));
  if (!found.length) return null;
  const strongest = Math.max(...found.map((word) => Math.abs(word.influence))) || 1;
  const [speaksFor, speaksAgainst] = words.legend(label);
  const word = found[chosen] ?? null;
  return html`
    <${Card} title=${words.words} hint=${words.wordsHint}>
      ${labels.length > 2 && html`<div class="tools"><${Choice}
        label=${words.whichLabel} options=${labels.map((one) => [one, one])} value=${label} onChoose=${setWanted}
      /></div>`}
      <p class="influence-legend">
        <span><i class="for"></i>${speaksFor}</span><span><i class="against"></i>${speaksAgainst}</span>
        <b aria-live="polite">${word && words.influence(word.word, word.influence, label)}</b>
      </p>
      <div class=${`influences ${isStale ? "stale" : ""}`}>
        <${ShadedText}
          text=${text} found=${found} label=${label} strongest=${strongest} chosen=${chosen} words=${words}
          onChoose=${setChosen}
        />
        <${Strongest} found=${found} strongest=${strongest} words=${words} />
      </div>
    <//>`;
}

/** Where each token looks, by layer and head. */
export function LabelHeads({ tokens, layers, state, words }) {
  if (!layers.length) return html`<p class="empty">${words.noLayers}</p>`;
  const { layer, head } = headShown(layers, state);
  return html`
    <${HeadTools} layers=${layers} layer=${layer} head=${head} state=${state} words=${words} />
    <div class="two">
      <${HeatMap}
        weights=${headOf(layers[layer], head)} rows=${tokens} columns=${tokens} label=${words.axes}
        spell=${words.weight}
      />
      <${HeadPictures}
        layers=${layers} layer=${layer} head=${head} state=${state} label=${words.allHeads} about=${words.which}
      />
    </div>`;
}
