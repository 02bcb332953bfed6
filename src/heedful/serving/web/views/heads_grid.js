// All heads of one use as switches: a row for each layer, in each cell where the head looks, what it is worth and how
// widely it looks. Arrow keys move between them.

import { html, useLayoutEffect, useRef, useState } from "/insight/vendor/preact.js";
import { drawThumbnail, headOf } from "/insight/drawing.js";
import { useScheme } from "/insight/parts.js";
import { nameOf, toggle } from "./heads_ablation.js";
import { words } from "./heads_words.js";

function Thumbnail({ layer, head }) {
  const canvas = useRef(null);
  const scheme = useScheme();
  useLayoutEffect(() => drawThumbnail(canvas.current, headOf(layer, head)), [layer, head, scheme]);
  return html`<canvas ref=${canvas} aria-hidden="true"></canvas>`;
}

/** A bar as long as a change is large beside the largest; its colour says whether the head was of use. */
export function Worth({ change, most }) {
  const width = `${Math.min(100, (100 * Math.abs(change)) / most)}%`;
  return html`<span class="worth" aria-hidden="true">
    <i class=${change < 0 ? "useful" : "harmful"} style=${{ width }}></i></span>`;
}

/** What can be said about a head in one line. */
export function about([kind, layer, head], entropy, changes) {
  const said = words();
  const parts = [said.entropy(entropy[kind][layer][head]), changes && said.change(changes[kind][layer][head])];
  return `${said.name(said.nameOfUse(kind), layer + 1, head + 1)}: ${parts.filter(Boolean).join(said.listing)}`;
}

export function Block({ use, layers, entropy, changes, most, isOff, onPoint }) {
  const said = words();
  const { name: kind } = use;
  const box = useRef(null);
  const [reachable, setReachable] = useState("0.0");
  const count = entropy[kind][0].length;
  const onKeyDown = (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const place = event.target.dataset.place?.split(".").map(Number);
    if (!move || !place || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    box.current.querySelector(`[data-place="${place[0] + move[0]}.${place[1] + move[1]}"]`)?.focus();
  };
  const cell = (layer, head) => {
    const one = [kind, layer, head];
    const place = `${layer}.${head}`;
    const point = () => onPoint(one);
    return html`<button
      key=${place} type="button" role="switch" aria-checked=${!isOff(nameOf(...one))} data-place=${place}
      aria-label=${about(one, entropy, changes)} tabindex=${place === reachable ? 0 : -1} onClick=${() => toggle([one])}
      onMouseEnter=${point} onFocus=${() => { setReachable(place); point(); }}
    >
      <${Thumbnail} layer=${layers[kind][layer]} head=${head} />
      <${Worth} change=${changes?.[kind][layer][head] ?? 0} most=${most} />
      <small>${(2 ** entropy[kind][layer][head]).toFixed(1)}</small>
    </button>`;
  };
  return html`
    <div class="head-use" role="group" aria-label=${said.nameOfUse(kind)} ref=${box} onKeyDown=${onKeyDown}
      onMouseLeave=${() => onPoint(null)}>
      <h3>${said.nameOfUse(kind)} <span>${said.looks(use)}</span></h3>
      <div class="switches" style=${{ gridTemplateColumns: `max-content repeat(${count}, minmax(0, 1fr))` }}>
        ${entropy[kind].map((row, layer) => [
          html`<button
            key=${`layer ${layer}`} type="button" class="layer"
            title=${said.toggleLayer(said.nameOfUse(kind), layer + 1)}
            aria-label=${said.toggleLayer(said.nameOfUse(kind), layer + 1)}
            onClick=${() => toggle(row.map((_, head) => [kind, layer, head]))}
          >${said.layer(layer + 1)}</button>`,
          ...row.map((_, head) => cell(layer, head)),
        ])}
        <span class="axis">${said.headNumber}</span>
        ${entropy[kind][0].map((_, head) => html`<span key=${head} class="axis">${head + 1}</span>`)}
      </div>
    </div>`;
}
