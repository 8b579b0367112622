/* SPDX-License-Identifier: Apache-2.0 */
/* backends.c: regional backend services of pass-through load balancers.
 *
 * Protocol, scheme, health check and backends must go together, instance groups and NEGs are not
 * mixed, and the instances of a group may be behind one load-balanced group only; policies.c looks
 * at the rest.  A PUT names the fingerprint that it read (write.c).
 * Source: compute v1 "regionBackendServices"; gce-cloud-provider.md §5.5, §5.9, §16; gce-l4.md
 * §4.6, §8.3, §8.4. */
#include "sim/compute/compute.h"

#include <string.h>

#define BACKENDS_MAX 50

static bool check_protocol(struct request *q, struct json_object *body)
{
    static const char *const allowed[] = {"TCP", "UDP", "UNSPECIFIED"};
    const char *protocol = json_str(body, "protocol");
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        if (str_eq(allowed[i], protocol)) {
            return true;
        }
    }
    return ce_refuse_invalid(&q->refusal, q->a, "resource.protocol", str_nonnull(protocol),
                             "Must be TCP, UDP or UNSPECIFIED for this load balancing scheme.");
}

static bool check_scheme(struct request *q, struct json_object *body)
{
    const char *scheme = json_str(body, "loadBalancingScheme");
    return str_eq(scheme, "INTERNAL") || str_eq(scheme, "EXTERNAL") ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.loadBalancingScheme", scheme,
                             "Regional backend services here are INTERNAL or EXTERNAL.");
}

/* --- backends --------------------------------------------------------------------------------- */

static bool is_neg_link(const char *link)
{
    return strstr(link, "/networkEndpointGroups/") ||
           str_has_prefix(link, "networkEndpointGroups/");
}

static bool check_duplicate(struct request *q, struct json_object *backends, size_t i,
                            const char *link, const char *field)
{
    for (size_t k = 0; k < i; k++) {
        const char *other = json_str(json_object_array_get_idx(backends, k), "group");
        if (ce_link_same(q->a, link, other, q->folder)) {
            return ce_refuse_invalid(&q->refusal, q->a, field, link,
                                     is_neg_link(link)
                                         ? "Duplicate network endpoint groups in backend service."
                                         : "Duplicate instance groups in backend service.");
        }
    }
    return true;
}

/* Only connections are balanced: by no other measure, and without a target. */
static bool check_balancing(struct request *q, struct json_object *backend, size_t i)
{
    static const char *const targets[] = {
        "maxConnections", "maxConnectionsPerEndpoint", "maxConnectionsPerInstance",
        "maxRate",        "maxRatePerEndpoint",        "maxRatePerInstance",
        "maxUtilization"};
    const char *mode = json_str(backend, "balancingMode");
    if (mode && !str_eq(mode, "CONNECTION")) {
        return ce_refuse_invalid(&q->refusal, q->a,
                                 arena_printf(q->a, "resource.backends[%zu].balancingMode", i),
                                 mode, "Must be CONNECTION for this load balancing scheme.");
    }
    for (size_t t = 0; t < ARRAY_LEN(targets); t++) {
        struct json_object *value = json_member(backend, targets[t]);
        if (value && json_object_get_double(value) > 0) {
            return ce_refuse_invalid(
                &q->refusal, q->a, arena_printf(q->a, "resource.backends[%zu].%s", i, targets[t]),
                json_object_get_string(value), "Not supported for this load balancing scheme.");
        }
    }
    json_add_str(backend, "balancingMode", "CONNECTION");
    return true;
}

/* A group of an internal balancer has a network: that of its first instance, or
 * of its endpoints. */
