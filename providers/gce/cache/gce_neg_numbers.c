/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_numbers.c: see gce_neg_numbers.h.  A hash table in chains; an endpoint is one
 * block of memory. */
#include "providers/gce/cache/gce_neg_numbers.h"

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/base/str.h"

#include <string.h>

#define FIRST_BUCKETS 64

struct entry {
    uint32_t uses;
    uint32_t next; /* of the same bucket: its number + 1; 0: the last one */
    uint32_t ip_at;
    uint32_t ipv6_at;
    char text[]; /* instance, ip, ipv6, each with its NUL */
};
struct gce_numbers {
    uint64_t seed;
    struct entry **by_id; /* NULL: the number is free */
    uint32_t *free_ids;   /* a stack */
    uint32_t *buckets;    /* number + 1; 0: empty */
    uint32_t n_ids;       /* handed out so far */
    uint32_t n_free;
    uint32_t cap;
    uint32_t n_buckets; /* a power of two */
};

struct gce_numbers *gce_numbers_new(void)
{
    struct gce_numbers *x = xcalloc(1, sizeof(*x));
    x->seed = hash_seed();
    x->n_buckets = FIRST_BUCKETS;
    x->buckets = xcalloc(x->n_buckets, sizeof(*x->buckets));
    return x;
}

void gce_numbers_free(struct gce_numbers *x)
{
    if (x == NULL) {
        return;
    }
    for (uint32_t i = 0; i < x->n_ids; i++) {
        free(x->by_id[i]);
    }
    free(x->by_id);
    free(x->free_ids);
    free(x->buckets);
    free(x);
}

uint32_t gce_numbers_count(const struct gce_numbers *x)
{
    return x->n_ids - x->n_free;
}

struct gce_endpoint gce_numbers_get(const struct gce_numbers *x, uint32_t id)
{
    const struct entry *e = x->by_id[id];
    return (struct gce_endpoint){
        .instance = e->text, .ip = e->text + e->ip_at, .ipv6 = e->text + e->ipv6_at};
}

static uint32_t *bucket_of(const struct gce_numbers *x, const struct gce_endpoint *e)
{
    const char *ip = str_nonnull(e->ip);
    const char *ipv6 = str_nonnull(e->ipv6);
    uint64_t h = hash_bytes(x->seed, e->instance, strlen(e->instance) + 1);
    h = hash_bytes(h, ip, strlen(ip) + 1);
    h = hash_bytes(h, ipv6, strlen(ipv6) + 1);
    return &x->buckets[h & (x->n_buckets - 1)];
}

static bool is_it(const struct gce_numbers *x, uint32_t id, const struct gce_endpoint *e)
{
    const struct gce_endpoint is = gce_numbers_get(x, id);
    return str_eq(is.instance, e->instance) && str_eq(is.ip, str_nonnull(e->ip)) &&
           str_eq(is.ipv6, str_nonnull(e->ipv6));
}

bool gce_numbers_find(const struct gce_numbers *x, const struct gce_endpoint *e, uint32_t *ret)
{
    for (uint32_t at = *bucket_of(x, e); at != 0; at = x->by_id[at - 1]->next) {
        if (is_it(x, at - 1, e)) {
            *ret = at - 1;
            return true;
        }
    }
    return false;
}

static struct entry *entry_new(const struct gce_endpoint *e)
{
    size_t n_name = strlen(e->instance) + 1;
    size_t n_ip = strlen(str_nonnull(e->ip)) + 1;
    size_t n_ipv6 = strlen(str_nonnull(e->ipv6)) + 1;
    struct entry *made = xmalloc(sizeof(*made) + n_name + n_ip + n_ipv6);
    made->uses = 0;
    made->ip_at = (uint32_t)n_name;
    made->ipv6_at = (uint32_t)(n_name + n_ip);
    memcpy(made->text, e->instance, n_name);
    memcpy(made->text + made->ip_at, str_nonnull(e->ip), n_ip);
    memcpy(made->text + made->ipv6_at, str_nonnull(e->ipv6), n_ipv6);
    return made;
}

static void link_entry(struct gce_numbers *x, uint32_t id)
{
    const struct gce_endpoint e = gce_numbers_get(x, id);
    uint32_t *bucket = bucket_of(x, &e);
    x->by_id[id]->next = *bucket;
    *bucket = id + 1;
}

static void grow(struct gce_numbers *x)
{
    x->n_buckets *= 2;
    x->buckets = xrealloc(x->buckets, x->n_buckets * sizeof(*x->buckets));
    memset(x->buckets, 0, x->n_buckets * sizeof(*x->buckets));
    for (uint32_t i = 0; i < x->n_ids; i++) {
        if (x->by_id[i] != NULL) {
            link_entry(x, i);
        }
    }
}

static uint32_t next_id(struct gce_numbers *x)
{
    if (x->n_free > 0) {
        return x->free_ids[--x->n_free];
    }
    if (x->n_ids == x->cap) {
        x->cap = x->cap == 0 ? FIRST_BUCKETS : x->cap * 2;
        x->by_id = xrealloc(x->by_id, x->cap * sizeof(struct entry *));
        x->free_ids = xrealloc(x->free_ids, x->cap * sizeof(*x->free_ids));
    }
    return x->n_ids++;
}

uint32_t gce_numbers_take(struct gce_numbers *x, const struct gce_endpoint *e)
{
    uint32_t id;
    if (!gce_numbers_find(x, e, &id)) {
        id = next_id(x);
        x->by_id[id] = entry_new(e);
        link_entry(x, id);
        if (gce_numbers_count(x) > x->n_buckets) {
            grow(x);
        }
    }
    x->by_id[id]->uses++;
    return id;
}

void gce_numbers_drop(struct gce_numbers *x, uint32_t id)
{
    if (--x->by_id[id]->uses > 0) {
        return;
    }
    const struct gce_endpoint e = gce_numbers_get(x, id);
    uint32_t *at = bucket_of(x, &e);
    while (*at != id + 1) {
        at = &x->by_id[*at - 1]->next;
    }
    *at = x->by_id[id]->next;
    free(x->by_id[id]);
    x->by_id[id] = NULL;
    x->free_ids[x->n_free++] = id;
}
