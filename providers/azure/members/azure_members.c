/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members.c: the plan of membership: what is written to which machine, scale set or pool
 * (azure_members.h).
 *
 * A machine is one write, whatever the number of pools; owners are the Services of all pools
 * concerned.  What cannot join now (it does not run, or serves another balancer) is left out and
 * tried again next time.
 * Source: docs/spec/azure.md 7. */
#include "providers/azure/members/azure_members.h"
#include "providers/azure/members/azure_members_ip_plan.h"
#include "providers/azure/members/azure_members_nic_plan.h"
#include "providers/azure/members/azure_members_plan.h"
#include "providers/azure/members/azure_members_vmss_plan.h"

#include "common/base/str.h"

static void own_all(struct arena *a, struct azure_owners *o, const struct azure_owners *more)
{
    for (size_t i = 0; i < more->n; i++) {
        azure_owners_add(a, o, more->keys[i]);
    }
}

/* Most machines are in pools with the same owners: their list is shared as long as nothing
 * is added to it. */
static struct azure_owners owners_of(struct arena *a, const struct azure_machine_edit *e)
{
    const struct azure_pool *only = e->n_join > 0 ? e->join[0] : e->leave[0];
    struct azure_owners o = {0};
    if (e->n_join + e->n_leave == 1) {
        return only->owners;
    }
    for (size_t i = 0; i < e->n_join; i++) {
        own_all(a, &o, &e->join[i]->owners);
    }
    for (size_t i = 0; i < e->n_leave; i++) {
        own_all(a, &o, &e->leave[i]->owners);
    }
    return o;
}

/* "joins kubernetes, kubernetes-IPv6; leaves x" */
/* Pools of several balancers have the same names; then the balancer's stands in front. */
static bool is_on_several(struct arena *a, const struct azure_refs *refs)
{
    const char *first = NULL;
    bool several = false;
    for (size_t i = 0; i < refs->n_join + refs->n_leave; i++) {
        const char *id = i < refs->n_join ? refs->join[i] : refs->leave[i - refs->n_join];
        const char *lb = azure_id_part(a, id, "loadBalancers");
        several = several || (first != NULL && !azure_eq(lb, first));
        first = lb;
    }
    return several;
}

static const char *pool_name(struct arena *a, const char *id, bool with_lb)
{
    return with_lb
               ? arena_printf(a, "%s/%s", azure_id_part(a, id, "loadBalancers"), azure_id_last(id))
               : azure_id_last(id);
}

static const char *summary_of(struct arena *a, const struct azure_refs *refs)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    bool with_lb = is_on_several(a, refs);
    for (size_t i = 0; i < refs->n_join; i++) {
        str_appendf(&b, "%s%s", i == 0 ? "joins " : ", ", pool_name(a, refs->join[i], with_lb));
    }
    for (size_t i = 0; i < refs->n_leave; i++) {
        const char *sep = refs->n_join > 0 ? "; leaves " : "leaves ";
        str_appendf(&b, "%s%s", i == 0 ? sep : ", ", pool_name(a, refs->leave[i], with_lb));
    }
    return str_buf_to_arena(&b, a);
}

static const char *why_of(struct arena *a, const struct azure_machine_edit *e)
{
    if (e->why != NULL) {
        return e->why;
    }
    if (e->node == NULL) {
        return "its node is gone";
    }
    return e->n_join > 0 ? arena_printf(a, "node %s is not among the backends", e->node->node->name)
                         : arena_printf(a, "node %s takes no part any more", e->node->node->name);
}

/* ---- machines -------------------------------------------------------------------------------- */

static void plan_instance(struct azure_members_planning *p, const struct azure_machine_edit *e,
                          const char *set)
{
    struct arena *a = p->y->s->a;
    const struct azure_refs refs = azure_members_refs(a, e);
    struct json_object *vm = azure_members_doc(&p->m.instances, e->machine);
    struct json_object *model = azure_members_doc(&p->m.sets, set);
    const char *why_not = NULL;
    bool goes = azure_eq(azure_prop_str(model, "provisioningState"), "Deleting");
    struct json_object *body =
        vm != NULL && !goes ? azure_vmss_instance(a, p->m.in.config, vm, &refs, &why_not) : NULL;
    if (body == NULL) {
        return;
    }
    const struct azure_member_write w = {
        .kind = AZURE_VMSS_VMS,
        .id = azure_doc_id(vm),
        .was = vm,
        .doc = body,
        .why = why_of(a, e),
        .summary = summary_of(a, &refs),
        .owners = owners_of(a, e),
        .leaves = {.leave = refs.leave, .n_leave = refs.n_leave},
        .rank = e->n_join > 0 ? AZURE_RANK_JOIN : AZURE_RANK_LEAVE,
        .lane = set,
        .lane_max = azure_vmss_batch(p->m.in.config, model, AZURE_PARALLEL_MAX),
        .may_be_gone = true,
    };
    azure_member_writes_add(a, &p->writes, &w);
}

