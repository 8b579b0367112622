/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c: random numbers from the kernel, or repeatable ones from a seed.
 *
 * The repeatable generator is xoshiro256** (Blackman and Vigna), started by SplitMix64 from the
 * seed, so that a run of the simulator or of a chaos test can be repeated from one printed number.
 * It is not for secrets; rng_real() is.  Thread-safe. */
#include "common/base/arena.h"
#include "common/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct rng {
    int is_real;
    struct mutex lock;
    uint64_t state[4]; /* under lock */
};

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t splitmix_next(uint64_t *x)
{
    uint64_t z = *x += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

static uint64_t xoshiro_next(uint64_t s[4])
{
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

static void kernel_bytes(void *p, size_t n)
{
    unsigned char *at = p;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno != EINTR) {
            /* Guessable tokens and identities would be worse than stopping. */
            fprintf(stderr, "getrandom: error %d: no random numbers for tokens and names\n", errno);
            abort();
        }
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}

struct rng *rng_real(void)
{
    static const struct rng real = {.is_real = 1};
    return (struct rng *)&real; /* no member is ever written: the state is the kernel's */
}

struct rng *rng_seeded_new(uint64_t seed)
{
    struct rng *r = xcalloc(1, sizeof *r);
    mutex_init(&r->lock);
    for (size_t i = 0; i < ARRAY_LEN(r->state); i++) {
        r->state[i] = splitmix_next(&seed);
    }
    return r;
}

void rng_free(struct rng *r)
{
    if (r != NULL && !r->is_real) {
        mutex_done(&r->lock);
        free(r);
    }
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t value;
    if (r->is_real) {
        kernel_bytes(&value, sizeof value);
        return value;
    }
    mutex_lock(&r->lock);
    value = xoshiro_next(r->state);
    mutex_unlock(&r->lock);
    return value;
}

/* Numbers from the incomplete last stretch of the range are thrown away, so all
 * are equally likely. */
uint64_t rng_below(struct rng *r, uint64_t bound)
{
    uint64_t smallest = (0 - bound) % bound; /* 2^64 mod bound */
    uint64_t value;
    do {
        value = rng_u64(r);
    } while (value < smallest);
    return value % bound;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

void rng_bytes(struct rng *r, void *p, size_t n)
{
    if (r->is_real) {
        kernel_bytes(p, n);
        return;
    }
    unsigned char *at = p;
    while (n > 0) {
        uint64_t value = rng_u64(r);
        size_t take = n < sizeof value ? n : sizeof value;
        memcpy(at, &value, take);
        at += take;
        n -= take;
    }
}

void rng_uuid(struct rng *r, char out[37])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char b[16];
    rng_bytes(r, b, sizeof b);
    b[6] = (unsigned char)((b[6] & 0x0F) | 0x40); /* version 4 */
    b[8] = (unsigned char)((b[8] & 0x3F) | 0x80); /* RFC variant */
    char *w = out;
    for (size_t i = 0; i < sizeof b; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *w++ = '-';
        }
        *w++ = hex[b[i] >> 4];
        *w++ = hex[b[i] & 15];
    }
    *w = '\0';
}
