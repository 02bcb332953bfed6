// All heads of the use that is looked at, under each how widely it looks and, where it is known, what it is worth.

import { chooseHeads } from "./attention_map.js";
import { HeadGrid } from "./head_grid.js";
import { batch, html, useState } from "./vendor/preact.js";

export function AllHeads({ trace, layers, look, state, words }) {
  const { kind, count } = look;
  const [pointed, setPointed] = useState(null);
  const changes = trace.headChanges?.[kind] ?? null;
  const worst = changes && Math.max(0.01, ...Object.values(trace.headChanges).flat(2).map((x) => -x));
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
  const under = (layer, head) => {
    const width = changes && `${(100 * Math.max(0, -changes[layer][head])) / worst}%`;
    return html`
      ${changes && html`<span class="under" style=${{ width }}></span>`}
      <span class="spread" aria-hidden="true">${(2 ** trace.entropy[kind][layer][head]).toFixed(1)}</span>`;
  };
  const said = pointed ?? (look.heads?.length === 1 ? [look.layer, look.heads[0]] : null);
  return html`
    <div class="all-heads">
      <h3>${words.allHeads}: ${words.nameOfUse(kind)}</h3>
      <p class="label">${words.allHeadsHint} ${changes && words.changesHint}</p>
      <${HeadGrid}
        layers=${layers[kind]} label=${words.allHeads} role="radio" about=${about} under=${under}
        isOn=${(layer, head) => layer === look.layer && look.heads !== null && look.heads.includes(head)}
        reachable=${[look.layer, look.heads?.[0] ?? 0]} onChoose=${choose} onPoint=${setPointed}
      />
      <p class="caption said-head" role="status">${said ? about(said[0], Math.min(said[1], count - 1)) : ""}</p>
    </div>`;
}
