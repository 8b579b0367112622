/* SPDX-License-Identifier: Apache-2.0 */
/* azure_explain_nodes.c: see azure_explain_nodes.h. */
#include "providers/azure/azure_explain_nodes.h"

#include "common/base/str.h"
#include "common/lb/node_rules.h"
#include "providers/azure/lb/azure_lb_desired.h"
#include "providers/azure/members/azure_members_nic_plan.h"
#include "providers/azure/members/azure_members_vmss_plan.h"

/* ---- by the node alone ----------------------------------------------------------------------- */

/* NULL: it may take part. */
static const char *by_rule(struct arena *a, const struct azure_config *c, const struct tt_node *n)
{
    const char *why = node_left_out_because(a, n);
    if (why != NULL) {
        return why;
    }
    if (azure_node_is_control_plane(n) && c->pool_type == AZURE_POOL_IP) {
        return "runs the control plane";
    }
    if (azure_node_is_control_plane(n) && c->exclude_masters) {
        return "runs the control plane (excludeMasterFromStandardLB)";
    }
    if (!azure_node_is_managed(n)) {
        return "label kubernetes.azure.com/managed: false";
    }
    return azure_node_is_excluded(n, c->resource_group, false)
               ? "is of another resource group, or excluded by a label"
               : NULL;
}

/* ---- by the pool ----------------------------------------------------------------------------- */

struct look {
    struct azure_sync *y;
    const struct azure_members *m;
    const struct azure_pool *pool;
    size_t at; /* of the node */
};

static const char *by_balancer(const struct look *k)
{
    struct arena *a = k->y->s->a;
    const struct azure_pool *p = k->pool;
    const struct azure_member_node *n = &k->m->in.nodes[k->at];
    if (p->hosts != NULL && !p->hosts[k->at]) {
        return "has no endpoint of the Service, whose externalTrafficPolicy is Local";
    }
    if (p->vm_set != NULL && !azure_eq(p->vm_set, n->vm_set)) {
        return n->vm_set == NULL
                   ? arena_printf(a, "is not in VM set %s, which load balancer %s is for",
                                  p->vm_set, p->lb)
                   : arena_printf(a, "is in VM set %s; load balancer %s is for %s", n->vm_set,
                                  p->lb, p->vm_set);
    }
    return p->elsewhere != NULL && p->elsewhere[k->at]
               ? "serves another load balancer"
               : "no load balancer takes it by primaryVMSet or nodeSelector";
}

/* The edit that would put the node into the pool; NULL: it is there. */
static const struct azure_machine_edit *joining(const struct look *k)
{
    const struct azure_member_node *n = &k->m->in.nodes[k->at];
    for (size_t i = 0; i < k->m->diff.n; i++) {
        const struct azure_machine_edit *e = &k->m->diff.edits[i];
        for (size_t j = 0; e->node == n && j < e->n_join; j++) {
            if (e->join[j] == k->pool) {
                return e;
            }
        }
    }
    return NULL;
}

/* Why a sync would not put it there. */
static const char *by_machine(const struct look *k, const struct azure_machine_edit *e)
{
    struct arena *a = k->y->s->a;
    const struct azure_config *c = k->m->in.config;
    struct azure_pool *pool = (struct azure_pool *)(uintptr_t)k->pool;
    const struct azure_machine_edit one = {.machine = e->machine, .join = &pool, .n_join = 1};
    const struct azure_refs refs = azure_members_refs(a, &one);
    const char *set = azure_members_set(a, e->machine);
    const char *why = NULL;
    struct json_object *doc = set != NULL ? azure_members_doc(&k->m->instances, e->machine)
                                          : azure_members_nic_doc(k->m, e);
    if (doc == NULL) {
        return k->y->p->offline ? NULL
               : set != NULL    ? "its instance is not in the scale set"
                                : "no network interface of its machine is found";
    }
    bool joins = set != NULL ? azure_vmss_instance(a, c, doc, &refs, &why) != NULL
                             : azure_nic_edit(a, c, doc, &refs, &why) != NULL;
    return joins ? NULL : why;
}

/* NULL: it is in the pool, or a sync puts it there. */
static const char *by_pool(const struct look *k)
{
    const struct azure_members_in *in = &k->m->in;
    const struct azure_member_node *n = &in->nodes[k->at];
    if (!azure_members_wants(in, k->pool, k->at)) {
        return by_balancer(k);
    }
    if (in->config->pool_type == AZURE_POOL_IP) {
        enum azure_family f = k->pool->ipv6 ? AZURE_IPV6 : AZURE_IPV4;
        const char *ip = azure_node_internal_ip(n->node, f);
        return ip[0] != '\0'   ? NULL
               : k->pool->ipv6 ? "has no InternalIP of IPv6"
                               : "has no InternalIP of IPv4";
    }
    if (n->machine[0] == '\0') {
        return "does not say which machine it is (spec.providerID)";
    }
    const struct azure_machine_edit *e = joining(k);
    return e != NULL ? by_machine(k, e) : NULL;
}

static bool is_own(struct azure_sync *y, const struct azure_item *it, const struct azure_pool *p)
{
    bool own = false;
    for (int f = 0; !own && f < AZURE_FAMILIES; f++) {
        own = it->service->has_family[f] &&
              azure_eq(p->name,
                       azure_lb_pool(y->s->a, &y->p->naming, it->service, (enum azure_family)f));
    }
    return own && azure_eq(p->lb, it->target);
}

/* A node serves as soon as it is in the pool of one family. */
static const char *left_out(struct azure_sync *y, const struct azure_members *m,
                            const struct azure_item *it, size_t node)
{
    const char *why = by_rule(y->s->a, &y->p->config, y->s->batch->nodes[node]);
    if (why != NULL) {
        return why;
    }
    for (size_t i = 0; m != NULL && i < m->in.n_pools; i++) {
        const struct look k = {.y = y, .m = m, .pool = &m->in.pools[i], .at = node};
        const char *here = is_own(y, it, k.pool) ? by_pool(&k) : why;
        if (here == NULL && is_own(y, it, k.pool)) {
            return NULL;
        }
        why = why != NULL ? why : here;
    }
    return why;
}

/* Members of the Service's pools now; of two families the one with more. */
static size_t count_members(struct azure_sync *y, const struct azure_members *m,
                            const struct azure_item *it)
{
    size_t most = 0;
    for (size_t i = 0; m != NULL && i < m->in.n_pools; i++) {
        const struct azure_pool *p = &m->in.pools[i];
        size_t n = p->doc != NULL && is_own(y, it, p)
                       ? azure_pool_count_nics(p->doc) + azure_pool_count_addresses(p->doc)
                       : 0;
        most = n > most ? n : most;
    }
    return most;
}

void azure_explain_nodes(struct lb_explain *b, struct azure_sync *y, const struct azure_members *m,
                         const struct azure_item *it)
{
    const struct tt_batch *batch = y->s->batch;
    const char **why = ARENA_ARRAY(y->s->a, const char *, batch->n_nodes + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        why[i] = left_out(y, m, it, i);
        n += why[i] == NULL;
    }
    lb_explain_take_part(b, n, batch->n_nodes, n == 0 ? count_members(y, m, it) : 0);
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        if (why[i] != NULL) {
            lb_explain_left_out(b, batch->nodes[i]->name, why[i]);
        }
    }
    if (it->service->local) {
        lb_explain_all_down(b, false); /* probes that all fail stop new flows */
    }
}
