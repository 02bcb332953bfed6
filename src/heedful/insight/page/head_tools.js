// What the views of classifiers and language models choose heads with: buttons for layer and head, and all of them.

import { HeadGrid } from "./head_grid.js";
import { Choice } from "./parts.js";
import { batch, html } from "./vendor/preact.js";

/** The layer and head that the state names, held within what the model has. */
export function headShown(layers, state) {
  const layer = Math.min(state.layer.value ?? layers.length - 1, layers.length - 1);
  return { layer, head: Math.min(state.head.value, layers[layer].shape[0] - 1) };
}

/** Which layer and which head, or the mean of all heads. */
export function HeadTools({ layers, layer, head, state, words }) {
  const numbers = (count) => [...Array(count).keys()].map((number) => [number, String(number + 1)]);
  const heads = [[-1, words.mean], ...numbers(layers[layer].shape[0])];
  const choose = (name) => (value) => { state[name].value = value; };
  return html`
    <div class="tools">
      <${Choice} label=${words.layer} options=${numbers(layers.length)} value=${layer} onChoose=${choose("layer")} />
      <${Choice} label=${words.head} options=${heads} value=${head} onChoose=${choose("head")} />
    </div>`;
}

/** All heads under their heading; `about` and `under` as in the grid. */
export function HeadPictures({ layers, layer, head, state, label, about, under }) {
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
