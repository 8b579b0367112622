/* SPDX-License-Identifier: Apache-2.0 */
/* repack.c: subsets of Endpoints in canonical form; see legacy.h.
 *
 *     addresses, numbered in order of (ip, uid) ──┐
 *     ports, each with the subsets it is in ──────┴▶ classes: ports in the same subsets
 *                                                    ──▶ classes with the same addresses
 *
 * Memory is that of the input: the addresses of a class are put together in one
 * scratch list, twice. */
#include "common/services/slices/repack.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"

/* One address of one subset. */
struct entry {
    const struct ks_subset_address *at;
    const char *uid;
    size_t seq; /* position in the input */
    size_t id;  /* the same for the same (ip, uid); in order of both */
    bool not_ready;
};
/* One port of one subset; `port` is NULL for a subset without ports. */
struct port_entry {
    const struct ks_subset_port *port;
    size_t subset;
    size_t apart; /* entries that differ here are never one port */
};
/* Ports that stand in the same subsets. */
struct class
{
    const struct port_entry *entries; /* of one port, in order of subsets, each subset once */
    size_t n;
    uint64_t sum[2]; /* of its addresses and their readiness */
    bool empty;      /* has no addresses */
};
struct repack {
    struct arena *a;
    const struct ks_subset *subsets;
    size_t n;
    struct entry *entries;                  /* those of a subset stand together */
    size_t *first;                          /* of each subset; n + 1 items */
    const struct ks_subset_address **known; /* by id; the first one in the input */
    struct port_entry *ports;
    size_t n_ports;
    struct class *classes;
    size_t n_classes;
    size_t *scratch; /* 2 · id + (1 when not ready) */
};

/* ---- addresses ------------------------------------------------------------------------------- */

static int by_address(const void *x, const void *y)
{
    const struct entry *a = *(const struct entry *const *)x, *b = *(const struct entry *const *)y;
    int order = strcmp(a->at->ip, b->at->ip);
    order = order != 0 ? order : strcmp(a->uid, b->uid);
    return order != 0 ? order : a->seq < b->seq ? -1 : a->seq > b->seq;
}

static size_t add_entries(struct repack *r, const struct ks_subset_address *list, size_t n,
                          bool not_ready, size_t at)
{
    for (size_t i = 0; i < n; i++) {
        const char *uid = list[i].ref == NULL ? "" : list[i].ref->uid;
        r->entries[at] =
            (struct entry){.at = &list[i], .uid = uid, .seq = at, .not_ready = not_ready};
        at++;
    }
    return at;
}

static void number_addresses(struct repack *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        n += r->subsets[i].n_ready + r->subsets[i].n_not_ready;
    }
    r->entries = ARENA_ARRAY(r->a, struct entry, n);
    r->first = ARENA_ARRAY(r->a, size_t, r->n + 1);
    r->known = ARENA_ARRAY(r->a, const struct ks_subset_address *, n);
    r->scratch = ARENA_ARRAY(r->a, size_t, n);
    for (size_t i = 0, at = 0; i < r->n; i++) {
        const struct ks_subset *s = &r->subsets[i];
        at = add_entries(r, s->ready, s->n_ready, false, at);
        at = add_entries(r, s->not_ready, s->n_not_ready, true, at);
        r->first[i + 1] = at;
    }
    struct entry **sorted = ARENA_ARRAY(r->a, struct entry *, n);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &r->entries[i];
    }
    qsort(sorted, n, sizeof(*sorted), by_address);
    size_t id = 0;
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && str_eq(sorted[i - 1]->at->ip, sorted[i]->at->ip) &&
                    str_eq(sorted[i - 1]->uid, sorted[i]->uid);
        id += i > 0 && !same ? 1 : 0;
        sorted[i]->id = id;
        r->known[id] = same ? r->known[id] : sorted[i]->at;
    }
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* Orders texts, an absent one first. */
static int compare_texts(const char *x, const char *y)
{
    return x == NULL || y == NULL ? (x != NULL) - (y != NULL) : strcmp(x, y);
}

static int compare_ports(const struct ks_subset_port *x, const struct ks_subset_port *y)
{
    if (x == NULL || y == NULL) {
        return (x != NULL) - (y != NULL);
    }
    int order = strcmp(x->name, y->name);
    order = order != 0 ? order : strcmp(x->protocol, y->protocol);
    order = order != 0 ? order : (x->port > y->port) - (x->port < y->port);
    return order != 0 ? order : compare_texts(x->app_protocol, y->app_protocol);
}

