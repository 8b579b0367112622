/* SPDX-License-Identifier: Apache-2.0 */
/* clb_rules.c: what a listener, a health check and the attributes of a classic balancer may be.
 *
 * Pure.  Source: docs/spec/aws.md §4.4, §4.8, §4.12, §10.4 rows 18, 22, 23. */
#include "sim/aws/elb/clb.h"

#include <string.h>

#define PORT_MAX       65535
#define PATH_MAX_BYTES 1024

static bool is_http(const char *protocol)
{
    return str_eq(protocol, "HTTP") || str_eq(protocol, "HTTPS");
}

static bool is_protocol(const char *protocol)
{
    return is_http(protocol) || str_eq(protocol, "TCP") || str_eq(protocol, "SSL");
}

bool clb_listener_is_secure(struct json_object *listener)
{
    const char *protocol = json_str(listener, "Protocol");
    return str_eq(protocol, "HTTPS") || str_eq(protocol, "SSL");
}

static bool check_protocols(struct amz_request *q, const char *front, const char *back)
{
    if (!is_protocol(front) || !is_protocol(back)) {
        return amz_refuse(q, "UnsupportedProtocol", "The protocol '%s' is not supported",
                          is_protocol(front) ? back : front);
    }
    return is_http(front) == is_http(back)
               ? true
               : amz_refuse(q, "InvalidConfigurationRequest",
                            "The protocol %s and the instance protocol %s are not of the same "
                            "layer",
                            front, back);
}

struct json_object *clb_listener(struct amz_request *q, struct json_object *in)
{
    const char *front = str_upper(q->a, str_nonnull(json_str(in, "Protocol")));
    const char *otherwise = is_http(front) ? "HTTP" : "TCP";
    const char *back = str_upper(q->a, str_or(json_str(in, "InstanceProtocol"), otherwise));
    const char *certificate = json_str(in, "SSLCertificateId");
    int64_t port = json_int(in, "LoadBalancerPort", 0);
    if (!check_protocols(q, front, back)) {
        return NULL;
    }
    if (port < 1 || port > PORT_MAX) {
        amz_refuse_value(q, "The load balancer port %lld must be in the range 1-%d",
                         (long long)port, PORT_MAX);
        return NULL;
    }
    struct json_object *listener = json_object_new_object();
    json_add_str(listener, "Protocol", front);
    json_add_int(listener, "LoadBalancerPort", port);
    json_add_str(listener, "InstanceProtocol", back);
    json_add_int(listener, "InstancePort", json_int(in, "InstancePort", 0));
    if (clb_listener_is_secure(listener)) { /* elsewhere a certificate is not checked */
        bool fine = str_is_empty(certificate)
                        ? amz_refuse_value(q, "Secure listeners need to specify a SSLCertificateId")
                        : lb_check_certificate(q, certificate);
        if (!fine) {
            json_object_put(listener);
            return NULL;
        }
        json_add_str(listener, "SSLCertificateId", certificate);
    }
    return listener;
}

bool clb_listener_equal(struct json_object *a, struct json_object *b)
{
    return str_eq_nocase(json_str(a, "Protocol"), json_str(b, "Protocol")) &&
           str_eq_nocase(json_str(a, "InstanceProtocol"), json_str(b, "InstanceProtocol")) &&
           json_int(a, "LoadBalancerPort", 0) == json_int(b, "LoadBalancerPort", 0) &&
           json_int(a, "InstancePort", 0) == json_int(b, "InstancePort", 0) &&
           str_eq(str_nonnull(json_str(a, "SSLCertificateId")),
                  str_nonnull(json_str(b, "SSLCertificateId")));
}

/* --- health ----------------------------------------------------------------------------------- */

/* "HTTP:80/path" in AWS' spelling; NULL if it is not one. */
static const char *read_target(struct arena *a, const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon) {
        return NULL;
    }
    const char *protocol = str_upper(a, arena_strndup(a, text, (size_t)(colon - text)));
    const char *path = strchr(colon, '/');
    const char *port = path ? arena_strndup(a, colon + 1, (size_t)(path - colon - 1)) : colon + 1;
    int64_t number;
    bool fine = is_protocol(protocol) && str_to_i64(port, &number) && number >= 1 &&
                number <= PORT_MAX && is_http(protocol) == (path != NULL) &&
                (!path || strlen(path) <= PATH_MAX_BYTES);
    return fine ? arena_printf(a, "%s:%lld%s", protocol, (long long)number, str_nonnull(path))
                : NULL;
}

