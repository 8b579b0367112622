/* SPDX-License-Identifier: Apache-2.0 */
/* gce_node_table.c: the nodes of the cluster, judged once for all Services (gce_neg_rules.h).
 *
 * A change of nodes concerns every Service on NEGs: 500 of them ask for the same 5,000 nodes.  Here
 * each node is checked once; what a Service then costs depends on its members, not on the size of
 * the cluster.  Everything is copied into the arena, so a table may be kept for the next sync.
 * Source: gce-l4.md §3.1, §3.2, §3.5, §12.2.  Pure. */
#include "providers/gce/model/gce_neg_rules.h"

#include "common/base/str.h"

#include <string.h>

#define ANN_NETWORKS "networking.gke.io/north-interfaces"

static const char *first_internal_ip(const struct tt_node *n)
{
    for (uint32_t i = 0; i < n->n_addresses; i++) {
        if (str_eq(n->addresses[i].type, "InternalIP")) {
            return str_nonnull(n->addresses[i].address);
        }
    }
    return "";
}

const char *gce_node_networks(const struct tt_node *n)
{
    for (uint32_t i = 0; i < n->n_annotations; i++) {
        if (str_eq(n->annotations[i].key, ANN_NETWORKS)) {
            return str_nonnull(n->annotations[i].value);
        }
    }
    return NULL;
}

/* Zones and subnetworks are few: nodes share one copy of the name of each, as long as there are no
 * more than these. */
struct places {
    const char *known[64];
    size_t n;
};

static const char *place_of(struct arena *a, struct places *p, const char *name)
{
    for (size_t i = 0; name != NULL && i < p->n; i++) {
        if (str_eq(p->known[i], name)) {
            return p->known[i];
        }
    }
    const char *copy = arena_strdup(a, name);
    if (copy != NULL && p->n < ARRAY_LEN(p->known)) {
        p->known[p->n++] = copy;
    }
    return copy;
}

static struct gce_node_row row_of(struct arena *a, struct places *p,
                                  const struct gce_node_filter *f, const struct tt_node *n)
{
    struct arena *scratch _cleanup_(arena_freep) = arena_new();
    struct gce_node_verdict v;
    gce_node_judge(scratch, f, n, &v);
    return (struct gce_node_row){
        .name = arena_strdup(a, str_nonnull(n->name)),
        .zone = place_of(a, p, v.zone),
        .subnet = place_of(a, p, str_nonnull(v.subnet)),
        .ip = arena_strdup(a, first_internal_ip(n)),
        .networks = arena_strdup(a, gce_node_networks(n)),
        .unready = v.candidate_or_unready,
        .draining = v.candidate_or_draining,
    };
}

static int by_name(const void *x, const void *y)
{
    const struct gce_node_row *a = x;
    const struct gce_node_row *b = y;
    return strcmp(a->name, b->name);
}

static int by_place(const void *x, const void *y)
{
    const struct gce_node_row *a = *(const struct gce_node_row *const *)x;
    const struct gce_node_row *b = *(const struct gce_node_row *const *)y;
    int order = strcmp(a->zone, b->zone);
    return order != 0 ? order : strcmp(a->subnet, b->subnet);
}

static int by_zone(const void *x, const void *y)
{
    const struct gce_node_row *a = *(const struct gce_node_row *const *)x;
    const struct gce_node_row *b = *(const struct gce_node_row *const *)y;
    int order = strcmp(a->zone, b->zone);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* Nodes that have a zone and pass, in the order of the rows. */
static size_t placed(const struct gce_node_table *t, bool draining, const struct gce_node_row **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct gce_node_row *r = &t->rows[i];
        if (r->zone != NULL && (draining ? r->draining : r->unready)) {
            ret[n++] = r;
        }
    }
    return n;
}

/* Of sorted rows. */
static size_t count_zones(const struct gce_node_row **rows, size_t n)
{
    size_t zones = 0;
    for (size_t i = 0; i < n; i++) {
        zones += i == 0 || !str_eq(rows[i - 1]->zone, rows[i]->zone);
    }
    return zones;
}

struct gce_zone_nodes *gce_nodes_by_zone(struct arena *a, const struct gce_node_row **rows,
                                         size_t n, size_t *ret_n)
{
    const char **names = ARENA_ARRAY(a, const char *, n); /* of all zones, one after another */
    size_t n_zones = 0;
    qsort(rows, n, sizeof(*rows), by_zone);
    struct gce_zone_nodes *zones = ARENA_ARRAY(a, struct gce_zone_nodes, count_zones(rows, n));
    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i]->name;
        if (n_zones == 0 || !str_eq(zones[n_zones - 1].zone, rows[i]->zone)) {
            zones[n_zones++] =
                (struct gce_zone_nodes){.zone = rows[i]->zone, .nodes = {.items = names + i}};
        }
        zones[n_zones - 1].nodes.n++;
    }
    *ret_n = n_zones;
    return zones;
}

int gce_nodes_count_places(const struct gce_node_row **rows, size_t n)
{
    int places = 0;
    qsort(rows, n, sizeof(*rows), by_place);
    for (size_t i = 0; i < n; i++) {
        places += i == 0 || by_place(&rows[i - 1], &rows[i]) != 0;
    }
    return places;
}

struct gce_node_table *gce_node_table_make(struct arena *a, const struct gce_node_filter *f,
                                           const struct tt_node *const *nodes, size_t n)
{
    struct gce_node_table *t = ARENA_NEW(a, struct gce_node_table);
    t->rows = ARENA_ARRAY(a, struct gce_node_row, n);
    struct places places = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        t->rows[i] = row_of(a, &places, f, nodes[i]);
    }
    t->n = n;
    qsort(t->rows, n, sizeof(*t->rows), by_name);
    const struct gce_node_row **rows = ARENA_ARRAY(a, const struct gce_node_row *, n);
    size_t n_draining;
    struct gce_zone_nodes *draining =
        gce_nodes_by_zone(a, rows, placed(t, true, rows), &n_draining);
    t->zones_draining = gce_zones_names(a, draining, n_draining);
    t->n_nodes = placed(t, false, rows);
    t->zones = gce_nodes_by_zone(a, rows, t->n_nodes, &t->n_zones);
    t->n_places = gce_nodes_count_places(rows, t->n_nodes);
    return t;
}

const struct gce_node_row *gce_node_table_find(const struct gce_node_table *t, const char *name)
{
    const struct gce_node_row key = {.name = str_nonnull(name)};
    return t->n == 0 ? NULL : bsearch(&key, t->rows, t->n, sizeof(*t->rows), by_name);
}

struct gce_strs gce_zones_names(struct arena *a, const struct gce_zone_nodes *zones, size_t n)
{
    struct gce_strs names = {.items = ARENA_ARRAY(a, const char *, n), .n = n};
    for (size_t i = 0; i < n; i++) {
        names.items[i] = zones[i].zone;
    }
    return names;
}
