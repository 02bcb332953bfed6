// The few best of a large row of logits, and the sum that turns logits into log-probabilities.
//
// The row arrives in chunks, while each is still in the nearest cache, and is never stored as a whole.
#pragma once

#include <vector>

#include "vector_math.h"

// The `count` largest logits seen so far, best first; of equal ones the lower id.
struct Best {
    std::vector<float> logits;
    std::vector<int64_t> ids;
    size_t count = 0;

    void reset(size_t wanted) {
        count = wanted;
        logits.clear();
        ids.clear();
    }

    float bar() const { return logits.size() < count ? -std::numeric_limits<float>::infinity() : logits.back(); }

    void offer(float logit, int64_t id) {
        size_t place = logits.size();
        while (place > 0 && (logit > logits[place - 1] || (logit == logits[place - 1] && id < ids[place - 1]))) --place;
        if (place >= count) return;
        if (logits.size() == count) {
            logits.pop_back();
            ids.pop_back();
        }
        logits.insert(logits.begin() + place, logit);
        ids.insert(ids.begin() + place, id);
    }
};

// sum of e^logit as e^peak * total, so that it can neither overflow nor vanish.
struct LogSum {
    float peak = -std::numeric_limits<float>::infinity();
    float total = 0;
};

// Look at `size` logits whose first has the id `first`: keep the best, return the sum. `size` is a multiple of kLanes;
// the first `real` of them belong to the vocabulary, the others are -inf and never kept.
inline LogSum look_at(const float* logits, int size, int real, int64_t first, Best& best) {
    Floats peaks = load(logits);
    for (int i = kLanes; i < size; i += kLanes) peaks = larger(load(logits + i), peaks);
    const float peak = largest(peaks);
    // `not below` rather than `above`: while fewer than `count` are known the bar is -inf, and -inf may be among them.
    if (!(peak < best.bar()))
        for (int i = 0; i < real; ++i)
            if (!(logits[i] < best.bar())) best.offer(logits[i], first + i);
    Floats total{};
    if (peak > -std::numeric_limits<float>::infinity())
        for (int i = 0; i < size; i += kLanes) total += exponential(load(logits + i) - peak);
    return {peak, sum(total)};
}

// The index of the largest of `size` logits, of equal ones the first, and its share of all probability.
inline long best_of(const float* logits, int size, float* probability) {
    Floats peaks = spread(-std::numeric_limits<float>::infinity());
    int i = 0;
    for (; i + kLanes <= size; i += kLanes) peaks = larger(load(logits + i), peaks);
    float peak = largest(peaks);
    for (; i < size; ++i) peak = logits[i] > peak ? logits[i] : peak;
    Floats total{};
    for (i = 0; i + kLanes <= size; i += kLanes) total += exponential(load(logits + i) - peak);
    float rest = sum(total);
    for (; i < size; ++i) rest += std::exp(logits[i] - peak);
    *probability = 1.0f / rest;
    long best = 0;
    while (best + 1 < size && logits[best] != peak) ++best;
    return best;
}
