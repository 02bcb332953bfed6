// What views of the other tasks choose heads with: buttons for layer and head, and the grid of all heads.

import { batch, html } from "/insight/vendor/preact.js";
import { Choice } from "/insight/parts.js";
import { HeadGrid } from "/insight/head_grid.js";
import { state } from "../state.js";

/** Which layer and which head, or the mean of all heads. */
export function HeadTools({ layers, layer, head, said }) {
  const numbers = (count) => [...Array(count).keys()].map((number) => [number, String(number + 1)]);
  const heads = [[-1, said.mean], ...numbers(layers[layer].shape[0])];
  const choose = (name) => (value) => { state[name].value = value; };
  return html`
    <div class="tools">
      <${Choice} label=${said.layer} options=${numbers(layers.length)} value=${layer} onChoose=${choose("layer")} />
      <${Choice} label=${said.head} options=${heads} value=${head} onChoose=${choose("head")} />
    </div>`;
}

/** All heads under their heading; `about` and `under` as in the grid. */
export function HeadPictures({ layers, layer, head, label, about, under }) {
  const choose = (number, which) => batch(() => {
    state.layer.value = number;
    state.head.value = which;
  });
  return html`
    <div>
      <p class="caption">${label}</p>
      <${HeadGrid}
        layers=${layers} label=${label} isOn=${(number, which) => number === layer && which === head} about=${about}
        under=${under} onChoose=${choose}
      />
    </div>`;
}
