// The paper's Transformer for inference on a CPU, with 8-bit weights: `models/transformer.py` once more, fast.
//
// Three things make it fast beside the matrix product of linear.h. Sentences are laid end to end, so padding is never
// computed. Hypotheses that change places in a beam do not move their keys and values: every row keeps a list of where
// each of its positions was written. And the projection to the vocabulary hands out the few best tokens and the sum of
// exponentials while its results are still in cache.
//
// All state of a search is in a `Search`; an `Engine` is read-only once made. Every row is computed on its own, in an
// order that depends on nothing else: the result for a sentence does not depend on the batch or the number of threads.

#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine.h"
#include "search_row.h"

constexpr int kChunk = 16 * kGroup;  // logits looked at together

struct Search {
    Search(Engine& engine, long max_rows, long max_len) : engine(engine), max_rows(max_rows), max_len(max_len) {
        for (size_t i = 0; i < engine.decoder.size(); ++i)
            past.push_back(allocate<float>(max_rows * max_len * 2 * engine.dim));
        written_by.resize(max_rows * max_len);
        written_before.resize(max_rows * max_len);
        sentence_of.resize(max_rows);
        sentence_before.resize(max_rows);
        scratch.resize(engine.team.size());
        for (int member = 0; member < engine.team.size(); ++member) chunk_logits.push_back(allocate<float>(max_rows * kChunk));
        best.resize(engine.team.size() * max_rows);
    }

    // Room for `rows` rows of everything a layer computes.
    void reserve(long rows) {
        if (rows <= reserved) return;
        long width = 4 * kGroup;
        for (const auto& layer : engine.encoder) width = std::max<long>({width, layer.expand.padded_outputs(), layer.query_key_value.padded_outputs()});
        for (const auto& layer : engine.decoder) width = std::max<long>({width, layer.expand.padded_outputs(), layer.query_key_value.padded_outputs()});
        states = allocate<float>(rows * engine.dim);
        normed = allocate<float>(rows * engine.dim);
        averages = allocate<float>(rows * engine.dim);
        wide = allocate<float>(rows * width);
        back = allocate<float>(rows * width);
        quantized.reserve(rows, int(width));
        reserved = rows;
    }

    // Do something for every row; few rows are not worth waking the team.
    template <typename Work>
    void for_rows(long rows, const Work& work) {
        Team& team = engine.team;
        const long parts = rows < 2 * team.size() ? 1 : std::min(rows, team.parts_of(rows));
        team.run(parts, [&](long part, int member) {
            const Share mine(rows, part, parts);
            for (long row = mine.begin; row < mine.end; ++row) work(row, member);
        });
    }

    // out [rows, padded outputs] = x [rows, stride] through a linear layer; `x_of(row)` may compute the row first.
    template <typename Row>
    void apply(const Linear& linear, long rows, const Row& x_of, float* out) {
        for_rows(rows, [&](long row, int) {
            quantize_row(x_of(row), linear.inputs, &quantized.values[row * linear.inputs], &quantized.scales[row]);
        });
        linear.multiply(quantized, rows, out, engine.team);
    }

    // The input of a sub-layer: the residual stream, normalised first when the model is pre-norm.
    const float* enter(long row, const Norm& norm) {
        float* x = &states[row * engine.dim];
        if (!engine.pre_norm) return x;
        normalize(x, norm.gain.data(), norm.shift.data(), engine.epsilon, &normed[row * engine.dim], engine.dim);
        return &normed[row * engine.dim];
    }

    // Add a sub-layer's output to the residual stream, and normalise the sum when the model is post-norm.
    void leave(long rows, const float* output, long stride, const Norm& norm) {
        for_rows(rows, [&](long row, int) {
            float* x = &states[row * engine.dim];
            add(x, output + row * stride, engine.dim);
            if (!engine.pre_norm) normalize(x, norm.gain.data(), norm.shift.data(), engine.epsilon, x, engine.dim);
        });
    }

