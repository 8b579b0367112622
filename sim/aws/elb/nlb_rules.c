/* SPDX-License-Identifier: Apache-2.0 */
/* nlb_rules.c: the attributes of network load balancers, their listeners and target groups: names,
 * defaults, values.
 *
 * One table; a row that does not apply to a protocol is neither listed nor accepted there.  Pure.
 * Source: docs/spec/aws.md §5.8, §5.10, §10.4 rows 12 and 13; AWS' own documentation
 * of the attributes. */
#include "sim/aws/elb/nlb.h"

#include <string.h>

/* Which protocols an attribute belongs to. */
enum {
    FOR_TCP = 1, /* TCP and TLS */
    FOR_UDP = 2, /* UDP and TCP_UDP */
    FOR_HTTP = 4,
    FOR_LAYER4 = FOR_TCP | FOR_UDP,
    FOR_ALL = FOR_LAYER4 | FOR_HTTP,
};

struct attribute {
    const char *key;
    enum nlb_attribute_set set;
    int protocols;
    const char *otherwise; /* default */
    const char *words; /* "true|false"; NULL: not a choice of words (or, with a range, no words) */
    int64_t min, max;  /* numbers; both 0: none */
};

static const char bools[] = "true|false";

static const struct attribute attributes[] = {
    {"access_logs.s3.enabled", NLB_BALANCER, FOR_ALL, "false", bools, 0, 0},
    {"access_logs.s3.bucket", NLB_BALANCER, FOR_ALL, "", NULL, 0, 0},
    {"access_logs.s3.prefix", NLB_BALANCER, FOR_ALL, "", NULL, 0, 0},
    {"deletion_protection.enabled", NLB_BALANCER, FOR_ALL, "false", bools, 0, 0},
    {"dns_record.client_routing_policy", NLB_BALANCER, FOR_ALL, "any_availability_zone",
     "any_availability_zone|availability_zone_affinity|partial_availability_zone_affinity", 0, 0},
    {"ipv6.deny_all_igw_traffic", NLB_BALANCER, FOR_ALL, "false", bools, 0, 0},
    {"load_balancing.cross_zone.enabled", NLB_BALANCER, FOR_ALL, "false", bools, 0, 0},
    {"secondary_ips.auto_assigned.per_subnet", NLB_BALANCER, FOR_ALL, "0", NULL, 0, 7},
    {"zonal_shift.config.enabled", NLB_BALANCER, FOR_ALL, "false", bools, 0, 0},
    {"tcp.idle_timeout.seconds", NLB_LISTENER, FOR_TCP, "350", NULL, 60, 6000},
    {"deregistration_delay.connection_termination.enabled", NLB_GROUP, FOR_LAYER4, "false", bools,
     0, 0},
    {"deregistration_delay.timeout_seconds", NLB_GROUP, FOR_ALL, "300", NULL, 0, 3600},
    {"load_balancing.algorithm.type", NLB_GROUP, FOR_HTTP, "round_robin",
     "round_robin|least_outstanding_requests|weighted_random", 0, 0},
    {"load_balancing.cross_zone.enabled", NLB_GROUP, FOR_ALL, "use_load_balancer_configuration",
     "true|false|use_load_balancer_configuration", 0, 0},
    {"preserve_client_ip.enabled", NLB_GROUP, FOR_LAYER4, "true", bools, 0, 0},
    {"proxy_protocol_v2.enabled", NLB_GROUP, FOR_LAYER4, "false", bools, 0, 0},
    {"slow_start.duration_seconds", NLB_GROUP, FOR_HTTP, "0", NULL, 0, 900},
    {"stickiness.enabled", NLB_GROUP, FOR_ALL, "false", bools, 0, 0},
    {"stickiness.type", NLB_GROUP, FOR_LAYER4, "source_ip", "source_ip", 0, 0},
    {"stickiness.type", NLB_GROUP, FOR_HTTP, "lb_cookie", "lb_cookie|app_cookie", 0, 0},
    {"target_group_health.dns_failover.minimum_healthy_targets.count", NLB_GROUP, FOR_ALL, "1",
     "off", 1, 1000},
    {"target_group_health.dns_failover.minimum_healthy_targets.percentage", NLB_GROUP, FOR_ALL,
     "off", "off", 1, 100},
    {"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count", NLB_GROUP,
     FOR_ALL, "1", NULL, 1, 1000},
    {"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage", NLB_GROUP,
     FOR_ALL, "off", "off", 1, 100},
    {"target_health_state.unhealthy.connection_termination.enabled", NLB_GROUP, FOR_TCP, "true",
     bools, 0, 0},
    {"target_health_state.unhealthy.draining_interval_seconds", NLB_GROUP, FOR_TCP, "0", NULL, 0,
     360000},
};

