/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_health_rules.c: the health check of a target group: defaults, ranges, and what goes together.
 *
 * The pack checks the plain ranges (interval 5–300, timeout 2–120, thresholds 2–10); here stands
 * the rest.  Pure.
 * Source: docs/spec/aws.md §5.2, §5.7. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

bool nlb_protocol_is_layer4(const char *protocol)
{
    return str_eq(protocol, "TCP") || str_eq(protocol, "TLS") || str_eq(protocol, "UDP") ||
           str_eq(protocol, "TCP_UDP");
}

static bool speaks_http(struct json_object *group)
{
    const char *protocol = json_str(group, "HealthCheckProtocol");
    return str_eq(protocol, "HTTP") || str_eq(protocol, "HTTPS");
}

static void fill_int(struct json_object *group, const char *member, int64_t value)
{
    if (!json_member(group, member)) {
        json_add_int(group, member, value);
    }
}

/* Path and codes belong to HTTP alone. */
static void fill_http(struct json_object *group, bool layer4)
{
    if (!speaks_http(group)) {
        json_object_object_del(group, "HealthCheckPath");
        json_object_object_del(group, "Matcher");
        return;
    }
    if (!json_str(group, "HealthCheckPath")) {
        json_add_str(group, "HealthCheckPath", "/");
    }
    if (!json_member(group, "Matcher")) {
        struct json_object *matcher = json_object_new_object();
        json_add_str(matcher, "HttpCode", layer4 ? "200-399" : "200");
        json_add(group, "Matcher", matcher);
    }
}

void nlb_health_fill(struct json_object *group)
{
    bool layer4 = nlb_protocol_is_layer4(json_str(group, "Protocol"));
    if (!json_member(group, "HealthCheckEnabled")) {
        json_add_bool(group, "HealthCheckEnabled", true);
    }
    if (!json_str(group, "HealthCheckProtocol")) {
        json_add_str(group, "HealthCheckProtocol", layer4 ? "TCP" : "HTTP");
    }
    if (!json_str(group, "HealthCheckPort")) {
        json_add_str(group, "HealthCheckPort", "traffic-port");
    }
    bool quick = str_eq(json_str(group, "HealthCheckProtocol"), "HTTP");
    fill_int(group, "HealthCheckIntervalSeconds", 30);
    fill_int(group, "HealthCheckTimeoutSeconds", !layer4 ? 5 : quick ? 6 : 10);
    fill_int(group, "HealthyThresholdCount", 5);
    fill_int(group, "UnhealthyThresholdCount", 2);
    fill_http(group, layer4);
}

/* "200", "200,302", "200-299": codes from 200 to 599 (HTTP groups: 499). */
static bool codes_are_valid(struct arena *a, const char *text, int64_t max)
{
    size_t n = 0;
    char **parts = str_split(a, text, ',', &n);
    for (size_t i = 0; i < n; i++) {
        size_t n_ends = 0;
        char **ends = str_split(a, parts[i], '-', &n_ends);
        int64_t low, high;
        if (n_ends > 2 || !str_to_i64(ends[0], &low) || !str_to_i64(ends[n_ends - 1], &high) ||
            low < 200 || high > max || low > high) {
            return false;
        }
    }
    return true;
}

static bool check_http_members(struct amz_request *q, struct json_object *group,
                               struct json_object *in)
{
    const char *protocol = json_str(group, "HealthCheckProtocol");
    const char *path = json_str(in, "HealthCheckPath");
    struct json_object *matcher = json_member(in, "Matcher");
    if (!speaks_http(group)) {
        return !path && !matcher ? true
                                 : amz_refuse(q, "InvalidConfigurationRequest",
                                              "You cannot specify a health check %s for health "
                                              "checks with the %s protocol",
                                              path ? "path" : "matcher", protocol);
    }
    if (path && path[0] != '/') {
        return amz_refuse_value(q, "Health check path '%s' must begin with a '/' character", path);
    }
    if (matcher && json_str(matcher, "GrpcCode")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "A gRPC code needs a target group with the protocol version GRPC");
    }
    const char *codes = json_str(matcher, "HttpCode");
    bool layer4 = nlb_protocol_is_layer4(json_str(group, "Protocol"));
    if (matcher && (!codes || !codes_are_valid(q->a, codes, layer4 ? 599 : 499))) {
        return amz_refuse_value(q,
                                "Health check matcher HTTP code '%s' must be within '200-%d' "
                                "inclusive",
                                str_nonnull(codes), layer4 ? 599 : 499);
    }
    return true;
}

static bool check_times(struct amz_request *q, struct json_object *group)
{
    int64_t interval = json_int(group, "HealthCheckIntervalSeconds", 0);
    int64_t timeout = json_int(group, "HealthCheckTimeoutSeconds", 0);
    bool layer4 = nlb_protocol_is_layer4(json_str(group, "Protocol"));
    if (layer4 ? timeout > interval : timeout >= interval) {
        return amz_refuse_value(q,
                                "Health check timeout '%lld' must be smaller than %sthe interval "
                                "'%lld'",
                                (long long)timeout, layer4 ? "or equal to " : "",
                                (long long)interval);
    }
    return true;
}

static bool check_port(struct amz_request *q, const char *port)
{
    int64_t number;
    if (str_eq(port, "traffic-port") ||
        (str_to_i64(port, &number) && number >= 1 && number <= 65535)) {
        return true;
    }
    return amz_refuse_value(q,
                            "Health check port '%s' must be 'traffic-port' or in the range "
                            "'1-65535'",
                            port);
}

static bool check_protocol(struct amz_request *q, struct json_object *group)
{
    const char *protocol = json_str(group, "HealthCheckProtocol");
    bool layer4 = nlb_protocol_is_layer4(json_str(group, "Protocol"));
    if (speaks_http(group) || (layer4 && str_eq(protocol, "TCP"))) {
        return true;
    }
    return amz_refuse_value(q, "Health check protocol '%s' must be one of '%s'", protocol,
                            layer4 ? "HTTP, HTTPS, TCP" : "HTTP, HTTPS");
}

bool nlb_health_change(struct amz_request *q, struct json_object *group, struct json_object *in)
{
    static const char *const members[] = {
        "HealthCheckEnabled",         "HealthCheckProtocol",       "HealthCheckPort",
        "HealthCheckIntervalSeconds", "HealthCheckTimeoutSeconds", "HealthyThresholdCount",
        "UnhealthyThresholdCount",    "HealthCheckPath",           "Matcher",
    };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct json_object *value = json_member(in, members[i]);
        if (value) {
            json_add(group, members[i], json_copy(value));
        }
    }
    if (!json_get_bool(group, "HealthCheckEnabled", true)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Health check enabled must be true for target groups with target type "
                          "'%s'",
                          str_nonnull(json_str(group, "TargetType")));
    }
    if (!check_protocol(q, group) || !check_http_members(q, group, in) ||
        !check_port(q, json_str(group, "HealthCheckPort"))) {
        return false;
    }
    fill_http(group, nlb_protocol_is_layer4(json_str(group, "Protocol")));
    return check_times(q, group);
}
