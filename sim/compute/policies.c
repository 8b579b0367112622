/* SPDX-License-Identifier: Apache-2.0 */
/* policies.c: which policies a backend service of a pass-through load balancer can have.
 *
 * Session affinity, connection tracking, locality, zonal affinity, draining and logging each go
 * with some schemes and with some values of the others; a combination that the cloud does not know
 * is refused.  Who sends a policy with its default value is never refused.
 * Source: compute v1 "regionBackendServices"; gce-l4.md §4.6, §4.12, §5.5, §5.8, §5.9. */
#include "sim/compute/compute.h"

#define DRAINING_MAX_S      3600
#define IDLE_MAX_S          57600 /* 16 hours */
#define IDLE_MIN_INTERNAL_S 600
#define IDLE_MIN_EXTERNAL_S 60

static const char *scheme_of(struct json_object *body)
{
    return json_str(body, "loadBalancingScheme");
}

static bool is_internal(struct json_object *body)
{
    return str_eq(scheme_of(body), "INTERNAL");
}

static bool is_one_of(const char *value, const char *const *list)
{
    while (*list && !str_eq(*list, value)) {
        list++;
    }
    return *list != NULL;
}

static const char *number_text(struct request *q, int64_t n)
{
    return arena_printf(q->a, "%lld", (long long)n);
}

static bool check_affinity(struct request *q, struct json_object *body)
{
    static const char *const both[] = {"NONE", "CLIENT_IP", "CLIENT_IP_PROTO",
                                       "CLIENT_IP_PORT_PROTO", NULL};
    const char *affinity = json_str(body, "sessionAffinity");
    bool known = is_one_of(affinity, both) ||
                 (is_internal(body) && str_eq(affinity, "CLIENT_IP_NO_DESTINATION"));
    return known || ce_refuse_invalid(&q->refusal, q->a, "resource.sessionAffinity", affinity,
                                      "Not supported for this load balancing scheme.");
}

static bool check_draining(struct request *q, struct json_object *body)
{
    int64_t s = json_int(json_member(body, "connectionDraining"), "drainingTimeoutSec", 0);
    return (s >= 0 && s <= DRAINING_MAX_S) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.connectionDraining.drainingTimeoutSec",
                             number_text(q, s), "Must be between 0 and 3600.");
}

/* --- connection tracking ---------------------------------------------------------------------- */

static bool check_strong(struct request *q, struct json_object *body, struct json_object *policy)
{
    if (!json_bool(policy, "enableStrongAffinity", false)) {
        return true;
    }
    if (is_internal(body)) {
        return ce_refuse(&q->refusal, q->a, 400, "invalid",
                         "EnableStrongAffinity is not supported for load balancing scheme %s.",
                         scheme_of(body));
    }
    bool fits = str_eq(json_str(policy, "trackingMode"), "PER_SESSION") &&
                !str_eq(json_str(body, "sessionAffinity"), "NONE");
    return fits ||
           ce_refuse_invalid(&q->refusal, q->a,
                             "resource.connectionTrackingPolicy.enableStrongAffinity", "true",
                             "Strong affinity needs the tracking mode PER_SESSION and a "
                             "session affinity.");
}

static bool check_idle(struct request *q, struct json_object *body, struct json_object *policy)
{
    static const char *const fewer[] = {"CLIENT_IP", "CLIENT_IP_PROTO", "CLIENT_IP_NO_DESTINATION",
                                        NULL};
    static const char field[] = "resource.connectionTrackingPolicy.idleTimeoutSec";
    bool internal = is_internal(body);
    int64_t preset = internal ? IDLE_MIN_INTERNAL_S : IDLE_MIN_EXTERNAL_S;
    int64_t s = json_int(policy, "idleTimeoutSec", preset);
    if (s < preset || s > IDLE_MAX_S) {
        return ce_refuse_invalid(
            &q->refusal, q->a, field, number_text(q, s),
            arena_printf(q->a, "Must be between %lld and %d.", (long long)preset, IDLE_MAX_S));
    }
    bool may = internal ? str_eq(json_str(policy, "trackingMode"), "PER_SESSION") &&
                              is_one_of(json_str(body, "sessionAffinity"), fewer)
                        : json_bool(policy, "enableStrongAffinity", false);
    return may || s == preset ||
           ce_refuse_invalid(&q->refusal, q->a, field, number_text(q, s),
                             internal
                                 ? "Needs the tracking mode PER_SESSION and a session affinity of "
                                   "fewer than five parts."
                                 : "Not supported without strong affinity for this load balancing "
                                   "scheme.");
}

