/* SPDX-License-Identifier: Apache-2.0 */
/* slice_group.c: the endpoints of one group of equal ports, distributed over its slices; see
 * slices_internal.h. */
#include "common/services/slices/slices_internal.h"

#include <stdlib.h>
#include <string.h>

enum draft_state {
    DRAFT_UNCHANGED = 0,
    DRAFT_UPDATE,
    DRAFT_REMOVE,
};
/* One existing slice and what becomes of it. */
struct draft {
    const struct ks_slice *was;
    struct ks_slice *slice;                    /* a copy once it is to be written; NULL before */
    const struct ks_slice_endpoint *endpoints; /* of the copy */
    size_t n;
    enum draft_state state;
};

/* Puts endpoints that are left behind the *n that are there, in a new array, until
 * there are `max`. */
static struct ks_slice_endpoint *fill(struct arena *a, struct endpoint_set *desired,
                                      const struct ks_slice_endpoint *endpoints, size_t *n,
                                      size_t max)
{
    size_t space = *n >= max ? 0 : max - *n;
    size_t more = space < desired->left ? space : desired->left;
    struct ks_slice_endpoint *all = ARENA_ARRAY(a, struct ks_slice_endpoint, *n + more);
    if (*n > 0) {
        memcpy(all, endpoints, *n * sizeof(*all));
    }
    for (size_t i = 0; i < more; i++) {
        all[(*n)++] = *endpoint_set_next(desired);
    }
    return all;
}

/* Step 1: an existing slice keeps the endpoints that are still desired, with their new values. */
static void keep_desired(struct arena *a, const struct slice_group *g, struct draft *d)
{
    const struct ks_slice *was = d->was;
    struct ks_slice_endpoint *kept = ARENA_ARRAY(a, struct ks_slice_endpoint, was->n_endpoints);
    bool differs = false, relabel = false;
    size_t n = 0;
    for (size_t i = 0; i < was->n_endpoints; i++) {
        const struct ks_slice_endpoint *e =
            endpoint_set_find(a, g->desired, &was->endpoints[i], true);
        if (e != NULL) {
            differs = differs || !endpoints_agree(e, &was->endpoints[i]);
            kept[n++] = *e;
        }
    }
    const struct kv_map labels = slice_labels(a, g->service, was, &relabel);
    differs = differs || n != was->n_endpoints;
    if (differs && n == 0) {
        d->state = DRAFT_REMOVE;
    } else if (differs || relabel) {
        d->state = DRAFT_UPDATE;
        d->slice = arena_memdup(a, was, sizeof(*was));
        d->slice->meta.labels = labels.items;
        d->slice->meta.n_labels = labels.n;
        d->slice->meta.has_labels = true;
        d->endpoints = differs ? kept : was->endpoints; /* new labels alone leave hints alone */
        d->n = n;
    }
}

static int fullest_first(const void *x, const void *y)
{
    const struct draft *a = *(const struct draft *const *)x, *b = *(const struct draft *const *)y;
    if (a->n != b->n) {
        return a->n > b->n ? -1 : 1;
    }
    return strcmp(a->was->meta.name, b->was->meta.name);
}

/* Step 2: what is left goes into slices that are written anyway, the fullest first. */
static void fill_updates(struct arena *a, const struct slice_group *g, struct draft *drafts)
{
    struct draft **updates = ARENA_ARRAY(a, struct draft *, g->n_existing);
    size_t n = 0;
    for (size_t i = 0; i < g->n_existing; i++) {
        if (drafts[i].state == DRAFT_UPDATE) {
            updates[n++] = &drafts[i];
        }
    }
    qsort(updates, n, sizeof(*updates), fullest_first);
    for (size_t i = 0; i < n && g->desired->left > 0; i++) {
        updates[i]->endpoints = fill(a, g->desired, updates[i]->endpoints, &updates[i]->n, g->max);
    }
}

/* The unchanged slice that becomes fullest with all that is left; NULL when there is none. */
static struct draft *slice_to_fill(const struct slice_group *g, struct draft *drafts)
{
    struct draft *best = NULL;
    size_t best_room = g->max;
    for (size_t i = 0; i < g->n_existing && g->desired->left < g->max; i++) {
        size_t total = g->desired->left + drafts[i].was->n_endpoints;
        if (drafts[i].state == DRAFT_UNCHANGED && total <= g->max && g->max - total < best_room) {
            best = &drafts[i];
            best_room = g->max - total;
        }
    }
    return best;
}

/* Step 3: what is still left goes into one unchanged slice, or into new ones. */
static void place_rest(struct arena *a, const struct slice_group *g, struct draft *drafts,
                       struct slice_lists *lists)
{
    while (g->desired->left > 0) {
        struct draft *d = slice_to_fill(g, drafts);
        if (d != NULL) {
            d->state = DRAFT_UPDATE;
            d->slice = arena_memdup(a, d->was, sizeof(*d->was));
            d->n = d->was->n_endpoints;
            d->endpoints = fill(a, g->desired, d->was->endpoints, &d->n, g->max);
            continue;
        }
        struct ks_slice *s = ARENA_NEW(a, struct ks_slice);
        *s = slice_new(a, g->service, g->type);
        s->ports = g->ports;
        s->n_ports = g->n_ports;
        s->endpoints = fill(a, g->desired, NULL, &s->n_endpoints, g->max);
        lists->create[lists->n_create++] = s;
    }
}

void slice_group_reconcile(struct arena *a, struct slice_group *g, struct slice_lists *lists)
{
    struct draft *drafts = ARENA_ARRAY(a, struct draft, g->n_existing);
    for (size_t i = 0; i < g->n_existing; i++) {
        drafts[i].was = g->existing[i];
        keep_desired(a, g, &drafts[i]);
    }
    fill_updates(a, g, drafts);
    place_rest(a, g, drafts, lists);
    for (size_t i = 0; i < g->n_existing; i++) {
        struct draft *d = &drafts[i];
        if (d->state == DRAFT_UPDATE) {
            d->slice->endpoints = d->endpoints;
            d->slice->n_endpoints = d->n;
            lists->update[lists->n_update++] = d->slice;
        } else if (d->state == DRAFT_REMOVE) {
            lists->remove[lists->n_remove++] = d->was;
        } else {
            lists->unchanged[lists->n_unchanged++] = d->was;
        }
    }
}