    void feed_forward(long rows, const Linear& expand, const Linear& contract, const Norm& norm) {
        apply(expand, rows, [&](long row) { return enter(row, norm); }, wide.get());
        const long stride = expand.padded_outputs();
        apply(contract, rows, [&](long row) {
            activate(&wide[row * stride], expand.outputs, engine.activation);
            return &wide[row * stride];
        }, back.get());
        leave(rows, back.get(), contract.padded_outputs(), norm);
    }

    // softmax(q K^T / sqrt(head_dim)) V for one row, head by head. key_of(t) and value_of(t) say where position t lies.
    template <typename KeyOf, typename ValueOf>
    void attend(const float* query, long length, const KeyOf& key_of, const ValueOf& value_of, float* out, int member) {
        const int head_dim = engine.dim / engine.num_heads;
        const float scale = 1.0f / std::sqrt(float(head_dim));
        std::vector<float>& weights = scratch[member];
        const long padded = (length + kLanes - 1) / kLanes * kLanes;
        if (long(weights.size()) < padded) weights.resize(padded);
        for (int head = 0; head < engine.num_heads; ++head) {
            const int first = head * head_dim;
            for (long t = 0; t < length; t += 4) {
                const float* keys[4];  // past the end the last one stands in; what comes of it is overwritten below
                for (int n = 0; n < 4; ++n) keys[n] = key_of(std::min(t + n, length - 1)) + first;
                four_dots(query + first, keys, head_dim, &weights[t]);
            }
            for (long t = length; t < padded; ++t) weights[t] = -std::numeric_limits<float>::infinity();
            Floats peaks = load(&weights[0]);
            for (long t = kLanes; t < padded; t += kLanes) peaks = larger(load(&weights[t]), peaks);
            const float peak = largest(peaks);
            Floats total{};
            for (long t = 0; t < padded; t += kLanes) {
                const Floats power = exponential((load(&weights[t]) - peak) * scale);
                store(&weights[t], power);
                total += power;
            }
            const float mass = 1.0f / sum(total);
            for (int i = first; i < first + head_dim; i += kSpan)
                average(weights.data(), length, value_of, mass, i, std::min(kSpan, first + head_dim - i), out);
        }
    }

    static constexpr int kSpan = 4 * kLanes;  // features averaged together, so that their sums do not wait for each other

    template <typename ValueOf>
    static void average(const float* weights, long length, const ValueOf& value_of, float mass, int first, int size, float* out) {
        Floats totals[4] = {};
        if (size == kSpan) {
            for (long t = 0; t < length; ++t) {
                const float* value = value_of(t) + first;
#pragma GCC unroll 4
                for (int n = 0; n < 4; ++n) totals[n] += load(value + n * kLanes) * weights[t];
            }
        } else {
            for (long t = 0; t < length; ++t)
                for (int n = 0; n * kLanes < size; ++n) totals[n] += load(value_of(t) + first + n * kLanes) * weights[t];
        }
        for (int n = 0; n * kLanes < size; ++n) store(out + first + n * kLanes, totals[n] * mass);
    }

    void embed(const Linear& table, int64_t token, const float* position, float* to) const {
        table.read_row(int(token), engine.embedding_scale, to);
        add(to, position, engine.dim);
    }

    // Take in all sentences, laid end to end: their embeddings are what the first layer of the encoder reads.
    void read(const int64_t* tokens, const int64_t* lengths, long sentences, const float* positions) {
        starts.assign(1, 0);
        for (long s = 0; s < sentences; ++s) starts.push_back(starts.back() + lengths[s]);
        const long rows = starts.back();
        reserve(std::max(rows, max_rows));
        sentence_at.resize(rows);
        for (long s = 0; s < sentences; ++s)
            for (long row = starts[s]; row < starts[s + 1]; ++row) {
                sentence_at[row] = s;
                embed(engine.source_table(), tokens[row], positions + (row - starts[s]) * engine.dim, &states[row * engine.dim]);
            }
        for (long s = 0; s < sentences; ++s) sentence_of[s] = s;
    }

