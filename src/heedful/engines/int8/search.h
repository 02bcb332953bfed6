// The paper's Transformer for inference on a CPU, with 8-bit weights: `models/transformer.py` once more, fast.
//
// Three things make it fast beside the matrix product of linear.h. Sentences are laid end to end, so padding is never
// computed. Hypotheses that change places in a beam do not move their keys and values: every row keeps a list of where
// each of its positions was written. And the projection to the vocabulary hands out the few best tokens and the sum of
// exponentials while its results are still in cache.
//
// A row may write several tokens at once. Each of them is then computed as if it were a row, called a line here, and sees
// the row's tokens up to itself: the weights are read once for all of them. Rows need not be of one length.
//
// All state of a search is in a `Search`; an `Engine` is read-only once made. Every row is computed on its own, in an
// order that depends on nothing else: the result for a sentence does not depend on the batch or the number of threads.

#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "engine.h"
#include "output.h"

struct Search {
    Search(Engine& engine, long max_rows, long max_len)
        : engine(engine), max_rows(max_rows), max_len(max_len), output(engine.projection, engine.team) {
        for (size_t i = 0; i < engine.decoder.size(); ++i)
            past.push_back(allocate<float>(max_rows * max_len * 2 * engine.dim));
        if (engine.drafter) hidden = allocate<float>(max_rows * max_len * engine.dim);
        places.resize(max_rows * max_len);
        places_before.resize(max_rows * max_len);
        free_places.resize(max_rows * max_len);
        std::iota(free_places.begin(), free_places.end(), 0);
        row_of.resize(max_rows);
        row_before.resize(max_rows);
        scratch.resize(engine.team.size());
    }

    // Room for `rows` rows of everything a layer computes.
    void reserve(long rows) {
        if (rows <= reserved) return;
        const long width = engine.widest();
        states = allocate<float>(rows * engine.dim);
        normed = allocate<float>(rows * engine.dim);
        averages = allocate<float>(rows * engine.dim);
        wide = allocate<float>(rows * width);
        back = allocate<float>(rows * width);
        quantized.reserve(rows, int(width));
        reserved = rows;
    }

