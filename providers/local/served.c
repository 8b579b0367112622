/* SPDX-License-Identifier: Apache-2.0 */
/* served.c: what is kept of each Service between syncs, in one block of its exact size: there may be tens of thousands. */
#include "providers/local/standing.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

#define ALIGN 8u

/* A block that is filled from its front; without data it only counts. */
struct filling {
    unsigned char *data;
    size_t used;
};

static void *take(struct filling *b, const void *from, size_t size)
{
    unsigned char *p = b->data == NULL ? NULL : b->data + b->used;

    b->used += (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (p != NULL && from != NULL && size > 0) {
        memcpy(p, from, size);
    }
    return p;
}

static char *take_text(struct filling *b, const char *text)
{
    return text == NULL ? NULL : take(b, text, strlen(text) + 1);
}

/* Words for plans are left out. */
static struct local_target *take_targets(struct filling *b, const struct local_target_set *t)
{
    struct local_target *items = take(b, NULL, t->n * sizeof *items);

    for (size_t i = 0; items != NULL && i < t->n; i++) {
        items[i] = (struct local_target){.addr = t->items[i].addr,
                                         .port = t->items[i].port,
                                         .weight = t->items[i].weight,
                                         .spare = t->items[i].spare};
    }
    return items;
}

/* All ports of an address have how it is served, and who may come, together. */
static void fill_fronts(struct filling *b, const struct local_wanted *w, struct served_front *to)
{
    struct local_serve *serve = take(b, &w->serve, sizeof w->serve);
    struct ip_net *open = take(b, w->ranges, w->n_ranges * sizeof *w->ranges);

    if (serve != NULL) {
        serve->health.path = NULL; /* the checks have it */
    }
    for (size_t i = 0; i < w->n; i++) {
        const struct local_target_set *t = &w->base[i];
        struct local_target *targets = take_targets(b, t);
        struct director_check **checks = take(b, NULL, t->n * sizeof(*checks));
        if (to != NULL) {
            to[i] = (struct served_front){.front = {.id = w->fronts[i].id,
                                                    .snat = w->fronts[i].snat,
                                                    .open = open,
                                                    .n_open = w->n_ranges},
                                          .serve = serve,
                                          .targets = {.items = targets, .n = t->n},
                                          .checks = checks};
        }
    }
}

/* Addresses that the Service is to have, and not those that go. */
static void fill_vips(struct filling *b, const struct local_item *it, struct served *v)
{
    size_t n = it->n_vips < it->n_wanted ? it->n_vips : it->n_wanted;
    struct local_vip *vips = take(b, NULL, n * sizeof *vips);

    for (size_t i = 0; i < n; i++) {
        const char *comment = take_text(b, it->vips[i].want.comment);
        if (vips != NULL) {
            vips[i] = it->vips[i].want;
            vips[i].comment = comment;
        }
    }
    if (v != NULL) {
        v->vips = vips;
        v->n_vips = n;
    }
}

static struct served *fill(struct filling *b, const char *key, const struct local_item *it)
{
    struct served *v = take(b, NULL, sizeof *v);
    const char *text = take_text(b, key);
    size_t n = 0;

    for (size_t i = 0; i < it->n_wanted; i++) {
        n += it->wanted[i].n;
    }
    struct served_front *fronts = take(b, NULL, n * sizeof *fronts);
    n = 0;
    for (size_t i = 0; i < it->n_wanted; i++) {
        fill_fronts(b, &it->wanted[i], fronts == NULL ? NULL : fronts + n);
        n += it->wanted[i].n;
    }
    fill_vips(b, it, v);
    if (v != NULL) {
        v->key = text;
        v->fronts = fronts;
        v->n = n;
    }
    return v;
}

struct served *local_served_new(const char *key, const struct local_item *it)
{
    struct filling b = {0};

    (void)fill(&b, key, it);
    b.data = xcalloc(1, b.used);
    b.used = 0;
    return fill(&b, key, it);
}

void local_served_free(void *served)
{
    free(served);
}
