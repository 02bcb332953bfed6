// What a token being written looks at, beside what it rests on: attention is where a head looks, and no more.

import { meanOf, useBetween } from "./attention_map.js";
import { colour, shade, spelled } from "./drawing.js";
import { html } from "./vendor/preact.js";

/**
 * Speaks of the written token at `step`, or of the one pointed at among `rows`. `attribution` is {status, data, error}
 * with a row for each written token, or null where it was not asked for.
 */
export function Beside({ trace, layers, look, pointed, rows, step: atRest, attribution, words }) {
  const isPointed = look.use.from === "target" && pointed.value?.side === "row" && pointed.value.index < rows.length;
  const step = isPointed ? rows[pointed.value.index].first : atRest;
  const isAtSource = look.use.from === "target" && look.use.at === "source";
  const use = isAtSource ? look.use : useBetween(trace, "target", "source");
  const layer = isAtSource ? look.layer : use && layers[use.name].length - 1;
  const heads = isAtSource ? look.heads : null;
  const attention = use && meanOf(layers[use.name][layer], heads)[step];
  const rests = attribution?.status === "ready" ? attribution.data[step] : null;
  const { tokens } = trace.source;
  return html`
    <div class="beside">
      <h3>${words.besideTitle(spelled(trace.target.tokens[step]))}</h3>
      <p class="note">${words.note}</p>
      ${use && html`<${Weighed}
        name="attention" tokens=${tokens} values=${attention} title=${words.lookedAt(layer, heads)}
      />`}
      ${rests && html`<${Weighed} name="attribution" tokens=${tokens} values=${rests} title=${words.restsOn} />`}
      ${attribution?.status === "loading" && html`<p class="label" role="status">${words.attributing}</p>`}
      ${attribution?.status === "failed"
        && html`<p class="label warning">${words.notAttributed(attribution.error)}</p>`}
      ${attribution === null && html`<p class="label">${words.noAttribution}</p>`}
    </div>`;
}

/** Tokens shaded by a number each; where numbers have signs, those against are in the other colour. */
function Weighed({ name, tokens, values, title }) {
  const isSigned = name === "attribution";
  const largest = isSigned ? Math.max(1e-9, ...values.map(Math.abs)) : 1;
  return html`
    <p class="label">${title}</p>
    <div class=${`chips stacked weighed ${name}`}>
      ${tokens.map((token, number) => {
        const part = values[number] / largest;
        const strength = isSigned ? Math.abs(part) : shade(part);
        const value = isSigned ? signed(values[number], 3) : values[number].toFixed(3);
        return html`<span
          key=${number} class=${`chip${token.isSpecial ? " special" : ""}`} title=${value}
          style=${{ background: `rgb(${colour(part < 0 ? "--against" : "--heat")} / ${0.7 * strength})` }}
        >${spelled(token)}<small>${isSigned ? value : values[number].toFixed(2)}</small></span>`;
      })}
    </div>`;
}

/** A number with its sign, the true minus; what is nothing in these digits has none. */
export function signed(value, digits = 2) {
  const size = Math.abs(value).toFixed(digits);
  return (Number(size) === 0 ? "" : value < 0 ? "−" : "+") + size;
}