static int compare_sizes(size_t x, size_t y)
{
    return (x > y) - (x < y);
}

static int same_port(const struct port_entry *x, const struct port_entry *y)
{
    int order = compare_ports(x->port, y->port);
    return order != 0 ? order : compare_sizes(x->apart, y->apart);
}

static int by_port(const void *x, const void *y)
{
    int order = same_port(x, y);
    return order != 0 ? order
                      : compare_sizes(((const struct port_entry *)x)->subset,
                                      ((const struct port_entry *)y)->subset);
}

static void gather_ports(struct repack *r, bool join)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        n += r->subsets[i].n_ports == 0 ? 1 : r->subsets[i].n_ports;
    }
    r->ports = ARENA_ARRAY(r->a, struct port_entry, n);
    for (size_t i = 0; i < r->n; i++) {
        const struct ks_subset *s = &r->subsets[i];
        for (size_t k = 0; k < s->n_ports; k++) {
            bool apart = s->ports[k].app_protocol != NULL && !join;
            r->ports[r->n_ports++] = (struct port_entry){&s->ports[k], i, apart ? i + 1 : 0};
        }
        if (s->n_ports == 0) {
            r->ports[r->n_ports++] = (struct port_entry){NULL, i, 0};
        }
    }
    qsort(r->ports, r->n_ports, sizeof(*r->ports), by_port);
    size_t kept = 0;
    for (size_t i = 0; i < r->n_ports; i++) {
        if (kept == 0 || by_port(&r->ports[kept - 1], &r->ports[i]) != 0) {
            r->ports[kept++] = r->ports[i];
        }
    }
    r->n_ports = kept;
}

/* ---- classes --------------------------------------------------------------------------------- */

static int by_subsets(const void *x, const void *y)
{
    const struct class *a = x, *b = y;
    int order = compare_sizes(a->n, b->n);
    for (size_t i = 0; i < a->n && order == 0; i++) {
        order = compare_sizes(a->entries[i].subset, b->entries[i].subset);
    }
    return order != 0 ? order : same_port(a->entries, b->entries);
}

static bool same_subsets(const struct class *x, const struct class *y)
{
    for (size_t i = 0; i < x->n && x->n == y->n; i++) {
        if (x->entries[i].subset != y->entries[i].subset) {
            return false;
        }
    }
    return x->n == y->n;
}

static int by_number(const void *x, const void *y)
{
    return compare_sizes(*(const size_t *)x, *(const size_t *)y);
}

/* The addresses of a class in r->scratch, sorted, each once; returns how many.  Not ready wins. */
static size_t put_together(struct repack *r, const struct class *c)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t s = c->entries[i].subset;
        for (size_t k = r->first[s]; k < r->first[s + 1]; k++) {
            r->scratch[n++] = 2 * r->entries[k].id + (r->entries[k].not_ready ? 1 : 0);
        }
    }
    qsort(r->scratch, n, sizeof(*r->scratch), by_number);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && r->scratch[kept - 1] / 2 == r->scratch[i] / 2) {
            r->scratch[kept - 1] |= r->scratch[i] & 1;
        } else {
            r->scratch[kept++] = r->scratch[i];
        }
    }
    return kept;
}

/* One class per port, those in the same subsets side by side, with the sums of their addresses. */
static void make_classes(struct repack *r)
{
    r->classes = ARENA_ARRAY(r->a, struct class, r->n_ports);
    for (size_t i = 0; i < r->n_ports; i++) {
        if (i == 0 || same_port(&r->ports[i - 1], &r->ports[i]) != 0) {
            r->classes[r->n_classes++].entries = &r->ports[i];
        }
        r->classes[r->n_classes - 1].n++;
    }
    qsort(r->classes, r->n_classes, sizeof(*r->classes), by_subsets);
    for (size_t i = 0; i < r->n_classes; i++) {
        struct class *c = &r->classes[i];
        if (i > 0 && same_subsets(c - 1, c)) {
            memcpy(c->sum, (c - 1)->sum, sizeof(c->sum));
            c->empty = (c - 1)->empty;
            continue;
        }
        size_t n = put_together(r, c);
        c->empty = n == 0;
        c->sum[0] = hash_bytes(1, r->scratch, n * sizeof(*r->scratch));
        c->sum[1] = hash_bytes(2, r->scratch, n * sizeof(*r->scratch));
    }
}

