/* SPDX-License-Identifier: Apache-2.0 */
/* access_cache.c: see access_cache.h.  A map for finding, a ring for the order of use. */
#include "controller/serve/access_cache.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "controller/serve/access_cache_internal.h"

#define ENTRY_OVERHEAD ((size_t)256) /* map, ring, key */

struct counted {
    struct access_answer answer; /* first */
    atomic_size_t refs;
};

/* --- answers ---------------------------------------------------------------------------------- */

struct access_answer *access_answer_new(enum access_outcome outcome)
{
    struct counted *x = xcalloc(1, sizeof *x);
    atomic_init(&x->refs, 1);
    x->answer.outcome = outcome;
    x->answer.text = "";
    x->answer.a = arena_new();
    return &x->answer;
}

struct access_answer *access_answer_ref(struct access_answer *x)
{
    (void)atomic_fetch_add(&((struct counted *)x)->refs, 1); /* the old value says nothing */
    return x;
}

void access_answer_unref(struct access_answer *x)
{
    if (x != NULL && atomic_fetch_sub(&((struct counted *)x)->refs, 1) == 1) {
        arena_free(x->a);
        free(x);
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

struct access_key access_key_of(const unsigned char secret[32], const char *text)
{
    struct access_key key;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (HMAC(EVP_sha256(), secret, 32, (const unsigned char *)text, strlen(text), digest, &n) ==
            NULL ||
        n != 32) {
        out_of_memory(0);
    }
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(key.hex + 2 * (size_t)i, 3, "%02x", digest[i]);
    }
    return key;
}

/* --- the cache -------------------------------------------------------------------------------- */

struct access_cache *access_cache_new(size_t max)
{
    struct access_cache *c = xcalloc(1, sizeof *c);
    c->max = max;
    c->entries = map_new(NULL);
    c->ring.newer = c->ring.older = &c->ring;
    return c;
}

static void unlink_entry(struct entry *e)
{
    e->newer->older = e->older;
    e->older->newer = e->newer;
}

static void link_newest(struct access_cache *c, struct entry *e)
{
    e->newer = &c->ring;
    e->older = c->ring.older;
    e->older->newer = e;
    c->ring.older = e;
}

static void drop(struct access_cache *c, struct entry *e)
{
    unlink_entry(e);
    c->bytes -= e->bytes;
    (void)map_remove(c->entries, e->key.hex); /* it is there */
    access_answer_unref(e->answer);
    free(e);
}

void access_cache_free(struct access_cache *c)
{
    if (c == NULL) {
        return;
    }
    while (c->ring.older != &c->ring) {
        drop(c, c->ring.older);
    }
    map_free(c->entries);
    free(c);
}

struct access_answer *access_cache_get(struct access_cache *c, const struct access_key *key,
                                       int64_t now_ms)
{
    struct entry *e = map_get(c->entries, key->hex);
    if (e == NULL) {
        return NULL;
    }
    if (now_ms >= e->until_ms) {
        drop(c, e);
        return NULL;
    }
    unlink_entry(e);
    link_newest(c, e);
    return access_answer_ref(e->answer);
}

void access_cache_put(struct access_cache *c, const struct access_key *key, struct access_answer *x,
                      int64_t ttl_ms, int64_t now_ms)
{
    struct entry *old = map_get(c->entries, key->hex);
    if (old != NULL) {
        drop(c, old);
    }
    size_t bytes = arena_used(x->a) + ENTRY_OVERHEAD;
    if (ttl_ms <= 0 || bytes > ACCESS_CACHE_BYTES_MAX / 16) {
        return;
    }
    struct entry *e = xcalloc(1, sizeof *e);
    e->key = *key;
    e->answer = access_answer_ref(x);
    e->until_ms = now_ms + ttl_ms;
    e->bytes = bytes;
    c->bytes += bytes;
    map_set(c->entries, key->hex, e);
    link_newest(c, e);
    while (map_size(c->entries) > c->max || c->bytes > ACCESS_CACHE_BYTES_MAX) {
        drop(c, c->ring.newer);
    }
}