    void encode(const EncoderLayer& layer) {
        const long rows = starts.back();
        apply(layer.query_key_value, rows, [&](long row) { return enter(row, layer.attention_norm); }, wide.get());
        const long stride = layer.query_key_value.padded_outputs();
        for_rows(rows, [&](long row, int member) {
            const long s = sentence_at[row];
            const float* keys = &wide[starts[s] * stride] + engine.dim;
            attend(&wide[row * stride], starts[s + 1] - starts[s], [&](long t) { return keys + t * stride; },
                   [&](long t) { return keys + t * stride + engine.dim; }, &averages[row * engine.dim], member);
        });
        apply(layer.output, rows, [&](long row) { return &averages[row * engine.dim]; }, back.get());
        leave(rows, back.get(), layer.output.padded_outputs(), layer.attention_norm);
        feed_forward(rows, layer.expand, layer.contract, layer.feed_forward_norm);
    }

    // Keep every decoder layer's keys and values of what the encoder has made of the sentences.
    void keep_sources() {
        const long rows = starts.back();
        for (const DecoderLayer& layer : engine.decoder) {
            sources.push_back(allocate<float>(rows * layer.cross_key_value.padded_outputs()));
            apply(layer.cross_key_value, rows, [&](long row) { return enter(row, engine.encoder_norm); }, sources.back().get());
        }
    }

    // Let row r go on from what row parents[r] had written: only the lists of places are copied, never the values.
    void follow(const int64_t* parents, long rows) {
        std::swap(written_by, written_before);
        std::swap(sentence_of, sentence_before);
        for (long row = 0; row < rows; ++row) {
            std::memcpy(&written_by[row * max_len], &written_before[parents[row] * max_len], length * sizeof(int32_t));
            sentence_of[row] = sentence_before[parents[row]];
        }
    }

    // Take one step: `states` holds the decoder's output for the newest position of every row.
    void advance(const int64_t* tokens, const int64_t* parents, long rows, const float* position) {
        if (parents) follow(parents, rows);
        const int dim = engine.dim;
        for_rows(rows, [&](long row, int) {
            written_by[row * max_len + length] = int32_t(length * max_rows + row);
            embed(engine.target_table(), tokens[row], position, &states[row * dim]);
        });
        for (size_t number = 0; number < engine.decoder.size(); ++number) {
            const DecoderLayer& layer = engine.decoder[number];
            float* past_here = past[number].get();
            apply(layer.query_key_value, rows, [&](long row) { return enter(row, layer.attention_norm); }, wide.get());
            const long stride = layer.query_key_value.padded_outputs();
            for_rows(rows, [&](long row, int member) {
                std::memcpy(past_here + (length * max_rows + row) * 2 * dim, &wide[row * stride + dim], 2 * dim * sizeof(float));
                const int32_t* places = &written_by[row * max_len];
                attend(&wide[row * stride], length + 1, [&](long t) { return past_here + long(places[t]) * 2 * dim; },
                       [&](long t) { return past_here + long(places[t]) * 2 * dim + dim; }, &averages[row * dim], member);
            });
            apply(layer.output, rows, [&](long row) { return &averages[row * dim]; }, back.get());
            leave(rows, back.get(), layer.output.padded_outputs(), layer.attention_norm);

            apply(layer.cross_query, rows, [&](long row) { return enter(row, layer.cross_norm); }, wide.get());
            const long source_stride = layer.cross_key_value.padded_outputs();
            for_rows(rows, [&](long row, int member) {
                const long sentence = sentence_of[row];
                const float* keys = &sources[number][starts[sentence] * source_stride];
                attend(&wide[row * layer.cross_query.padded_outputs()], starts[sentence + 1] - starts[sentence],
                       [&](long t) { return keys + t * source_stride; },
                       [&](long t) { return keys + t * source_stride + dim; }, &averages[row * dim], member);
            });
            apply(layer.cross_output, rows, [&](long row) { return &averages[row * dim]; }, back.get());
            leave(rows, back.get(), layer.cross_output.padded_outputs(), layer.cross_norm);
            feed_forward(rows, layer.expand, layer.contract, layer.feed_forward_norm);
        }
        ++length;
        for_rows(rows, [&](long row, int) {
            quantize_row(enter(row, engine.decoder_norm), dim, &quantized.values[row * dim], &quantized.scales[row]);
        });
    }

