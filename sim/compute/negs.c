/* SPDX-License-Identifier: Apache-2.0 */
/* negs.c: zonal network endpoint groups and their endpoints.
 *
 * Groups of type GCE_VM_IP hold virtual machines of their zone and subnetwork, by instance name and address; at
 * most 500 endpoints travel in one call.  Attaching one that is there, or detaching one that is not, is an
 * error.  Source: compute v1 "networkEndpointGroups"; gce-l4.md §3.6, §9.2. */
#include "sim/compute/compute.h"

#include <string.h>

#define CALL_MAX 500

bool ce_neg_insert(struct request *q, struct json_object *body)
{
    const char *type = json_str(body, "networkEndpointType");
    bool vm_ip = str_eq(type, "GCE_VM_IP");
    if (!vm_ip && !str_eq(type, "GCE_VM_IP_PORT")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.networkEndpointType", type,
                                 "Zonal groups here are GCE_VM_IP or GCE_VM_IP_PORT.");
    }
    if (vm_ip && json_member(body, "defaultPort")) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.defaultPort", "…",
                                 "Groups of type GCE_VM_IP have no port.");
    }
    if (!json_str(body, "network")) {
        json_add_str(
            body, "network",
            ce_link_full(
                q->a, arena_printf(q->a, "projects/%s/global/networks/" SIM_NETWORK, q->project)));
    }
    json_add_int(body, "size", 0);
    return true;
}

static bool same_endpoint(struct json_object *x, struct json_object *y)
{
    const char *ix = json_str(x, "instance"), *iy = json_str(y, "instance");
    if (!ix || !iy || !str_eq(ce_path_name(ix), ce_path_name(iy))) {
        return false;
    }
    const char *ax = json_str(x, "ipAddress"), *ay = json_str(y, "ipAddress");
    return (!ax || !ay || str_eq(ax, ay)) && json_int(x, "port", 0) == json_int(y, "port", 0);
}

