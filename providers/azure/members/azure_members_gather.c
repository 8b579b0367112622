/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_gather.c: see azure_members_gather.h. */
#include "providers/azure/members/azure_members_gather.h"
#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/azure/members/azure_members_nic_plan.h"
#include "providers/azure/members/azure_members_vmss_plan.h"
#include "providers/azure/sync/azure_observe.h"

/* For telling whose an interface is, not for writing it. */
#define NICS_AGE_MS 600000

static void map_put(void *arg)
{
    map_free(arg);
}

static struct map *own_map(struct arena *a)
{
    struct map *m = map_new(NULL);
    arena_defer(a, map_put, m);
    return m;
}

/* ---- documents ------------------------------------------------------------------------------- */

static struct azure_refs_docs docs_of(struct azure_sync *y, enum azure_kind k)
{
    struct azure_refs_docs d = {0};
    struct map *by_id = own_map(y->s->a);
    size_t most = 1;
    for (size_t i = 0; i < y->n_seen; i++) {
        most += y->seen[i].kind == k ? json_len(y->seen[i].array) : 0;
    }
    d.items = ARENA_ARRAY(y->s->a, struct json_object *, most);
    for (size_t i = 0; i < y->n_seen; i++) {
        struct json_object *o;
        AZURE_EACH (o, y->seen[i].kind == k && y->seen[i].needed ? y->seen[i].array : NULL) {
            const char *id = str_lower(y->s->a, azure_doc_id(o));
            struct json_object **listed = map_get(by_id, id);
            if (listed != NULL) {
                *listed = o; /* asked for by its name, too: it tells more than the list */
            } else {
                map_set(by_id, id, &d.items[d.n]);
                d.items[d.n++] = o;
            }
        }
    }
    d.by_id = by_id;
    return d;
}

struct json_object *azure_members_doc(const struct azure_refs_docs *docs, const char *id)
{
    struct json_object **at = map_get(docs->by_id, id);
    return at != NULL ? *at : NULL;
}

struct json_object *azure_members_nic_doc(const struct azure_members *m,
                                          const struct azure_machine_edit *e)
{
    return e->nic != NULL && e->n_join == 0 ? azure_members_doc(&m->nics, e->nic)
                                            : map_get(m->primary_nics, e->machine);
}

const char **azure_members_nic_scopes(struct azure_sync *y, const struct azure_members *m,
                                      size_t *ret_n)
{
    struct arena *a = y->s->a;
    const char **scopes = ARENA_ARRAY(a, const char *, m->in.n_nodes + 1);
    struct map *there = own_map(a);
    size_t n = 0;
    for (size_t i = 0; i <= m->in.n_nodes; i++) {
        const char *group = y->p->config.resource_group;
        if (i < m->in.n_nodes) {
            const struct azure_member_node *node = &m->in.nodes[i];
            group = node->set == NULL && !node->excluded ? azure_id_group(a, node->machine) : NULL;
        }
        if (group != NULL && !map_has(there, str_lower(a, group))) {
            map_set(there, str_lower(a, group), NULL);
            scopes[n++] = azure_arm_collection(a, &y->p->arm, AZURE_NICS, group);
        }
    }
    *ret_n = n;
    return scopes;
}

