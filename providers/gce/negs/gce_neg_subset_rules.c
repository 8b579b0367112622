/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_subset_rules.c: how many nodes a Service's NEGs hold, and which (gce_neg_rules.h).
 *
 *     total ─▶ a share for each zone, small zones first ─▶ kept ones, by name ─▶ new ones, by hash
 *
 * A node that may stay leaves only when the share shrinks; then the last by name go, as upstream
 * does.  New ones come in the order of SHA-256(node ":" salt), so that two processes choose the
 * same and two Services choose differently.  Nothing is hashed while those that are kept fill the
 * share: with full subsets a change of nodes costs a walk over sorted names.
 * Source: gce-l4.md §3.3, §3.4; vectors S1–S43.  Pure. */
#include "providers/gce/model/gce_neg_rules.h"

#include "common/base/str.h"

#include <openssl/evp.h>
#include <string.h>

#define NETLB_CLUSTER_MAX 250
#define NETLB_PER_PLACE   3

/* ---- how many (§3.3) ------------------------------------------------------------------------- */

int gce_neg_total_ilb(size_t zones)
{
    return zones != 0 && 24 % zones == 0 ? 24 : GCE_SUBSET_MAX;
}

int gce_neg_total_netlb(int endpoints, int zone_subnets, int in_negs)
{
    int wanted = zone_subnets * NETLB_PER_PLACE;
    wanted = endpoints > wanted ? endpoints : wanted;
    wanted = wanted > NETLB_CLUSTER_MAX ? NETLB_CLUSTER_MAX : wanted;
    return in_negs > wanted ? in_negs : wanted;
}

/* ---- who, of one zone ------------------------------------------------------------------------ */

#define HASH_BYTES 32 /* of SHA-256 */

struct hashed {
    unsigned char hash[HASH_BYTES];
    const char *name;
};

/* OpenSSL refuses only when its own installation is broken. */
struct hasher {
    EVP_MD *md;
    EVP_MD_CTX *c;
};

static struct hasher hasher_new(void)
{
    struct hasher h = {.md = EVP_MD_fetch(NULL, "SHA256", NULL), .c = EVP_MD_CTX_new()};
    if (h.md == NULL || h.c == NULL) {
        out_of_memory(0);
    }
    return h;
}

static void hasher_done(struct hasher *h)
{
    EVP_MD_CTX_free(h->c);
    EVP_MD_free(h->md);
}

static void hash_name(const struct hasher *h, const char *name, const char *salt,
                      unsigned char ret[HASH_BYTES])
{
    bool ok =
        EVP_DigestInit_ex(h->c, h->md, NULL) == 1 &&
        EVP_DigestUpdate(h->c, name, strlen(name)) == 1 && EVP_DigestUpdate(h->c, ":", 1) == 1 &&
        EVP_DigestUpdate(h->c, salt, strlen(salt)) == 1 && EVP_DigestFinal_ex(h->c, ret, NULL) == 1;
    if (!ok) {
        out_of_memory(0);
    }
}

/* Puts one in its place among the n of `most` that come first so far; the last one makes room. */
static size_t insert_by_hash(struct hashed *first, size_t n, size_t most, const struct hashed *one)
{
    size_t at = n;
    while (at > 0 && memcmp(one->hash, first[at - 1].hash, HASH_BYTES) < 0) {
        at--;
    }
    if (at == most) {
        return n;
    }
    size_t moved = (n < most ? n : most - 1) - at;
    memmove(&first[at + 1], &first[at], moved * sizeof(*first));
    first[at] = *one;
    return n < most ? n + 1 : n;
}

/* Those of `current` that are among the nodes, each once; both are sorted by name.  Looks each one
 * up when there are few of them, so that keeping 25 of 5,000 costs 300 comparisons. */
static struct gce_strs kept_of(struct arena *a, const struct gce_strs *nodes,
                               const struct gce_strs *current)
{
    const struct str_set set = {.items = nodes->items, .n = nodes->n};
    struct gce_strs kept = {.items = ARENA_ARRAY(a, const char *, current->n)};
    for (size_t i = 0; i < current->n; i++) {
        bool again = i > 0 && str_eq(current->items[i], current->items[i - 1]);
        if (!again && str_set_has(&set, current->items[i])) {
            kept.items[kept.n++] = current->items[i];
        }
    }
    return kept;
}

/* The first `most` in the order of hashes of the nodes that are not in `kept`.  No more of them are
 * held than are asked for: they are 25 of 5,000, for each Service that is made. */
