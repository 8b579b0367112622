/* SPDX-License-Identifier: Apache-2.0 */
/* plain_run.h: how many bytes of a JSON string stand for themselves.
 *
 * The inner loop of all that reads JSON: sixteen bytes at a time where the machine can say in one
 * go which of them are special (SSE2, which every x86-64 has), else eight, and the last few one by
 * one.  Reads nothing behind p[n-1].  Pure. */
#ifndef TRIMTAB_BASE_PLAIN_RUN_H
#define TRIMTAB_BASE_PLAIN_RUN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Ends a run: a quote, a backslash, a control byte; with `ascii` also what is not ASCII. */
static inline bool plain_run_ends(unsigned char b, bool ascii)
{
    return b == '"' || b == '\\' || b < 0x20 || (ascii && b >= 0x80);
}

/* The high bit of each of eight bytes that ends a run.  Subtracting sets it in a byte below what is
 * subtracted; the borrow may set it in the byte after that one, too, so only the lowest is sure. */
static inline uint64_t plain_run_ends8(const char *p, bool ascii)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t highs = UINT64_C(0x8080808080808080);
    uint64_t w;
    memcpy(&w, p, sizeof w);
    w = le64toh(w);
    uint64_t below = ((w ^ ones * '"') - ones) | ((w ^ ones * '\\') - ones) | (w - ones * 0x20);
    return ((below & ~w) | (ascii ? w : 0)) & highs;
}

/* The high bit of each byte that is 0, and of no other one. */
static inline uint64_t plain_run_zeros8(uint64_t w)
{
    const uint64_t rest = UINT64_C(0x7f7f7f7f7f7f7f7f);
    return ~(((w & rest) + rest) | w | rest);
}

/* One bit for each of 64 bytes that ends a run: of any machine. */
static inline uint64_t plain_run_ends64_plain(const char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t ends = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t w;
        memcpy(&w, p + (size_t)i * 8, sizeof w);
        w = le64toh(w);
        uint64_t highs = plain_run_zeros8(w ^ ones * '"') | plain_run_zeros8(w ^ ones * '\\') |
                         plain_run_zeros8(w & ones * 0xe0);
        /* the eight high bits, side by side */
        ends |= ((highs >> 7) * UINT64_C(0x0102040810204080)) >> 56 << (8 * i);
    }
    return ends;
}

#ifdef __SSE2__
typedef char plain_run_bytes __attribute__((vector_size(16)));
typedef unsigned char plain_run_ubytes __attribute__((vector_size(16)));

/* One bit for each of sixteen bytes that ends a run.  The quote is the one byte that comes next to
 * the control bytes when its second bit is turned. */
static inline unsigned plain_run_ends16(const char *p, bool ascii)
{
    _Static_assert(('"' ^ 2) == 0x20, "the quote comes next to the control bytes");
    plain_run_ubytes v;
    memcpy(&v, p, sizeof v);
    plain_run_bytes ends = (plain_run_bytes)((v ^ 2) <= 0x20) | (plain_run_bytes)(v == '\\');
    if (ascii) {
        ends |= (plain_run_bytes)v; /* only the high bits count */
    }
    return (unsigned)__builtin_ia32_pmovmskb128(ends);
}

/* One bit for each of 64 bytes that ends a run. */
static inline uint64_t plain_run_ends64(const char *p)
{
    uint64_t low = plain_run_ends16(p, false) | (uint64_t)plain_run_ends16(p + 16, false) << 16;
    uint64_t high = plain_run_ends16(p + 32, false) | (uint64_t)plain_run_ends16(p + 48, false)
                                                          << 16;
    return low | high << 32;
}

#define PLAIN_RUN_WIDE 1 /* there may be a wider way: ask plain_run_is_wide() */
typedef char plain_run_wide_bytes __attribute__((vector_size(32)));
typedef unsigned char plain_run_wide_ubytes __attribute__((vector_size(32)));

