/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints.c: what an endpoint of a group is, when two are the same, and one copy of equal ones.
 *
 * An endpoint is known by its machine, its addresses and its port.  Who leaves the address out
 * means the machine's own in the network of the group.  A cluster has few machines and many groups,
 * so equal endpoints are one JSON value that every group refers to: 5,000 groups of 25 are not
 * 125,000 objects.  Shared values are never changed.
 * Source: compute v1 "NetworkEndpoint"; gce-l4.md §3.5, §9.2. */
#include "common/base/ip.h"
#include "sim/compute/compute.h"

#include <string.h>

const char *ce_endpoint_vm_path(struct request *q, struct json_object *endpoint)
{
    return arena_printf(q->a, "projects/%s/zones/%s/instances/%s", q->project, q->location,
                        ce_path_name(str_nonnull(json_str(endpoint, "instance"))));
}

struct json_object *ce_endpoint_nic(struct request *q, const struct resource *vm)
{
    return ce_place_nic(q, vm, json_str(q->res->body, "network"),
                        json_str(q->res->body, "subnetwork"));
}

/* The machine's own address, for an endpoint of a group of machines that names none. */
static const char *own_address(struct request *q, struct json_object *endpoint)
{
    if (!str_eq(json_str(q->res->body, "networkEndpointType"), "GCE_VM_IP") ||
        json_str(endpoint, "ipv6Address")) {
        return NULL;
    }
    const struct resource *vm = ce_store_get(q->c, ce_endpoint_vm_path(q, endpoint));
    return json_str(ce_endpoint_nic(q, vm), "networkIP");
}

const char *ce_endpoint_key(struct request *q, struct json_object *endpoint)
{
    const char *ip = json_str(endpoint, "ipAddress"), *ip6 = json_str(endpoint, "ipv6Address");
    struct ip_addr parsed;
    char canonical[IP_TEXT_MAX] = "";
    if (ip6 && ip_parse(ip6, &parsed)) {
        ip_format(&parsed, canonical);
    }
    return arena_printf(q->a, "%s %s %s %lld",
                        ce_path_name(str_nonnull(json_str(endpoint, "instance"))),
                        str_nonnull(ip ? ip : own_address(q, endpoint)), canonical,
                        (long long)json_int(endpoint, "port", 0));
}

static void put_value(void *value)
{
    json_object_put(value);
}

struct json_object *ce_endpoint_intern(struct compute *c, struct json_object *endpoint)
{
    struct arena *a = arena_new();
    const char *text = json_text(a, endpoint, JSON_SORTED);
    if (!c->endpoints) {
        c->endpoints = map_new(put_value);
    }
    struct json_object *shared = map_get(c->endpoints, text);
    if (!shared) {
        shared = json_copy(endpoint);
        map_set(c->endpoints, text, shared);
    }
    arena_free(a);
    return json_object_get(shared);
}

struct json_object *ce_endpoint_share(struct request *q, struct json_object *endpoint)
{
    const char *ip = json_str(endpoint, "ipAddress") ? NULL : own_address(q, endpoint);
    if (!ip) {
        return ce_endpoint_intern(q->c, endpoint);
    }
    struct json_object *full = json_copy(endpoint);
    json_add_str(full, "ipAddress", ip);
    struct json_object *shared = ce_endpoint_intern(q->c, full);
    json_object_put(full);
    return shared;
}