static struct hashed *newcomers(struct arena *a, const struct gce_strs *nodes,
                                const struct gce_strs *kept, const char *salt, size_t most,
                                size_t *ret_n)
{
    struct hashed *first = ARENA_ARRAY(a, struct hashed, most);
    struct hasher h = hasher_new();
    size_t at = 0;
    *ret_n = 0;
    for (size_t i = 0; i < nodes->n; i++) {
        struct hashed one = {.name = nodes->items[i]};
        if (at < kept->n && str_eq(one.name, kept->items[at])) {
            at++;
            continue;
        }
        hash_name(&h, one.name, salt, one.hash);
        *ret_n = insert_by_hash(first, *ret_n, most, &one);
    }
    hasher_done(&h);
    return first;
}

struct gce_strs gce_neg_pick(struct arena *a, const struct gce_strs *nodes, const char *salt,
                             int count, const struct gce_strs *current)
{
    size_t want = count > 0 ? (size_t)count : 0;
    if (nodes->n <= want) {
        return *nodes;
    }
    struct gce_strs kept = kept_of(a, nodes, current);
    if (kept.n >= want) {
        kept.n = want;
        return kept;
    }
    size_t n_new;
    struct hashed *h = newcomers(a, nodes, &kept, salt, want - kept.n, &n_new);
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, want)};
    for (size_t i = 0; i < kept.n; i++) {
        out.items[out.n++] = kept.items[i];
    }
    for (size_t i = 0; i < n_new; i++) {
        out.items[out.n++] = h[i].name;
    }
    return out;
}

/* ---- the shares of the zones ----------------------------------------------------------------- */

/* A zone's share. */
struct share {
    struct gce_zone_nodes *zone;
    size_t size;
    size_t kept; /* members that may stay */
    size_t had;  /* members now, also those that are gone */
};

static int by_count(const void *x, const void *y)
{
    const struct gce_zone_nodes *a = ((const struct share *)x)->zone;
    const struct gce_zone_nodes *b = ((const struct share *)y)->zone;
    if (a->nodes.n != b->nodes.n) {
        return a->nodes.n < b->nodes.n ? -1 : 1;
    }
    return strcmp(a->zone, b->zone);
}

/* Moves one place from the zone that has it by the division to the one that has a member there. */
static bool keep_one(struct share *shares, size_t n, size_t (*count)(const struct share *))
{
    for (size_t to = 0; to < n; to++) {
        struct share *t = &shares[to];
        if (count(t) <= t->size || t->zone->nodes.n <= t->size) {
            continue;
        }
        for (size_t from = 0; from < n; from++) {
            struct share *f = &shares[from];
            if (f->size == t->size + 1 && count(f) <= t->size) {
                f->size--;
                t->size++;
                return true;
            }
        }
    }
    return false;
}

static size_t count_kept(const struct share *s)
{
    return s->kept;
}

static size_t count_had(const struct share *s)
{
    return s->had;
}

/* The division's remainder goes to the zones with most nodes.  When two zones overtake each other
 * it would move, and drain connections for nothing; so it stays where it is: first with members
 * that may stay, then where a member has just gone.  The sizes remain the same ones. */
static void keep_remainders(struct arena *a, struct share *shares, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct gce_zone_nodes *z = shares[i].zone;
        shares[i].kept = kept_of(a, &z->nodes, &z->current).n;
        shares[i].had = z->current.n;
        for (size_t k = 1; k < z->current.n; k++) {
            shares[i].had -= str_eq(z->current.items[k], z->current.items[k - 1]);
        }
    }
    while (keep_one(shares, n, count_kept)) {
    }
    while (keep_one(shares, n, count_had)) {
    }
}

void gce_neg_subset(struct arena *a, struct gce_zone_nodes *zones, size_t n, int total,
                    const char *salt)
{
    struct share *shares = ARENA_ARRAY(a, struct share, n);
    size_t rest = total > 0 ? (size_t)total : 0;
    for (size_t i = 0; i < n; i++) {
        shares[i].zone = &zones[i];
    }
    qsort(shares, n, sizeof(*shares), by_count);
    for (size_t i = 0; i < n; i++) {
        size_t share = rest / (n - i);
        shares[i].size = share < shares[i].zone->nodes.n ? share : shares[i].zone->nodes.n;
        rest -= shares[i].size;
    }
    keep_remainders(a, shares, n);
    for (size_t i = 0; i < n; i++) {
        struct gce_zone_nodes *z = shares[i].zone;
        z->picked = gce_neg_pick(a, &z->nodes, salt, (int)shares[i].size, &z->current);
    }
}