static int compare_sums(const struct class *x, const struct class *y)
{
    int order = (x->sum[0] > y->sum[0]) - (x->sum[0] < y->sum[0]);
    return order != 0 ? order : (x->sum[1] > y->sum[1]) - (x->sum[1] < y->sum[1]);
}

static int by_sum(const void *x, const void *y)
{
    const struct class *a = x, *b = y;
    int order = compare_sums(a, b);
    return order != 0 ? order : same_port(a->entries, b->entries);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The subset of classes[0..n), which have the same addresses. */
static struct ks_subset subset_of(struct repack *r, const struct class *classes, size_t n)
{
    size_t all = put_together(r, classes), not_ready = 0;
    for (size_t i = 0; i < all; i++) {
        not_ready += r->scratch[i] & 1;
    }
    struct ks_subset_address *ready = ARENA_ARRAY(r->a, struct ks_subset_address, all - not_ready);
    struct ks_subset_address *others = ARENA_ARRAY(r->a, struct ks_subset_address, not_ready);
    struct ks_subset_port *ports = ARENA_ARRAY(r->a, struct ks_subset_port, n);
    struct ks_subset s = {.n_ready = 0};
    for (size_t i = 0; i < all; i++) {
        const struct ks_subset_address *at = r->known[r->scratch[i] / 2];
        if ((r->scratch[i] & 1) != 0) {
            others[s.n_not_ready++] = *at;
        } else {
            ready[s.n_ready++] = *at;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct ks_subset_port *port = classes[i].entries->port;
        if (port != NULL && port->port > 0) {
            ports[s.n_ports++] = *port;
        }
    }
    s.ready = s.n_ready == 0 ? NULL : ready;
    s.not_ready = s.n_not_ready == 0 ? NULL : others;
    s.ports = s.n_ports == 0 ? NULL : ports;
    return s;
}

static int compare_addresses(const struct ks_subset_address *x, size_t nx,
                             const struct ks_subset_address *y, size_t ny)
{
    for (size_t i = 0; i < nx && i < ny; i++) {
        int order = strcmp(x[i].ip, y[i].ip);
        order = order != 0 ? order
                           : strcmp(x[i].ref == NULL ? "" : x[i].ref->uid,
                                    y[i].ref == NULL ? "" : y[i].ref->uid);
        if (order != 0) {
            return order;
        }
    }
    return compare_sizes(nx, ny);
}

static int by_text(const void *x, const void *y)
{
    const struct ks_subset *a = x, *b = y;
    int order = 0;
    for (size_t i = 0; i < a->n_ports && i < b->n_ports && order == 0; i++) {
        order = compare_ports(&a->ports[i], &b->ports[i]);
    }
    order = order != 0 ? order : compare_sizes(a->n_ports, b->n_ports);
    order = order != 0 ? order : compare_addresses(a->ready, a->n_ready, b->ready, b->n_ready);
    return order != 0
               ? order
               : compare_addresses(a->not_ready, a->n_not_ready, b->not_ready, b->n_not_ready);
}

const struct ks_subset *subsets_repack(struct arena *a, const struct ks_subset *subsets, size_t n,
                                       bool join, size_t *ret_n)
{
    struct repack r = {.a = a, .subsets = subsets, .n = n};
    number_addresses(&r);
    gather_ports(&r, join);
    make_classes(&r);
    qsort(r.classes, r.n_classes, sizeof(*r.classes), by_sum);
    struct ks_subset *out = ARENA_ARRAY(a, struct ks_subset, r.n_classes);
    *ret_n = 0;
    for (size_t from = 0, to; from < r.n_classes; from = to) {
        for (to = from; to < r.n_classes && compare_sums(&r.classes[from], &r.classes[to]) == 0;) {
            to++;
        }
        if (!r.classes[from].empty) {
            out[(*ret_n)++] = subset_of(&r, &r.classes[from], to - from);
        }
    }
    qsort(out, *ret_n, sizeof(*out), by_text);
    return out;
}

const struct ks_subset *ks_subsets_repack(struct arena *a, const struct ks_subset *subsets,
                                          size_t n, size_t *ret_n)
{
    return subsets_repack(a, subsets, n, false, ret_n);
}
