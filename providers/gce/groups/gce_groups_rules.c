/* SPDX-License-Identifier: Apache-2.0 */
/* gce_groups_rules.c: who belongs into the cluster's instance groups (gce_groups.h).
 *
 * Two upstream controllers fill the same groups by two rules: cloud-provider-gcp takes every node
 * that the service controller counts, in the zone of its label; ingress-gce takes ready candidates,
 * in the zone of their providerID.  What both share: names are cut at the first dot, at most `max`
 * per zone by name, and a node whose zone is unknown stays where it is.
 * Source: gce-cloud-provider.md §5.4, §7.1; gce-l4.md §8.2; vectors V207–V213.  Pure. */
#include "providers/gce/groups/gce_groups.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_node_rules.h"

#include <string.h>

#define LABEL_SUBNET "cloud.google.com/gke-node-pool-subnet"

/* A node on its way into a group. */
struct placed {
    const char *zone;
    const char *name; /* of the instance */
    bool unready;     /* it counts only for who looks at the whole zone */
};

static int by_zone_and_name(const void *x, const void *y)
{
    const struct placed *a = x;
    const struct placed *b = y;
    int order = strcmp(a->zone, b->zone);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static const char *subnet_label(const struct tt_node *n)
{
    for (uint32_t i = 0; i < n->n_labels; i++) {
        if (str_eq(n->labels[i].key, LABEL_SUBNET)) {
            return str_nonnull(n->labels[i].value);
        }
    }
    return "";
}

static bool is_in_default_subnet(const struct gce_node_filter *f, const struct tt_node *n)
{
    const char *subnet = subnet_label(n);
    return f->mode == GCE_NODES_LEGACY || str_is_empty(f->default_subnet) || *subnet == '\0' ||
           str_eq(subnet, f->default_subnet);
}

/* The nodes that one rule counts; those without zone go to `keep`. */
struct counted {
    struct placed *items;
    size_t n;
    const char **keep;
    size_t n_keep;
};

static void count(struct arena *a, struct counted *c, const struct tt_node *n, const char *zone,
                  bool unready)
{
    const char *name = gce_canonical_name(a, str_nonnull(n->name));
    if (str_is_empty(zone)) {
        c->keep[c->n_keep++] = name;
    } else {
        c->items[c->n++] = (struct placed){.zone = zone, .name = name, .unready = unready};
    }
}

/* cloud-provider-gcp: eligible nodes, ready or not. */
static void count_eligible(struct arena *a, struct counted *c, const struct gce_node_filter *f,
                           const struct tt_node *n)
{
    if ((n->flags & TT_NODE_ELIGIBLE) != 0 && is_in_default_subnet(f, n)) {
        count(a, c, n, gce_node_zone(n), false);
    }
}

/* ingress-gce: ready candidates; the unready ones are checked again when the zone is known. */
static void count_candidate(struct arena *a, struct counted *c, const struct gce_node_filter *f,
                            const struct tt_node *n)
{
    struct gce_node_verdict v;
    gce_node_judge(a, f, n, &v);
    if (is_in_default_subnet(f, n) && (v.candidate || v.candidate_or_unready)) {
        count(a, c, n, v.zone, !v.candidate);
    }
}

/* The zone's nodes, items[0..n): ready ones become members, at most `max`.  In a zone without any,
 * those who were members stay: most likely it is we who cannot see the zone, and the balancer's
 * health check knows better. */
static void zone_of(struct arena *a, const struct placed *items, size_t n, int32_t max,
                    struct gce_zone_nodes *ret, struct counted *c)
{
    *ret = (struct gce_zone_nodes){.zone = arena_strdup(a, items[0].zone),
                                   .nodes = {.items = ARENA_ARRAY(a, const char *, n)}};
    for (size_t i = 0; i < n; i++) {
        bool again = i > 0 && str_eq(items[i].name, items[i - 1].name);
        bool full = max > 0 && ret->nodes.n >= (size_t)max;
        if (!items[i].unready && !again && full) {
            ret->n_beyond++;
        } else if (!items[i].unready && !again) {
            ret->nodes.items[ret->nodes.n++] = items[i].name;
        }
    }
    for (size_t i = 0; ret->nodes.n == 0 && i < n; i++) {
        c->keep[c->n_keep++] = items[i].name;
    }
}

void gce_groups_of(struct arena *a, const struct tt_node *const *nodes, size_t n, bool legacy,
                   const struct gce_node_filter *f, int32_t max, struct gce_groups_want *ret)
{
    struct counted c = {.items = ARENA_ARRAY(a, struct placed, n),
                        .keep = ARENA_ARRAY(a, const char *, n)};
    for (size_t i = 0; i < n; i++) {
        if (legacy) {
            count_eligible(a, &c, f, nodes[i]);
        } else {
            count_candidate(a, &c, f, nodes[i]);
        }
    }
    qsort(c.items, c.n, sizeof(*c.items), by_zone_and_name);
    *ret = (struct gce_groups_want){.zones = ARENA_ARRAY(a, struct gce_zone_nodes, c.n)};
    for (size_t from = 0; from < c.n;) {
        size_t to = from + 1;
        while (to < c.n && str_eq(c.items[to].zone, c.items[from].zone)) {
            to++;
        }
        zone_of(a, &c.items[from], to - from, max, &ret->zones[ret->n++], &c);
        from = to;
    }
    struct str_set keep = str_set_make(a, c.keep, c.n_keep);
    ret->keep = gce_strs_of(a, keep.items, keep.n);
}

void gce_group_diff(struct arena *a, const struct gce_strs *is, const struct gce_strs *want,
                    const struct gce_strs *keep, struct gce_strs *ret_add,
                    struct gce_strs *ret_remove)
{
    struct str_set now = gce_strs_set(a, is);
    struct str_set then = gce_strs_set(a, want);
    struct str_set stay = gce_strs_set(a, keep);
    struct str_set add = str_set_minus(a, &then, &now);
    struct str_set gone = str_set_minus(a, &now, &then);
    gone = str_set_minus(a, &gone, &stay);
    *ret_add = gce_strs_of(a, add.items, add.n);
    *ret_remove = gce_strs_of(a, gone.items, gone.n);
}
