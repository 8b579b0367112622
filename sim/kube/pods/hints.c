/* SPDX-License-Identifier: Apache-2.0 */
/* hints.c: which hints the endpoints of a Service bear: by zones' shares, by trafficDistribution,
 * or none.  Pure but for what zones.c tells. */
#include "sim/kube/pods/parts.h"

#include "sim/kube/rules/rules.h"

/* --- single hints ----------------------------------------------------------------------------- */
static struct json_object *named(const char *name)
{
    struct json_object *one = json_object_new_object();
    struct json_object *list = json_object_new_array();
    json_add_str(one, "name", name);
    json_object_array_add(list, one);
    return list;
}

/* The hints for that zone and node (either may be NULL); NULL for none. */
static struct json_object *make_hints(const char *zone, const char *node)
{
    struct json_object *hints = zone || node ? json_object_new_object() : NULL;
    if (zone) {
        json_add(hints, "forZones", named(zone));
    }
    if (node) {
        json_add(hints, "forNodes", named(node));
    }
    return hints;
}

void hint_set(struct json_object *endpoint, const char *zone, const char *node)
{
    kube_set(endpoint, "hints", make_hints(zone, node));
}

/* Endpoints of a stored slice are shared with its tree; what is about to change is copied. */
static void write_anyway(struct slice *s)
{
    if (s->fate == SLICE_KEEP) {
        struct json_object *copy = json_copy(s->endpoints);
        json_object_put(s->endpoints);
        s->endpoints = copy;
        s->fate = SLICE_UPDATE;
    }
}

void hints_remove(struct slice_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct slice *s = &plan->items[i];
        for (size_t k = 0; s->fate != SLICE_DELETE && k < json_len(s->endpoints); k++) {
            if (json_member(json_object_array_get_idx(s->endpoints, k), "hints")) {
                write_anyway(s);
                kube_set(json_object_array_get_idx(s->endpoints, k), "hints", NULL);
            }
        }
    }
}

/* --- trafficDistribution ---------------------------------------------------------------------- */
/* Hints of one ready endpoint; true when it has them already. */
static bool distribute(struct json_object *e, bool by_node, bool write)
{
    const char *zone = json_str(e, "zone");
    const char *node = by_node ? json_str(e, "nodeName") : NULL;
    struct json_object *wanted = make_hints(zone, node);
    bool has = kube_same(wanted, json_member(e, "hints"));
    if (write) {
        kube_set(e, "hints", wanted);
    } else {
        json_object_put(wanted);
    }
    return has;
}

static void distribute_all(struct slice_plan *plan, bool by_node)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct slice *s = &plan->items[i];
        bool fits = s->fate == SLICE_KEEP;
        for (size_t k = 0; fits && k < json_len(s->endpoints); k++) {
            struct json_object *e = json_object_array_get_idx(s->endpoints, k);
            fits = !endpoint_is_ready(e) || distribute(e, by_node, false);
        }
        if (fits || s->fate == SLICE_DELETE) {
            continue;
        }
        write_anyway(s);
        for (size_t k = 0; k < json_len(s->endpoints); k++) {
            struct json_object *e = json_object_array_get_idx(s->endpoints, k);
            if (endpoint_is_ready(e)) {
                (void)distribute(e, by_node, true);
            }
        }
    }
}

/* --- which of them ---------------------------------------------------------------------------- */
static bool by_shares(struct json_object *service)
{
    static const char older[] = "service.kubernetes.io/topology-aware-hints";
    static const char newer[] = "service.kubernetes.io/topology-mode";
    struct json_object *notes = json_path(service, "metadata.annotations");
    const char *value = json_member(notes, older) ? json_str(notes, older) : json_str(notes, newer);
    return str_eq(value, "Auto") || str_eq(value, "auto");
}

void hints_apply(struct slice_job *j, struct slice_plan *plan)
{
    const char *way = json_str(json_member(j->service, "spec"), "trafficDistribution");
    bool by_node = str_eq(way, "PreferSameNode");
    bool by_zone = str_eq(way, "PreferClose") || str_eq(way, "PreferSameZone");
    if (by_shares(j->service)) {
        zones_apply(j, plan);
        return;
    }
    zones_off(j);
    if (by_node || by_zone) {
        distribute_all(plan, by_node);
    } else {
        hints_remove(plan);
    }
}
