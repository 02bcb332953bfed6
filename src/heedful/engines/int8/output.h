// From the last state of a row to the vocabulary: all logits, or the few best tokens and their log-probabilities.
//
// The logits are computed a chunk of the vocabulary at a time and looked at while they are in cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "engine.h"
#include "linear.h"
#include "search_row.h"
#include "threads.h"

constexpr int kChunk = 16 * kGroup;  // logits looked at together

// What is computed on the way, for one caller at a time; the projection and the team are another's.
struct Output {
    Output(const Linear& projection, Team& team) : projection(projection), team(team), chunk_logits(team.size()) {}

    // Room for what is told of so many rows.
    void reserve(long rows) {
        if (rows <= reserved) return;
        for (auto& logits : chunk_logits) logits = allocate<float>(rows * kChunk);
        best.resize(team.size() * rows);
        reserved = rows;
    }

    // Call look(logits, row, chunk, width, member) for each row of each chunk.
    template <typename Look>
    void project(const QuantizedRows& x, long rows, const Look& look) {
        team.run(num_chunks(), [&](long chunk, int member) {
            Buffer<float>& logits = chunk_logits[member];
            const long first = chunk * kChunk, width = std::min<long>(kChunk, projection.padded_outputs() - first);
            projection.multiply_groups(x, rows, first / kGroup, (first + width) / kGroup, logits.get(), kChunk);
            for (long row = 0; row < rows; ++row) {
                float* here = &logits[row * kChunk];
                for (long beyond = projection.outputs - first; beyond < width; ++beyond)
                    here[beyond] = -std::numeric_limits<float>::infinity();
                look(here, row, chunk, int(width), member);
            }
        });
    }

    long num_chunks() const { return (projection.padded_outputs() + kChunk - 1) / kChunk; }

    void write_logits(const QuantizedRows& x, long rows, float* logits) {
        const long vocab = projection.outputs;
        project(x, rows, [&](const float* here, long row, long chunk, int width, int) {
            const long real = std::min<long>(width, vocab - chunk * kChunk);
            std::memcpy(logits + row * vocab + chunk * kChunk, here, real * sizeof(float));
        });
    }

    void write_best(const QuantizedRows& x, long rows, int count, float* log_probs, int64_t* ids) {
        const long chunks = num_chunks();
        const bool is_sound = projection.is_sound();
        if (long(sums.size()) < rows * chunks) sums.resize(rows * chunks);
        for (auto& list : best) list.reset(count);
        project(x, rows, [&](const float* here, long row, long chunk, int width, int member) {
            const int real = int(std::min<long>(width, projection.outputs - chunk * kChunk));
            sums[row * chunks + chunk] = look_at(here, width, real, chunk * kChunk, best[member * reserved + row]);
        });
        team.for_rows(rows, [&](long row, int) {
            Best& list = best[row];
            for (int member = 1; member < team.size(); ++member) {
                const Best& other = best[member * reserved + row];
                for (size_t i = 0; i < other.ids.size(); ++i) list.offer(other.logits[i], other.ids[i]);
            }
            float peak = -std::numeric_limits<float>::infinity();
            for (long chunk = 0; chunk < chunks; ++chunk) peak = std::max(peak, sums[row * chunks + chunk].peak);
            double total = 0;
            for (long chunk = 0; chunk < chunks; ++chunk)
                total += sums[row * chunks + chunk].total * std::exp(double(sums[row * chunks + chunk].peak) - peak);
            const float log_sum = peak + float(std::log(total));
            const float broken = std::numeric_limits<float>::quiet_NaN();
            for (int i = 0; i < count; ++i) {
                const bool known = is_sound && i < int(list.ids.size()) && std::isfinite(x.scales[row]);
                log_probs[row * count + i] = known ? list.logits[i] - log_sum : broken;
                ids[row * count + i] = known ? list.ids[i] : i;
            }
        });
    }

    const Linear& projection;
    Team& team;
    long reserved = 0;
    std::vector<Buffer<float>> chunk_logits;  // of each member
    std::vector<Best> best;                   // of each member and row
    std::vector<LogSum> sums;                 // of each row and chunk
};

// An output projection by itself, for models whose other parts are computed elsewhere.
struct LoneOutput {
    LoneOutput(const LinearWeights& weights, int threads) : projection(make(weights)), team(threads), output(projection, team) {}

    // Take states [rows, inputs] of the caller.
    void take(const float* states, long rows) {
        const int inputs = projection.inputs;
        quantized.reserve(rows, inputs);
        output.reserve(rows);
        team.for_rows(rows, [&](long row, int) {
            quantize_row(states + row * inputs, inputs, &quantized.values[row * inputs], &quantized.scales[row]);
        });
    }

    Linear projection;
    Team team;
    Output output;
    QuantizedRows quantized;
    std::mutex at_work;  // one caller at a time
};
