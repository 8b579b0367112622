/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_spread.c: several Standard balancers: every node serves one of them
 * (azure_members_gather.h).
 *
 * Which one is decided over all balancers at once (azure_spread_rules.h), so the pools of those
 * that no Service of the batch uses are checked, too: a node leaves one and joins the other by one
 * write.  Pools of one Service are not spread, they have the nodes that have its endpoints.
 * Source: docs/spec/azure.md 5.5, 7.6, 7.7.  Reads nothing. */
#include "providers/azure/members/azure_members_gather.h"
#include "providers/azure/members/azure_spread_rules.h"

#include "common/base/str.h"

struct spreading {
    struct azure_sync *y;
    struct azure_members *m;
    struct azure_spread_node *nodes;
    struct map *by_member; /* machine, or address → struct azure_spread_node */
    struct azure_owners owners;
};

static size_t config_of(const struct spreading *x, const char *lb)
{
    const struct azure_config *c = x->m->in.config;
    for (size_t i = 0; i < c->n_lbs; i++) {
        if (azure_eq(c->lbs[i].name, azure_lb_base(x->y->s->a, lb))) {
            return i;
        }
    }
    return AZURE_NO_LB;
}

/* ---- where the nodes are --------------------------------------------------------------------- */

static void index_nodes(struct spreading *x)
{
    struct arena *a = x->y->s->a;
    const struct azure_members_in *in = &x->m->in;
    x->nodes = ARENA_ARRAY(a, struct azure_spread_node, in->n_nodes + 1);
    for (size_t i = 0; i < in->n_nodes; i++) {
        const struct azure_member_node *n = &in->nodes[i];
        size_t n_ips;
        const char **ips = azure_node_internal_ips(a, n->node, &n_ips);
        x->nodes[i] = (struct azure_spread_node){
            .node = n->node, .vm_set = str_nonnull(n->vm_set), .lb = AZURE_NO_LB};
        map_set(x->by_member, n->machine, &x->nodes[i]);
        for (size_t k = 0; k < n_ips; k++) {
            map_set(x->by_member, ips[k], &x->nodes[i]);
        }
    }
}

static void place(struct spreading *x, const char *member, size_t config)
{
    struct azure_spread_node *n = !str_is_empty(member) ? map_get(x->by_member, member) : NULL;
    if (n != NULL && n->lb == AZURE_NO_LB) {
        n->lb = config;
    }
}

static void place_members(struct spreading *x, const struct azure_pool *p)
{
    size_t config = config_of(x, p->lb);
    struct json_object *o;
    AZURE_EACH (o, azure_array(p->doc, "backendIPConfigurations")) {
        place(x, azure_members_machine(x->y->s->a, x->m->in.nics, azure_doc_id(o)), config);
    }
    AZURE_EACH (o, azure_array(p->doc, "loadBalancerBackendAddresses")) {
        place(x, azure_prop_str(o, "ipAddress"), config);
    }
}

/* ---- the pools ------------------------------------------------------------------------------- */

static bool is_there(const struct azure_members_in *in, const char *lb, const char *pool)
{
    for (size_t i = 0; i < in->n_pools; i++) {
        if (azure_eq(in->pools[i].lb, lb) && azure_eq(in->pools[i].name, pool)) {
            return true;
        }
    }
    return false;
}

static void add_others(struct spreading *x)
{
    struct azure_sync *y = x->y;
    struct azure_members_in *in = &x->m->in;
    for (size_t i = 0; i < y->lbs.n; i++) {
        const char *lb = azure_doc_name(y->lbs.items[i]);
        bool ours = config_of(x, lb) != AZURE_NO_LB &&
                    !azure_lb_is_preconfigured(in->config, azure_lb_is_internal(lb));
        for (int f = 0; ours && f < AZURE_FAMILIES; f++) {
            const char *name = azure_pool_name(y->s->a, &y->p->naming, (enum azure_family)f);
            struct azure_pool p = azure_members_pool(y, lb, y->lbs.items[i], name);
            if (p.doc != NULL && !is_there(in, lb, name)) {
                p.owners = x->owners;
                in->pools[in->n_pools++] = p;
            }
        }
    }
}