static int protocol_bit(const char *protocol)
{
    return str_eq(protocol, "UDP") || str_eq(protocol, "TCP_UDP")  ? FOR_UDP
           : str_eq(protocol, "HTTP") || str_eq(protocol, "HTTPS") ? FOR_HTTP
                                                                   : FOR_TCP;
}

static bool applies(const struct attribute *t, const struct nlb_subject *s)
{
    return t->set == s->set && (t->protocols & protocol_bit(s->protocol)) != 0;
}

/* Some defaults depend on what it is. */
static const char *default_of(const struct attribute *t, const struct nlb_subject *s)
{
    bool udp = protocol_bit(s->protocol) == FOR_UDP;
    if (str_eq(t->key, "ipv6.deny_all_igw_traffic")) {
        return s->internal ? "true" : "false";
    }
    if (str_eq(t->key, "deregistration_delay.connection_termination.enabled")) {
        return udp ? "true" : "false";
    }
    if (str_eq(t->key, "preserve_client_ip.enabled")) {
        return udp || str_eq(s->target_type, "instance") ? "true" : "false";
    }
    return t->otherwise;
}

struct json_object *nlb_attribute_defaults(const struct nlb_subject *s)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++) {
        if (applies(&attributes[i], s)) {
            struct json_object *item = json_object_new_object();
            json_add_str(item, "Key", attributes[i].key);
            json_add_str(item, "Value", default_of(&attributes[i], s));
            json_object_array_add(list, item);
        }
    }
    return list;
}

const char *nlb_attribute(struct json_object *list, const char *key)
{
    return str_nonnull(json_str(amz_find(list, "Key", key, NULL), "Value"));
}

void nlb_attributes_put(struct json_object *list, struct json_object *wanted)
{
    for (size_t i = 0; i < json_len(wanted); i++) {
        struct json_object *w = json_object_array_get_idx(wanted, i);
        struct json_object *item = amz_find(list, "Key", json_str(w, "Key"), NULL);
        if (!item) {
            item = json_object_new_object();
            json_add_str(item, "Key", json_str(w, "Key"));
            json_object_array_add(list, item);
        }
        json_add_str(item, "Value", str_nonnull(json_str(w, "Value")));
    }
}

static bool is_word(const char *words, const char *value)
{
    size_t n = strlen(value);
    for (const char *at = words; at && n > 0;) {
        const char *end = strchr(at, '|');
        size_t len = end ? (size_t)(end - at) : strlen(at);
        if (len == n && strncmp(at, value, n) == 0) {
            return true;
        }
        at = end ? end + 1 : NULL;
    }
    return false;
}

static bool check_value(struct amz_request *q, const struct attribute *t, const char *value)
{
    bool free_text = !t->words && t->max == 0;
    int64_t number;
    if (free_text || is_word(t->words, value) ||
        (t->max != 0 && str_to_i64(value, &number) && number >= t->min && number <= t->max)) {
        return true;
    }
    return amz_refuse_value(q, "The value '%s' of the attribute '%s' is not valid", value, t->key);
}

