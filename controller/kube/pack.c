/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c: two runs, one block (see pack.h).
 *
 * Words are found by a hash table in the scratch arena.  Structures come first in the block, then the texts
 * in the order in which they were first seen. */
#include "controller/kube/pack.h"

#include <assert.h>
#include <string.h>

#include "common/base/hash.h"
#include "controller/kube/words.h"

#define ALIGN       ((size_t)8)
#define FIRST_WORDS ((size_t)128)
/* The table lives for one decode and is filled by one object of at most some MiB. */
#define WORD_SEED UINT64_C(0x7472696d746162)

struct pack_word {
    const char *text; /* borrowed from the first run's source; NULL = free slot */
    size_t len;
    uint64_t hash;
    size_t offset; /* from text_at */
};

void pack_init(struct pack *p, struct arena *a)
{
    *p = (struct pack){.arena = a, .cap_words = FIRST_WORDS};
    p->words = ARENA_ARRAY(a, struct pack_word, p->cap_words);
}

void *pack_array(struct pack *p, size_t n, size_t size)
{
    size_t bytes = (n * size + ALIGN - 1) & ~(ALIGN - 1);
    size_t at = p->fixed;
    p->fixed += bytes;
    if (p->block == NULL) {
        return n == 0 ? NULL : arena_calloc(p->arena, n, size);
    }
    assert(p->fixed <= p->text_at);
    return n == 0 ? NULL : p->block + at;
}

static struct pack_word *find_slot(struct pack_word *words, size_t cap, const char *s, size_t len,
                                   uint64_t hash)
{
    size_t i = (size_t)hash & (cap - 1);
    while (words[i].text != NULL &&
           (words[i].hash != hash || words[i].len != len || memcmp(words[i].text, s, len) != 0)) {
        i = (i + 1) & (cap - 1);
    }
    return &words[i];
}

static void grow(struct pack *p)
{
    size_t cap = p->cap_words * 2;
    struct pack_word *words = ARENA_ARRAY(p->arena, struct pack_word, cap);
    for (size_t i = 0; i < p->cap_words; i++) {
        const struct pack_word *w = &p->words[i];
        if (w->text != NULL) {
            *find_slot(words, cap, w->text, w->len, w->hash) = *w;
        }
    }
    p->words = words;
    p->cap_words = cap;
}

const char *pack_text(struct pack *p, const char *s)
{
    if (s == NULL) {
        return NULL;
    }
    size_t len = strlen(s);
    uint64_t hash = hash_bytes(WORD_SEED, s, len);
    struct pack_word *w = find_slot(p->words, p->cap_words, s, len, hash);
    if (p->block != NULL) {
        assert(w->text != NULL);
        return p->block + p->text_at + w->offset;
    }
    if (w->text == NULL) {
        *w = (struct pack_word){.text = s, .len = len, .hash = hash, .offset = p->text_bytes};
        p->text_bytes += len + 1;
        if (++p->n_words * 2 > p->cap_words) {
            grow(p);
        }
    }
    return s;
}

const char *pack_word(struct pack *p, const char *s)
{
    const char *shared = s == NULL ? NULL : kube_word(s);
    return shared != NULL ? shared : pack_text(p, s);
}

size_t pack_allocate(struct pack *p)
{
    assert(p->block == NULL);
    size_t bytes = p->fixed + p->text_bytes;
    p->text_at = p->fixed;
    p->fixed = 0;
    p->block = xmalloc(bytes);
    memset(p->block, 0, p->text_at);
    for (size_t i = 0; i < p->cap_words; i++) {
        const struct pack_word *w = &p->words[i];
        if (w->text != NULL) {
            memcpy(p->block + p->text_at + w->offset, w->text, w->len + 1);
        }
    }
    return bytes;
}
