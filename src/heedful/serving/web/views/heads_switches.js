// All heads of one use as switches: in each cell where the head looks, what it is worth and how widely it looks.

import { html } from "/insight/vendor/preact.js";
import { HeadGrid } from "/insight/head_grid.js";
import { nameOf, toggle } from "./heads_ablation.js";
import { words } from "./heads_words.js";

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

export function Switches({ use, layers, entropy, changes, most, isOff, onPoint }) {
  const said = words();
  const { name: kind } = use;
  const heads = [...entropy[kind][0].keys()];
  const named = said.nameOfUse(kind);
  const wholeLayer = (layer) => html`<button
    key=${`layer ${layer}`} type="button" class="layer" title=${said.toggleLayer(named, layer + 1)}
    aria-label=${said.toggleLayer(named, layer + 1)} onClick=${() => toggle(heads.map((head) => [kind, layer, head]))}
  >${said.layer(layer + 1)}</button>`;
  const under = (layer, head) => html`
    <${Worth} change=${changes?.[kind][layer][head] ?? 0} most=${most} />
    <small>${(2 ** entropy[kind][layer][head]).toFixed(1)}</small>`;
  return html`
    <div class="head-use">
      <h3>${named} <span>${said.looks(use)}</span></h3>
      <${HeadGrid}
        layers=${layers[kind]} label=${named} role="switch" className="switches" before=${wholeLayer} under=${under}
        isOn=${(layer, head) => !isOff(nameOf(kind, layer, head))} onChoose=${(...at) => toggle([[kind, ...at]])}
        about=${(layer, head) => about([kind, layer, head], entropy, changes)}
        onPoint=${(at) => onPoint(at && [kind, ...at])}
      >
        <span class="axis">${said.headNumber}</span>
        ${heads.map((head) => html`<span key=${head} class="axis">${head + 1}</span>`)}
      <//>
    </div>`;
}
