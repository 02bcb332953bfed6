// The weights of a model, packed for this processor and read-only once made, and the team that works with them.
#pragma once

#include <cstdint>
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
    Team team;
    std::mutex at_work;  // one step at a time: the team is one
};