static bool check_tracking(struct request *q, struct json_object *body)
{
    struct json_object *policy = json_member(body, "connectionTrackingPolicy");
    const char *mode = json_str(policy, "trackingMode");
    if (str_eq(mode, "INVALID_TRACKING_MODE")) {
        return ce_refuse_invalid(&q->refusal, q->a,
                                 "resource.connectionTrackingPolicy.trackingMode", mode,
                                 "Must be PER_CONNECTION or PER_SESSION.");
    }
    return !policy || (check_strong(q, body, policy) && check_idle(q, body, policy));
}

/* --- locality and zones ----------------------------------------------------------------------- */

/* Weights come with the answers of HTTP health checks. */
static bool check_weights(struct request *q, struct json_object *body, const char *policy)
{
    static const char *const http[] = {"HTTP", "HTTPS", "HTTP2", NULL};
    struct json_object *checks = json_member(body, "healthChecks");
    if (!str_has_prefix(policy, "WEIGHTED_") || json_len(checks) == 0) {
        return true;
    }
    const char *link = json_object_get_string(json_object_array_get_idx(checks, 0));
    const struct resource *check = ce_store_get(q->c, ce_link_path(q->a, link, q->folder));
    return (check && is_one_of(json_str(check->body, "type"), http)) ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.localityLbPolicy", policy,
                             "Needs a health check of type HTTP, HTTPS or HTTP2.");
}

static bool check_locality(struct request *q, struct json_object *body)
{
    static const char *const internal[] = {"MAGLEV", "WEIGHTED_GCP_RENDEZVOUS", NULL};
    static const char *const external[] = {"MAGLEV", "WEIGHTED_MAGLEV", NULL};
    const char *policy = json_str(body, "localityLbPolicy");
    if (!policy) {
        return true;
    }
    if (!is_one_of(policy, is_internal(body) ? internal : external)) {
        return ce_refuse(&q->refusal, q->a, 400, "invalid",
                         "Invalid value for field 'resource.localityLbPolicy': '%s'. The locality "
                         "load balancing policy %s is not supported for load balancing scheme %s.",
                         policy, policy, scheme_of(body));
    }
    return check_weights(q, body, policy);
}

static bool check_zones(struct request *q, struct json_object *body)
{
    static const char at[] = "resource.networkPassThroughLbTrafficPolicy.zonalAffinity";
    struct json_object *zones = json_path(body, "networkPassThroughLbTrafficPolicy.zonalAffinity");
    struct json_object *ratio = json_member(zones, "spilloverRatio");
    const char *spillover = str_or(json_str(zones, "spillover"), "ZONAL_AFFINITY_DISABLED");
    double r = ratio ? json_object_get_double(ratio) : 0;
    if (!is_internal(body) && !str_eq(spillover, "ZONAL_AFFINITY_DISABLED")) {
        return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.spillover", at),
                                 spillover,
                                 "Zonal affinity is not supported for the load balancing scheme "
                                 "EXTERNAL.");
    }
    if (r < 0 || r > 1) {
        return ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.spilloverRatio", at),
                                 json_object_get_string(ratio), "Must be between 0 and 1.");
    }
    return r == 0 || str_eq(spillover, "ZONAL_AFFINITY_SPILL_CROSS_ZONE") ||
           ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.spilloverRatio", at),
                             json_object_get_string(ratio),
                             "Needs the spillover ZONAL_AFFINITY_SPILL_CROSS_ZONE.");
}

/* --- logs ------------------------------------------------------------------------------------- */

static bool check_logs(struct request *q, struct json_object *body)
{
    struct json_object *log = json_member(body, "logConfig");
    struct json_object *rate = json_member(log, "sampleRate");
    double r = rate ? json_object_get_double(rate) : 0;
    if (r < 0 || r > 1) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.logConfig.sampleRate",
                                 json_object_get_string(rate), "Must be between 0 and 1.");
    }
    if (r > 0 && !json_bool(log, "enable", false)) {
        return ce_refuse_invalid(&q->refusal, q->a, "resource.logConfig.sampleRate",
                                 json_object_get_string(rate),
                                 "Can only be specified when logging is enabled.");
    }
    bool custom = str_eq(json_str(log, "optionalMode"), "CUSTOM");
    return json_len(json_member(log, "optionalFields")) == 0 || custom ||
           ce_refuse_invalid(&q->refusal, q->a, "resource.logConfig.optionalFields", "…",
                             "Can only be specified with the optional mode CUSTOM.");
}

bool ce_policies_check(struct request *q, struct json_object *body)
{
    return check_affinity(q, body) && check_draining(q, body) && check_tracking(q, body) &&
           check_locality(q, body) && check_zones(q, body) && check_logs(q, body);
}
