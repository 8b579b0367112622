/* SPDX-License-Identifier: Apache-2.0 */
/* negs.c: zonal network endpoint groups and their endpoints.
 *
 * Groups of type GCE_VM_IP hold virtual machines of their zone and subnetwork, by instance name and
 * address; at most 500 endpoints travel in one call.  Attaching one that is there, or detaching one
 * that is not, is an error, and then nothing of the call takes place.  Equal endpoints of all
 * groups are one JSON value (endpoints.c), which is immutable.
 * Source: compute v1 "networkEndpointGroups"; gce-l4.md §3.6, §9.2. */
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
    json_add_int(body, "size", 0);
    return ce_place_complete(q, body);
}

/* --- what a call names ------------------------------------------------------------------------ */

static bool check_count(struct request *q, struct json_object *endpoints)
{
    size_t n = json_len(endpoints);
    if (n == 0) {
        return ce_refuse_required(&q->refusal, q->a, "resource.networkEndpoints");
    }
    return n <= CALL_MAX || ce_refuse_invalid(&q->refusal, q->a, "resource.networkEndpoints",
                                              arena_printf(q->a, "%zu endpoints", n),
                                              "At most 500 endpoints are allowed in one call.");
}

static bool refuse_endpoint(struct request *q, size_t i, struct json_object *endpoint,
                            const char *why)
{
    return ce_refuse_invalid(&q->refusal, q->a,
                             arena_printf(q->a, "resource.networkEndpoints[%zu]", i),
                             str_nonnull(json_str(endpoint, "instance")), why);
}

static bool is_vm_ip(const struct request *q)
{
    return str_eq(json_str(q->res->body, "networkEndpointType"), "GCE_VM_IP");
}

static bool refuse_address(struct request *q, const char *member, const char *ip,
                           const struct resource *vm)
{
    const char *subnet = str_or(json_str(q->res->body, "subnetwork"),
                                str_nonnull(json_str(q->res->body, "network")));
    return ce_refuse_invalid(
        &q->refusal, q->a, arena_printf(q->a, "resource.%s", member), ip,
        arena_printf(
            q->a,
            "Specified IP address %s doesn't belong to the (sub)network %s or to the instance %s.",
            ip, ce_path_name(subnet), ce_path_name(vm->path)));
}

/* The machine's interface in the group's network and subnetwork must have
 * the endpoint's addresses. */
static bool check_addresses(struct request *q, struct json_object *endpoint,
                            const struct resource *vm)
{
    const char *ip = json_str(endpoint, "ipAddress"), *ip6 = json_str(endpoint, "ipv6Address");
    struct json_object *nic = ce_endpoint_nic(q, vm);
    const char *own = json_str(nic, "networkIP"), *own6 = json_str(nic, "ipv6Address");
    if (!nic) {
        return refuse_address(q, "ipAddress", str_or(ip, str_or(ip6, ce_path_name(vm->path))), vm);
    }
    if (is_vm_ip(q) && ip && !str_eq(ip, own)) {
        return refuse_address(q, "ipAddress", ip, vm);
    }
    return !is_vm_ip(q) || !ip6 || ce_address_same(ip6, own6) ||
           refuse_address(q, "ipv6Address", ip6, vm);
}

static bool check_endpoint(struct request *q, struct json_object *endpoint, size_t i)
{
    const char *instance = json_str(endpoint, "instance");
    const char *field = arena_printf(q->a, "resource.networkEndpoints[%zu].instance", i);
    if (!instance) {
        return ce_refuse_required(&q->refusal, q->a, field);
    }
    const char *path = ce_endpoint_vm_path(q, endpoint);
    const struct resource *vm = ce_store_get(q->c, path);
    bool is_link = strchr(instance, '/') != NULL;
    if (!vm || (is_link && !str_eq(ce_link_path(q->a, instance, q->folder), path))) {
        return ce_refuse_invalid(
            &q->refusal, q->a, field, instance,
            "The referenced instance cannot be found in the zone of the group.");
    }
    if (is_vm_ip(q) && json_member(endpoint, "port")) {
        return ce_refuse_invalid(&q->refusal, q->a,
                                 arena_printf(q->a, "resource.networkEndpoints[%zu].port", i), "…",
                                 "Endpoints of type GCE_VM_IP have no port.");
    }
    return check_addresses(q, endpoint, vm);
}

/* --- attach and detach ------------------------------------------------------------------------ */

/* The keys of the endpoints that are there; the caller frees it. */
static struct map *present_keys(struct request *q)
{
    struct map *keys = map_new(NULL);
    for (size_t i = 0; i < json_len(q->res->members); i++) {
        map_set(keys, ce_endpoint_key(q, json_object_array_get_idx(q->res->members, i)), NULL);
    }
    return keys;
}

