"""The product of `engines/int8/linear.h` against exact integers, compiled for every processor this can stand in for.

A processor runs one of several inner loops, chosen when the engine is compiled. Told to leave newer instructions alone,
the compiler makes the others as well, so that each is held to the same sums wherever the tests run.
"""

import ctypes
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from heedful.engines.int8.library import FLAGS, SOURCES, find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C++ compiler")

HARNESS = """
#include "linear.h"

// Rounds x [rows, inputs] to integers and their scales, and multiplies; returns the largest integer there may be.
extern "C" int multiply(const int8_t* weights, const float* scales, const float* bias, int outputs, int inputs,
                        const float* x, int rows, int threads, int32_t* integers, float* row_scales, float* y) {
    const Linear linear(weights, scales, bias, outputs, inputs);
    QuantizedRows quantized;
    quantized.reserve(rows, inputs);
    for (int row = 0; row < rows; ++row) {
        quantize_row(x + row * inputs, inputs, &quantized.values[row * inputs], &quantized.scales[row]);
        row_scales[row] = quantized.scales[row];
        for (int i = row * inputs; i < (row + 1) * inputs; ++i) integers[i] = quantized.values[i] - kOffset;
    }
    Team team(threads);
    const long stride = linear.padded_outputs();
    const Buffer<float> padded = allocate<float>(rows * stride);
    linear.multiply(quantized, rows, padded.get(), team);
    for (int row = 0; row < rows; ++row) std::memcpy(y + row * outputs, &padded[row * stride], outputs * sizeof(float));
    return int(largest_activation(inputs));
}
"""

WITHOUT = {
    "this processor": (),
    "without byte products": ("-mno-avx512vnni",),
    "without AVX-512": ("-mno-avx512f",),
    "without AVX": ("-mno-avx",),
}
if platform.machine() != "x86_64":
    WITHOUT = {"this processor": ()}


class Product(NamedTuple):
    """What came out for some rows, [rows, outputs], and what the activations had become, [rows, inputs] and [rows]."""

    y: np.ndarray
    integers: np.ndarray
    scales: np.ndarray
    largest: int


class Layer(NamedTuple):
    """A linear layer as the engine holds it: [outputs, inputs], [outputs], [outputs]."""

    weights: np.ndarray
    scales: np.ndarray
    bias: np.ndarray


Multiply = Callable[[Layer, np.ndarray, int], Product]


@pytest.fixture(scope="module", params=WITHOUT)
def multiply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Multiply:
    folder: Path = tmp_path_factory.mktemp("products")
    compiler = find_compiler()
    assert compiler is not None
    (folder / "harness.cpp").write_text(HARNESS)
    command: list[str | Path] = [
        *FLAGS,
        *WITHOUT[request.param],
        f"-I{SOURCES}",
        folder / "harness.cpp",
        "-o",
        folder / "harness.so",
    ]
    subprocess.run([compiler, *command], check=True)
    library = ctypes.CDLL(str(folder / "harness.so"))

    def run(layer: Layer, x: np.ndarray, threads: int = 1) -> Product:
        (outputs, inputs), rows = layer.weights.shape, len(x)
        x = np.ascontiguousarray(x, dtype=np.float32)
        integers = np.empty((rows, inputs), np.int32)
        scales, y = np.empty(rows, np.float32), np.empty((rows, outputs), np.float32)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*layer, x, integers, scales, y)]
        largest = library.multiply(*pointers[:3], outputs, inputs, pointers[3], rows, threads, *pointers[4:])
        return Product(y, integers, scales, largest)

    return run


def draw_layer(outputs: int, inputs: int, seed: int = 0) -> Layer:
    generator = np.random.default_rng(seed)
    weights = generator.integers(-127, 128, (outputs, inputs)).astype(np.int8)
    scales, bias = generator.random(outputs, np.float32) / 127, generator.standard_normal(outputs, np.float32)
    return Layer(weights, scales, bias)


# Fewer rows than a tile and more than are taken at once; inputs within one block, and in two of unlike sizes; outputs
# that leave the last group partly empty.
@pytest.mark.parametrize("rows", [1, 2, 7, 70])
@pytest.mark.parametrize(("outputs", "inputs"), [(32, 16), (75, 48), (40, 1040)])
def test_sums_are_exact(multiply: Multiply, rows: int, outputs: int, inputs: int) -> None:
    layer = draw_layer(outputs, inputs)
    x = np.random.default_rng(1).standard_normal((rows, inputs), np.float32)
    y, integers, scales, largest = multiply(layer, x, 1)
    assert (np.abs(integers).max(axis=1) == largest).all()  # all of the range is used
    assert (np.abs(x - integers * scales[:, None]) < 0.51 * scales[:, None]).all()  # half a step
    sums = integers.astype(np.int64) @ layer.weights.T.astype(np.int64)
    expected = sums * (layer.scales.astype(np.float64) * scales[:, None]) + layer.bias
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-5)


def test_the_largest_sums_do_not_overflow(multiply: Multiply) -> None:
    inputs = 4096
    weights = np.full((64, inputs), 127, np.int8)
    weights[1::2] = -127
    layer = Layer(weights, np.ones(64, np.float32), np.zeros(64, np.float32))
    x = np.stack([np.full(inputs, 3.0), np.full(inputs, -3.0)])
    y = multiply(layer, x, 1).y
    expected = 127.0 * 3.0 * inputs * np.array([[1, -1] * 32, [-1, 1] * 32])
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_a_row_gets_the_same_bits_alone_in_company_and_from_more_threads(multiply: Multiply) -> None:
    layer = draw_layer(200, 96)
    x = np.random.default_rng(2).standard_normal((70, 96)) * np.logspace(-3, 3, 70)[:, None]
    together = multiply(layer, x, 1).y
    assert np.array_equal(multiply(layer, x, 3).y, together)
    for row in (0, 1, 33, 69):
        assert np.array_equal(multiply(layer, x[row : row + 1], 1).y[0], together[row])


def test_what_is_nothing_stays_nothing_and_what_is_not_finite_is_seen(multiply: Multiply) -> None:
    layer = draw_layer(40, 32)
    x = np.zeros((3, 32), np.float32)
    x[1, 5], x[2, 7] = np.nan, np.inf
    y = multiply(layer, x, 1).y
    assert np.array_equal(y[0], layer.bias)
    assert not np.isfinite(y[1:]).any()
