/* SPDX-License-Identifier: Apache-2.0 */
/* places.c: the addresses of a cluster's Services and nodes, sorted for
 * bisection; see cluster.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/cluster.h"

static int compare_sizes(size_t x, size_t y)
{
    return (x > y) - (x < y);
}

static int compare_ips(const struct ip_addr *x, const struct ip_addr *y)
{
    int c = compare_sizes(x->len, y->len);
    return c != 0 ? c : memcmp(x->bytes, y->bytes, x->len);
}

static int compare_places(const void *a, const void *b)
{
    const struct ks_place *x = a;
    const struct ks_place *y = b;
    int c = compare_ips(&x->ip, &y->ip);
    c = c != 0 ? c : compare_sizes(x->of_node, y->of_node);
    c = c != 0 ? c : compare_sizes(x->owner, y->owner);
    c = c != 0 ? c : compare_sizes(x->kind, y->kind);
    return c != 0 ? c : compare_sizes(x->index, y->index);
}

/* ---- making ---------------------------------------------------------------------------------- */

struct places {
    struct ks_place *items; /* has room for all */
    size_t n;
};

static void add(struct places *to, const char *text, struct ks_place place)
{
    if (!str_is_empty(text) && ip_parse_sloppy(text, &place.ip)) {
        to->items[to->n++] = place;
    }
}

static void add_service(struct places *to, const struct ks_service *s, size_t owner)
{
    for (size_t i = 0; i < s->n_ingress; i++) {
        add(to, s->ingress[i].ip,
            (struct ks_place){.kind = KS_PLACE_INGRESS, .owner = owner, .index = i});
    }
    for (size_t i = 0; i < s->n_external_ips; i++) {
        add(to, s->external_ips[i],
            (struct ks_place){.kind = KS_PLACE_EXTERNAL_IP, .owner = owner, .index = i});
    }
    for (size_t i = 0; i < s->n_cluster_ips; i++) {
        add(to, s->cluster_ips[i],
            (struct ks_place){.kind = KS_PLACE_CLUSTER_IP, .owner = owner, .index = i});
    }
    add(to, s->cluster_ip, (struct ks_place){.kind = KS_PLACE_CLUSTER_IP, .owner = owner});
}

void ks_cluster_find_places(struct arena *a, struct ks_cluster *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_services; i++) {
        const struct ks_service *s = c->services[i];
        n += s->n_ingress + s->n_external_ips + s->n_cluster_ips + 1;
    }
    for (size_t i = 0; i < c->n_nodes; i++) {
        n += c->nodes[i]->n_addresses;
    }
    struct places places = {.items = ARENA_ARRAY(a, struct ks_place, n)};
    for (size_t i = 0; i < c->n_services; i++) {
        add_service(&places, c->services[i], i);
    }
    for (size_t i = 0; i < c->n_nodes; i++) {
        for (size_t k = 0; k < c->nodes[i]->n_addresses; k++) {
            add(&places, c->nodes[i]->addresses[k],
                (struct ks_place){.of_node = true, .owner = i, .index = k});
        }
    }
    qsort(places.items, places.n, sizeof(*places.items), compare_places);
    c->places = places.items;
    c->n_places = places.n;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The first place that is not before `key`. */
static size_t lower_bound(const struct ks_cluster *c, const struct ks_place *key)
{
    size_t low = 0;
    for (size_t high = c->n_places; low < high;) {
        size_t mid = low + (high - low) / 2;
        bool before = compare_places(&c->places[mid], key) < 0;
        low = before ? mid + 1 : low;
        high = before ? high : mid;
    }
    return low;
}

const struct ks_place *ks_cluster_places(const struct ks_cluster *c, const struct ip_addr *ip,
                                         size_t *ret_n)
{
    const struct ks_place key = {.ip = *ip};
    size_t from = lower_bound(c, &key);
    size_t end = from;
    while (end < c->n_places && !c->places[end].of_node && ip_eq(&c->places[end].ip, ip)) {
        end++;
    }
    *ret_n = end - from;
    return end == from ? NULL : &c->places[from];
}

const struct ks_place *ks_cluster_places_of(const struct ks_cluster *c, const struct ip_addr *ip,
                                            size_t service, size_t *ret_n)
{
    const struct ks_place key = {.ip = *ip, .owner = service};
    size_t from = lower_bound(c, &key);
    size_t end = from;
    while (end < c->n_places && !c->places[end].of_node && c->places[end].owner == service &&
           ip_eq(&c->places[end].ip, ip)) {
        end++;
    }
    *ret_n = end - from;
    return end == from ? NULL : &c->places[from];
}

const struct ks_node *ks_cluster_node_at(const struct ks_cluster *c, const struct ip_addr *ip)
{
    const struct ks_place key = {.ip = *ip, .of_node = true};
    size_t at = lower_bound(c, &key);
    bool found = ip->len != 0 && at < c->n_places && ip_eq(&c->places[at].ip, ip);
    return found ? c->nodes[c->places[at].owner] : NULL;
}