static bool check_group(struct request *q, struct json_object *body, const char *link,
                        const char *field)
{
    const struct resource *group = ce_store_get(q->c, ce_link_path(q->a, link, q->folder));
    if (is_neg_link(link)) {
        return str_eq(json_str(group->body, "networkEndpointType"), "GCE_VM_IP") ||
               ce_refuse_invalid(&q->refusal, q->a, field, link,
                                 "Must be a group of type GCE_VM_IP for this load balancing "
                                 "scheme.");
    }
    return !str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL") ||
           ce_place_of_group(q, group, "network") ||
           ce_refuse_invalid(&q->refusal, q->a, field, link,
                             "Instance group must have a network to be attached to a backend "
                             "service. Add an instance to give the instance group a network.");
}

const char *ce_backend_network(struct request *q, struct json_object *service)
{
    const char *network = json_str(service, "network");
    struct json_object *backends = json_member(service, "backends");
    for (size_t i = 0; i < json_len(backends) && !network; i++) {
        const char *link = json_str(json_object_array_get_idx(backends, i), "group");
        const char *path = ce_link_path(q->a, link, q->folder);
        const struct resource *group = path ? ce_store_get(q->c, path) : NULL;
        network = group ? ce_place_of_group(q, group, "network") : NULL;
    }
    return network;
}

/* The backends of an internal balancer are all in its network. */
static bool check_networks(struct request *q, struct json_object *body)
{
    const char *network = ce_backend_network(q, body);
    struct json_object *backends = json_member(body, "backends");
    bool internal = str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL");
    for (size_t i = 0; i < json_len(backends) && internal && network; i++) {
        const char *link = json_str(json_object_array_get_idx(backends, i), "group");
        const struct resource *group = ce_store_get(q->c, ce_link_path(q->a, link, q->folder));
        const char *own = ce_place_of_group(q, group, "network");
        if (own && !ce_link_same(q->a, own, network, q->folder)) {
            return ce_refuse_invalid(&q->refusal, q->a,
                                     arena_printf(q->a, "resource.backends[%zu].group", i), link,
                                     "All backends must be in the network of the backend service.");
        }
    }
    return true;
}

static bool check_backends(struct request *q, struct json_object *body)
{
    struct json_object *backends = json_member(body, "backends");
    size_t negs = 0, n = json_len(backends);
    if (n > BACKENDS_MAX) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.backends",
                                 arena_printf(q->a, "%zu backends", n),
                                 "At most 50 backends are allowed.");
    }
    for (size_t i = 0; i < n; i++) {
        struct json_object *backend = json_object_array_get_idx(backends, i);
        const char *link = json_str(backend, "group");
        const char *field = arena_printf(q->a, "resource.backends[%zu].group", i);
        if (!link) {
            return ce_refuse_required(&q->refusal, q->a, field);
        }
        if (!check_duplicate(q, backends, i, link, field) || !check_group(q, body, link, field) ||
            !check_balancing(q, backend, i)) {
            return false;
        }
        negs += is_neg_link(link);
    }
    if (negs > 0 && negs < n) {
        return ce_refuse(&q->refusal, q->a, 400, "invalid",
                         "Instance groups and network endpoint groups cannot be mixed in one "
                         "backend service.");
    }
    return check_networks(q, body) && ce_group_check_backends(q, backends);
}

/* --- health checks ---------------------------------------------------------------------------- */

/* External balancers want one of their region, internal ones take global ones, too. */
static bool check_health_checks(struct request *q, struct json_object *body)
{
    struct json_object *checks = json_member(body, "healthChecks");
    if (json_len(checks) != 1) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.healthChecks",
                                 arena_printf(q->a, "%zu health checks", json_len(checks)),
                                 "Exactly one health check is required.");
    }
    const char *link = json_object_get_string(json_object_array_get_idx(checks, 0));
    bool regional = ce_path_region(q->a, ce_link_path(q->a, link, q->folder)) != NULL;
    return regional || str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL") ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.healthChecks[0]", link,
                             "A global health check is not supported for the load balancing "
                             "scheme EXTERNAL; a regional one is required.");
}