    template <typename Work>
    void for_rows(long rows, const Work& work) {
        engine.team.for_rows(rows, work);
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

    // softmax(q K^T / sqrt(head_dim)) V for one row, head by head. key_of(t) and value_of(t) say where position t lies. The
    // mean of the heads' weights is added to `looks` [length], where there is one.
    template <typename KeyOf, typename ValueOf>
    void attend(const float* query, long length, const KeyOf& key_of, const ValueOf& value_of, float* out, int member,
                float* looks = nullptr) {
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
            for (long t = 0; looks && t < length; ++t) looks[t] += weights[t] * mass / float(engine.num_heads);
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
        num_rows = sentences;
        for (long s = 0; s < sentences; ++s) row_of[s] = {s, 0};
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

    // Keep every decoder layer's keys and values of what the encoder has made of the sentences. The decoder's positions
    // [max_len, dim] are read when they are needed and must stay where they are.
    void keep_sources(const float* positions) {
        target_positions = positions;
        const long rows = starts.back();
        for (const DecoderLayer& layer : engine.decoder) {
            sources.push_back(allocate<float>(rows * layer.cross_key_value.padded_outputs()));
            apply(layer.cross_key_value, rows, [&](long row) { return enter(row, engine.encoder_norm); }, sources.back().get());
        }
    }

    // Let row r go on from what row parents[r] had written: only the lists of places are copied, never the values.
    void follow(const int64_t* parents, long rows) {
        std::swap(places, places_before);
        std::swap(row_of, row_before);
        for (long row = 0; row < rows; ++row) {
            row_of[row] = row_before[parents[row]];
            std::memcpy(&places[row * max_len], &places_before[parents[row] * max_len], row_of[row].length * sizeof(int32_t));
        }
        num_rows = rows;
    }

    // Let every row forget what it has written beyond lengths[row].
    void rewind(const int64_t* lengths) {
        for (long row = 0; row < num_rows; ++row)
            if (lengths[row] < 0 || lengths[row] > row_of[row].length) throw std::invalid_argument("nothing to rewind to");
        for (long row = 0; row < num_rows; ++row) row_of[row].length = lengths[row];
    }

    // Begin again with an empty row for each of these sentences, of those that were read.
    void restart(const int64_t* sentences, long rows) {
        if (rows > max_rows) throw std::invalid_argument("no room for so many rows");
        for (long row = 0; row < rows; ++row)
            if (sentences[row] < 0 || sentences[row] + 1 >= long(starts.size())) throw std::invalid_argument("never read");
        for (long row = 0; row < rows; ++row) row_of[row] = {sentences[row], 0};
        num_rows = rows;
    }

    // Find places for so many lines. What no row has in its list any more may be written over; that is looked for only
    // when there are not enough places left that were never used, which without rewinding does not happen.
    const int32_t* take_places(long lines) {
        if (next_free + lines > long(free_places.size())) {
            std::vector<bool> is_used(max_rows * max_len);
            for (long row = 0; row < num_rows; ++row)
                for (long t = 0; t < row_of[row].length; ++t) is_used[places[row * max_len + t]] = true;
            free_places.clear();
            for (long place = 0; place < max_rows * max_len; ++place)
                if (!is_used[place]) free_places.push_back(int32_t(place));
            next_free = 0;
        }
        next_free += lines;
        return &free_places[next_free - lines];
    }

    // Append num_new tokens to each row: `states` then holds the decoder's output for each of these lines. How much the last
    // layer looks at each token of the source is added to `looks` [rows, num_new, source_len], where there is one.
    void extend(const int64_t* tokens, const int64_t* parents, long rows, long num_new, float* looks = nullptr, long source_len = 0) {
        if (parents) follow(parents, rows);
        if (rows != num_rows || rows > max_rows) throw std::invalid_argument("another number of rows");
        for (long row = 0; row < rows; ++row)
            if (row_of[row].length + num_new > max_len) throw std::invalid_argument("no room for so many tokens");
        const int dim = engine.dim;
        const long lines = rows * num_new;
        reserve(lines);
        output.reserve(lines);
        const int32_t* fresh = take_places(lines);
        const auto position_of = [&](long line) { return row_of[line / num_new].length + line % num_new; };
        for_rows(lines, [&](long line, int) {
            const long position = position_of(line);
            places[line / num_new * max_len + position] = fresh[line];
            embed(engine.target_table(), tokens[line], target_positions + position * dim, &states[line * dim]);
        });
        for (size_t number = 0; number < engine.decoder.size(); ++number) {
            const DecoderLayer& layer = engine.decoder[number];
            float* past_here = past[number].get();
            apply(layer.query_key_value, lines, [&](long line) { return enter(line, layer.attention_norm); }, wide.get());
            const long stride = layer.query_key_value.padded_outputs();
            const auto keep = [&](long line) {
                std::memcpy(past_here + long(fresh[line]) * 2 * dim, &wide[line * stride + dim], 2 * dim * sizeof(float));
            };
            // A line looks at the lines of its row before it: with several in a row, all are kept before the first looks.
            if (num_new > 1) for_rows(lines, [&](long line, int) { keep(line); });
            for_rows(lines, [&](long line, int member) {
                if (num_new == 1) keep(line);
                const int32_t* here = &places[line / num_new * max_len];
                attend(&wide[line * stride], position_of(line) + 1, [&](long t) { return past_here + long(here[t]) * 2 * dim; },
                       [&](long t) { return past_here + long(here[t]) * 2 * dim + dim; }, &averages[line * dim], member);
            });
            apply(layer.output, lines, [&](long line) { return &averages[line * dim]; }, back.get());
            leave(lines, back.get(), layer.output.padded_outputs(), layer.attention_norm);

            apply(layer.cross_query, lines, [&](long line) { return enter(line, layer.cross_norm); }, wide.get());
            const long source_stride = layer.cross_key_value.padded_outputs();
            for_rows(lines, [&](long line, int member) {
                const long sentence = row_of[line / num_new].sentence;
                const float* keys = &sources[number][starts[sentence] * source_stride];
                attend(&wide[line * layer.cross_query.padded_outputs()], starts[sentence + 1] - starts[sentence],
                       [&](long t) { return keys + t * source_stride; },
                       [&](long t) { return keys + t * source_stride + dim; }, &averages[line * dim], member,
                       looks && number + 1 == engine.decoder.size() ? looks + line * source_len : nullptr);
            });
            apply(layer.cross_output, lines, [&](long line) { return &averages[line * dim]; }, back.get());
            leave(lines, back.get(), layer.cross_output.padded_outputs(), layer.cross_norm);
            feed_forward(lines, layer.expand, layer.contract, layer.feed_forward_norm);
        }
        for (long row = 0; row < rows; ++row) row_of[row].length += num_new;
        for_rows(lines, [&](long line, int) {
            const float* final_state = enter(line, engine.decoder_norm);
            if (hidden) std::memcpy(&hidden[long(fresh[line]) * dim], final_state, dim * sizeof(float));
            quantize_row(final_state, dim, &quantized.values[line * dim], &quantized.scales[line]);
        });
    }

    void write_logits(long rows, float* logits) { output.write_logits(quantized, rows, logits); }

    void write_best(long rows, int count, float* log_probs, int64_t* ids) {
        output.write_best(quantized, rows, count, log_probs, ids);
    }

    Engine& engine;
    long max_rows, max_len, num_rows = 0, reserved = 0;
    struct Row {
        long sentence, length;  // what it translates, and how much it has written
    };
    std::vector<long> starts;                            // where each sentence begins in the encoder's rows
    std::vector<long> sentence_at;                       // of each of the encoder's rows
    std::vector<Row> row_of, row_before;
    std::vector<int32_t> places, places_before;          // [row, position]: where its keys and values lie in `past`
    std::vector<int32_t> free_places;                    // from next_free on: where nothing lies that is still needed
    long next_free = 0;
    const float* target_positions = nullptr;
    std::vector<Buffer<float>> past, sources;            // of each decoder layer: keys and values side by side
    Buffer<float> hidden;                                // [place, dim]: what is projected to the vocabulary; for the drafter
    Buffer<float> states, normed, averages, wide, back;  // of the rows at work
    QuantizedRows quantized;
    std::vector<std::vector<float>> scratch;  // of each member
    std::vector<float> joined, scores;        // of the drafter, for each row
    Output output;
};
