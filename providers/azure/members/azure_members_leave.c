/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_leave.c: machines leave pools altogether: their balancer goes, or the pools change
 * their kind.
 *
 * Models of scale sets come first, else new instances would join again (14 row 18).  Network
 * interfaces of availability sets need not be written when a balancer goes: Azure takes them out
 * with it (6.11).
 * Source: docs/spec/azure.md 6.11, 7.3, 7.5, 7.6. */
#include "providers/azure/members/azure_members.h"
#include "providers/azure/members/azure_members_ip_plan.h"
#include "providers/azure/members/azure_members_plan.h"
#include "providers/azure/members/azure_members_vmss_plan.h"
#include "providers/azure/sync/azure_observe.h"
#include "providers/azure/sync/azure_predict.h"

#include "common/base/str.h"

#define STEPS_MAX 4

struct pools {
    struct azure_pool *items;
    size_t n;
};

static void need_sets(struct azure_sync *y)
{
    if (y->p->config.vm_type != AZURE_VM_STANDARD) {
        azure_need(
            y, AZURE_VMSSS,
            azure_arm_collection(y->s->a, &y->p->arm, AZURE_VMSSS, y->p->config.resource_group));
    }
    for (const struct azure_clinging *set = y->clinging; set != NULL; set = set->next) {
        azure_need_one(y, AZURE_VMSSS, set->id);
    }
}

/* Reads what is needed so that all members of the pools can leave. */
static int observe_leaving(struct azure_sync *y, const struct pools *pools, struct err *err)
{
    int rc = ERR_OK;
    need_sets(y);
    for (int step = 0; rc == ERR_OK && step < STEPS_MAX; step++) {
        struct azure_members m;
        rc = azure_see(y, err);
        azure_members_gather_for(y, pools->items, pools->n, &m);
        azure_members_leave_all(y->s->a, &m.in, "", &m.diff);
        if (!azure_members_need(y, &m)) {
            break;
        }
    }
    return rc;
}

void azure_members_plan_forget(struct azure_members_planning *p, const char *why)
{
    struct arena *a = p->y->s->a;
    for (size_t i = 0; i < p->m.sets.n; i++) {
        struct azure_machine_edit e = {
            .machine = azure_doc_id(p->m.sets.items[i]),
            .leave = ARENA_ARRAY(a, struct azure_pool *, p->m.in.n_pools + 1),
        };
        for (size_t k = 0; k < p->m.in.n_pools; k++) {
            if (azure_vmss_model_has(p->m.sets.items[i], p->m.in.pools[k].id)) {
                e.leave[e.n_leave++] = &p->m.in.pools[k];
            }
        }
        azure_members_plan_model(p, p->m.sets.items[i], &e, why);
    }
}

/* ---- a balancer goes ------------------------------------------------------------------------- */

static bool is_ours(struct azure_sync *y, struct json_object *lb)
{
    return !azure_lb_is_preconfigured(&y->p->config, azure_lb_is_internal(azure_doc_name(lb)));
}

static void add_pools(struct azure_sync *y, struct pools *pools, struct json_object *lb)
{
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "backendAddressPools")) {
        pools->items[pools->n++] = azure_members_pool(y, azure_doc_name(lb), lb, azure_doc_name(o));
    }
}

static struct pools pools_of(struct azure_sync *y, struct json_object *const *lbs, size_t n)
{
    size_t most = 1;
    for (size_t i = 0; i < n; i++) {
        most += json_len(azure_array(lbs[i], "backendAddressPools"));
    }
    struct pools pools = {.items = ARENA_ARRAY(y->s->a, struct azure_pool, most)};
    for (size_t i = 0; i < n; i++) {
        if (is_ours(y, lbs[i])) {
            add_pools(y, &pools, lbs[i]);
        }
    }
    return pools;
}

int azure_observe_decouple(struct azure_sync *y, struct json_object *const *lbs, size_t n,
                           struct err *err)
{
    const struct pools pools = pools_of(y, lbs, n);
    if (pools.n == 0 || y->p->config.vm_type == AZURE_VM_STANDARD) {
        return ERR_OK;
    }
    return observe_leaving(y, &pools, err);
}

int azure_plan_decouple(struct azure_sync *y, struct json_object *lb, const struct str_set *owners,
                        struct lb_plan *plan, struct err *err)
{
    static const char why[] = "their load balancer goes";
    struct azure_members_planning p = {.y = y};
    const struct pools pools = pools_of(y, &lb, 1);
    (void)err;
    for (size_t i = 0; i < pools.n; i++) {
        for (size_t k = 0; k < owners->n; k++) {
            azure_owners_add(y->s->a, &pools.items[i].owners, owners->items[k]);
        }
    }
    azure_members_gather_for(y, pools.items, pools.n, &p.m);
    p.m.diff = (struct azure_members_diff){0};
    if (y->p->config.vm_type != AZURE_VM_STANDARD) {
        azure_members_leave_all(y->s->a, &p.m.in, "its load balancer goes", &p.m.diff);
    }
    azure_members_plan_forget(&p, why);
    azure_members_plan_machines(&p);
    azure_member_writes_emit(y, &p.writes, plan);
    return ERR_OK;
}

