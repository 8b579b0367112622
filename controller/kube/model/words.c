/* SPDX-License-Identifier: Apache-2.0 */
/* words.c: see words.h.
 *
 * A table of offsets into one buffer, both of fixed size.  The first word without room ends the
 * adding for good: the two runs of pack.h must get the same answer. */
#include "controller/kube/model/words.h"

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
    struct mutex lock;
    bool begun;
    bool full;
    uint64_t seed;
    size_t n;
    size_t used;          /* of text */
    uint16_t slot[SLOTS]; /* where its text begins, + 1; 0: free */
    char text[ROOM];
} words = {.lock = MUTEX_INIT};

static const char *add(uint16_t *slot, const char *s, size_t size)
{
    words.full = words.full || words.n == WORDS_MAX || ROOM - words.used < size;
    if (words.full) {
        return NULL;
    }
    char *to = memcpy(words.text + words.used, s, size);
    *slot = (uint16_t)(words.used + 1);
    words.used += size;
    words.n++;
    return to;
}

static const char *find_or_add(const char *s, size_t size)
{
    if (!words.begun) {
        words.begun = true;
        words.seed = hash_seed();
    }
    size_t i = (size_t)hash_quick(words.seed, s, size) & (SLOTS - 1);
    for (; words.slot[i] != 0; i = (i + 1) & (SLOTS - 1)) {
        const char *is = words.text + words.slot[i] - 1;
        if (strcmp(is, s) == 0) {
            return is;
        }
    }
    return add(&words.slot[i], s, size);
}

const char *kube_word(const char *s)
{
    size_t len = strnlen(s, LONGEST + 1);
    if (len > LONGEST) {
        return NULL;
    }
    mutex_lock(&words.lock);
    const char *is = find_or_add(s, len + 1);
    mutex_unlock(&words.lock);
    return is;
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