/* The machine has AVX2. */
static inline bool plain_run_is_wide(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

__attribute__((target("avx2"))) static inline uint64_t plain_run_ends32_wide(const char *p)
{
    plain_run_wide_ubytes v;
    memcpy(&v, p, sizeof v);
    plain_run_wide_bytes ends =
        (plain_run_wide_bytes)((v ^ 2) <= 0x20) | (plain_run_wide_bytes)(v == '\\');
    return (uint32_t)__builtin_ia32_pmovmskb256(ends);
}

/* The same as plain_run_ends64(), with half the instructions. */
__attribute__((target("avx2"))) static inline uint64_t plain_run_ends64_wide(const char *p)
{
    return plain_run_ends32_wide(p) | plain_run_ends32_wide(p + 32) << 32;
}

/* Of 32 bytes those that are a quote or a backslash; *low becomes the lowest of all. */
__attribute__((target("avx2"))) static inline uint64_t plain_run_quotes32_wide(const char *p,
                                                                               __m256i *low)
{
    /* By a byte's low half: the one that ends a run, else a byte that is never looked up. */
    const __m256i ends =
        _mm256_setr_epi8(-1, -1, '"', -1, -1, -1, -1, -1, -1, -1, -1, -1, '\\', -1, -1, -1, -1, -1,
                         '"', -1, -1, -1, -1, -1, -1, -1, -1, -1, '\\', -1, -1, -1);
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    *low = _mm256_min_epu8(*low, v);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(ends, v), v));
}

/* plain_run_ends64() of `blocks` times 64 bytes.  Control bytes are rare: whether there are any is
 * asked once for all. */
__attribute__((target("avx2"))) static inline void plain_run_ends_wide(const char *p, size_t blocks,
                                                                       uint64_t *ret)
{
    __m256i low = _mm256_set1_epi8(-1);
    for (size_t i = 0; i < blocks; i++) {
        ret[i] = plain_run_quotes32_wide(p + i * 64, &low) |
                 plain_run_quotes32_wide(p + i * 64 + 32, &low) << 32;
    }
    const __m256i blank = _mm256_set1_epi8(0x20);
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(low, blank), blank)) == -1) {
        return;
    }
    for (size_t i = 0; i < blocks; i++) {
        ret[i] = plain_run_ends64_wide(p + i * 64);
    }
}
#else
static inline uint64_t plain_run_ends64(const char *p)
{
    return plain_run_ends64_plain(p);
}
#endif

/* The last step may overlap the one before, whose bytes have ended nothing. */
static inline size_t plain_run_of(const char *p, size_t n, bool ascii)
{
    size_t i = 0;
#ifdef __SSE2__
    for (; n >= 16 && i < n; i += 16) {
        size_t at = i + 16 <= n ? i : n - 16;
        unsigned ends = plain_run_ends16(p + at, ascii);
        if (ends != 0) {
            return at + (size_t)__builtin_ctz(ends);
        }
    }
#endif
    for (; n >= 8 && i < n; i += 8) {
        size_t at = i + 8 <= n ? i : n - 8;
        uint64_t ends = plain_run_ends8(p + at, ascii);
        if (ends != 0) {
            return at + (size_t)__builtin_ctzll(ends) / 8;
        }
    }
    while (i < n && !plain_run_ends((unsigned char)p[i], ascii)) {
        i++;
    }
    return i < n ? i : n;
}

/* From p up to a byte that is not a visible character of ASCII, or n. */
static inline size_t plain_run_visible(const char *p, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t w;
        memcpy(&w, p + i, sizeof w);
        /* below 0x20 and not ASCII; 0x7f, and what an addition carries over */
        if ((((w - ones * 0x20) | w | (w + ones)) & (ones * 0x80)) != 0) {
            break;
        }
    }
    while (i < n && p[i] >= 0x20 && p[i] < 0x7f) {
        i++;
    }
    return i;
}

/* From p up to a quote, a backslash, a control byte, or n. */
static inline size_t plain_run(const char *p, size_t n)
{
    return plain_run_of(p, n, false);
}

/* The same, or up to a byte that is not ASCII. */
static inline size_t plain_run_ascii(const char *p, size_t n)
{
    return plain_run_of(p, n, true);
}

#endif
