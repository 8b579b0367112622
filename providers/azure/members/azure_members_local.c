/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_local.c: which nodes belong into the pool of a Local Service
 * (azure_members_gather.h).
 *
 * Endpoints are those of the item, and for other Services whose pool has the same name
 * (azure_local_rules.h) those that the host knows.  Where none are known, as when a plan is made
 * from files, the pool keeps the nodes that it has.
 * Source: docs/spec/azure.md 7.7. */
#include "providers/azure/lb/azure_local_rules.h"
#include "providers/azure/members/azure_members_gather.h"

#include "common/base/str.h"

/* Adds the nodes of a Service's endpoints; false: they are not known. */
static bool add_hosts_of(struct azure_sync *y, const struct tt_service *s, struct arena *scratch,
                         struct map *hosts)
{
    const struct tt_host *host = y->p->host;
    const struct tt_slice *const *slices = NULL;
    uint32_t n = 0, known = 0;
    host->slices(host->ctx, y->s->call, s, &slices, &n, &known);
    azure_local_add_hosts(scratch, slices, n, hosts);
    return known != 0;
}

/* All Services whose pool this is, those that others brought included. */
static bool add_hosts(struct azure_sync *y, const struct azure_item *it, const struct azure_pool *p,
                      struct arena *scratch, struct map *hosts)
{
    const struct tt_item *in = it->item->in;
    bool known = in->has_slices != 0;
    azure_local_add_hosts(scratch, in->slices, in->n_slices, hosts);
    for (size_t i = 0; i < y->n_services; i++) {
        const struct tt_service *s = y->services[i]->in;
        enum azure_family f;
        if (!azure_service_is(y->services[i], it->service) &&
            azure_local_counts(&y->p->config, s) &&
            azure_local_owns_pool(&y->p->naming, s, p->name, &f)) {
            known = add_hosts_of(y, s, scratch, hosts) || known;
        }
    }
    return known;
}

static bool has_address_of(const struct azure_pool *p, const struct tt_node *node)
{
    const char *ip = azure_node_internal_ip(node, p->ipv6 ? AZURE_IPV6 : AZURE_IPV4);
    struct json_object *o;
    AZURE_EACH (o, azure_array(p->doc, "loadBalancerBackendAddresses")) {
        if (ip[0] != '\0' && str_eq(azure_prop_str(o, "ipAddress"), ip)) {
            return true;
        }
    }
    return false;
}

const bool *azure_members_hosts(struct azure_sync *y, const struct azure_item *it,
                                const struct azure_pool *p)
{
    const struct tt_batch *batch = y->s->batch;
    enum azure_family f;
    if (!azure_local_counts(&y->p->config, it->service->in) ||
        !azure_local_owns_pool(&y->p->naming, it->service->in, p->name, &f)) {
        return NULL;
    }
    /* Asked for every Service of a batch: only the answer is kept. */
    _cleanup_(arena_freep) struct arena *scratch = arena_new();
    bool *ret = ARENA_ARRAY(y->s->a, bool, batch->n_nodes + 1);
    struct map *hosts = map_new(NULL);
    bool known = add_hosts(y, it, p, scratch, hosts);
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        ret[i] = known ? map_has(hosts, str_lower(scratch, batch->nodes[i]->name))
                       : has_address_of(p, batch->nodes[i]);
    }
    map_free(hosts);
    return ret;
}
