/* SPDX-License-Identifier: Apache-2.0 */
/* words.c: see words.h.
 *
 * A table of offsets into one buffer, both of fixed size.  The first word without room ends the
 * adding for good: the two runs of pack.h must get the same answer.  Words are never moved, and a
 * slot is filled behind its word, so a word that is there is found without the lock. */
#include "controller/kube/model/words.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/lock.h"

#define WORDS_MAX 1024
#define SLOTS     ((size_t)2 * WORDS_MAX) /* power of two */
#define ROOM      ((size_t)32768)
#define LONGEST   ((size_t)127)

static struct {
    struct mutex lock; /* of adding */
    bool full;
    size_t n;
    size_t used;                  /* of text */
    _Atomic uint64_t seed;        /* 0: there is no word yet */
    _Atomic uint16_t slot[SLOTS]; /* where its text begins, + 1; 0: free */
    char text[ROOM];
} words = {.lock = MUTEX_INIT};

static const char *add(_Atomic uint16_t *slot, const char *s, size_t len)
{
    words.full = words.full || words.n == WORDS_MAX || ROOM - words.used <= len;
    if (words.full) {
        return NULL;
    }
    char *to = memcpy(words.text + words.used, s, len);
    to[len] = '\0';
    atomic_store_explicit(slot, (uint16_t)(words.used + 1), memory_order_release);
    words.used += len + 1;
    words.n++;
    return to;
}

/* The word, or NULL and the slot where it belongs. */
static const char *find(uint64_t seed, const char *s, size_t len, _Atomic uint16_t **ret)
{
    for (size_t i = (size_t)hash_quick(seed, s, len);; i++) {
        *ret = &words.slot[i & (SLOTS - 1)];
        uint16_t at = atomic_load_explicit(*ret, memory_order_acquire);
        if (at == 0) {
            return NULL;
        }
        const char *is = words.text + at - 1;
        if (strncmp(is, s, len) == 0 && is[len] == '\0') {
            return is;
        }
    }
}

static const char *find_or_add(const char *s, size_t len)
{
    uint64_t seed = atomic_load(&words.seed);
    if (seed == 0) {
        seed = hash_seed() | 1;
        atomic_store(&words.seed, seed);
    }
    _Atomic uint16_t *slot;
    const char *is = find(seed, s, len, &slot);
    return is != NULL ? is : add(slot, s, len);
}

const char *kube_word_n(const char *s, size_t len)
{
    if (len > LONGEST) {
        return NULL;
    }
    uint64_t seed = atomic_load_explicit(&words.seed, memory_order_acquire);
    _Atomic uint16_t *slot;
    const char *is = seed == 0 ? NULL : find(seed, s, len, &slot);
    if (is == NULL) {
        mutex_lock(&words.lock);
        is = find_or_add(s, len);
        mutex_unlock(&words.lock);
    }
    return is;
}

const char *kube_word(const char *s)
{
    return kube_word_n(s, strlen(s));
}

/* Words are never moved: their places are read without the lock. */
bool kube_word_place(const char *s, uint32_t *ret)
{
    uintptr_t first = (uintptr_t)words.text;
    uintptr_t is = (uintptr_t)s;
    if (is < first || is >= first + ROOM) {
        return false;
    }
    *ret = (uint32_t)(is - first);
    return true;
}

const char *kube_word_at(uint32_t place)
{
    return words.text + place;
}