static const struct map *interfaces(struct azure_sync *y, const struct azure_members *m)
{
    struct arena *a = y->s->a;
    struct map *nics = own_map(a);
    size_t n;
    const char **scopes = azure_members_nic_scopes(y, m, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t age = y->p->offline ? INT64_MAX : NICS_AGE_MS;
        azure_members_learn(a, nics,
                            azure_snapshot_list(y->p->snapshot, AZURE_NICS, scopes[i], age, a));
    }
    for (size_t i = 0; i < y->n_seen; i++) {
        if (y->seen[i].kind == AZURE_NICS) {
            azure_members_learn(a, nics, y->seen[i].array);
        }
    }
    return nics;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A node that does not say which machine it is, right after a scale set grew from nothing, is found
 * by its name (14 row 21). */
static void find_machine(struct arena *a, const struct azure_members *m,
                         struct azure_member_node *node)
{
    for (size_t i = 0; i < m->sets.n; i++) {
        if (azure_vmss_is_named(m->sets.items[i], node->node->name)) {
            const char *set = str_lower(a, azure_doc_id(m->sets.items[i]));
            node->set = node->model = set;
            node->vm_set = azure_doc_name(m->sets.items[i]);
            const char *instance =
                arena_printf(a, "%lld", (long long)azure_vmss_instance_id(node->node->name));
            node->machine = URL_RESOURCE_PATH(a, set, "virtualmachines", instance);
            return;
        }
    }
    for (size_t i = 0; i < m->nics.n; i++) {
        const char *machine = azure_ref(m->nics.items[i], "virtualMachine");
        if (machine != NULL && azure_eq(azure_id_last(machine), node->node->name)) {
            node->machine = str_lower(a, machine);
            return;
        }
    }
}

/* Lower-case ID of a machine → its availability set. */
static const struct map *sets_of_machines(struct arena *a, const struct azure_refs_docs *sets)
{
    struct map *m = own_map(a);
    for (size_t i = 0; i < sets->n; i++) {
        struct json_object *o;
        AZURE_EACH (o, azure_array(sets->items[i], "virtualMachines")) {
            map_set(m, str_lower(a, azure_doc_id(o)), sets->items[i]);
        }
    }
    return m;
}

static void find_sets(const struct azure_members *m, struct arena *a, const struct map *sets,
                      struct azure_member_node *node)
{
    struct json_object *set = map_get(sets, node->machine);
    struct json_object *vm = azure_members_doc(&m->vms, node->machine);
    const char *flexible = azure_ref(vm, "virtualMachineScaleSet");
    if (flexible != NULL) {
        node->model = str_lower(a, flexible);
        node->vm_set = azure_id_last(flexible);
    }
    if (set != NULL) {
        node->vm_set = azure_doc_name(set);
    }
}

static void complete_nodes(struct azure_sync *y, struct azure_members *m)
{
    const struct map *sets = sets_of_machines(y->s->a, &m->availability_sets);
    for (size_t i = 0; i < m->in.n_nodes; i++) {
        struct azure_member_node *node = &m->in.nodes[i];
        if (node->machine[0] == '\0') {
            find_machine(y->s->a, m, node);
        }
        if (node->machine[0] != '\0' && node->set == NULL) {
            find_sets(m, y->s->a, sets, node);
        }
    }
}

/* ---- pools ----------------------------------------------------------------------------------- */

struct azure_pool azure_members_pool(struct azure_sync *y, const char *lb_name,
                                     struct json_object *lb, const char *name)
{
    const struct azure_config *c = &y->p->config;
    return (struct azure_pool){
        .lb = lb_name,
        .name = name,
        .id = azure_pool_id(y->s->a, &y->p->naming, lb_name, name),
        .ipv6 = azure_pool_is_ipv6(name),
        .internal = azure_lb_is_internal(lb_name),
        .doc = azure_find(azure_array(lb, "backendAddressPools"), name),
        .vm_set = c->standard_sku ? NULL : azure_lb_vm_set(y->s->a, &y->p->naming, lb_name),
    };
}

static void add_pool(struct azure_sync *y, struct azure_members_in *in, const struct azure_item *it,
                     enum azure_family f)
{
    const char *name = azure_lb_pool(y->s->a, &y->p->naming, it->service, f);
    size_t i = 0;
    while (i < in->n_pools &&
           !(azure_eq(in->pools[i].lb, it->target) && azure_eq(in->pools[i].name, name))) {
        i++;
    }
    if (i == in->n_pools) {
        in->pools[in->n_pools++] =
            azure_members_pool(y, it->target, azure_sync_lb(y, it->target), name);
        in->pools[i].ipv6 = f == AZURE_IPV6;
        in->pools[i].hosts = azure_members_hosts(y, it, &in->pools[i]);
    }
    in->pools[i].follows =
        in->pools[i].follows || (it->item->in->reasons & TT_REASON_ENDPOINTS) != 0;
    azure_owners_add(y->s->a, &in->pools[i].owners, it->item->key);
}

static void pools_of_batch(struct azure_sync *y, struct azure_members_in *in)
{
    /* Room for those that spreading adds. */
    size_t most = (y->s->n_items + y->lbs.n) * AZURE_FAMILIES + 1;
    in->pools = ARENA_ARRAY(y->s->a, struct azure_pool, most);
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it) || !it->want || it->target == NULL ||
            azure_lb_is_preconfigured(&y->p->config, it->service->internal)) {
            continue;
        }
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            if (it->service->has_family[f]) {
                add_pool(y, in, it, (enum azure_family)f);
            }
        }
    }
}

/* ---- together -------------------------------------------------------------------------------- */

void azure_members_gather_for(struct azure_sync *y, struct azure_pool *pools, size_t n,
                              struct azure_members *m)
{
    struct arena *a = y->s->a;
    const struct tt_batch *batch = y->s->batch;
    *m = (struct azure_members){
        .in = {.config = &y->p->config,
               .nodes = azure_members_nodes(a, &y->p->config, batch->nodes, batch->n_nodes),
               .n_nodes = batch->n_nodes,
               .pools = pools,
               .n_pools = n,
               .once = y->p->machines},
        .nics = docs_of(y, AZURE_NICS),
        .sets = docs_of(y, AZURE_VMSSS),
        .instances = docs_of(y, AZURE_VMSS_VMS),
        .vms = docs_of(y, AZURE_VMS),
        .availability_sets = docs_of(y, AZURE_SETS),
    };
    struct map *primary = own_map(a);
    azure_nics_by_machine(a, m->nics.items, m->nics.n, primary);
    m->primary_nics = primary;
    complete_nodes(y, m);
    m->in.nics = interfaces(y, m);
    azure_members_compare(a, &m->in, &m->diff);
}

/* A balancer may go with the last of its Services: others take its nodes then, not with their
 * next sync. */
static bool somebody_goes(const struct azure_sync *y)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i]) && !y->items[i].want) {
            return true;
        }
    }
    return false;
}

int azure_members_gather(struct azure_sync *y, struct azure_members *m, struct err *err)
{
    struct azure_members_in in = {0};
    pools_of_batch(y, &in);
    azure_members_gather_for(y, in.pools, in.n_pools, m);
    if (!azure_config_is_multi_slb(&y->p->config) || (in.n_pools == 0 && !somebody_goes(y))) {
        return ERR_OK;
    }
    int rc = azure_members_spread(y, m, err);
    azure_members_compare(y->s->a, &m->in, &m->diff);
    return rc;
}
