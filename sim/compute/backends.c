/* SPDX-License-Identifier: Apache-2.0 */
/* backends.c: regional backend services of pass-through load balancers.
 *
 * Protocol, scheme and backends must go together, instance groups and NEGs are not mixed, and the instances of a
 * group may be behind one load-balanced group only.  A PUT names the fingerprint that it read (write.c).
 * Source: compute v1 "backendServices"; gce-cloud-provider.md §5.5, §5.9, §16; gce-l4.md §4.6, §8.4. */
#include "sim/compute/compute.h"

#include <string.h>

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

static bool check_affinity(struct request *q, struct json_object *body)
{
    static const char *const allowed[] = {"NONE", "CLIENT_IP", "CLIENT_IP_PROTO",
                                          "CLIENT_IP_PORT_PROTO", "CLIENT_IP_NO_DESTINATION"};
    const char *affinity = json_str(body, "sessionAffinity");
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        if (str_eq(allowed[i], affinity)) {
            return true;
        }
    }
    return ce_refuse_invalid(&q->refusal, q->a, "resource.sessionAffinity", affinity,
                             "Not supported for this load balancing scheme.");
}

static bool check_backends(struct request *q, struct json_object *body)
{
    struct json_object *backends = json_member(body, "backends");
    size_t groups = 0, negs = 0;
    for (size_t i = 0; i < json_len(backends); i++) {
        struct json_object *backend = json_object_array_get_idx(backends, i);
        const char *link = json_str(backend, "group");
        const char *field = arena_printf(q->a, "resource.backends[%zu].group", i);
        if (!link) {
            return ce_refuse_required(&q->refusal, q->a, field);
        }
        for (size_t k = 0; k < i; k++) {
            struct json_object *other = json_object_array_get_idx(backends, k);
            if (ce_link_same(q->a, link, json_str(other, "group"), q->folder)) {
                return ce_refuse_invalid(&q->refusal, q->a, field, link,
                                         "Duplicate network endpoint groups or instance groups in "
                                         "backend service.");
            }
        }
        bool is_neg = strstr(link, "/networkEndpointGroups/") != NULL;
        groups += !is_neg;
        negs += is_neg;
        const struct resource *neg =
            is_neg ? ce_store_get(q->c, ce_link_path(q->a, link, q->folder)) : NULL;
        if (neg && !str_eq(json_str(neg->body, "networkEndpointType"), "GCE_VM_IP")) {
            return ce_refuse_invalid(&q->refusal, q->a, field, link,
                                     "Must be a group of type GCE_VM_IP for this load balancing "
                                     "scheme.");
        }
        const char *mode = json_str(backend, "balancingMode");
        if (mode && !str_eq(mode, "CONNECTION")) {
            return ce_refuse_invalid(&q->refusal, q->a,
                                     arena_printf(q->a, "resource.backends[%zu].balancingMode", i),
                                     mode, "Must be CONNECTION for this load balancing scheme.");
        }
        json_add_str(backend, "balancingMode", "CONNECTION");
    }
    if (groups > 0 && negs > 0) {
        return ce_refuse(&q->refusal, q->a, 400, "invalid",
                         "Instance groups and network endpoint groups cannot be mixed in one "
                         "backend service.");
    }
    return ce_group_check_backends(q, backends);
}

static bool check_health_checks(struct request *q, struct json_object *body)
{
    size_t n = json_len(json_member(body, "healthChecks"));
    return n == 1 || ce_refuse_invalid(&q->refusal, q->a, "resource.healthChecks",
                                       arena_printf(q->a, "%zu health checks", n),
                                       "Exactly one health check is required.");
}

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

static bool check_service(struct request *q, struct json_object *body)
{
    return check_scheme(q, body) && check_protocol(q, body) && check_affinity(q, body) &&
           check_health_checks(q, body) && check_backends(q, body);
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
        json_add_str(state, "healthState", "HEALTHY");
        json_object_array_add(states, state);
    }
    *ret = json_object_new_object();
    json_add_str(*ret, "kind", "compute#backendServiceGroupHealth");
    json_add(*ret, "healthStatus", states);
    return true;
}
