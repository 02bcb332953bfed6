// The weights of a model, packed for this processor and read-only once made, and the team that works with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "linear.h"
#include "threads.h"
#include "vector_math.h"

extern "C" {
// What Python hands over; the pointers are only read while the engine is made.
struct LinearWeights {
    const int8_t* weights;  // [outputs, inputs]
    const float* scales;    // [outputs]
    const float* bias;      // [outputs] or null
    int32_t outputs, inputs;
};

struct NormWeights {
    const float* gain;   // [dim]
    const float* shift;  // [dim]
};

struct EngineSpec {
    int32_t dim, num_heads, num_encoder_layers, num_decoder_layers, pre_norm, activation, threads;
    float norm_epsilon, embedding_scale;
    // Encoder layers: query_key_value, output, expand, contract. Decoder layers: query_key_value, output, cross query, cross
    // key_value, cross output, expand, contract. Then the output projection, then the embeddings that are not tied to it.
    const LinearWeights* linears;
    const NormWeights* norms;  // in the order of use; with pre_norm the final ones of encoder and decoder come last
    int32_t source_tied, target_tied;
    // What guesses, or null: join, query, output, expand, contract, narrow, widen; three norms; the tokens [widen's outputs].
    const LinearWeights* drafter_linears;
    const NormWeights* drafter_norms;
    const int64_t* drafter_tokens;
};
}

struct Norm {
    std::vector<float> gain, shift;
    Norm() = default;
    Norm(const NormWeights& from, int dim) : gain(from.gain, from.gain + dim), shift(from.shift, from.shift + dim) {}
};

struct EncoderLayer {
    Linear query_key_value, output, expand, contract;
    Norm attention_norm, feed_forward_norm;
};

struct DecoderLayer {
    Linear query_key_value, output, cross_query, cross_key_value, cross_output, expand, contract;
    Norm attention_norm, cross_norm, feed_forward_norm;
};

// What guesses the next tokens: `models/drafter.py`.
struct Drafter {
    Linear join, query, output, expand, contract, narrow, widen;
    Norm look_norm, think_norm, final_norm;
    std::vector<int64_t> tokens;  // those it can guess
};

inline Linear make(const LinearWeights& w) { return Linear(w.weights, w.scales, w.bias, w.outputs, w.inputs); }

struct Engine {
    explicit Engine(const EngineSpec& spec)
        : dim(spec.dim), num_heads(spec.num_heads), pre_norm(spec.pre_norm), epsilon(spec.norm_epsilon),
          embedding_scale(spec.embedding_scale), activation(static_cast<Activation>(spec.activation)), team(spec.threads) {
        const LinearWeights* linear = spec.linears;
        const NormWeights* norm = spec.norms;
        for (int i = 0; i < spec.num_encoder_layers; ++i, linear += 4, norm += 2)
            encoder.push_back({make(linear[0]), make(linear[1]), make(linear[2]), make(linear[3]), Norm(norm[0], dim),
                               Norm(norm[1], dim)});
        for (int i = 0; i < spec.num_decoder_layers; ++i, linear += 7, norm += 3)
            decoder.push_back({make(linear[0]), make(linear[1]), make(linear[2]), make(linear[3]), make(linear[4]),
                               make(linear[5]), make(linear[6]), Norm(norm[0], dim), Norm(norm[1], dim), Norm(norm[2], dim)});
        if (pre_norm) {
            encoder_norm = Norm(norm[0], dim);
            decoder_norm = Norm(norm[1], dim);
        }
        projection = make(*linear++);
        if (!spec.source_tied) source_embedding = make(*linear++);
        if (!spec.target_tied) target_embedding = make(*linear++);
        if (const LinearWeights* own = spec.drafter_linears)
            drafter = std::make_unique<Drafter>(
                Drafter{make(own[0]), make(own[1]), make(own[2]), make(own[3]), make(own[4]), make(own[5]), make(own[6]),
                        Norm(spec.drafter_norms[0], dim), Norm(spec.drafter_norms[1], dim), Norm(spec.drafter_norms[2], dim),
                        std::vector<int64_t>(spec.drafter_tokens, spec.drafter_tokens + own[6].outputs)});
    }

    // The widest thing a row can become on its way.
    long widest() const {
        long width = 4 * kGroup;
        for (const auto& layer : encoder) width = std::max<long>({width, layer.expand.padded_outputs(), layer.query_key_value.padded_outputs()});
        for (const auto& layer : decoder) width = std::max<long>({width, layer.expand.padded_outputs(), layer.query_key_value.padded_outputs()});
        if (drafter) width = std::max<long>({width, 2 * dim, drafter->expand.padded_outputs(), drafter->narrow.padded_outputs()});
        return width;
    }

    const Linear& source_table() const { return source_embedding.outputs ? source_embedding : projection; }
    const Linear& target_table() const { return target_embedding.outputs ? target_embedding : projection; }

    int dim, num_heads;
    bool pre_norm;
    float epsilon, embedding_scale;
    Activation activation;
    std::vector<EncoderLayer> encoder;
    std::vector<DecoderLayer> decoder;
    Norm encoder_norm, decoder_norm;
    Linear projection, source_embedding, target_embedding;
    std::unique_ptr<Drafter> drafter;  // where there is one
    Team team;
    std::mutex at_work;  // one step at a time: the team is one
};