struct json_object *clb_health_check(struct amz_request *q, struct json_object *in)
{
    const char *text = str_nonnull(json_str(in, "Target"));
    const char *target = read_target(q->a, text);
    int64_t interval = json_int(in, "Interval", 0), timeout = json_int(in, "Timeout", 0);
    if (!target) {
        amz_refuse_value(q,
                         "HealthCheck Target '%s' must be a protocol and a port, with a path for "
                         "HTTP and HTTPS only",
                         text);
        return NULL;
    }
    if (timeout >= interval) {
        amz_refuse_value(q, "HealthCheck timeout must be less than interval");
        return NULL;
    }
    struct json_object *check = json_copy(in);
    json_add_str(check, "Target", target);
    return check;
}

struct json_object *clb_health_default(struct arena *a, struct json_object *listener)
{
    struct json_object *check = json_object_new_object();
    json_add_str(check, "Target",
                 arena_printf(a, "TCP:%lld", (long long)json_int(listener, "InstancePort", 0)));
    json_add_int(check, "Interval", 30);
    json_add_int(check, "Timeout", 5);
    json_add_int(check, "UnhealthyThreshold", 2);
    json_add_int(check, "HealthyThreshold", 10);
    return check;
}

/* --- attributes ------------------------------------------------------------------------------- */

static const char desync[] = "elb.http.desyncmitigationmode";

static struct json_object *section(struct json_object *o, const char *name)
{
    struct json_object *s = json_member(o, name);
    if (!s) {
        s = json_object_new_object();
        json_add(o, name, s);
    }
    return s;
}

struct json_object *clb_attribute_defaults(void)
{
    struct json_object *o = json_object_new_object(), *mode = json_object_new_object();
    json_add_bool(section(o, "CrossZoneLoadBalancing"), "Enabled", false);
    json_add_bool(section(o, "AccessLog"), "Enabled", false);
    json_add_bool(section(o, "ConnectionDraining"), "Enabled", false);
    json_add_int(section(o, "ConnectionDraining"), "Timeout", 300);
    json_add_int(section(o, "ConnectionSettings"), "IdleTimeout", 60);
    json_add_str(mode, "Key", desync);
    json_add_str(mode, "Value", "defensive");
    json_object_array_add(amz_list(o, "AdditionalAttributes"), mode);
    return o;
}

static bool change_additional(struct amz_request *q, struct json_object *have,
                              struct json_object *in)
{
    for (size_t i = 0; i < json_len(in); i++) {
        struct json_object *item = json_object_array_get_idx(in, i);
        const char *value = str_nonnull(json_str(item, "Value"));
        if (!str_eq(json_str(item, "Key"), desync)) {
            return amz_refuse(q, "LoadBalancerAttributeNotFound",
                              "The attribute '%s' is not recognized",
                              str_nonnull(json_str(item, "Key")));
        }
        if (!str_eq(value, "monitor") && !str_eq(value, "defensive") &&
            !str_eq(value, "strictest")) {
            return amz_refuse_value(q, "The value '%s' of the attribute '%s' is not valid", value,
                                    desync);
        }
        struct json_object *list = amz_list(have, "AdditionalAttributes");
        struct json_object *mode = amz_find(list, "Key", desync, NULL);
        if (mode) {
            json_add_str(mode, "Value", value);
        } else {
            json_object_array_add(list, json_copy(item));
        }
    }
    return true;
}

static bool check_log(struct amz_request *q, struct json_object *log)
{
    int64_t interval = json_int(log, "EmitInterval", 60);
    const char *bucket = json_str(log, "S3BucketName");
    if (interval != 5 && interval != 60) {
        return amz_refuse_value(q, "The access log emit interval must be 5 or 60 minutes, not %lld",
                                (long long)interval);
    }
    if (!json_get_bool(log, "Enabled", false)) {
        return true;
    }
    if (str_is_empty(bucket)) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The access log bucket must be specified when access logs are enabled");
    }
    if (!json_member(log, "EmitInterval")) {
        json_add_int(log, "EmitInterval", 60);
    }
    return lb_check_bucket(q, bucket);
}

bool clb_attributes_change(struct amz_request *q, struct json_object *have, struct json_object *in)
{
    static const char *const sections[] = {"CrossZoneLoadBalancing", "AccessLog",
                                           "ConnectionDraining", "ConnectionSettings"};
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        struct json_object *from = json_member(in, sections[i]);
        if (!from) {
            continue;
        }
        struct json_object *to = section(have, sections[i]);
        json_object_object_foreach(from, name, value)
        {
            json_add(to, name, json_copy(value));
        }
    }
    int64_t timeout = json_int(json_member(have, "ConnectionDraining"), "Timeout", 300);
    if (timeout < 1 || timeout > 3600) {
        return amz_refuse_value(q, "The connection draining timeout must be in the range 1-3600");
    }
    return change_additional(q, have, json_member(in, "AdditionalAttributes")) &&
           check_log(q, section(have, "AccessLog"));
}
