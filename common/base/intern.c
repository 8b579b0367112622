/* SPDX-License-Identifier: Apache-2.0 */
/* intern.c: byte strings that are kept once (intern.h). */
#include "common/base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/intern_internal.h"
#include "common/base/keep.h"
#include "common/base/limits.h"
#include "common/base/lock.h"

/* ---- the strings of a table ------------------------------------------------------------------ */

static const void *string_key(const void *record)
{
    return record; /* the string itself */
}

static uint64_t string_hash(uint64_t seed, const void *key)
{
    const struct interned *s = key;

    return hash_quick(seed, s->data, s->n);
}

static int string_cmp(const void *a, const void *b)
{
    const struct interned *x = a;
    const struct interned *y = b;
    int order = x->n == 0 || y->n == 0 ? 0 : memcmp(x->data, y->data, x->n < y->n ? x->n : y->n);

    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

static const struct index_kind string_kind = {string_key, string_hash, string_cmp};

static void string_free(struct interned *s)
{
    if (s != NULL) {
        keep_free(s, sizeof *s + s->n);
    }
}

struct intern_table *intern_table_new(void)
{
    struct intern_table *t = xcalloc(1, sizeof *t);

    mutex_init(&t->lock);
    index_init(&t->strings, &string_kind);
    return t;
}

void intern_table_free(struct intern_table *t)
{
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; i < t->strings.cap; i++) {
        string_free(t->strings.at[i]);
    }
    index_done(&t->strings);
    mutex_done(&t->lock);
    free(t);
}

/* A string that only asks for an equal one: in `room`, or on the heap when it is longer. */
struct asking {
    struct interned *s;
    _Alignas(struct interned) unsigned char room[sizeof(struct interned) + 240];
};

static void ask(struct asking *q, const void *bytes, size_t n)
{
    size_t size = sizeof *q->s + n;

    q->s = size <= sizeof q->room ? (struct interned *)(void *)q->room : xmalloc(size);
    *q->s = (struct interned){.refs = 1, .n = (uint32_t)n};
    if (n > 0) {
        memcpy(q->s->data, bytes, n);
    }
}

static void asked(struct asking *q)
{
    if ((void *)q->s != q->room) {
        free(q->s);
    }
}

const struct interned *intern_get(struct intern_table *t, const void *bytes, size_t n)
{
    struct asking q;

    ask(&q, bytes, n);
    mutex_lock(&t->lock);
    struct interned *s = index_get(&t->strings, q.s);
    if (s != NULL) {
        s->refs++;
    } else {
        s = keep_alloc(sizeof *s + n);
        memcpy(s, q.s, sizeof *s + n);
        (void)index_put(&t->strings, s); /* it was not there */
    }
    mutex_unlock(&t->lock);
    asked(&q);
    return s;
}

const struct interned *intern_text(struct intern_table *t, const char *text)
{
    return text == NULL ? NULL : intern_get(t, text, strlen(text) + 1);
}

const struct interned *intern_again(struct intern_table *t, const struct interned *s)
{
    mutex_lock(&t->lock);
    ((struct interned *)s)->refs++;
    mutex_unlock(&t->lock);
    return s;
}

void intern_drop(struct intern_table *t, const struct interned *s)
{
    if (s == NULL) {
        return;
    }
    mutex_lock(&t->lock);
    struct interned *last = --((struct interned *)s)->refs == 0 ? index_take(&t->strings, s) : NULL;
    mutex_unlock(&t->lock);
    string_free(last);
}

const struct interned *intern_find_text(struct intern_table *t, const char *text)
{
    struct asking q;

    ask(&q, text, strlen(text) + 1);
    mutex_lock(&t->lock);
    const struct interned *s = index_get(&t->strings, q.s);
    mutex_unlock(&t->lock);
    asked(&q);
    return s;
}

const char *intern_str(const struct interned *s)
{
    return s == NULL ? NULL : (const char *)s->data;
}

/* ---- records by a string of theirs ----------------------------------------------------------- */

static const void *first_member(const void *record)
{
    return *(const struct interned *const *)record;
}

static uint64_t pointer_hash(uint64_t seed, const void *key)
{
    return hash_quick(seed, &key, sizeof(key));
}

static int text_cmp(const void *a, const void *b)
{
    return a == b ? 0 : string_cmp(a, b);
}

const struct index_kind interned_text_kind = {first_member, pointer_hash, text_cmp};

void *index_get_text(const struct index *x, struct intern_table *t, const char *text)
{
    const struct interned *s = x->n == 0 ? NULL : intern_find_text(t, text);

    return s == NULL ? NULL : index_get(x, s);
}
