/* SPDX-License-Identifier: Apache-2.0 */
/* azure_lb_merge_rules.c: one Service's rules and probes in a load balancer
 * (azure_lb_merge_rules.h).  Pure. */
#include "providers/azure/lb/azure_lb_merge_rules.h"
#include "common/base/str.h"
#include "providers/azure/lb/azure_frontend_rules.h"
#include "providers/azure/lb/azure_lb_interim_rules.h"
#include "providers/azure/lb/azure_probe_rules.h"
#include "providers/azure/model/azure_doc.h"

#define RULES  "loadBalancingRules"
#define PROBES "probes"

/* The Service's desired state, of both families. */
struct expected {
    struct json_object **items;
    size_t n;
};

static struct expected collect(struct arena *a, const struct azure_merge *m, bool rules)
{
    size_t most = 1; /* the shared probe, when it is kept for others */
    for (size_t i = 0; i < m->n_fragments; i++) {
        most += rules ? m->fragments[i].n_rules : m->fragments[i].n_probes;
    }
    struct expected e = {.items = ARENA_ARRAY(a, struct json_object *, most)};
    for (size_t i = 0; i < m->n_fragments; i++) {
        const struct azure_fragment *f = &m->fragments[i];
        for (size_t k = 0; k < (rules ? f->n_rules : f->n_probes); k++) {
            e.items[e.n++] = rules ? f->rules[k] : f->probes[k];
        }
    }
    return e;
}

/* ---- back references ------------------------------------------------------------------------- */

static void unlink_from(struct json_object *holder, const char *rule)
{
    struct json_object *refs = azure_array(holder, RULES);
    for (size_t i = json_len(refs); i > 0; i--) {
        const char *id = json_str(json_object_array_get_idx(refs, i - 1), "id");
        if (id != NULL && azure_eq(azure_id_last(id), rule)) {
            azure_array_drop(refs, i - 1);
        }
    }
}

static void unlink_rule(struct json_object *lb, const char *rule)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, PROBES)) {
        unlink_from(o, rule);
    }
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        unlink_from(o, rule);
    }
}

/* ---- the shared probe ------------------------------------------------------------------------ */

static void take_out(const struct azure_merge *m, struct json_object *lb, enum azure_lb_part part,
                     struct json_object *o)
{
    struct json_object *array = azure_array(lb, azure_lb_part_name(part));
    size_t i = 0;
    while (i < json_len(array) && json_object_array_get_idx(array, i) != o) {
        i++;
    }
    azure_lb_index_drop(m->index, part, o);
    azure_array_drop(array, i);
}

/* Whether rules of other Services use the shared probe: by ARM's back references, and by the
 * rules. */
static bool others_use(const struct azure_service *s, struct json_object *lb,
                       struct json_object *probe)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(probe, RULES)) {
        const char *rule = azure_id_last(str_nonnull(json_str(o, "id")));
        if (rule[0] != '\0' && !azure_owns_rule(s, rule)) {
            return true;
        }
    }
    AZURE_EACH (o, azure_array(lb, RULES)) {
        const char *ref = azure_ref(o, "probe");
        if (ref != NULL && azure_eq(azure_id_last(ref), AZURE_SHARED_PROBE) &&
            !azure_owns_rule(s, azure_doc_name(o))) {
            return true;
        }
    }
    return false;
}

static bool names_shared_probe(const struct expected *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (azure_eq(azure_doc_name(e->items[i]), AZURE_SHARED_PROBE)) {
            return true;
        }
    }
    return false;
}

/* Others may still need it when this Service goes, or when the mode was switched off, or when no
 * port of this one is probed.  A Local Service that was the last to use it takes it along.  While
 * the mode is on, what stays is as it is configured; what an earlier mode left behind stays
 * as it is. */
