/* SPDX-License-Identifier: Apache-2.0 */
/* world_azure_members.c: nodes are in the backend pools, and nothing is in a pool that is not there
 * (world_internal.h).
 *
 * One balancer, or it and its internal twin: every node is in each of their pools.  Several: every
 * node is in those of one, also where no rule leads to them.  Basic ones: only the nodes of their
 * availability set, so some.  Pools of one Service (policy Local, several balancers) are as its
 * pods are, and are not checked.  Source: docs/spec/azure.md 5.2, 5.5, 7.2 to 7.7. */
#include "tests/fault/world_azure.h"

#include <string.h>

#include "common/base/map.h"

#define CLUSTER  "kubernetes"
#define INTERNAL "-internal"

struct members {
    const struct world_view *v;
    /* lower-case id of a pool → size_t *, owned: members by interface or address */
    struct map *pools;
    struct err *err;
    int rc;
};

static size_t *count_of(struct members *m, const char *pool_id)
{
    return map_get(m->pools, str_lower(m->v->a, pool_id));
}

/* ---- pools ----------------------------------------------------------------------------------- */

static size_t count_addresses(struct json_object *pool)
{
    struct json_object *list = json_path(pool, "properties.loadBalancerBackendAddresses");
    size_t n = 0;
    for (size_t i = 0; i < json_len(list); i++) {
        n += json_str(azure_properties(json_object_array_get_idx(list, i)), "ipAddress") != NULL;
    }
    return n;
}

static void add_pools(struct members *m, const char *id, struct json_object *lb)
{
    struct json_object *pools = json_path(lb, "properties.backendAddressPools");
    for (size_t i = 0; i < json_len(pools); i++) {
        struct json_object *pool = json_object_array_get_idx(pools, i);
        size_t *n = xcalloc(1, sizeof(*n));
        *n = count_addresses(pool);
        map_set(m->pools,
                str_lower(m->v->a, arena_printf(m->v->a, "%s/backendAddressPools/%s", id,
                                                json_str(pool, "name"))),
                n);
    }
}

/* ---- machines -------------------------------------------------------------------------------- */

/* Every reference to a pool below `o`: it is there, and has one member more (a model is none). */
static void count_refs(struct members *m, const char *id, struct json_object *o, bool counts)
{
    for (size_t i = 0; i < json_len(o); i++) {
        count_refs(m, id, json_object_array_get_idx(o, i), counts);
    }
    if (!json_object_is_type(o, json_type_object)) {
        return;
    }
    struct json_object *refs = json_member(o, "loadBalancerBackendAddressPools");
    for (size_t i = 0; i < json_len(refs); i++) {
        const char *pool = str_nonnull(json_str(json_object_array_get_idx(refs, i), "id"));
        size_t *n = count_of(m, pool);
        if (n == NULL) {
            m->rc = err_set(m->err, ERR_CONFLICT, "%s is in a pool that is not there: %s",
                            azure_last_word(id), pool);
        } else {
            *n += counts;
        }
    }
    json_object_object_foreach(o, key, value)
    {
        if (!str_eq(key, "loadBalancerBackendAddressPools")) {
            count_refs(m, id, value, counts);
        }
    }
}

static void count_machines(struct members *m)
{
    json_object_object_foreach(m->v->docs, id, doc)
    {
        bool model = azure_is_of(id, "virtualMachineScaleSets");
        bool machine =
            azure_is_of(id, "networkInterfaces") ||
            (azure_is_of(id, "virtualMachines") && strstr(id, "/virtualMachineScaleSets/") != NULL);
        if (model || machine) {
            count_refs(m, id, doc, machine);
        }
    }
}

/* ---- judgement ------------------------------------------------------------------------------- */

static bool is_used(struct json_object *lb, const char *pool)
{
    struct json_object *rules = json_path(lb, "properties.loadBalancingRules");
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *p = azure_properties(json_object_array_get_idx(rules, i));
        const char *id = json_str(json_member(p, "backendAddressPool"), "id");
        if (str_eq(azure_last_word(id), pool)) {
            return true;
        }
    }
    return false;
}

struct sum {
    struct map *bases; /* "kubernetes" → size_t *, owned: nodes in the pools of it and its twin */
    bool some;         /* not all of them are to be there */
};

/* All pools of a balancer and its twin have the same nodes. */
static void judge_pool(struct members *m, struct sum *s, const char *lb, const char *pool, size_t n)
{
    const char *base = str_has_suffix(lb, INTERNAL)
                           ? arena_strndup(m->v->a, lb, strlen(lb) - strlen(INTERNAL))
                           : lb;
    size_t *before = map_get(s->bases, base);
    if (n == 0) {
        m->rc = err_set(m->err, ERR_CONFLICT, "nobody is in the pool %s of %s", pool, lb);
    } else if (before != NULL && *before != n) {
        m->rc = err_set(m->err, ERR_CONFLICT, "the pool %s of %s has %zu nodes, another %zu", pool,
                        lb, n, *before);
    } else if (before == NULL) {
        before = xcalloc(1, sizeof(*before));
        *before = n;
        map_set(s->bases, base, before);
    }
}

static void judge_balancer(struct members *m, struct sum *s, const char *id, struct json_object *lb)
{
    struct json_object *pools = json_path(lb, "properties.backendAddressPools");
    for (size_t i = 0; i < json_len(pools); i++) {
        const char *name = json_str(json_object_array_get_idx(pools, i), "name");
        size_t *n = count_of(m, arena_printf(m->v->a, "%s/backendAddressPools/%s", id, name));
        if (str_has_prefix(name, CLUSTER) && (*n > 0 || is_used(lb, name))) {
            judge_pool(m, s, azure_last_word(id), name, *n);
            s->some = s->some || str_eq_nocase(json_str(json_member(lb, "sku"), "name"), "Basic");
        }
        s->some = s->some || str_has_prefix(name, "default-"); /* one Service's pool */
    }
}

static bool add_up(const char *key, void *value, void *arg)
{
    (void)key;
    *(size_t *)arg += *(size_t *)value;
    return true;
}

static void judge(struct members *m)
{
    struct sum s = {.bases = map_new(free)};
    size_t n_nodes = json_len(json_path(m->v->world, "kubernetes.nodes"));
    size_t n = 0;
    json_object_object_foreach(m->v->docs, id, doc)
    {
        if (m->rc == ERR_OK && azure_is_of(id, "loadBalancers") &&
            (json_member(m->v->foreign, id) == NULL || str_eq(azure_last_word(id), CLUSTER))) {
            judge_balancer(m, &s, id, doc);
        }
    }
    map_each(s.bases, add_up, &n);
    if (m->rc == ERR_OK && !s.some && map_size(s.bases) > 0 && n != n_nodes) {
        m->rc = err_set(m->err, ERR_CONFLICT, "%zu nodes are in pools, of %zu", n, n_nodes);
    }
    map_free(s.bases);
}

int azure_check_members(const struct world_view *v, struct err *err)
{
    struct members m = {.v = v, .pools = map_new(free), .err = err};
    json_object_object_foreach(v->docs, id, doc)
    {
        if (azure_is_of(id, "loadBalancers")) {
            add_pools(&m, id, doc);
        }
    }
    count_machines(&m);
    if (m.rc == ERR_OK) {
        judge(&m);
    }
    map_free(m.pools);
    return m.rc;
}
