// Arithmetic on rows of floats: dot products, softmax, layer normalisation, activations.
//
// Written with the compiler's vector types, so that one text serves every instruction set. Each function works on one
// row and sums in a fixed order: what stands in the other rows of a batch can never change a result.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__AVX512BW__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif

typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef int32_t Ints __attribute__((vector_size(kLanes * 4)));

inline Floats load(const float* from) {
    Floats value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline void store(float* to, Floats value) { std::memcpy(to, &value, sizeof value); }

inline Floats spread(float value) { return Floats{} + value; }

// Halves are added to halves: three additions in a row instead of seven.
inline float sum(Floats value) {
    float lanes[kLanes];
    std::memcpy(lanes, &value, sizeof value);
    for (int half = kLanes / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }

inline float largest(Floats value) {
    float best = value[0];
    for (int lane = 1; lane < kLanes; ++lane) best = value[lane] > best ? value[lane] : best;
    return best;
}

// e^x for x <= 0, to within 2 units in the last place: 2^n times a polynomial on [-ln2/2, ln2/2].
inline Floats exponential(Floats x) {
    x = larger(x, spread(-87.0f));
    const Floats magic = spread(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Floats shifted = x * 1.44269504f + magic;
    const Floats n = shifted - magic;
    const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Floats p = spread(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const Ints exponent = (__builtin_convertvector(n, Ints) + 127) << 23;
    Floats power;
    std::memcpy(&power, &exponent, sizeof power);
    return p * power;
}

// Lengths are multiples of kLanes here and below: the engine pads its buffers so.

// Dot products of one vector with four others. Four at a time: the additions of one do not wait for each other.
inline void four_dots(const float* a, const float* const others[4], int length, float* out) {
    Floats totals[4] = {};
    for (int i = 0; i < length; i += kLanes) {
        const Floats shared = load(a + i);
#pragma GCC unroll 4
        for (int n = 0; n < 4; ++n) totals[n] += shared * load(others[n] + i);
    }
    for (int n = 0; n < 4; ++n) out[n] = sum(totals[n]);
}

inline void add(float* to, const float* from, int length) {
    for (int i = 0; i < length; i += kLanes) store(to + i, load(to + i) + load(from + i));
}

// (x - mean) / sqrt(variance + epsilon) * gain + shift, over the features of one position.
inline void normalize(const float* x, const float* gain, const float* shift, float epsilon, float* out, int length) {
    Floats total{};
    for (int i = 0; i < length; i += kLanes) total += load(x + i);
    const float mean = sum(total) / length;
    Floats squares{};
    for (int i = 0; i < length; i += kLanes) {
        const Floats centred = load(x + i) - mean;
        squares += centred * centred;
    }
    const float scale = 1.0f / std::sqrt(sum(squares) / length + epsilon);
    for (int i = 0; i < length; i += kLanes)
        store(out + i, (load(x + i) - mean) * scale * load(gain + i) + load(shift + i));
}

enum class Activation { relu = 0, gelu = 1, swish = 2 };

inline void activate(float* x, int length, Activation kind) {
    switch (kind) {
        case Activation::relu:
            for (int i = 0; i < length; i += kLanes) store(x + i, larger(load(x + i), Floats{}));
            break;
        case Activation::gelu:
            for (int i = 0; i < length; ++i) x[i] = 0.5f * x[i] * (1.0f + std::erf(x[i] * 0.70710678f));
            break;
        case Activation::swish:
            for (int i = 0; i < length; i += kLanes) {
                const Floats value = load(x + i);
                const Floats decay = exponential(value > 0 ? -value : value);  // the argument must not be positive
                store(x + i, value > 0 ? value / (1.0f + decay) : value * decay / (1.0f + decay));
            }
    }
}
