// All heads of one use as small pictures: a row for each layer, under each head how widely it looks.

import { chooseHeads } from "./attention_map.js";
import { drawThumbnail, headOf } from "./drawing.js";
import { useScheme } from "./parts.js";
import { batch, html, useLayoutEffect, useRef, useSignal } from "./vendor/preact.js";

function Thumbnail({ weights, scheme }) {
  const canvas = useRef(null);
  useLayoutEffect(() => drawThumbnail(canvas.current, weights), [weights, scheme]);
  return html`<canvas ref=${canvas} aria-hidden="true"></canvas>`;
}

export function HeadGrid({ trace, layers, look, state, words }) {
  const { kind, count } = look;
  const scheme = useScheme();
  const grid = useRef(null);
  const pointed = useSignal(null);
  const changes = trace.head_changes?.[kind] ?? null;
  const worst = changes && Math.max(0.01, ...Object.values(trace.head_changes).flat(2).map((x) => -x));
  const about = (layer, head) =>
    [
      words.place(layer, head),
      words.entropy(trace.entropy[kind][layer][head]),
      changes && words.change(changes[layer][head]),
    ].filter(Boolean).join(words.listing);
  const choose = (layer, head) => batch(() => {
    state.layer.value = layer;
    chooseHeads(state, [head]);
  });
  const reachable = look.layer * count + (look.heads?.[0] ?? 0);
  const onKeyDown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: count, ArrowUp: -count }[event.key];
    if (!by || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...grid.current.querySelectorAll("button")];
    buttons[buttons.indexOf(event.target) + by]?.focus();
  };
  const cell = (layer, head) => {
    const isShown = layer === look.layer && look.heads !== null && look.heads.includes(head);
    const width = changes && `${(100 * Math.max(0, -changes[layer][head])) / worst}%`;
    return html`<button
      key=${`${layer} ${head}`} type="button" role="radio" aria-checked=${isShown} title=${about(layer, head)}
      aria-label=${about(layer, head)} tabindex=${layer * count + head === reachable ? 0 : -1}
      onClick=${() => choose(layer, head)} onMouseEnter=${() => { pointed.value = [layer, head]; }}
      onFocus=${() => { pointed.value = [layer, head]; }} onMouseLeave=${() => { pointed.value = null; }}
    >
      <${Thumbnail} weights=${headOf(layers[kind][layer], head)} scheme=${scheme} />
      ${changes && html`<span class="under" style=${{ width }}></span>`}
      <span class="spread" aria-hidden="true">${(2 ** trace.entropy[kind][layer][head]).toFixed(1)}</span>
    </button>`;
  };
  const said = pointed.value ?? (look.heads?.length === 1 ? [look.layer, look.heads[0]] : null);
  return html`
    <div class="all-heads">
      <h3>${words.allHeads}: ${words.nameOfUse(kind)}</h3>
      <p class="label">${words.allHeadsHint} ${changes && words.changesHint}</p>
      <div
        class="grid" role="radiogroup" aria-label=${words.allHeads} ref=${grid} onKeyDown=${onKeyDown}
        style=${{ gridTemplateColumns: `max-content repeat(${count}, minmax(0, 84px))` }}
      >
        ${layers[kind].map((_, layer) => [
          html`<span key=${`row ${layer}`} class="row">${layer + 1}</span>`,
          ...[...Array(count).keys()].map((head) => cell(layer, head)),
        ])}
      </div>
      <p class="caption said-head" role="status">${said ? about(said[0], Math.min(said[1], count - 1)) : ""}</p>
    </div>`;
}