static void store_members(struct request *q)
{
    struct json_object *body = json_copy(q->res->body);
    json_add_int(body, "size", (int64_t)json_len(q->res->members));
    ce_write_store(q, body);
}

static bool check_attach(struct request *q, struct json_object *endpoints,
                         const struct map *present, struct map *named)
{
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *endpoint = json_object_array_get_idx(endpoints, i);
        if (!check_endpoint(q, endpoint, i)) {
            return false;
        }
        const char *key = ce_endpoint_key(q, endpoint);
        if (map_has(present, key)) {
            return refuse_endpoint(q, i, endpoint,
                                   "The endpoint is already attached to the group.");
        }
        if (map_has(named, key)) {
            return refuse_endpoint(q, i, endpoint, "The endpoint is named twice.");
        }
        map_set(named, key, NULL);
    }
    return true;
}

bool ce_neg_attach(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *endpoints = json_member(q->body, "networkEndpoints");
    if (!check_count(q, endpoints)) {
        return false;
    }
    struct map *present = present_keys(q), *named = map_new(NULL);
    bool ok = check_attach(q, endpoints, present, named);
    map_free(named);
    map_free(present);
    if (!ok || !ce_quota_check_members(q, "MAX_ENDPOINTS_IN_NETWORK_ENDPOINT_GROUP",
                                       json_len(q->res->members) + json_len(endpoints))) {
        return false;
    }
    if (!q->res->members) {
        q->res->members = json_object_new_array();
    }
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *endpoint = json_object_array_get_idx(endpoints, i);
        json_object_array_add(q->res->members, ce_endpoint_share(q, endpoint));
    }
    store_members(q);
    return true;
}

static bool check_detach(struct request *q, struct json_object *endpoints,
                         const struct map *present, struct map *gone)
{
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *endpoint = json_object_array_get_idx(endpoints, i);
        const char *key = ce_endpoint_key(q, endpoint);
        if (!json_str(endpoint, "instance") || !map_has(present, key)) {
            return refuse_endpoint(q, i, endpoint, "The endpoint is not attached to the group.");
        }
        map_set(gone, key, NULL);
    }
    return true;
}

static void keep_others(struct request *q, const struct map *gone)
{
    struct json_object *left = json_object_new_array();
    for (size_t i = 0; i < json_len(q->res->members); i++) {
        struct json_object *member = json_object_array_get_idx(q->res->members, i);
        if (!map_has(gone, ce_endpoint_key(q, member))) {
            json_object_array_add(left, json_object_get(member));
        }
    }
    json_object_put(q->res->members);
    q->res->members = left;
    store_members(q);
}

bool ce_neg_detach(struct request *q, struct json_object **ret)
{
    (void)ret;
    struct json_object *endpoints = json_member(q->body, "networkEndpoints");
    if (!check_count(q, endpoints)) {
        return false;
    }
    struct map *present = present_keys(q), *gone = map_new(NULL);
    bool ok = check_detach(q, endpoints, present, gone);
    if (ok) {
        keep_others(q, gone);
    }
    map_free(gone);
    map_free(present);
    return ok;
}

/* --- list ------------------------------------------------------------------------------------- */

/* One verdict, for requests that ask for it; `service` uses the group; NULL: no health check. */
static struct json_object *healths(struct request *q, const char *service,
                                   const struct reach_answers *answers, struct json_object *member)
{
    struct json_object *health = json_object_new_object();
    const struct resource *holder = service ? ce_store_get(q->c, service) : NULL;
    const char *instance = str_nonnull(json_str(member, "instance"));
    bool healthy = !holder || ce_node_answers(q, answers, holder->body, instance);
    json_add_str(health, "healthState", healthy ? "HEALTHY" : "UNHEALTHY");
    if (service) {
        struct json_object *reference = json_object_new_object();
        json_add_str(reference, "backendService", ce_link_full(q->a, service));
        json_add(health, "backendService", reference);
    }
    struct json_object *list = json_object_new_array();
    json_object_array_add(list, health);
    return list;
}

bool ce_neg_list(struct request *q, struct json_object **ret)
{
    struct json_object *items = json_object_new_array();
    bool show = str_eq(json_str(q->body, "healthStatus"), "SHOW");
    const char *service = show ? ce_references_user(q->c, q->a, q->res->path) : NULL;
    const struct reach_answers *answers = service ? ce_answers(q) : NULL;
    for (size_t i = 0; i < json_len(q->res->members); i++) {
        struct json_object *member = json_object_array_get_idx(q->res->members, i);
        struct json_object *item = json_object_new_object();
        json_add(item, "networkEndpoint", json_object_get(member));
        if (show) {
            json_add(item, "healths", healths(q, service, answers, member));
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
