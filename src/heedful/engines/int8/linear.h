// y = x W^T + b with 8-bit weights: the one operation that costs.
//
// A weight is a signed byte times a scale of its output; an activation is an integer of 8 or 16 bits (see products.h)
// times a scale of its row. Products are summed in 32 bits without overflow (see `largest_activation`), so the sum is
// exact and does not depend on the order, the batch or the number of threads; the only loss against floats is the
// rounding of weights and activations.
//
// Weights are packed for the inner loop: outputs in groups of 2 * kLanes; within a group, for each kTogether inputs, their
// bytes of every output. One broadcast of as many activations then meets all outputs of the group, and a group is read
// from front to back exactly once per tile of rows.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "products.h"
#include "threads.h"
#include "vector_math.h"

template <typename T>
struct Freer {
    void operator()(T* pointer) const { std::free(pointer); }
};

// Memory that is aligned for vectors and not touched before it is used; std::bad_alloc where it is refused.
template <typename T>
using Buffer = std::unique_ptr<T[], Freer<T>>;

template <typename T>
Buffer<T> allocate(long count) {
    long bytes;
    if (__builtin_mul_overflow(count, long(sizeof(T)), &bytes) || bytes > std::numeric_limits<long>::max() - 127)
        throw std::bad_alloc();
    auto* memory = static_cast<T*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
    if (!memory) throw std::bad_alloc();
    return Buffer<T>(memory);
}

constexpr int kGroup = 2 * kLanes;  // outputs computed together
constexpr int kBlock = 512;      // inputs summed before the next row's turn: their weights fit the nearest cache ...
constexpr int kRowsAtOnce = 64;  // ... together with the sums of so many rows
#if defined(__AVX512BW__)
constexpr int kTile = 8;  // rows computed together: 8 x 2 accumulators of 32 registers
#else
constexpr int kTile = 4;  // of 16 registers; with more rows GCC spills
#endif

// Rows of activations as integers. Row r stands for (values[r * inputs + k] - kOffset) * scales[r].
struct QuantizedRows {
    Buffer<Rounded> values;
    Buffer<float> scales;
    long capacity = 0;

    void reserve(long rows, int inputs) {
        if (rows * inputs <= capacity) return;
        capacity = rows * inputs;
        values = allocate<Rounded>(capacity);
        scales = allocate<float>(capacity / inputs + 1);
    }
};

// The largest integer an activation may become, so that `inputs` products with +-127 stay within 31 bits.
inline float largest_activation(int inputs) {
    return std::min(float(kLargest), std::floor(2147483647.0f / 127.0f / inputs));
}

inline void quantize_row(const float* x, int inputs, Rounded* values, float* scale) {
    Floats peak{}, nothing{};
    for (int i = 0; i < inputs; i += kLanes) {
        const Floats value = load(x + i);
        peak = larger(peak, larger(value, -value));
        nothing += value * 0.0f;  // stays 0, unless there is a NaN or an infinity
    }
    const float limit = largest_activation(inputs);
    const float largest_value = largest(peak);
    const float factor = largest_value > 0 ? limit / largest_value : 0.0f;
    typedef Rounded Narrow __attribute__((vector_size(kLanes * sizeof(Rounded))));
    const Floats magic = spread(12582912.0f);
    for (int i = 0; i < inputs; i += kLanes) {
        const Ints whole = __builtin_convertvector(load(x + i) * factor + magic - magic, Ints) + kOffset;
        const Narrow rounded = __builtin_convertvector(whole, Narrow);
        std::memcpy(values + i, &rounded, sizeof rounded);
    }
    // What is not finite must stay visible: the integers cannot hold it, so the row's scale does.
    *scale = largest_value / limit + sum(nothing);
}

class Linear {
  public:
    int inputs = 0, outputs = 0;

    Linear() = default;

    // weights [outputs, inputs] row by row, scales [outputs], bias [outputs] or null.
    Linear(const int8_t* weights, const float* scales, const float* bias, int outputs, int inputs)
        : inputs(inputs), outputs(outputs), groups_((outputs + kGroup - 1) / kGroup) {
        packed_ = allocate<int8_t>(long(groups_) * kGroup * inputs);
        scales_ = allocate<float>(groups_ * kGroup);
        bias_ = allocate<float>(groups_ * kGroup);
        beginnings_ = allocate<int32_t>(groups_ * kGroup);
        for (int out = 0; out < groups_ * kGroup; ++out) {
            const bool real = out < outputs;
            scales_[out] = real ? scales[out] : 0.0f;
            bias_[out] = real && bias ? bias[out] : 0.0f;
            is_sound_ &= std::isfinite(scales_[out]) && bias_[out] < std::numeric_limits<float>::infinity();
            beginnings_[out] = 0;
            for (int in = 0; in < inputs; ++in) {
                const int8_t weight = real ? weights[long(out) * inputs + in] : 0;
                packed_[place(out, in)] = weight;
                beginnings_[out] -= kOffset * weight;
            }
        }
    }

    int groups() const { return groups_; }
    int padded_outputs() const { return groups_ * kGroup; }

    // Whether no output is a NaN or +infinity whatever is read; -infinity in the bias is an output that is never chosen.
    bool is_sound() const { return is_sound_; }