/* ---- pools of the other kind ----------------------------------------------------------------- */

static int wrong_pools(struct azure_sync *y, struct pools *ret, struct err *err)
{
    struct azure_members m;
    int rc = azure_members_gather(y, &m, err);
    *ret = (struct pools){.items = ARENA_ARRAY(y->s->a, struct azure_pool, m.in.n_pools + 1)};
    for (size_t i = 0; rc == ERR_OK && i < m.in.n_pools; i++) {
        if (azure_pool_is_wrong_kind(m.in.config, &m.in.pools[i])) {
            ret->items[ret->n++] = m.in.pools[i];
        }
    }
    return rc;
}

/* ---- models of sets where pools hold addresses ----------------------------------------------- */

/* A model that still names such a pool, of the time when it held interfaces, would bring new
 * instances into it beside their addresses, and keep its balancer from being deleted.  Only
 * trimtab writes it, so it is checked once (7.6). */
static bool models_are_unseen(const struct azure_sync *y)
{
    const struct azure_config *c = &y->p->config;
    return c->pool_type == AZURE_POOL_IP && c->vm_type != AZURE_VM_STANDARD && !y->p->models_seen;
}

static struct azure_owners users(struct azure_sync *y)
{
    struct azure_owners owners = {0};
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i]) && y->items[i].want) {
            azure_owners_add(y->s->a, &owners, y->items[i].item->key);
        }
    }
    return owners;
}

static void plan_models(struct azure_sync *y, struct lb_plan *plan)
{
    struct azure_members_planning p = {.y = y};
    const struct azure_owners owners = users(y);
    struct pools all = pools_of(y, y->lbs.items, y->lbs.n);
    size_t n = 0;
    for (size_t i = 0; owners.n > 0 && i < all.n; i++) {
        if (!azure_pool_is_wrong_kind(&y->p->config, &all.items[i])) {
            all.items[n] = all.items[i]; /* others are emptied anyway, models first */
            all.items[n++].owners = owners;
        }
    }
    if (n == 0) {
        return;
    }
    azure_members_gather_for(y, all.items, n, &p.m);
    azure_members_plan_forget(&p, "pools of addresses take no instances");
    y->p->models_seen = p.writes.n == 0 && !y->s->planning;
    azure_member_writes_emit(y, &p.writes, plan);
}

int azure_observe_convert(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct pools pools = {0};
    azure_need_nothing(y);
    azure_need_balancers(y);
    azure_need_nsg_soon(y);
    int rc = azure_see(y, err);
    if (rc == ERR_OK) {
        rc = wrong_pools(y, &pools, err);
    }
    if (rc == ERR_OK && pools.n > 0 && y->p->config.pool_type == AZURE_POOL_IP) {
        return observe_leaving(y, &pools, err);
    }
    if (rc == ERR_OK && models_are_unseen(y) && y->lbs.n > 0) {
        need_sets(y);
        rc = azure_see(y, err);
    }
    return rc;
}

/* The address by which Azure keeps a member; one whose node is gone has an address that
 * no node has. */
static const char *address_of(struct arena *a, const struct azure_members_in *in,
                              const struct azure_pool *pool, const char *config_id)
{
    const char *machine = azure_members_machine(a, in->nics, config_id);
    for (size_t i = 0; machine != NULL && i < in->n_nodes; i++) {
        if (str_eq(in->nodes[i].machine, machine)) {
            return azure_node_internal_ip(in->nodes[i].node, pool->ipv6 ? AZURE_IPV6 : AZURE_IPV4);
        }
    }
    return config_id;
}

/* A plan: the pool as the migration leaves it. */
static void predict_migrated(struct azure_sync *y, const struct azure_members_in *in,
                             const struct azure_pool *pool)
{
    struct arena *a = y->s->a;
    struct json_object *doc = azure_copy(a, pool->doc);
    struct json_object *props = azure_props_make(doc);
    struct json_object *addresses = json_object_new_array();
    struct json_object *o;
    AZURE_EACH (o, azure_array(pool->doc, "backendIPConfigurations")) {
        struct json_object *one = json_object_new_object();
        json_add_str(azure_props_make(one), "ipAddress", address_of(a, in, pool, azure_doc_id(o)));
        (void)json_object_array_add(addresses, one);
    }
    json_object_object_del(props, "backendIPConfigurations");
    json_object_object_del(props, "loadBalancerBackendAddresses");
    json_object_object_del(props, "virtualNetwork");
    json_add(props, "loadBalancerBackendAddresses", addresses);
    json_add(props, "virtualNetwork", azure_ref_new(azure_vnet_id(a, &y->p->naming)));
    azure_predict(y, AZURE_POOLS, pool->id, doc);
}

