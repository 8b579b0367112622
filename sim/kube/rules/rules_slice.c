/* SPDX-License-Identifier: Apache-2.0 */
/* rules_slice.c: the rules of EndpointSlices and of Endpoints.
 *
 * Pure: edits and judges trees.  Recorded: 104, tests/data/kube-answers. */
#include "common/base/ip.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

#define ENDPOINTS_MAX 1000
#define PORTS_MAX     20000
#define ADDRESSES_MAX 100
#define HINTS_MAX     8 /* zones, and nodes, of one endpoint */

/* --- EndpointSlice ---------------------------------------------------------------------------- */
static void slice_defaults(struct kube_change *c)
{
    struct json_object *ports = json_member(c->now, "ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        if (!json_member(p, "name")) {
            kube_set(p, "name", json_object_new_string(""));
        }
        if (!json_member(p, "protocol")) {
            kube_set(p, "protocol", json_object_new_string("TCP"));
        }
    }
}

/* Topology has members of its own in this version; the old map is not kept. */
static void slice_prepare(struct kube_change *c)
{
    struct json_object *endpoints = json_member(c->now, "endpoints");
    for (size_t i = 0; i < json_len(endpoints); i++) {
        kube_set(json_object_array_get_idx(endpoints, i), "deprecatedTopology", NULL);
    }
}

static void too_many(struct kube_causes *causes, const char *field, size_t n, size_t max)
{
    kube_cause(causes, KUBE_TOO_MANY, field, arena_printf(causes->arena, "%zu", n),
               arena_printf(causes->arena, "must have at most %zu items", max));
}

static void validate_address(struct kube_causes *causes, const char *at, size_t i, const char *type,
                             const char *address)
{
    const char *field = arena_printf(causes->arena, "%s.addresses[%zu]", at, i);
    struct ip_addr ip;
    if (str_eq(type, "FQDN")) {
        const char *dot = strchr(address, '.');
        if (!dot || !dot[1]) {
            kube_invalid(causes, field, address,
                         "should be a domain with at least two segments separated by dots");
        }
        return;
    }
    kube_check_ip(causes, field, address);
    if (ip_parse_sloppy(address, &ip) && ip.len != (str_eq(type, "IPv6") ? 16 : 4)) {
        kube_invalid(causes, arena_printf(causes->arena, "%s.addresses", at), address,
                     arena_printf(causes->arena, "must be an %s address", type));
    }
    kube_check_endpoint_ip(causes, field, address);
}

/* One list of hints, forZones or forNodes: each name once, and one that a zone's label or
 * a node may have. */
static void validate_hint_names(struct json_object *hints, const char *list, const char *at,
                                struct kube_causes *causes)
{
    struct json_object *names = json_member(hints, list);
    for (size_t i = 0; i < json_len(names); i++) {
        const char *name = str_nonnull(json_str(json_object_array_get_idx(names, i), "name"));
        const char *field = arena_printf(causes->arena, "%s.hints.%s[%zu].name", at, list, i);
        for (size_t k = 0; k < i; k++) {
            if (str_eq(json_str(json_object_array_get_idx(names, k), "name"), name)) {
                kube_duplicate(causes, field, kube_quoted(causes->arena, name));
                break;
            }
        }
        if (str_eq(list, "forZones")) {
            kube_check_label_value(causes, field, name);
        } else {
            kube_check_dns_subdomain(causes, field, name);
        }
    }
}

/* A list that is too long ends the judgement: the API server then says nothing about its names. */
static void validate_hints(struct json_object *hints, const char *at, struct kube_causes *causes)
{
    static const char *const lists[] = {"forZones", "forNodes"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        size_t n = json_len(json_member(hints, lists[i]));
        if (n > HINTS_MAX) {
            too_many(causes, arena_printf(causes->arena, "%s.hints.%s", at, lists[i]), n,
                     HINTS_MAX);
            return;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        validate_hint_names(hints, lists[i], at, causes);
    }
}

static void validate_endpoint(struct json_object *e, const char *at, const char *type,
                              struct kube_causes *causes)
{
    struct json_object *addresses = json_member(e, "addresses");
    const char *field = arena_printf(causes->arena, "%s.addresses", at);
    const char *node = json_str(e, "nodeName");
    const char *host = json_str(e, "hostname");
    if (json_len(addresses) == 0) {
        kube_required(causes, field, "must contain at least 1 address");
    } else if (json_len(addresses) > ADDRESSES_MAX) {
        too_many(causes, field, json_len(addresses), ADDRESSES_MAX);
    }
    for (size_t i = 0; i < json_len(addresses) && json_len(addresses) <= ADDRESSES_MAX; i++) {
        validate_address(causes, at, i, type, kube_item(addresses, i));
    }
    if (node) {
        kube_check_dns_subdomain(causes, arena_printf(causes->arena, "%s.nodeName", at), node);
    }
    validate_hints(json_member(e, "hints"), at, causes);
    if (host) {
        kube_check_dns_label(causes, arena_printf(causes->arena, "%s.hostname", at), host);
    }
}

/* `names` holds the names of the ports before. */
static void validate_slice_port(struct json_object *ports, size_t i, struct map *names,
                                struct kube_causes *causes)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    struct json_object *p = json_object_array_get_idx(ports, i);
    const char *name = str_nonnull(json_str(p, "name"));
    const char *protocol = str_nonnull(json_str(p, "protocol"));
    const char *app = json_str(p, "appProtocol");
    const char *field = arena_printf(causes->arena, "ports[%zu].name", i);
    if (*name) {
        kube_check_dns_label(causes, field, name);
    }
    if (map_has(names, name)) {
        kube_duplicate(causes, field, kube_quoted(causes->arena, name));
    }
    map_set(names, name, NULL);
    if (!str_eq(protocol, "TCP") && !str_eq(protocol, "UDP") && !str_eq(protocol, "SCTP")) {
        kube_not_supported(causes, arena_printf(causes->arena, "ports[%zu].protocol", i), protocol,
                           protocols);
    }
    if (app) {
        kube_check_qualified_name(causes, arena_printf(causes->arena, "ports[%zu].appProtocol", i),
                                  app);
    }
}