static bool mind_shared_probe(struct arena *a, const struct azure_merge *m, struct json_object *lb,
                              struct expected *e)
{
    struct azure_elements probes =
        azure_lb_called(a, m->index, lb, AZURE_LB_PROBES, AZURE_SHARED_PROBE);
    for (size_t i = 0; i < probes.n; i++) {
        struct json_object *probe = probes.items[i];
        if (!azure_eq(azure_doc_name(probe), AZURE_SHARED_PROBE)) {
            continue;
        }
        bool others = others_use(m->service, lb, probe);
        if (others && !names_shared_probe(e)) {
            bool as_configured = m->naming->config->shared_probe && !m->service->local;
            e->items[e->n++] = as_configured ? azure_probe_shared(a, m->naming->config) : probe;
        }
        if (!others && m->service->local) {
            take_out(m, lb, AZURE_LB_PROBES, probe);
            return true;
        }
        return false;
    }
    return false;
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct kind {
    enum azure_lb_part part;
    bool want;
};

static bool equal(const struct kind *k, struct json_object *x, struct json_object *y)
{
    return k->part == AZURE_LB_RULES ? azure_lb_rule_equal(x, y, k->want) : azure_probe_equal(x, y);
}

static bool is_expected(const struct kind *k, const struct expected *e, struct json_object *o)
{
    for (size_t i = 0; i < e->n; i++) {
        if (equal(k, o, e->items[i])) {
            return true;
        }
    }
    return false;
}

static bool has(const struct kind *k, const struct azure_elements *there,
                struct json_object *wanted)
{
    for (size_t i = 0; i < there->n; i++) {
        if (equal(k, there->items[i], wanted)) {
            return true;
        }
    }
    return false;
}

/* Unknown members of a recreated element stay in it, except those that ARM fills in: of a rule's
 * pool it makes a list, too, which must not continue to name the old one. */
static struct json_object *renewed(struct json_object *old, struct json_object *wanted)
{
    static const char *const optional[] = {"probe", "enableTcpReset", "requestPath",
                                           "backendAddressPools"};
    if (old == NULL) {
        return json_copy(wanted);
    }
    struct json_object *o = json_copy(old);
    struct json_object *props = azure_props_make(o);
    json_object_object_del(o, "id");
    json_object_object_del(o, "etag");
    json_object_object_del(props, RULES);
    json_object_object_del(props, "provisioningState");
    for (size_t i = 0; i < ARRAY_LEN(optional); i++) {
        json_object_object_del(props, optional[i]);
    }
    json_object_object_foreach(azure_props(wanted), name, value)
    {
        json_add(props, name, json_copy(value));
    }
    return o;
}

/* It stays at a former frontend, for the ports that the Service asks for. */
static bool stands_in(const struct azure_merge *m, const struct kind *k, const struct expected *e,
                      struct json_object *lb, struct json_object *o, bool *ret_changed)
{
    bool edited = false;
    struct json_object *probe;
    bool stays = k->part == AZURE_LB_RULES && m->want && azure_lb_is_at_former(m->service, lb, o) &&
                 azure_lb_interim_follow(o, e->items, e->n, &edited);
    AZURE_EACH (probe, edited ? azure_array(lb, PROBES) : NULL) {
        unlink_from(probe, azure_doc_name(o));
    }
    *ret_changed = *ret_changed || edited;
    return stays;
}

/* Owned elements that are not expected go; expected ones that are missing come. */
static bool merge(struct arena *a, const struct azure_merge *m, const struct kind *k,
                  const struct expected *e, struct json_object *lb)
{
    bool changed = false;
    struct azure_elements mine = azure_lb_named(a, m->index, lb, k->part, m->service);
    struct json_object **dropped = ARENA_ARRAY(a, struct json_object *, mine.n + 1);
    size_t n_dropped = 0;
    for (size_t i = mine.n; i > 0; i--) {
        struct json_object *o = mine.items[i - 1];
        if (azure_owns_rule(m->service, azure_doc_name(o)) && !is_expected(k, e, o) &&
            !stands_in(m, k, e, lb, o, &changed)) {
            dropped[n_dropped++] = azure_own(a, json_object_get(o));
            if (k->part == AZURE_LB_RULES) {
                unlink_rule(lb, azure_doc_name(o));
            }
            take_out(m, lb, k->part, o);
            changed = true;
        }
    }
    for (size_t i = 0; i < e->n; i++) {
        struct azure_elements there =
            azure_lb_called(a, m->index, lb, k->part, azure_doc_name(e->items[i]));
        if (has(k, &there, e->items[i])) {
            continue;
        }
        struct json_object *old = NULL;
        for (size_t d = 0; d < n_dropped; d++) {
            old = azure_eq(azure_doc_name(dropped[d]), azure_doc_name(e->items[i])) ? dropped[d]
                                                                                    : old;
        }
        struct json_object *made = renewed(old, e->items[i]);
        (void)json_object_array_add(azure_array_make(lb, azure_lb_part_name(k->part)), made);
        azure_lb_index_add(m->index, k->part, made);
        changed = true;
    }
    return changed;
}

bool azure_lb_merge(struct arena *a, const struct azure_merge *m, struct json_object *lb)
{
    struct expected probes = collect(a, m, false);
    struct expected rules = collect(a, m, true);
    const struct kind of_probes = {.part = AZURE_LB_PROBES, .want = m->want};
    const struct kind of_rules = {.part = AZURE_LB_RULES, .want = m->want};
    bool dropped = mind_shared_probe(a, m, lb, &probes);
    bool changed = merge(a, m, &of_probes, &probes, lb);
    return merge(a, m, &of_rules, &rules, lb) || changed || dropped;
}