/* Azure puts addresses where interfaces were, and takes the interfaces out. */
static void emit_migration(struct azure_sync *y, const struct pools *pools, size_t first,
                           struct lb_plan *plan)
{
    struct arena *a = y->s->a;
    struct json_object *body = azure_own(a, json_object_new_object());
    struct json_object *names = json_object_new_array();
    struct azure_owners owners = {0};
    const char *lb = pools->items[first].lb;
    for (size_t i = first; i < pools->n; i++) {
        if (azure_eq(pools->items[i].lb, lb)) {
            json_push_str(names, pools->items[i].name);
            for (size_t k = 0; k < pools->items[i].owners.n; k++) {
                azure_owners_add(a, &owners, pools->items[i].owners.keys[k]);
            }
        }
    }
    json_add(body, "pools", names);
    const struct azure_call_spec spec = {
        .kind = AZURE_LBS,
        .verb = AZURE_MIGRATE,
        .id = azure_doc_id(azure_sync_lb(y, lb)),
        .body = body,
    };
    struct azure_write *w = azure_write_new(y, &spec);
    w->touches_lbs = true;
    struct lb_op op = LB_OP(.verb = LB_CHANGE, .kind = azure_arm_word(AZURE_LBS), .name = lb,
                            .why = "pools of addresses are configured",
                            .summary = "network interfaces become addresses",
                            .owners = azure_owners_set(a, &owners), .shared = true,
                            .type = &azure_put_type, .arg = w, .calls = 1);
    (void)lb_plan_add(plan, owners.keys[0], &op);
}

static bool is_first_of_lb(const struct pools *pools, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (azure_eq(pools->items[k].lb, pools->items[i].lb)) {
            return false;
        }
    }
    return true;
}

/* A member leaves before it joins in the new way. */
static void say_interrupted(const struct pools *pools, struct lb_plan *plan)
{
    for (size_t i = 0; i < pools->n; i++) {
        for (size_t k = 0; k < pools->items[i].owners.n; k++) {
            lb_plan_effect(plan, pools->items[i].owners.keys[k],
                           "Traffic is interrupted until the pools have their members again: "
                           "network interfaces and addresses cannot be in one pool.");
        }
    }
}

static void plan_to_addresses(struct azure_members_planning *p, const struct pools *pools,
                              struct lb_plan *plan)
{
    static const char why[] = "pools of addresses are configured";
    bool by_azure = p->y->p->config.migrate_to_ip_pools;
    azure_members_gather_for(p->y, pools->items, pools->n, &p->m);
    azure_members_leave_all(p->y->s->a, &p->m.in, why, &p->m.diff);
    azure_members_plan_forget(p, why);
    if (!by_azure) {
        say_interrupted(pools, plan);
        azure_members_plan_machines(p);
    }
    azure_member_writes_emit(p->y, &p->writes, plan);
    for (size_t i = 0; by_azure && i < pools->n; i++) {
        if (is_first_of_lb(pools, i)) {
            emit_migration(p->y, pools, i, plan);
        }
        if (p->y->s->planning && pools->items[i].doc != NULL) {
            predict_migrated(p->y, &p->m.in, &pools->items[i]);
        }
    }
}

static void plan_to_interfaces(struct azure_members_planning *p, const struct pools *pools,
                               struct lb_plan *plan)
{
    say_interrupted(pools, plan);
    for (size_t i = 0; i < pools->n; i++) {
        const struct azure_pool *pool = &pools->items[i];
        const struct azure_member_write w = {
            .kind = AZURE_POOLS,
            .id = pool->id,
            .was = pool->doc,
            .doc = azure_ip_pool_clear(p->y->s->a, pool),
            .why = "pools of network interfaces are configured",
            .summary = "addresses leave",
            .owners = pool->owners,
            .rank = AZURE_RANK_POOLS,
            .lane = pool->lb,
            .lane_max = 1,
            .unguarded = true,
        };
        azure_member_writes_add(p->y->s->a, &p->writes, &w);
    }
    azure_member_writes_emit(p->y, &p->writes, plan);
}

int azure_plan_convert(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_members_planning p = {.y = azure_sync_of(s)};
    struct pools pools;
    int rc = wrong_pools(p.y, &pools, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (pools.n > 0 && p.y->p->config.pool_type == AZURE_POOL_IP) {
        plan_to_addresses(&p, &pools, plan);
    } else if (pools.n > 0) {
        plan_to_interfaces(&p, &pools, plan);
    }
    if (models_are_unseen(p.y)) {
        plan_models(p.y, plan);
    }
    return ERR_OK;
}