static void plan_nic(struct azure_members_planning *p, const struct azure_machine_edit *e)
{
    struct arena *a = p->y->s->a;
    const struct azure_refs refs = azure_members_refs(a, e);
    struct json_object *nic = azure_members_nic_doc(&p->m, e);
    const char *why_not = NULL;
    struct json_object *doc =
        nic != NULL ? azure_nic_edit(a, p->m.in.config, nic, &refs, &why_not) : NULL;
    if (doc == NULL) {
        return;
    }
    const struct azure_member_write w = {
        .kind = AZURE_NICS,
        .id = azure_doc_id(nic),
        .was = nic,
        .doc = doc,
        .why = why_of(a, e),
        .summary = summary_of(a, &refs),
        .owners = owners_of(a, e),
        .leaves = {.leave = refs.leave, .n_leave = refs.n_leave},
        .rank = e->n_join > 0 ? AZURE_RANK_JOIN : AZURE_RANK_LEAVE,
        .unguarded = true,
        .may_be_gone = true,
    };
    azure_member_writes_add(a, &p->writes, &w);
}

void azure_members_plan_machines(struct azure_members_planning *p)
{
    for (size_t i = 0; i < p->m.diff.n; i++) {
        const struct azure_machine_edit *e = &p->m.diff.edits[i];
        const char *set = azure_members_set(p->y->s->a, e->machine);
        if (set != NULL) {
            plan_instance(p, e, set);
        } else {
            plan_nic(p, e);
        }
    }
}

/* ---- models ---------------------------------------------------------------------------------- */

/* The pools that a node of this set belongs into, of those that a node joins now: new instances
 * are to join them, too. */
static struct azure_machine_edit of_set(struct azure_members_planning *p, struct json_object *set,
                                        const bool *grows)
{
    struct azure_members_in *in = &p->m.in;
    struct azure_machine_edit e = {.machine = azure_doc_id(set)};
    e.join = ARENA_ARRAY(p->y->s->a, struct azure_pool *, in->n_pools + 1);
    for (size_t i = 0; i < in->n_pools; i++) {
        bool some = false;
        for (size_t k = 0; grows[i] && !some && k < in->n_nodes; k++) {
            some = azure_id_eq(in->nodes[k].model, e.machine) &&
                   azure_members_wants(in, &in->pools[i], k);
        }
        /* Pools of one Service hold some nodes only; what is new has none of its endpoints. */
        if (some && in->pools[i].hosts == NULL) {
            e.join[e.n_join++] = &in->pools[i];
        }
    }
    return e;
}

static const bool *growing_pools(struct azure_members_planning *p)
{
    bool *grows = ARENA_ARRAY(p->y->s->a, bool, p->m.in.n_pools + 1);
    for (size_t i = 0; i < p->m.diff.n; i++) {
        const struct azure_machine_edit *e = &p->m.diff.edits[i];
        for (size_t k = 0; k < e->n_join; k++) {
            grows[e->join[k] - p->m.in.pools] = true;
        }
    }
    return grows;
}

void azure_members_plan_model(struct azure_members_planning *p, struct json_object *set,
                              const struct azure_machine_edit *e, const char *why)
{
    struct arena *a = p->y->s->a;
    const struct azure_refs refs = azure_members_refs(a, e);
    const char *why_not = NULL;
    struct json_object *body = refs.n_join + refs.n_leave > 0
                                   ? azure_vmss_model(a, p->m.in.config, set, &refs, &why_not)
                                   : NULL;
    if (body == NULL) {
        return;
    }
    const struct azure_member_write w = {
        .kind = AZURE_VMSSS,
        .id = azure_doc_id(set),
        .was = set,
        .doc = body,
        .why = why,
        .summary = summary_of(a, &refs),
        .owners = owners_of(a, e),
        .leaves = {.leave = refs.leave, .n_leave = refs.n_leave},
        .rank = AZURE_RANK_MODELS,
    };
    azure_member_writes_add(a, &p->writes, &w);
}