/* Among the first n of a list; SIZE_MAX: not there. */
static size_t endpoint_index(struct json_object *list, size_t n, struct json_object *endpoint)
{
    for (size_t i = 0; i < n; i++) {
        if (same_endpoint(json_object_array_get_idx(list, i), endpoint)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static size_t member_index(struct request *q, struct json_object *endpoint)
{
    return endpoint_index(q->res->members, json_len(q->res->members), endpoint);
}

static bool refuse_endpoint(struct request *q, size_t i, struct json_object *endpoint,
                            const char *why)
{
    return ce_refuse_invalid(&q->refusal, q->a,
                             arena_printf(q->a, "resource.networkEndpoints[%zu]", i),
                             str_nonnull(json_str(endpoint, "instance")), why);
}

static bool check_call(struct request *q, struct json_object *endpoints)
{
    size_t n = json_len(endpoints);
    if (n == 0) {
        return ce_refuse_required(&q->refusal, q->a, "resource.networkEndpoints");
    }
    return n <= CALL_MAX || ce_refuse_invalid(&q->refusal, q->a, "resource.networkEndpoints",
                                              arena_printf(q->a, "%zu endpoints", n),
                                              "At most 500 endpoints are allowed in one call.");
}

static bool check_endpoint(struct request *q, struct json_object *endpoint, size_t i)
{
    const char *instance = json_str(endpoint, "instance");
    const char *field = arena_printf(q->a, "resource.networkEndpoints[%zu].instance", i);
    if (!instance) {
        return ce_refuse_required(&q->refusal, q->a, field);
    }
    const char *path = arena_printf(q->a, "projects/%s/zones/%s/instances/%s", q->project,
                                    q->location, ce_path_name(instance));
    const struct resource *vm = ce_store_get(q->c, path);
    bool is_link = strchr(instance, '/') != NULL;
    if (!vm || (is_link && !str_eq(ce_link_path(q->a, instance, q->folder), path))) {
        return ce_refuse_invalid(
            &q->refusal, q->a, field, instance,
            "The referenced instance cannot be found in the zone of the group.");
    }
    bool vm_ip = str_eq(json_str(q->res->body, "networkEndpointType"), "GCE_VM_IP");
    if (vm_ip && json_member(endpoint, "port")) {
        return ce_refuse_invalid(&q->refusal, q->a,
                                 arena_printf(q->a, "resource.networkEndpoints[%zu].port", i), "…",
                                 "Endpoints of type GCE_VM_IP have no port.");
    }
    struct json_object *nic =
        json_object_array_get_idx(json_member(vm->body, "networkInterfaces"), 0);
    const char *ip = json_str(endpoint, "ipAddress");
    if (vm_ip && ip && !str_eq(ip, json_str(nic, "networkIP"))) {
        return ce_refuse_invalid(&q->refusal, q->a,
                                 arena_printf(q->a, "resource.networkEndpoints[%zu].ipAddress", i),
                                 ip, "The address is not the primary one of the instance.");
    }
    return true;
}

static void store_members(struct request *q)
{
    struct json_object *body = json_copy(q->res->body);
    json_add_int(body, "size", (int64_t)json_len(q->res->members));
    ce_write_store(q, body);
}

bool ce_neg_attach(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *endpoints = json_member(q->body, "networkEndpoints");
    if (!check_call(q, endpoints)) {
        return false;
    }
    if (!q->res->members) {
        q->res->members = json_object_new_array();
    }
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *endpoint = json_object_array_get_idx(endpoints, i);
        if (!check_endpoint(q, endpoint, i)) {
            return false;
        }
        if (member_index(q, endpoint) != SIZE_MAX) {
            return refuse_endpoint(q, i, endpoint,
                                   "The endpoint is already attached to the group.");
        }
        if (endpoint_index(endpoints, i, endpoint) != SIZE_MAX) {
            return refuse_endpoint(q, i, endpoint, "The endpoint is named twice.");
        }
    }
    for (size_t i = 0; i < json_len(endpoints); i++) {
        json_object_array_add(q->res->members, json_copy(json_object_array_get_idx(endpoints, i)));
    }
    store_members(q);
    return true;
}

bool ce_neg_detach(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *endpoints = json_member(q->body, "networkEndpoints");
    if (!check_call(q, endpoints)) {
        return false;
    }
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *endpoint = json_object_array_get_idx(endpoints, i);
        if (member_index(q, endpoint) == SIZE_MAX) {
            return refuse_endpoint(q, i, endpoint, "The endpoint is not attached to the group.");
        }
    }
    for (size_t i = 0; i < json_len(endpoints); i++) {
        size_t at = member_index(q, json_object_array_get_idx(endpoints, i));
        if (at != SIZE_MAX) {
            json_object_array_del_idx(q->res->members, at, 1);
        }
    }
    store_members(q);
    return true;
}

/* One healthy verdict, for requests that want to see it. */
static struct json_object *healths(void)
{
    struct json_object *health = json_object_new_object();
    json_add_str(health, "healthState", "HEALTHY");
    struct json_object *list = json_object_new_array();
    json_object_array_add(list, health);
    return list;
}

bool ce_neg_list(struct request *q, struct json_object **ret)
{
    struct json_object *items = json_object_new_array();
    bool show = str_eq(json_str(q->body, "healthStatus"), "SHOW");
    for (size_t i = 0; i < json_len(q->res->members); i++) {
        struct json_object *item = json_object_new_object();
        json_add(item, "networkEndpoint", json_copy(json_object_array_get_idx(q->res->members, i)));
        if (show) {
            json_add(item, "healths", healths());
        }
        json_object_array_add(items, item);
    }
    struct json_object *list = json_object_new_object();
    json_add_str(list, "kind", "compute#networkEndpointGroupsListNetworkEndpoints");
    json_add_str(list, "id", arena_printf(q->a, "%s/listNetworkEndpoints", q->res->path));
    if (!ce_read_page(q, items, list)) {
        json_object_put(list);
        return false;
    }
    *ret = list;
    return true;
}