    // One row of W as floats, times `factor`: the embedding of a token, when W is the output projection as well.
    void read_row(int out, float factor, float* to) const {
        for (int in = 0; in < inputs; ++in) to[in] = packed_[place(out, in)] * (scales_[out] * factor);
    }

    // y = x W^T + b for all rows; out has padded_outputs() columns.
    void multiply(const QuantizedRows& x, long rows, float* out, Team& team) const {
        const long parts = std::min<long>(groups_, team.parts_of(rows));
        team.run(parts, [&](long part, int) {
            const Share mine(groups_, part, parts);
            multiply_groups(x, rows, mine.begin, mine.end, out + mine.begin * kGroup, padded_outputs());
        });
    }

    // The same for the outputs of some groups only; `out` is where the first of them begins, its rows `stride` apart.
    void multiply_groups(const QuantizedRows& x, long rows, long first, long last, float* out, long stride) const {
        for (long group = first; group < last; ++group)
            for (long row = 0; row < rows; row += kRowsAtOnce)
                multiply_group(&x.values[row * inputs], &x.scales[row], std::min<long>(kRowsAtOnce, rows - row), group,
                               out + row * stride + (group - first) * kGroup, stride);
    }

  private:
    long place(int out, int in) const {
        const long pack = long(out / kGroup) * (inputs / kTogether) + in / kTogether;  // of one group and kTogether inputs
        return (pack * kGroup + out % kGroup) * kTogether + in % kTogether;
    }

    // One group for many rows, a block of inputs at a time, so that the weights at work stay in the nearest cache.
    void multiply_group(const Rounded* x, const float* row_scales, long rows, long group, float* out, long stride) const {
        alignas(64) int32_t sums[kRowsAtOnce * kGroup];
        for (int k = 0; k < inputs; k += kBlock) {
            const int size = std::min(kBlock, inputs - k);
            const int8_t* w = &packed_[(group * inputs + k) * kGroup];
            const int32_t* begin = k == 0 ? &beginnings_[group * kGroup] : nullptr;
            if (!kByteProducts && rows > kTile) {
                // More than one tile will read these weights: widen them once.
                alignas(64) int16_t widened[kBlock * kGroup];
                for (int i = 0; i < size * kGroup; i += 2 * kLanes) *(Packed*)&widened[i] = weights_at(w + i);
                multiply_block(x + k, rows, widened, size, begin, sums);
            } else {
                multiply_block(x + k, rows, w, size, begin, sums);
            }
        }
        const float* scale = &scales_[group * kGroup];
        const float* bias = &bias_[group * kGroup];
        for (long row = 0; row < rows; ++row)
            for (int half = 0; half < kGroup; half += kLanes) {
                Ints sum;
                std::memcpy(&sum, &sums[row * kGroup + half], sizeof sum);
                store(out + row * stride + half,
                      __builtin_convertvector(sum, Floats) * (load(scale + half) * row_scales[row]) + load(bias + half));
            }
    }

    template <typename Weight>
    void multiply_block(const Rounded* x, long rows, const Weight* w, int size, const int32_t* begin, int32_t* sums) const {
        long row = 0;
        for (; row + kTile <= rows; row += kTile) tile<kTile>(x + row * inputs, w, size, begin, sums + row * kGroup);
        if constexpr (kTile > 4)
            for (; row + 4 <= rows; row += 4) tile<4>(x + row * inputs, w, size, begin, sums + row * kGroup);
        for (; row + 2 <= rows; row += 2) tile<2>(x + row * inputs, w, size, begin, sums + row * kGroup);
        for (; row < rows; ++row) tile<1>(x + row * inputs, w, size, begin, sums + row * kGroup);
    }

    // The loop everything comes down to: kRows rows times one group, over `size` inputs, added to `begin`, the same for every
    // row, or where that is null to `sums`, where the result goes.
    template <int kRows, typename Weight>
    void tile(const Rounded* x, const Weight* w, int size, const int32_t* begin, int32_t* sums) const {
        Packed low[kRows], high[kRows];
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
            low[r] = *(const Packed*)(begin ? begin : &sums[r * kGroup]);
            high[r] = *(const Packed*)((begin ? begin : &sums[r * kGroup]) + kLanes);
        }
#pragma GCC unroll 2
        for (int k = 0; k < size; k += kTogether, w += kTogether * kGroup) {
            // Weights that are read once: the loop waits for memory alone. Byte products were faster without.
            if constexpr (!kByteProducts && sizeof(Weight) == 1) __builtin_prefetch(w + 2048);
            const Packed w_low = weights_at(w), w_high = weights_at(w + kTogether * kLanes);
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
                const Packed a = together(x + long(r) * inputs + k);
                low[r] = multiply_add(low[r], a, w_low);
                high[r] = multiply_add(high[r], a, w_high);
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
            *(Packed*)&sums[r * kGroup] = low[r];
            *(Packed*)&sums[r * kGroup + kLanes] = high[r];
        }
    }

    int groups_ = 0;
    bool is_sound_ = true;
    Buffer<int8_t> packed_;
    Buffer<float> scales_, bias_;
    Buffer<int32_t> beginnings_;  // of each output's sum
};
