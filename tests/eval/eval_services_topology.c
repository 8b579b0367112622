/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services_topology.c: zones' shares and hints, of the functions
 * services.* of trimtab-eval. */
#include "tests/eval/eval_services_objects.h"

#include <stdlib.h>
#include <string.h>

/* More endpoints, or hints of a zone, than any question may be about. */
#define COUNT_MAX 1000000000

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

static int read_count(struct json_object *v, const char *what, int64_t *ret, struct err *err)
{
    int64_t n = json_object_get_int64(v);
    if (!json_object_is_type(v, json_type_int) || n < 0 || n > COUNT_MAX) {
        return err_set(err, ERR_INVALID, "%s: want a whole number from 0 to %d", what, COUNT_MAX);
    }
    *ret = n;
    return ERR_OK;
}

static int read_shares(struct arena *a, struct json_object *in, struct ks_zone_shares *ret,
                       struct err *err)
{
    const struct ks_node *const *nodes;
    size_t n = 0;
    int code = eval_sl_nodes(a, in, "nodes", &nodes, &n, err);
    if (code == ERR_OK) {
        *ret = ks_zone_shares(a, nodes, n);
    }
    return code;
}

static int by_zone(const void *x, const void *y)
{
    return strcmp(((const struct ks_zone_count *)x)->zone, ((const struct ks_zone_count *)y)->zone);
}

static int read_counts(struct arena *a, struct json_object *in, const char *what,
                       struct ks_zone_counts *ret, struct err *err)
{
    struct json_object *o = json_member(in, what);
    if (o != NULL && !json_object_is_type(o, json_type_object)) {
        return err_set(err, ERR_INVALID, "%s: want an object", what);
    }
    size_t n = o == NULL ? 0 : (size_t)json_object_object_length(o);
    struct ks_zone_count *counts = ARENA_ARRAY(a, struct ks_zone_count, n);
    size_t i = 0;
    if (o != NULL) {
        json_object_object_foreach(o, zone, hints)
        {
            counts[i].zone = arena_strdup(a, zone);
            int code = read_count(hints, what, &counts[i].hints, err);
            if (code != ERR_OK) {
                return code;
            }
            i++;
        }
    }
    qsort(counts, n, sizeof(*counts), by_zone);
    *ret = (struct ks_zone_counts){.zones = counts, .n = n};
    return ERR_OK;
}

static struct json_object *allocations(struct arena *a, const struct ks_allocation *zones, size_t n)
{
    struct json_object *all = json_object_new_object();
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_new_object();
        json_add_int(o, "minimum", zones[i].minimum);
        json_add_int(o, "maximum", zones[i].maximum);
        json_add_str(o, "desired", arena_printf(a, "%.6f", zones[i].desired));
        json_add(all, zones[i].zone, o);
    }
    return all;
}

