/* SPDX-License-Identifier: Apache-2.0 */
/* azure_members_facts.c: what others want to know of members: VM sets of the nodes, addresses
 * behind a balancer.
 *
 * Looks through what was read, reads nothing.  Source: docs/spec/azure.md 5.4, 9.2. */
#include "providers/azure/members/azure_members.h"
#include "providers/azure/members/azure_members_gather.h"

#include "common/base/str.h"

struct azure_vm_sets azure_members_vm_sets(struct azure_sync *y)
{
    struct azure_members m;
    azure_members_gather_for(y, NULL, 0, &m);
    const char **names = ARENA_ARRAY(y->s->a, const char *, m.in.n_nodes + 1);
    struct map *there = map_new(NULL);
    size_t n = 0;
    for (size_t i = 0; i < m.in.n_nodes; i++) {
        const struct azure_member_node *node = &m.in.nodes[i];
        bool counts =
            node->vm_set != NULL && !node->excluded && !azure_node_is_control_plane(node->node);
        if (counts && !map_has(there, str_lower(y->s->a, node->vm_set))) {
            map_set(there, str_lower(y->s->a, node->vm_set), NULL);
            names[n++] = node->vm_set;
        }
    }
    map_free(there);
    return (struct azure_vm_sets){.names = names, .n = n};
}

/* ---- addresses ------------------------------------------------------------------------------- */

struct addresses {
    struct azure_sync *y;
    const struct azure_members_in *in;
    const struct map *nodes; /* machine → node */
    struct map *there;
    const char **items;
    size_t n;
    size_t most;
};

static void add(struct addresses *x, const char *ip)
{
    if (!str_is_empty(ip) && x->n < x->most && !map_has(x->there, ip)) {
        map_set(x->there, ip, NULL);
        x->items[x->n++] = ip;
    }
}

static void add_pool(struct addresses *x, struct json_object *pool)
{
    struct json_object *o;
    bool ipv6 = azure_pool_is_ipv6(azure_doc_name(pool));
    AZURE_EACH (o, azure_array(pool, "loadBalancerBackendAddresses")) {
        add(x, azure_prop_str(o, "ipAddress"));
    }
    AZURE_EACH (o, azure_array(pool, "backendIPConfigurations")) {
        const char *machine = azure_members_machine(x->y->s->a, x->in->nics, azure_doc_id(o));
        const struct azure_member_node *n = machine != NULL ? map_get(x->nodes, machine) : NULL;
        if (n != NULL) {
            add(x, azure_node_internal_ip(n->node, ipv6 ? AZURE_IPV6 : AZURE_IPV4));
        }
    }
}

struct azure_texts azure_members_ips(struct azure_sync *y, struct json_object *lb)
{
    struct azure_members m;
    struct json_object *o;
    azure_members_gather_for(y, NULL, 0, &m);
    struct map *nodes = map_new(NULL);
    for (size_t i = 0; i < m.in.n_nodes; i++) {
        map_set(nodes, m.in.nodes[i].machine, &m.in.nodes[i]);
    }
    struct addresses x = {.y = y, .in = &m.in, .nodes = nodes, .there = map_new(NULL), .most = 0};
    AZURE_EACH (o, azure_array(lb, "backendAddressPools")) {
        x.most += json_len(azure_array(o, "loadBalancerBackendAddresses")) +
                  json_len(azure_array(o, "backendIPConfigurations"));
    }
    x.items = ARENA_ARRAY(y->s->a, const char *, x.most + 1);
    AZURE_EACH (o, azure_array(lb, "backendAddressPools")) {
        add_pool(&x, o);
    }
    map_free(nodes);
    map_free(x.there);
    return (struct azure_texts){.items = x.items, .n = x.n};
}
