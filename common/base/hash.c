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

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
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

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

uint64_t hash_bytes(uint64_t seed, const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t v[4] = {0x736f6d6570736575ull ^ seed, 0x646f72616e646f6dull ^ seed,
                     0x6c7967656e657261ull ^ seed, 0x7465646279746573ull ^ seed};
    size_t whole = n - n % 8;
    for (size_t i = 0; i < whole; i += 8) {
        absorb(v, load_le8(s + i));
    }
    absorb(v, load_le(s + whole, n % 8) | (uint64_t)n << 56);
    v[2] ^= 0xFF;
    for (int i = 0; i < 4; i++) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
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
