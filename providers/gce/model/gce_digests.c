/* SPDX-License-Identifier: Apache-2.0 */
/* gce_digests.c: see gce_digests.h.  Open addressing; what stood behind a removed
 * entry moves up. */
#include "providers/gce/model/gce_digests.h"

#include "common/base/hash.h"
#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

#define CAP_MIN 16

void gce_digests_done(struct gce_digests *d)
{
    free(d->slots);
    *d = (struct gce_digests){0};
}

static uint64_t name_hash(const char *name)
{
    uint64_t h = hash_bytes(0, name, strlen(name));
    return h != 0 ? h : 1;
}

/* Where the name is, or would be put; there is a free slot always. */
static size_t place_of(const struct gce_digests *d, uint64_t name)
{
    size_t i = name & (d->cap - 1);
    while (d->slots[i].name != 0 && d->slots[i].name != name) {
        i = (i + 1) & (d->cap - 1);
    }
    return i;
}

static void grow(struct gce_digests *d)
{
    struct gce_digests bigger = {.cap = d->cap == 0 ? CAP_MIN : d->cap * 2, .n = d->n};
    bigger.slots = xcalloc(bigger.cap, sizeof(*bigger.slots));
    for (size_t i = 0; i < d->cap; i++) {
        if (d->slots[i].name != 0) {
            bigger.slots[place_of(&bigger, d->slots[i].name)] = d->slots[i];
        }
    }
    free(d->slots);
    *d = bigger;
}

bool gce_digests_get(const struct gce_digests *d, const char *name, uint64_t *ret)
{
    uint64_t h = name_hash(name);
    if (d->cap == 0) {
        return false;
    }
    const struct gce_digest *at = &d->slots[place_of(d, h)];
    if (at->name == 0) {
        return false;
    }
    *ret = at->value;
    return true;
}

void gce_digests_set(struct gce_digests *d, const char *name, uint64_t value)
{
    uint64_t h = name_hash(name);
    if (d->n * 8 >= d->cap * 7) {
        grow(d);
    }
    struct gce_digest *at = &d->slots[place_of(d, h)];
    d->n += at->name == 0;
    *at = (struct gce_digest){.name = h, .value = value};
}

void gce_digests_remove(struct gce_digests *d, const char *name)
{
    if (d->cap == 0) {
        return;
    }
    size_t hole = place_of(d, name_hash(name));
    if (d->slots[hole].name == 0) {
        return;
    }
    d->slots[hole].name = 0;
    d->n--;
    for (size_t i = (hole + 1) & (d->cap - 1); d->slots[i].name != 0; i = (i + 1) & (d->cap - 1)) {
        struct gce_digest moved = d->slots[i];
        d->slots[i].name = 0;
        d->slots[place_of(d, moved.name)] = moved;
    }
}
