// The formulas of the chapters, one line each, in plain HTML.

import { html } from "/insight/vendor/preact.js";

export const FORMULAS = {
  attention: html`y<sub>i</sub> = Σ<sub>j</sub> w<sub>ij</sub> v<sub>j</sub>, Σ<sub>j</sub> w<sub>ij</sub> = 1`,
  product: html`Attention(Q, K, V) = softmax(Q Kᵀ / √d<sub>k</sub>) V`,
  dot: html`q · k = q<sub>1</sub>k<sub>1</sub> + q<sub>2</sub>k<sub>2</sub> + … + q<sub>d</sub>k<sub>d</sub>`,
  recurrent: html`h<sub>t</sub> = f(h<sub>t−1</sub>, x<sub>t</sub>)`,
  lookingBack: html`w<sub>tj</sub> = softmax<sub>j</sub>(s<sub>t</sub> W h<sub>j</sub>),
    c<sub>t</sub> = Σ<sub>j</sub> w<sub>tj</sub> h<sub>j</sub>`,
  cost: html`n² · d ${"<"} n · d² ⇔ n ${"<"} d`,
  chain: html`∂h<sub>T</sub>/∂h<sub>t</sub> = ∂h<sub>T</sub>/∂h<sub>T−1</sub> · … · ∂h<sub>t+1</sub>/∂h<sub>t</sub>`,
  rotation: html`sin(p + k) = sin(p) cos(k) + cos(p) sin(k)`,
  heads: html`MultiHead = Concat(head<sub>1</sub>, …, head<sub>h</sub>) W<sup>O</sup>`,
  mask: html`softmax(…, −∞, …): e<sup>−∞</sup> = 0`,
  positions: html`PE(p, 2i) = sin(p / 10000<sup>2i/d</sup>), PE(p, 2i+1) = cos(p / 10000<sup>2i/d</sup>)`,
  sublayer: html`LayerNorm(x + Sublayer(x))`,
  loss: html`loss = −log p(y<sub>t</sub> | y<sub>1</sub> … y<sub>t−1</sub>, x)`,
  schedule: html`rate = d<sup>−0.5</sup> · min(step<sup>−0.5</sup>, step · warmup<sup>−1.5</sup>)`,
  penalty: html`score = log p / ((5 + length) / 6)<sup>α</sup>`,
  temperature: html`softmax(scores / T)`,
};