static void mark(struct spreading *x, struct azure_pool *p)
{
    size_t config = config_of(x, p->lb);
    size_t n = x->m->in.n_nodes;
    bool *here = ARENA_ARRAY(x->y->s->a, bool, n + 1);
    bool *elsewhere = ARENA_ARRAY(x->y->s->a, bool, n + 1);
    for (size_t i = 0; i < n; i++) {
        here[i] = x->nodes[i].lb == config;
        elsewhere[i] = x->nodes[i].lb != AZURE_NO_LB && !here[i];
    }
    p->spread = here;
    p->elsewhere = elsewhere;
}

static const bool *unplaced_of(const struct spreading *x)
{
    const struct azure_members_in *in = &x->m->in;
    bool *unplaced = ARENA_ARRAY(x->y->s->a, bool, in->n_nodes + 1);
    for (size_t i = 0; i < in->n_nodes; i++) {
        const struct tt_node *node = in->nodes[i].node;
        unplaced[i] = x->nodes[i].lb == AZURE_NO_LB && !in->nodes[i].excluded &&
                      (node->flags & TT_NODE_ELIGIBLE) != 0 && !azure_node_is_control_plane(node);
    }
    return unplaced;
}

/* A balancer that is only planned yet counts as there. */
static const char *coming(const struct azure_sync *y)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_takes_part(it) && it->target != NULL &&
            azure_sync_lb(y, it->target) == NULL) {
            return it->target;
        }
    }
    return NULL;
}

/* For whose sake the nodes are shared out again: those that stay, else those that go. */
static void own_by(struct spreading *x, bool want)
{
    struct azure_sync *y = x->y;
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i]) && y->items[i].want == want) {
            azure_owners_add(y->s->a, &x->owners, y->items[i].item->key);
        }
    }
}

int azure_members_spread(struct azure_sync *y, struct azure_members *m, struct err *err)
{
    struct spreading x = {.y = y, .m = m, .by_member = map_new(NULL)};
    own_by(&x, true);
    if (x.owners.n == 0) {
        own_by(&x, false);
    }
    index_nodes(&x);
    add_others(&x);
    for (size_t i = 0; i < m->in.n_pools; i++) {
        if (m->in.pools[i].hosts == NULL) {
            place_members(&x, &m->in.pools[i]);
        }
    }
    const char *more = coming(y);
    int rc = azure_spread_nodes(y->s->a, m->in.config, &y->lbs,
                                more != NULL ? azure_lb_base(y->s->a, more) : NULL, x.nodes,
                                m->in.n_nodes, err);
    for (size_t i = 0; rc == ERR_OK && i < m->in.n_pools; i++) {
        if (m->in.pools[i].hosts == NULL) {
            mark(&x, &m->in.pools[i]);
        }
    }
    if (rc == ERR_OK) {
        m->unplaced = unplaced_of(&x);
    }
    map_free(x.by_member);
    return rc;
}

/* ---- nodes without a balancer ---------------------------------------------------------------- */

static const struct azure_item *oldest(struct azure_sync *y)
{
    size_t n;
    struct azure_item **items = azure_items_in_order(y, &n);
    for (size_t i = 0; i < n; i++) {
        if (items[i]->want) {
            return items[i];
        }
    }
    return NULL;
}

void azure_members_tell_unplaced(struct azure_sync *y, const struct azure_members *m)
{
    const struct tt_host *host = y->p->host;
    const struct azure_item *it = m->unplaced != NULL ? oldest(y) : NULL;
    if (it == NULL) {
        return;
    }
    struct map *now = map_new(NULL);
    for (size_t i = 0; i < m->in.n_nodes; i++) {
        const char *name = m->in.nodes[i].node->name;
        if (!m->unplaced[i]) {
            continue;
        }
        map_set(now, name, NULL);
        if (y->p->unplaced == NULL || !map_has(y->p->unplaced, name)) {
            host->event(host->ctx, it->service->in, TT_EVENT_WARNING,
                        "FailedToFindLoadBalancerForNode",
                        arena_printf(y->s->a,
                                     "node %s gets no traffic: no load balancer that is there "
                                     "takes it by primaryVMSet or nodeSelector",
                                     name));
        }
    }
    map_free(y->p->unplaced);
    y->p->unplaced = now;
}
