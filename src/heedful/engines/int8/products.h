// What an activation is rounded to on this processor, and the inner step of its product with 8-bit weights.
//
// There are two ways, and the processor decides between them alone: what a sentence becomes must not depend on how many
// are with it. Where bytes can be multiplied by bytes without loss (AVX-512 VNNI) activations are bytes. Elsewhere they
// have 16 bits, at no cost: the byte product of AVX2 saturates, so weights have to be widened anyway. Either way 32 bits
// hold `kTogether` activations, and a 32-bit lane, which belongs to one output, sums their products with as many weights.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "vector_math.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512VNNI__)
constexpr bool kByteProducts = true;
#else
constexpr bool kByteProducts = false;
#endif

// The byte product takes one side without a sign: activations are stored larger by `kOffset`, and the sum of an output
// begins with what that adds to it, negated.
typedef std::conditional_t<kByteProducts, uint8_t, int16_t> Rounded;
constexpr int kTogether = 4 / sizeof(Rounded);
constexpr int kOffset = kByteProducts ? 128 : 0;
constexpr int kLargest = kByteProducts ? 127 : 32767;

#if defined(__AVX512VNNI__)
typedef __m512i Packed;
inline Packed weights_at(const int8_t* w) { return _mm512_loadu_si512(w); }
inline Packed multiply_add(Packed sum, Packed a, Packed w) { return _mm512_dpbusd_epi32(sum, a, w); }
#elif defined(__AVX512BW__)
typedef __m512i Packed;
inline Packed weights_at(const int8_t* w) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)w)); }
inline Packed multiply_add(Packed sum, Packed a, Packed w) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, w)); }
#elif defined(__AVX2__)
typedef __m256i Packed;
inline Packed weights_at(const int8_t* w) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)w)); }
inline Packed multiply_add(Packed sum, Packed a, Packed w) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, w)); }
#else
// Any other machine: the same lanes, spelled out; the compiler finds what instructions there are.
typedef Ints Packed;
typedef int16_t Halves __attribute__((vector_size(kLanes * 4)));
inline Packed weights_at(const int8_t* w) {
    Halves wide;
    for (int i = 0; i < kTogether * kLanes; ++i) wide[i] = w[i];
    return (Packed)wide;
}
inline Packed multiply_add(Packed sum, Packed a, Packed w) {
    const Halves left = (Halves)a, right = (Halves)w;
    for (int lane = 0; lane < kLanes; ++lane)
        for (int i = lane * kTogether; i < (lane + 1) * kTogether; ++i) sum[lane] += int32_t(left[i]) * right[i];
    return sum;
}
#endif
static_assert(sizeof(Packed) == sizeof(Ints));

// Weights that were widened before.
inline Packed weights_at(const int16_t* w) { return *(const Packed*)w; }

// `kTogether` activations of a row, once for every lane.
inline Packed together(const Rounded* x) {
    int32_t all;
    std::memcpy(&all, x, sizeof all);
    return (Packed)(Ints{} + all);
}