static void plan_models(struct azure_members_planning *p)
{
    const bool *grows = growing_pools(p);
    for (size_t i = 0; i < p->m.sets.n; i++) {
        struct json_object *set = p->m.sets.items[i];
        const char *group = azure_id_group(p->y->s->a, azure_doc_id(set));
        if (azure_eq(group, p->m.in.config->resource_group)) {
            const struct azure_machine_edit e = of_set(p, set, grows);
            azure_members_plan_model(p, set, &e, "its new instances have to join the pool, too");
        }
    }
}

/* ---- pools of addresses ---------------------------------------------------------------------- */

static const char *why_of_pool(const struct azure_pool *pool, const struct azure_ip_change *change)
{
    if (change->joined + change->left == 0) {
        return "the network belongs to the pool";
    }
    return pool->hosts != NULL ? "it holds the nodes that have endpoints of the Service"
                               : "the nodes changed";
}

/* "2 nodes join, 1 node leaves" */
static const char *summary_of_pool(struct arena *a, const struct azure_ip_change *c)
{
    const char *parts[2];
    size_t n = 0;
    if (c->joined > 0) {
        parts[n++] = arena_printf(a, "%s %s", str_count(a, c->joined, "node"),
                                  c->joined == 1 ? "joins" : "join");
    }
    if (c->left > 0) {
        parts[n++] = arena_printf(a, "%s %s", str_count(a, c->left, "node"),
                                  c->left == 1 ? "leaves" : "leave");
    }
    return n > 0 ? str_join(a, parts, n, ", ") : NULL;
}

static void plan_addresses(struct azure_members_planning *p)
{
    struct arena *a = p->y->s->a;
    for (size_t i = 0; i < p->m.in.n_pools; i++) {
        const struct azure_pool *pool = &p->m.in.pools[i];
        struct azure_ip_change change;
        azure_ip_pool_plan(a, &p->m.in, &p->y->p->naming, pool, &change);
        if (change.doc == NULL) {
            continue;
        }
        const struct azure_member_write w = {
            .kind = AZURE_POOLS,
            .id = pool->id,
            .was = pool->doc,
            .doc = change.doc,
            .why = why_of_pool(pool, &change),
            .summary = summary_of_pool(a, &change),
            .owners = pool->owners,
            .rank = AZURE_RANK_POOLS,
            .lane = pool->lb,
            .lane_max = 1,
            .unguarded = true,
            .announced = pool->hosts != NULL && pool->follows,
            .may_be_gone = pool->hosts != NULL && pool->follows,
        };
        azure_member_writes_add(a, &p->writes, &w);
    }
}

static bool is_bare(const struct azure_members_in *in, const struct azure_pool *p)
{
    bool bare = p->hosts == NULL && azure_pool_count_nics(p->doc) == 0 &&
                azure_pool_count_addresses(p->doc) == 0;
    for (size_t i = 0; bare && i < in->n_nodes; i++) {
        bare = !azure_members_wants(in, p, i);
    }
    return bare;
}

/* Nodes may take part and yet be behind other balancers than this one: of another VM set, or by a
 * selector of nodes. */
static void note_bare_pools(struct azure_members_planning *p)
{
    struct azure_sync *y = p->y;
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        it->bare = false;
        for (size_t k = 0; it->target != NULL && k < p->m.in.n_pools; k++) {
            const struct azure_pool *pool = &p->m.in.pools[k];
            it->bare = it->bare || (azure_eq(pool->lb, it->target) && is_bare(&p->m.in, pool));
        }
    }
}

int azure_plan_members(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_members_planning p = {.y = azure_sync_of(s)};
    int rc = azure_members_gather(p.y, &p.m, err);
    if (rc != ERR_OK) {
        return rc;
    }
    note_bare_pools(&p);
    if (p.m.in.config->pool_type == AZURE_POOL_IP) {
        plan_addresses(&p);
    } else {
        plan_models(&p);
        azure_members_plan_machines(&p);
    }
    azure_member_writes_emit(p.y, &p.writes, plan);
    return ERR_OK;
}
