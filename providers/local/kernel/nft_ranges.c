/* SPDX-License-Identifier: Apache-2.0 */
/* nft_ranges.c: a copy of the source ranges of all frontends (nft_ranges.h).  Pure. */
#include "providers/local/kernel/nft_ranges.h"

#include "common/base/map.h"
#include "providers/local/kernel/nft_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES (IP_TEXT_MAX + 16)

struct range {
    enum local_nft_set set; /* that has it */
    struct ip_net net;
};
struct list {
    struct range *items; /* sorted */
    size_t n, cap;
};

static void list_free(void *value)
{
    struct list *l = value;
    free(l->items);
    free(l);
}

void local_nft_ranges_forget(struct local_nft_ranges *r)
{
    map_free(r->of);
    *r = (struct local_nft_ranges){0};
}

void local_nft_ranges_begin(struct local_nft_ranges *r, const char *instance, uint32_t generation)
{
    local_nft_ranges_forget(r);
    r->of = map_new(list_free);
    r->known = true;
    r->generation = generation;
    snprintf(r->instance, sizeof(r->instance), "%s", instance);
}

bool local_nft_ranges_count(const struct local_nft_ranges *r, const char *instance,
                            uint32_t generation)
{
    return r->known && r->generation == generation && strcmp(r->instance, instance) == 0;
}

static void key_of(const struct local_frontend_id *id, char key[KEY_BYTES])
{
    char text[IP_TEXT_MAX];
    ip_format(&id->vip, text);
    snprintf(key, KEY_BYTES, "%s %u %u", text, (unsigned)id->protocol, (unsigned)id->port);
}

static int range_cmp(const struct range *r, const struct local_nft_element *e)
{
    int order = r->set == e->set
                    ? memcmp(r->net.addr.bytes, e->net.addr.bytes, sizeof(r->net.addr.bytes))
                    : 0;
    return r->set != e->set ? (r->set < e->set ? -1 : 1)
           : order != 0     ? order
                            : (int)r->net.prefix - (int)e->net.prefix;
}

/* Where it is, or would be. */
static size_t find(const struct list *l, const struct local_nft_element *e, bool *ret_there)
{
    size_t low = 0;
    size_t high = l->n;
    *ret_there = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = range_cmp(&l->items[mid], e);
        *ret_there = *ret_there || order == 0;
        if (order < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

void local_nft_ranges_add(struct local_nft_ranges *r, const struct local_nft_element *e)
{
    char key[KEY_BYTES];
    if (!r->known || !local_nft_has_ranges(e->set)) {
        return;
    }
    key_of(&e->id, key);
    struct list *l = map_get(r->of, key);
    if (l == NULL) {
        l = xcalloc(1, sizeof(*l));
        map_set(r->of, key, l);
    }
    bool there;
    size_t i = find(l, e, &there);
    if (there) {
        return;
    }
    if (l->n == l->cap) {
        l->cap += l->cap / 2 + 1;
        l->items = xrealloc(l->items, l->cap * sizeof(*l->items));
    }
    memmove(&l->items[i + 1], &l->items[i], (l->n - i) * sizeof(*l->items));
    l->items[i] = (struct range){e->set, e->net};
    l->n++;
}

static void take_away(struct local_nft_ranges *r, const struct local_nft_element *e)
{
    char key[KEY_BYTES];
    key_of(&e->id, key);
    struct list *l = map_get(r->of, key);
    bool there = false;
    size_t i = l == NULL ? 0 : find(l, e, &there);
    if (!there) {
        return;
    }
    memmove(&l->items[i], &l->items[i + 1], (--l->n - i) * sizeof(*l->items));
    if (l->n == 0) {
        map_remove(r->of, key);
    }
}

void local_nft_ranges_follow(struct local_nft_ranges *r, const char *instance,
                             const struct local_nft_change *changes, size_t n)
{
    if (!r->known) {
        return;
    }
    r->generation++; /* counts transactions of all tables */
    if (strcmp(r->instance, instance) != 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (changes[i].del && local_nft_has_ranges(changes[i].e.set)) {
            take_away(r, &changes[i].e);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!changes[i].del) {
            local_nft_ranges_add(r, &changes[i].e);
        }
    }
}

void local_nft_ranges_each(const struct local_nft_ranges *r, const struct local_frontend_id *id,
                           void (*each)(void *arg, const struct local_nft_element *e), void *arg)
{
    char key[KEY_BYTES];
    key_of(id, key);
    const struct list *l = r->known ? map_get(r->of, key) : NULL;
    for (size_t i = 0; l != NULL && i < l->n; i++) {
        struct local_nft_element e = {.set = l->items[i].set, .id = *id, .net = l->items[i].net};
        each(arg, &e);
    }
}