/* --- the service ------------------------------------------------------------------------------ */

static void add_service_defaults(struct json_object *body)
{
    static const struct {
        const char *member, *value;
    } texts[] = {
        {"loadBalancingScheme", "EXTERNAL"}, {"protocol", "TCP"}, {"sessionAffinity", "NONE"}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!json_str(body, texts[i].member)) {
            json_add_str(body, texts[i].member, texts[i].value);
        }
    }
    if (!json_member(body, "timeoutSec")) {
        json_add_int(body, "timeoutSec", 30);
    }
    struct json_object *draining = json_member(body, "connectionDraining");
    if (!draining) {
        draining = json_object_new_object();
        json_add(body, "connectionDraining", draining);
    }
    if (!json_member(draining, "drainingTimeoutSec")) {
        json_add_int(draining, "drainingTimeoutSec", 0);
    }
}

/* External ones are in the network of their rules' traffic, and name none. */
static bool check_own_network(struct request *q, struct json_object *body)
{
    const char *network = json_str(body, "network");
    return !network || str_eq(json_str(body, "loadBalancingScheme"), "INTERNAL") ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.network", network,
                             "The network can be specified for the load balancing scheme INTERNAL "
                             "only.");
}

static bool check_service(struct request *q, struct json_object *body)
{
    return check_scheme(q, body) && check_own_network(q, body) && check_protocol(q, body) &&
           ce_policies_check(q, body) && check_health_checks(q, body) && check_backends(q, body);
}

bool ce_backend_insert(struct request *q, struct json_object *body)
{
    add_service_defaults(body);
    return check_service(q, body);
}

bool ce_backend_change(struct request *q, struct json_object *old, struct json_object *body)
{
    const char *user = ce_references_user(q->c, q->a, q->res->path);
    add_service_defaults(body);
    if (user && !str_eq(json_str(old, "protocol"), json_str(body, "protocol"))) {
        return ce_refuse_invalid(
            &q->refusal, q->a, "resource.protocol", json_str(body, "protocol"),
            arena_printf(q->a, "The backend service is being used by '%s'.", user));
    }
    return check_service(q, body);
}

bool ce_backend_get_health(struct request *q, struct json_object **ret)
{
    const char *link = json_str(q->body, "group");
    struct json_object *backends = json_member(q->res->body, "backends");
    bool found = false;
    for (size_t i = 0; i < json_len(backends) && !found; i++) {
        const char *group = json_str(json_object_array_get_idx(backends, i), "group");
        found = link && ce_link_same(q->a, group, link, q->folder);
    }
    if (!found) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.group", str_nonnull(link),
                                 "The group is not a backend of the service.");
    }
    const char *path = ce_link_path(q->a, link, q->folder);
    const struct resource *group = ce_store_get(q->c, path);
    const struct reach_answers *answers = ce_answers(q);
    struct json_object *states = json_object_new_array();
    for (size_t i = 0; group && i < json_len(group->members); i++) {
        struct json_object *member = json_object_array_get_idx(group->members, i);
        bool is_link = json_object_is_type(member, json_type_string);
        const char *name = is_link ? json_object_get_string(member) : json_str(member, "instance");
        const char *zone = ce_path_location(q->a, path);
        const char *full =
            name && strchr(name, '/')
                ? name
                : ce_link_full(q->a, arena_printf(q->a, "projects/%s/zones/%s/instances/%s",
                                                  q->project, zone, str_nonnull(name)));
        struct json_object *state = json_object_new_object();
        json_add_str(state, "instance", full);
        json_add_str(state, "healthState",
                     ce_node_answers(q, answers, q->res->body, full) ? "HEALTHY" : "UNHEALTHY");
        json_object_array_add(states, state);
    }
    *ret = json_object_new_object();
    json_add_str(*ret, "kind", "compute#backendServiceGroupHealth");
    json_add(*ret, "healthStatus", states);
    return true;
}
