// The functions Python calls: `engines/int8/engine.py` and `engines/int8/output.py` are their only callers.
//
// An exception must not cross into C: what can fail returns a status, and gives its result through a pointer.

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>

#include "engine.h"
#include "guessing.h"
#include "output.h"
#include "search.h"

enum Status : int32_t { kDone = 0, kOutOfMemory = 1, kFailed = 2 };

template <typename Work>
int32_t status_of(const Work& work) noexcept {
    try {
        work();
        return kDone;
    } catch (const std::bad_alloc&) {
        return kOutOfMemory;
    } catch (const std::length_error&) {  // a vector that no memory could hold
        return kOutOfMemory;
    } catch (...) {
        return kFailed;
    }
}

extern "C" {
int32_t heedful_lanes() { return kLanes; }

int32_t heedful_largest_activation(int32_t inputs) { return int32_t(largest_activation(inputs)); }

int32_t heedful_new_engine(const EngineSpec* spec, void** engine) {
    return status_of([&] { *engine = new Engine(*spec); });
}

void heedful_free_engine(void* engine) { delete static_cast<Engine*>(engine); }

// Encoding is cut into its layers, so that who calls may change his mind in between. First this; tokens: all sentences end
// to end; positions [longest sentence, dim].
int32_t heedful_start(void* engine, const int64_t* tokens, const int64_t* lengths, int64_t sentences, const float* positions,
                      int64_t max_rows, int64_t max_len, void** made) {
    return status_of([&] {
        const std::lock_guard working(static_cast<Engine*>(engine)->at_work);
        auto search = std::make_unique<Search>(*static_cast<Engine*>(engine), max_rows, max_len);
        search->read(tokens, lengths, sentences, positions);
        *made = search.release();
    });
}

// Then each layer in turn ...
int32_t heedful_encode(void* search, int32_t number) {
    return status_of([&] {
        auto& self = *static_cast<Search*>(search);
        const std::lock_guard working(self.engine.at_work);
        self.encode(self.engine.encoder[number]);
    });
}

// ... and this, before the first token; positions [max_len, dim] must stay as long as the search does.
int32_t heedful_keep_sources(void* search, const float* positions) {
    return status_of([&] {
        auto& self = *static_cast<Search*>(search);
        const std::lock_guard working(self.engine.at_work);
        self.keep_sources(positions);
    });
}

void heedful_free_search(void* search) { delete static_cast<Search*>(search); }

// tokens [rows, num_new], parents [rows] or null; logits [rows, num_new, vocab]. A search that failed here is of no more use.
int32_t heedful_extend(void* search, const int64_t* tokens, const int64_t* parents, int64_t rows, int64_t num_new, float* logits) {
    return status_of([&] {
        auto& self = *static_cast<Search*>(search);
        const std::lock_guard working(self.engine.at_work);
        self.extend(tokens, parents, rows, num_new);
        self.write_logits(rows * num_new, logits);
    });
}

// As above; the `count` best log-probabilities and ids, [rows, num_new, count] each.
int32_t heedful_extend_best(void* search, const int64_t* tokens, const int64_t* parents, int64_t rows, int64_t num_new,
                            int32_t count, float* log_probs, int64_t* ids) {
    return status_of([&] {
        auto& self = *static_cast<Search*>(search);
        const std::lock_guard working(self.engine.at_work);
        self.extend(tokens, parents, rows, num_new);
        self.write_best(rows * num_new, count, log_probs, ids);
    });
}

// tokens [rows, num_new]; looks [rows, num_new, source_len], zeros before: where the last layer looks while it reads them.
int32_t heedful_look(void* search, const int64_t* tokens, int64_t rows, int64_t num_new, int64_t source_len, float* looks) {
    return status_of([&] {
        auto& self = *static_cast<Search*>(search);
        const std::lock_guard working(self.engine.at_work);
        self.extend(tokens, nullptr, rows, num_new, looks, source_len);
    });
}

// Guess what `count` tokens follow tokens [rows], not appended yet, parents [rows] or null; guesses [rows, count], -1 for
// none, of which the first `used` columns have some.
int32_t heedful_guess(void* search, const int64_t* tokens, const int64_t* parents, int64_t rows, int64_t count, float least,
                      int64_t* guesses, int64_t* used) {
    return status_of([&] {
        auto& self = *static_cast<Search*>(search);
        const std::lock_guard working(self.engine.at_work);
        *used = guess(self, tokens, parents, rows, count, least, guesses);
    });
}

// What a drafter learns from: append tokens [rows, num_new], then the final vectors [rows, num_new, dim] and the last layer's
// keys and values of all sources, end to end [tokens, 2 dim]. Only of an engine that has a drafter, and at the beginning.
int32_t heedful_states(void* search, const int64_t* tokens, int64_t rows, int64_t num_new, float* hidden, float* sources) {
    return status_of([&] {
        auto& self = *static_cast<Search*>(search);
        const std::lock_guard working(self.engine.at_work);
        self.extend(tokens, nullptr, rows, num_new);
        copy_states(self, hidden, sources);
    });
}

// sentences [rows], each one of those that were read.
int32_t heedful_restart(void* search, const int64_t* sentences, int64_t rows) {
    return status_of([&] { static_cast<Search*>(search)->restart(sentences, rows); });
}

// lengths [rows], none above what the row has written.
int32_t heedful_rewind(void* search, const int64_t* lengths) {
    return status_of([&] { static_cast<Search*>(search)->rewind(lengths); });
}

// An output projection by itself.
int32_t heedful_new_output(const LinearWeights* weights, int32_t threads, void** made) {
    return status_of([&] { *made = new LoneOutput(*weights, threads); });
}

void heedful_free_output(void* output) { delete static_cast<LoneOutput*>(output); }

// states [rows, inputs]; logits [rows, vocab].
int32_t heedful_logits(void* output, const float* states, int64_t rows, float* logits) {
    return status_of([&] {
        auto& self = *static_cast<LoneOutput*>(output);
        const std::lock_guard working(self.at_work);
        self.take(states, rows);
        self.output.write_logits(self.quantized, rows, logits);
    });
}

// states [rows, inputs]; the `count` best log-probabilities and ids, [rows, count] each.
int32_t heedful_best(void* output, const float* states, int64_t rows, int32_t count, float* log_probs, int64_t* ids) {
    return status_of([&] {
        auto& self = *static_cast<LoneOutput*>(output);
        const std::lock_guard working(self.at_work);
        self.take(states, rows);
        self.output.write_best(self.quantized, rows, count, log_probs, ids);
    });
}
}
