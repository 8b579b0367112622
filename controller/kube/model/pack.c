/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c: two runs, one block (see pack.h).
 *
 * The first run finds equal texts by a hash table in the scratch arena, and writes down what became
 * of each text that was asked for; the second reads that back.  Structures come first in the block,
 * then the texts in the order in which they were first seen. */
#include "controller/kube/model/pack.h"

#include <assert.h>
#include <string.h>

#include "common/base/hash.h"
#include "controller/kube/model/words.h"

#define ALIGN       ((size_t)8)
#define FIRST_TEXTS 32u
#define FIRST_ASKED ((size_t)96)
#define NO_TEXT     UINT32_MAX
#define SHARED      UINT32_C(0x80000000)

struct pack_text {
    const char *text; /* borrowed from the first run's source */
    uint32_t len;
    uint32_t offset; /* from text_at */
    uint64_t hash;
};
/* Input of one call of pack_text() or pack_word(). */
struct pack_asked {
    /* An index of a text; with SHARED: the place of a word of words.h; NO_TEXT for a NULL */
    uint32_t text;
};

void pack_init(struct pack *p, struct arena *a)
{
    *p = (struct pack){.arena = a, .cap_texts = FIRST_TEXTS, .cap_asked = FIRST_ASKED};
    p->texts = ARENA_ARRAY(a, struct pack_text, p->cap_texts);
    p->slots = ARENA_ARRAY(a, uint32_t, (size_t)p->cap_texts * 2);
    p->asked = ARENA_ARRAY(a, struct pack_asked, p->cap_asked);
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

static uint32_t *find_slot(const struct pack *p, const char *s, size_t len, uint64_t hash)
{
    uint32_t mask = p->cap_texts * 2 - 1;
    uint32_t i = (uint32_t)hash & mask;
    for (; p->slots[i] != 0; i = (i + 1) & mask) {
        const struct pack_text *t = &p->texts[p->slots[i] - 1];
        if (t->hash == hash && t->len == len && memcmp(t->text, s, len) == 0) {
            break;
        }
    }
    return &p->slots[i];
}

static void grow(struct pack *p)
{
    struct pack_text *texts = ARENA_ARRAY(p->arena, struct pack_text, (size_t)p->cap_texts * 2);
    memcpy(texts, p->texts, p->n_texts * sizeof *texts);
    p->texts = texts;
    p->cap_texts *= 2;
    p->slots = ARENA_ARRAY(p->arena, uint32_t, (size_t)p->cap_texts * 2);
    for (uint32_t i = 0; i < p->n_texts; i++) {
        const struct pack_text *t = &p->texts[i];
        *find_slot(p, t->text, t->len, t->hash) = i + 1;
    }
}

/* Index of the text, which the table has from now on. */
static uint32_t find_or_add(struct pack *p, const char *s, size_t len)
{
    uint64_t hash = hash_quick((uintptr_t)p->arena, s, len);
    uint32_t *slot = find_slot(p, s, len, hash);
    if (*slot != 0) {
        return *slot - 1;
    }
    if (p->n_texts == p->cap_texts) {
        grow(p);
        slot = find_slot(p, s, len, hash);
    }
    p->texts[p->n_texts] = (struct pack_text){s, (uint32_t)len, (uint32_t)p->text_bytes, hash};
    p->text_bytes += len + 1;
    *slot = ++p->n_texts;
    return p->n_texts - 1;
}

static const char *second_run(struct pack *p)
{
    assert(p->next_asked < p->n_asked);
    const struct pack_asked *is = &p->asked[p->next_asked++];
    if (is->text == NO_TEXT) {
        return NULL;
    }
    if ((is->text & SHARED) != 0) {
        return kube_word_at(is->text & ~SHARED);
    }
    return p->block + p->text_at + p->texts[is->text].offset;
}

static const char *first_run(struct pack *p, const char *s, bool as_word)
{
    struct pack_asked is = {.text = NO_TEXT};
    if (s != NULL) {
        size_t len = strlen(s);
        const char *word = as_word ? kube_word_n(s, len) : NULL;
        if (word != NULL && kube_word_place(word, &is.text)) {
            s = word;
            is.text |= SHARED;
        } else {
            is.text = find_or_add(p, s, len);
        }
    }
    if (p->n_asked == p->cap_asked) {
        struct pack_asked *asked = ARENA_ARRAY(p->arena, struct pack_asked, p->cap_asked * 2);
        memcpy(asked, p->asked, p->n_asked * sizeof *asked);
        p->asked = asked;
        p->cap_asked *= 2;
    }
    p->asked[p->n_asked++] = is;
    return s;
}

const char *pack_text(struct pack *p, const char *s)
{
    return p->block != NULL ? second_run(p) : first_run(p, s, false);
}

const char *pack_word(struct pack *p, const char *s)
{
    return p->block != NULL ? second_run(p) : first_run(p, s, true);
}

size_t pack_allocate(struct pack *p)
{
    assert(p->block == NULL);
    size_t bytes = p->fixed + p->text_bytes;
    p->text_at = p->fixed;
    p->fixed = 0;
    p->block = xmalloc(bytes);
    memset(p->block, 0, p->text_at);
    for (uint32_t i = 0; i < p->n_texts; i++) {
        const struct pack_text *t = &p->texts[i];
        memcpy(p->block + p->text_at + t->offset, t->text, (size_t)t->len + 1);
    }
    return bytes;
}
