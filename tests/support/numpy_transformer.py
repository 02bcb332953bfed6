"""The Transformer transcribed from the paper into NumPy, one equation a function, loops where the paper has indices.

It shares nothing with the package: no code, no torch, no packed matrices, no masks as tensors. Double precision.
Symbols are the paper's: W_Q, W_K, W_V, W_O of a head block, W_1, b_1, W_2, b_2 of equation 2; matrices act from the
right, as printed (x W). Padding is dealt with by not having any: a sentence is a list of its real tokens.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return e / e.sum()


def scaled_dot_product_attention(Q: Array, K: Array, V: Array, causal: bool) -> Array:  # noqa: N803
    """Equation 1, row by row; a causal row i ends at key i."""
    rows = []
    for i, q in enumerate(Q):
        visible = i + 1 if causal else len(K)
        rows.append(softmax(K[:visible] @ q / math.sqrt(len(q))) @ V[:visible])
    return np.stack(rows)


def multi_head(x: Array, y: Array, w: dict[str, Array], h: int, causal: bool = False) -> Array:
    """Section 3.2.2: MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O."""
    d_k = x.shape[1] // h
    Q, K, V = x @ w["W_Q"] + w["b_Q"], y @ w["W_K"] + w["b_K"], y @ w["W_V"] + w["b_V"]  # noqa: N806
    heads = []
    for i in range(h):
        part = slice(i * d_k, (i + 1) * d_k)
        heads.append(scaled_dot_product_attention(Q[:, part], K[:, part], V[:, part], causal))
    return np.concatenate(heads, axis=1) @ w["W_O"] + w["b_O"]


def feed_forward(x: Array, w: dict[str, Array]) -> Array:
    """Equation 2."""
    return np.maximum(0, x @ w["W_1"] + w["b_1"]) @ w["W_2"] + w["b_2"]


def layer_norm(x: Array, w: dict[str, Array], epsilon: float = 1e-5) -> Array:
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * w["gain"] + w["bias"]


def positional_encoding(length: int, d_model: int) -> Array:
    """Section 3.5, entry by entry."""
    table = np.zeros((length, d_model))
    for pos in range(length):
        for i in range(d_model // 2):
            table[pos, 2 * i] = math.sin(pos / 10000 ** (2 * i / d_model))
            table[pos, 2 * i + 1] = math.cos(pos / 10000 ** (2 * i / d_model))
    return table


def embed(tokens: list[int], E: Array) -> Array:  # noqa: N803
    d_model = E.shape[1]
    return E[tokens] * math.sqrt(d_model) + positional_encoding(len(tokens), d_model)


def transformer(source: list[int], target: list[int], E: Array, layers: dict[str, list[Any]], h: int) -> Array:  # noqa: N803
    """Figure 1 with post-norm and three-way tying; returns the logits after every target token."""
    x = embed(source, E)
    for w in layers["encoder"]:
        x = layer_norm(x + multi_head(x, x, w["attention"], h), w["attention_norm"])
        x = layer_norm(x + feed_forward(x, w["ffn"]), w["ffn_norm"])
    y = embed(target, E)
    for w in layers["decoder"]:
        y = layer_norm(y + multi_head(y, y, w["attention"], h, causal=True), w["attention_norm"])
        y = layer_norm(y + multi_head(y, x, w["cross"], h), w["cross_norm"])
        y = layer_norm(y + feed_forward(y, w["ffn"]), w["ffn_norm"])
    return y @ E.T
