// Guessing what a search will write next (`models/drafter.py`), from what it has just computed.
//
// Nothing of the search changes, but the room in which rows are computed is used. All rows guess together.
#pragma once

#include "search.h"

constexpr int64_t kNothing = -1;
constexpr float kDrafterEpsilon = 1e-5f;  // that of PyTorch's LayerNorm

// One guess further: what `joined` holds of each row becomes the next hidden vector, in its place, and `scores`.
template <typename RowAt>
void draft(Search& search, const Drafter& drafter, long rows, const RowAt& row_at) {
    const int dim = search.engine.dim;
    const auto normed_by = [&](const Norm& norm, long row) {
        normalize(&search.states[row * dim], norm.gain.data(), norm.shift.data(), kDrafterEpsilon, &search.normed[row * dim], dim);
        return &search.normed[row * dim];
    };
    search.apply(drafter.join, rows, [&](long row) { return &search.joined[row * 2 * dim]; }, search.back.get());
    for (long row = 0; row < rows; ++row)
        std::memcpy(&search.states[row * dim], &search.back[row * drafter.join.padded_outputs()], dim * sizeof(float));
    search.apply(drafter.query, rows, [&](long row) { return normed_by(drafter.look_norm, row); }, search.wide.get());
    const long stride = search.engine.decoder.back().cross_key_value.padded_outputs();
    search.for_rows(rows, [&](long row, int member) {
        const long sentence = search.row_of[row_at(row)].sentence;
        const float* keys = &search.sources.back()[search.starts[sentence] * stride];
        search.attend(&search.wide[row * drafter.query.padded_outputs()], search.starts[sentence + 1] - search.starts[sentence],
               [&](long t) { return keys + t * stride; }, [&](long t) { return keys + t * stride + dim; },
               &search.averages[row * dim], member);
    });
    search.apply(drafter.output, rows, [&](long row) { return &search.averages[row * dim]; }, search.back.get());
    for (long row = 0; row < rows; ++row) add(&search.states[row * dim], &search.back[row * drafter.output.padded_outputs()], dim);
    search.apply(drafter.expand, rows, [&](long row) { return normed_by(drafter.think_norm, row); }, search.wide.get());
    search.apply(drafter.contract, rows, [&](long row) {
        float* x = &search.wide[row * drafter.expand.padded_outputs()];
        activate(x, drafter.expand.outputs, Activation::relu);
        return x;
    }, search.back.get());
    for (long row = 0; row < rows; ++row) add(&search.states[row * dim], &search.back[row * drafter.contract.padded_outputs()], dim);
    search.apply(drafter.narrow, rows, [&](long row) {
        normalize(&search.states[row * dim], drafter.final_norm.gain.data(), drafter.final_norm.shift.data(), kDrafterEpsilon,
                  &search.joined[row * 2 * dim], dim);
        return &search.joined[row * 2 * dim];
    }, search.wide.get());
    search.apply(drafter.widen, rows, [&](long row) { return &search.wide[row * drafter.narrow.padded_outputs()]; }, search.scores.data());
}

// Guess what `count` tokens follow tokens [rows], which are not appended yet; parents [rows] or null as for `extend`.
// guesses [rows, count]; kNothing from where all that was guessed for a row is less probable than `least`. Returns how many
// columns of it have a guess in any row.
inline long guess(Search& search, const int64_t* tokens, const int64_t* parents, long rows, long count, float least,
                  int64_t* guesses) {
    const Engine& engine = search.engine;
    if (!engine.drafter) throw std::invalid_argument("nobody guesses");
    const Drafter& drafter = *engine.drafter;
    const int dim = engine.dim;
    const long pair = 2 * dim, vocab = drafter.widen.padded_outputs();
    search.reserve(rows);
    if (long(search.joined.size()) < rows * pair) search.joined.resize(rows * pair);
    if (long(search.scores.size()) < rows * vocab) search.scores.resize(rows * vocab);
    std::fill(guesses, guesses + rows * count, int64_t(kNothing));
    std::vector<float> certainty(rows, 1.0f);
    const auto row_at = [&](long row) { return parents ? parents[row] : row; };
    for (long row = 0; row < rows; ++row) {
        const Search::Row& from = search.row_of[row_at(row)];
        if (from.length < 1) throw std::invalid_argument("nothing was read to guess from");
        const long place = search.places[row_at(row) * search.max_len + from.length - 1];
        std::memcpy(&search.joined[row * pair], &search.hidden[place * dim], dim * sizeof(float));
        engine.target_table().read_row(int(tokens[row]), engine.embedding_scale, &search.joined[row * pair + dim]);
    }
    for (long number = 0; number < count; ++number) {
        draft(search, drafter, rows, row_at);
        bool is_over = true;
        for (long row = 0; row < rows; ++row) {
            if (!(certainty[row] >= least)) continue;
            float probability;
            const long best = best_of(&search.scores[row * vocab], drafter.widen.outputs, &probability);
            certainty[row] *= probability;
            if (!(certainty[row] >= least)) continue;
            const int64_t token = guesses[row * count + number] = drafter.tokens[best];
            engine.target_table().read_row(int(token), engine.embedding_scale, &search.joined[row * pair + dim]);
            is_over = false;
        }
        if (is_over) return number;
    }
    return count;
}

// The final vectors of all that the rows have written, end to end, and the last layer's keys and values of all sources.
inline void copy_states(const Search& search, float* to_hidden, float* to_sources) {
    const long dim = search.engine.dim;
    for (long row = 0; row < search.num_rows; ++row)
        for (long t = 0; t < search.row_of[row].length; ++t, to_hidden += dim)
            std::memcpy(to_hidden, &search.hidden[long(search.places[row * search.max_len + t]) * dim], dim * sizeof(float));
    const long stride = search.engine.decoder.back().cross_key_value.padded_outputs();
    for (long at = 0; at < search.starts.back(); ++at)
        std::memcpy(to_sources + at * 2 * dim, &search.sources.back()[at * stride], 2 * dim * sizeof(float));
}