static void slice_validate(const struct kube_change *c, struct kube_causes *causes)
{
    static const char *const types[] = {"FQDN", "IPv4", "IPv6", NULL};
    const char *type = str_nonnull(json_str(c->now, "addressType"));
    struct json_object *endpoints = json_member(c->now, "endpoints");
    struct json_object *ports = json_member(c->now, "ports");
    if (c->was && !str_eq(type, str_nonnull(json_str(c->was, "addressType")))) {
        kube_invalid(causes, "addressType", type, "field is immutable");
        type =
            str_nonnull(json_str(c->was, "addressType")); /* addresses are judged by the old one */
    } else if (!*type) {
        kube_required(causes, "addressType", NULL);
    } else if (!str_eq(type, "FQDN") && !str_eq(type, "IPv4") && !str_eq(type, "IPv6")) {
        kube_not_supported(causes, "addressType", type, types);
    }
    if (json_len(endpoints) > ENDPOINTS_MAX) {
        too_many(causes, "endpoints", json_len(endpoints), ENDPOINTS_MAX);
    }
    for (size_t i = 0; i < json_len(endpoints) && json_len(endpoints) <= ENDPOINTS_MAX; i++) {
        validate_endpoint(json_object_array_get_idx(endpoints, i),
                          arena_printf(causes->arena, "endpoints[%zu]", i), type, causes);
    }
    if (json_len(ports) > PORTS_MAX) {
        too_many(causes, "ports", json_len(ports), PORTS_MAX);
    }
    struct map *names = map_new(NULL);
    for (size_t i = 0; i < json_len(ports) && json_len(ports) <= PORTS_MAX; i++) {
        validate_slice_port(ports, i, names, causes);
    }
    map_free(names);
}

const struct kube_rules kube_rules_endpoint_slice = {
    .set_defaults = slice_defaults,
    .prepare = slice_prepare,
    .validate = slice_validate,
};

/* --- Endpoints -------------------------------------------------------------------------------- */
static void endpoints_defaults(struct kube_change *c)
{
    struct json_object *subsets = json_member(c->now, "subsets");
    for (size_t i = 0; i < json_len(subsets); i++) {
        struct json_object *ports = json_member(json_object_array_get_idx(subsets, i), "ports");
        for (size_t k = 0; k < json_len(ports); k++) {
            struct json_object *p = json_object_array_get_idx(ports, k);
            if (str_is_empty(json_str(p, "protocol"))) {
                kube_set(p, "protocol", json_object_new_string("TCP"));
            }
        }
    }
}

static void validate_subset(struct json_object *subset, const char *at, struct kube_causes *causes)
{
    static const char *const lists[] = {"addresses", "notReadyAddresses"};
    struct json_object *ports = json_member(subset, "ports");
    if (json_len(json_member(subset, lists[0])) + json_len(json_member(subset, lists[1])) == 0) {
        kube_required(causes, at, "must specify `addresses` or `notReadyAddresses`");
    }
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        struct json_object *list = json_member(subset, lists[k]);
        for (size_t i = 0; i < json_len(list); i++) {
            const char *ip = str_nonnull(json_str(json_object_array_get_idx(list, i), "ip"));
            const char *field = arena_printf(causes->arena, "%s.%s[%zu].ip", at, lists[k], i);
            kube_check_ip(causes, field, ip);
            kube_check_endpoint_ip(causes, field, ip);
        }
    }
    for (size_t i = 0; i < json_len(ports); i++) {
        int64_t port = json_int(json_object_array_get_idx(ports, i), "port", 0);
        if (port < 1 || port > 65535) {
            kube_invalid_int(causes, arena_printf(causes->arena, "%s.ports[%zu].port", at, i), port,
                             "must be between 1 and 65535, inclusive");
        }
    }
}

static void endpoints_validate(const struct kube_change *c, struct kube_causes *causes)
{
    struct json_object *subsets = json_member(c->now, "subsets");
    for (size_t i = 0; i < json_len(subsets); i++) {
        validate_subset(json_object_array_get_idx(subsets, i),
                        arena_printf(causes->arena, "subsets[%zu]", i), causes);
    }
}

const struct kube_rules kube_rules_endpoints = {
    .set_defaults = endpoints_defaults,
    .validate = endpoints_validate,
};