static const struct attribute *find(const struct nlb_subject *s, const char *key, bool *ret_other)
{
    *ret_other = false;
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++) {
        if (attributes[i].set == s->set && str_eq(attributes[i].key, key)) {
            if (applies(&attributes[i], s)) {
                return &attributes[i];
            }
            *ret_other = true;
        }
    }
    return NULL;
}

/* Checks the combination of the values; `all` is the resulting list. */
static bool check_together(struct amz_request *q, const struct nlb_subject *s,
                           struct json_object *all)
{
    if (s->set == NLB_BALANCER) {
        const char *bucket = nlb_attribute(all, "access_logs.s3.bucket");
        if (!str_eq(nlb_attribute(all, "access_logs.s3.enabled"), "true")) {
            return true;
        }
        if (strstr(nlb_attribute(all, "access_logs.s3.prefix"), "AWSLogs")) {
            return amz_refuse(q, "InvalidConfigurationRequest",
                              "The access logs prefix must not include AWSLogs");
        }
        return bucket[0] ? lb_check_bucket(q, bucket)
                         : amz_refuse(q, "InvalidConfigurationRequest",
                                      "The access logs bucket must be specified when access logs "
                                      "are enabled");
    }
    bool udp = protocol_bit(s->protocol) == FOR_UDP;
    if (udp && str_eq(nlb_attribute(all, "preserve_client_ip.enabled"), "false")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Client IP preservation cannot be disabled for target groups with the "
                          "%s protocol",
                          s->protocol);
    }
    static const char termination[] =
        "target_health_state.unhealthy.connection_termination.enabled";
    const char *drain =
        nlb_attribute(all, "target_health_state.unhealthy.draining_interval_seconds");
    if (str_eq(nlb_attribute(all, termination), "true") && drain[0] && !str_eq(drain, "0")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "The unhealthy draining interval needs '%s' to be false", termination);
    }
    if (str_eq(s->protocol, "TLS") && str_eq(nlb_attribute(all, "stickiness.enabled"), "true")) {
        return amz_refuse(q, "InvalidConfigurationRequest",
                          "Stickiness is not supported for target groups with the TLS protocol");
    }
    return true;
}

bool nlb_attributes_check(struct amz_request *q, const struct nlb_subject *s,
                          struct json_object *wanted, struct json_object *have)
{
    if (json_len(wanted) == 0) {
        return amz_refuse_value(q, "At least one attribute must be specified");
    }
    for (size_t i = 0; i < json_len(wanted); i++) {
        struct json_object *item = json_object_array_get_idx(wanted, i);
        const char *key = json_str(item, "Key");
        size_t first = 0;
        if (!key) {
            return amz_refuse_value(q, "An attribute key must be specified");
        }
        amz_find(wanted, "Key", key, &first);
        if (first != i) {
            return amz_refuse_value(q, "The attribute '%s' was specified more than once", key);
        }
        bool other;
        const struct attribute *t = find(s, key, &other);
        if (!t && other) {
            return amz_refuse(q, "InvalidConfigurationRequest",
                              "The attribute '%s' is not supported for the %s protocol of '%s'",
                              key, s->protocol, s->name);
        }
        if (!t) {
            return amz_refuse_value(q, "The attribute key '%s' is not recognized", key);
        }
        if (str_eq(key, "stickiness.type") &&
            !is_word(t->words, str_nonnull(json_str(item, "Value")))) {
            return amz_refuse(q, "InvalidConfigurationRequest",
                              "Stickiness type '%s' is not supported for target groups with the "
                              "%s protocol",
                              str_nonnull(json_str(item, "Value")), s->protocol);
        }
        if (!check_value(q, t, str_nonnull(json_str(item, "Value")))) {
            return false;
        }
    }
    struct json_object *all = json_copy(have);
    nlb_attributes_put(all, wanted);
    bool fine = check_together(q, s, all);
    json_object_put(all);
    return fine;
}
