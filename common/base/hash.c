/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c: SipHash-2-4 (Aumasson and Bernstein, 2012).
 *
 * Chosen over uthash's own functions because any user who may create objects in the cluster chooses
 * keys.  Thread-safe. */
#include "common/base/hash.h"

#include <endian.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

/* Values in and out, so that they stay in registers. */
static inline __attribute__((always_inline)) struct sip sip_round(struct sip s)
{
    s.v0 += s.v1;
    s.v1 = rotate(s.v1, 13) ^ s.v0;
    s.v0 = rotate(s.v0, 32);
    s.v2 += s.v3;
    s.v3 = rotate(s.v3, 16) ^ s.v2;
    s.v0 += s.v3;
    s.v3 = rotate(s.v3, 21) ^ s.v0;
    s.v2 += s.v1;
    s.v1 = rotate(s.v1, 17) ^ s.v2;
    s.v2 = rotate(s.v2, 32);
    return s;
}

/* Little-endian, whatever the machine, so that fingerprints can be compared between machines. */
static uint64_t load_le8(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

/* Up to seven bytes. */
static uint64_t load_le(const unsigned char *p, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)p[i] << (8 * i);
    }
    return word;
}

static inline __attribute__((always_inline)) struct sip absorb(struct sip s, uint64_t word)
{
    s.v3 ^= word;
    s = sip_round(sip_round(s));
    s.v0 ^= word;
    return s;
}

uint64_t hash_bytes(uint64_t seed, const void *p, size_t n)
{
    const unsigned char *bytes = p;
    struct sip s = {0x736f6d6570736575ull ^ seed, 0x646f72616e646f6dull ^ seed,
                    0x6c7967656e657261ull ^ seed, 0x7465646279746573ull ^ seed};
    size_t whole = n - n % 8;
    for (size_t i = 0; i < whole; i += 8) {
        s = absorb(s, load_le8(bytes + i));
    }
    s = absorb(s, load_le(bytes + whole, n % 8) | (uint64_t)n << 56);
    s.v2 ^= 0xFF;
    s = sip_round(sip_round(sip_round(sip_round(s))));
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load64(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Up to seven bytes; those in the middle may be in it twice. */
static uint64_t load_few(const unsigned char *p, size_t n)
{
    uint32_t first, last;
    if (n >= sizeof first) {
        memcpy(&first, p, sizeof first);
        memcpy(&last, p + n - sizeof last, sizeof last);
        return (uint64_t)first << 32 | last;
    }
    return n == 0 ? 0 : (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1];
}

uint64_t hash_quick(uint64_t seed, const void *p, size_t n)
{
    /* any odd numbers with about as many ones as zeros do */
    const uint64_t k1 = UINT64_C(0x9e6c63d0676a9a99), k2 = UINT64_C(0xb5a3c1d2e94f7263);
    const unsigned char *s = p;
    uint64_t h = fold(seed ^ k1, (uint64_t)n ^ k2);
    if (n < 8) {
        return fold(h ^ load_few(s, n), k1);
    }
    for (size_t i = 0; i + 8 < n; i += 8) {
        h = fold(h ^ load64(s + i), k1);
    }
    return fold(h ^ load64(s + n - 8), k2);
}

/* The first seed of the process. */
static uint64_t first_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
        seed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32 ^ (uint64_t)(uintptr_t)&seed;
    }
    return seed == 0 ? 1 : seed;
}

uint64_t hash_seed(void)
{
    static _Atomic uint64_t secret; /* 0: not there yet */
    static _Atomic uint64_t made;
    uint64_t key = atomic_load(&secret);

    if (key == 0) {
        uint64_t mine = first_seed();
        /* of two threads that come first, one's is taken by both */
        key = atomic_compare_exchange_strong(&secret, &key, mine) ? mine : key;
    }
    uint64_t number = atomic_fetch_add(&made, 1);
    return hash_bytes(key, &number, sizeof number);
}