RUN(zone_shares)
{
    struct ks_zone_shares shares;
    int64_t n = 0;
    int code = read_shares(a, in, &shares, err);
    if (code == ERR_OK) {
        code = read_count(json_member(in, "endpoints"), "endpoints", &n, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    struct json_object *o = json_object_new_object(), *cpu = json_object_new_object();
    for (size_t i = 0; i < shares.n; i++) {
        json_add_int(cpu, shares.zones[i].zone, shares.zones[i].milli_cpu);
    }
    json_add_bool(o, "sufficient", shares.off == KS_SHARES_FINE);
    json_add(o, "milli_cpu", cpu);
    const struct ks_allocation *zones;
    enum ks_hints_off off = ks_allocate(a, &shares, n, &zones);
    if (off == KS_HINTS_FINE) {
        json_add(o, "allocations", allocations(a, zones, shares.n));
    } else {
        const char *parts[] = {"Warning", "TopologyAwareHintsDisabled",
                               ks_hints_off_text(a, off, n, shares.n)};
        json_add(o, "event", json_strs(parts, 3));
    }
    *ret = o;
    return ERR_OK;
}

static struct json_object *positive(const struct ks_allocation *zones, const int64_t *n,
                                    size_t n_zones)
{
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < n_zones; i++) {
        if (n[i] > 0) {
            json_add_int(o, zones[i].zone, n[i]);
        }
    }
    return o;
}

RUN(zones_give_receive)
{
    struct ks_zone_shares shares;
    struct ks_zone_counts counts = {.n = 0};
    int64_t n = 0;
    int code = read_shares(a, in, &shares, err);
    if (code == ERR_OK) {
        code = read_count(json_member(in, "endpoints"), "endpoints", &n, err);
    }
    if (code == ERR_OK) {
        code = read_counts(a, in, "have", &counts, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    const struct ks_allocation *zones;
    enum ks_hints_off off = ks_allocate(a, &shares, n, &zones);
    if (off != KS_HINTS_FINE) {
        return err_set(err, ERR_INVALID, "%s", ks_hints_off_text(a, off, n, shares.n));
    }
    int64_t *have = ARENA_ARRAY(a, int64_t, shares.n), *give = ARENA_ARRAY(a, int64_t, shares.n);
    int64_t *receive = ARENA_ARRAY(a, int64_t, shares.n);
    for (size_t i = 0; i < shares.n; i++) {
        const struct ks_zone_count key = {.zone = zones[i].zone};
        const struct ks_zone_count *c =
            counts.n == 0 ? NULL : bsearch(&key, counts.zones, counts.n, sizeof(key), by_zone);
        have[i] = c == NULL ? 0 : c->hints;
    }
    ks_give_receive(a, zones, shares.n, have, give, receive);
    *ret = json_object_new_object();
    json_add(*ret, "give", positive(zones, give, shares.n));
    json_add(*ret, "receive", positive(zones, receive, shares.n));
    return ERR_OK;
}

/* ---- hints in slices ------------------------------------------------------------------------- */

static int read_lists(struct arena *a, struct json_object *in, struct ks_slice_lists *ret,
                      struct err *err)
{
    int code = eval_sl_slices(a, in, "create", &ret->create, &ret->n_create, err);
    if (code == ERR_OK) {
        code = eval_sl_slices(a, in, "update", &ret->update, &ret->n_update, err);
    }
    if (code == ERR_OK) {
        code = eval_sl_slices(a, in, "unchanged", &ret->unchanged, &ret->n_unchanged, err);
    }
    return code;
}

static struct json_object *hints_of(struct arena *a, const struct ks_slice *const *slices, size_t n)
{
    struct json_object *all = json_object_new_object();
    for (size_t i = 0; i < n; i++) {
        struct json_object *list = json_object_new_array();
        for (size_t k = 0; k < slices[i]->n_endpoints; k++) {
            const struct ks_slice_endpoint *e = &slices[i]->endpoints[k];
            struct json_object *hints = e->has_hints ? json_object_new_object() : NULL;
            if (hints != NULL) {
                json_add(hints, "zones",
                         eval_sl_sorted(a, json_strs(e->zone_hints, e->n_zone_hints)));
                json_add(hints, "nodes",
                         eval_sl_sorted(a, json_strs(e->node_hints, e->n_node_hints)));
            }
            json_object_array_add(list, hints);
        }
        json_add(all, slices[i]->meta.name, list);
    }
    return all;
}

static struct json_object *show_lists(struct arena *a, const struct ks_slice_lists *lists)
{
    struct json_object *o = json_object_new_object();
    json_add(o, "create", hints_of(a, lists->create, lists->n_create));
    json_add(o, "update", hints_of(a, lists->update, lists->n_update));
    json_add(o, "unchanged", hints_of(a, lists->unchanged, lists->n_unchanged));
    return o;
}

RUN(topology_hints)
{
    struct ks_zone_shares shares;
    struct ks_slice_lists lists = {.n_create = 0};
    int code = read_shares(a, in, &shares, err);
    if (code == ERR_OK) {
        code = read_lists(a, in, &lists, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    bool before = json_bool(in, "enabled_before", false);
    const struct ks_hints hints = ks_hints_by_shares(a, &shares, KS_IPV4, &lists, before);
    *ret = show_lists(a, &hints.lists);
    json_add(*ret, "events", eval_sl_events(hints.events, hints.n_events));
    json_add_bool(*ret, "enabled_after", hints.on);
    return ERR_OK;
}

RUN(traffic_distribution)
{
    struct ks_slice_lists lists = {.n_create = 0};
    int code = read_lists(a, in, &lists, err);
    if (code == ERR_OK) {
        lists = ks_hints_by_distribution(a, json_str(in, "value"), &lists);
        *ret = show_lists(a, &lists);
    }
    return code;
}

const struct eval_fn eval_services_topology[] = {
    {"services.zone_shares", zone_shares},
    {"services.zones_give_receive", zones_give_receive},
    {"services.topology_hints", topology_hints},
    {"services.traffic_distribution", traffic_distribution},
    {NULL, NULL},
};
