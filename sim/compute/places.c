/* SPDX-License-Identifier: Apache-2.0 */
/* places.c: networks, subnetworks, and the network interfaces that machines have in them.
 *
 * Groups of both kinds, backend services and internal rules are each in one network, and machines
 * join them by the interface that they have there.  Resources of a world may lack these members:
 * what is not there contradicts nothing.
 * Source: compute v1 "networkEndpointGroups", "instanceGroups", "subnetworks";
 * gce-cloud-provider.md §5.9. */
#include "sim/compute/compute.h"

#include <string.h>

const char *ce_place_default_network(struct request *q)
{
    return ce_link_full(q->a,
                        arena_printf(q->a, "projects/%s/global/networks/" SIM_NETWORK, q->project));
}

bool ce_place_complete(struct request *q, struct json_object *body)
{
    const char *network = json_str(body, "network"), *subnetwork = json_str(body, "subnetwork");
    const struct resource *subnet =
        subnetwork ? ce_store_get(q->c, ce_link_path(q->a, subnetwork, q->folder)) : NULL;
    const char *home = subnet ? json_str(subnet->body, "network") : NULL;
    if (!network) {
        json_add_str(body, "network", home ? home : ce_place_default_network(q));
        return true;
    }
    if (!home || ce_link_same(q->a, home, network, q->folder)) {
        return true;
    }
    return ce_refuse_invalid(
        &q->refusal, q->a, "resource.subnetwork", subnetwork,
        arena_printf(q->a, "The subnetwork resource '%s' is not part of the network resource '%s'.",
                     subnet->path, str_nonnull(ce_link_path(q->a, network, q->folder))));
}

/* Does the interface contradict the link in its member?  NULL links and
 * members contradict nothing. */
static bool is_in(struct request *q, struct json_object *nic, const char *member, const char *link)
{
    const char *own = json_str(nic, member);
    return !own || !link || ce_link_same(q->a, own, link, q->folder);
}

struct json_object *ce_place_nic(struct request *q, const struct resource *vm, const char *network,
                                 const char *subnetwork)
{
    struct json_object *nics = vm ? json_member(vm->body, "networkInterfaces") : NULL;
    for (size_t i = 0; i < json_len(nics); i++) {
        struct json_object *nic = json_object_array_get_idx(nics, i);
        if (is_in(q, nic, "network", network) && is_in(q, nic, "subnetwork", subnetwork)) {
            return nic;
        }
    }
    return NULL;
}

const char *ce_place_of_group(struct request *q, const struct resource *group, const char *member)
{
    const char *own = json_str(group->body, member);
    if (own || json_len(group->members) == 0) {
        return own;
    }
    struct json_object *first = json_object_array_get_idx(group->members, 0);
    const char *path = ce_link_path(q->a, json_object_get_string(first), group->path);
    const struct resource *vm = path ? ce_store_get(q->c, path) : NULL;
    return json_str(ce_place_nic(q, vm, NULL, NULL), member);
}