    // Compute the logits a chunk of the vocabulary at a time and call look(logits, row, first id, width, member) for each
    // row of each chunk, while it is in cache.
    template <typename Look>
    void project(long rows, const Look& look) {
        const Linear& projection = engine.projection;
        engine.team.run(num_chunks(), [&](long chunk, int member) {
            Buffer<float>& logits = chunk_logits[member];
            const long first = chunk * kChunk, width = std::min<long>(kChunk, projection.padded_outputs() - first);
            projection.multiply_groups(quantized, rows, first / kGroup, (first + width) / kGroup, logits.get(), kChunk);
            for (long row = 0; row < rows; ++row) {
                float* here = &logits[row * kChunk];
                for (long beyond = projection.outputs - first; beyond < width; ++beyond)
                    here[beyond] = -std::numeric_limits<float>::infinity();
                look(here, row, chunk, int(width), member);
            }
        });
    }

    long num_chunks() const { return (engine.projection.padded_outputs() + kChunk - 1) / kChunk; }

    void write_logits(long rows, float* logits) {
        const long vocab = engine.projection.outputs;
        project(rows, [&](const float* here, long row, long chunk, int width, int) {
            const long real = std::min<long>(width, vocab - chunk * kChunk);
            std::memcpy(logits + row * vocab + chunk * kChunk, here, real * sizeof(float));
        });
    }

    void write_best(long rows, int count, float* log_probs, int64_t* ids) {
        const long chunks = num_chunks();
        const bool is_sound = engine.projection.is_sound();
        if (long(sums.size()) < rows * chunks) sums.resize(rows * chunks);
        for (auto& list : best) list.reset(count);
        project(rows, [&](const float* here, long row, long chunk, int width, int member) {
            const int real = int(std::min<long>(width, engine.projection.outputs - chunk * kChunk));
            sums[row * chunks + chunk] = look_at(here, width, real, chunk * kChunk, best[member * max_rows + row]);
        });
        for_rows(rows, [&](long row, int) {
            Best& list = best[row];
            for (int member = 1; member < engine.team.size(); ++member) {
                const Best& other = best[member * max_rows + row];
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
                const bool known = is_sound && i < int(list.ids.size()) && std::isfinite(quantized.scales[row]);
                log_probs[row * count + i] = known ? list.logits[i] - log_sum : broken;
                ids[row * count + i] = known ? list.ids[i] : i;
            }
        });
    }

    Engine& engine;
    long max_rows, max_len, length = 0, reserved = 0;
    std::vector<long> starts;                            // where each sentence begins in the encoder's rows
    std::vector<long> sentence_at;                       // of each of the encoder's rows
    std::vector<long> sentence_of, sentence_before;      // of each row
    std::vector<int32_t> written_by, written_before;     // [row, position]: where its keys and values lie in `past`
    std::vector<Buffer<float>> past, sources;            // of each decoder layer: keys and values side by side
    Buffer<float> states, normed, averages, wide, back;  // of the rows at work
    QuantizedRows quantized;
    std::vector<std::vector<float>> scratch;  // of each member
    std::vector<Buffer<float>> chunk_logits;  // of each member
    std::vector<Best> best;                   // of each member and row
    std::vector<LogSum> sums;                 // of each row and chunk
};
