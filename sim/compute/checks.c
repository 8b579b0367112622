/* SPDX-License-Identifier: Apache-2.0 */
/* checks.c: health checks, the legacy HTTP ones and the typed ones, global and regional.
 *
 * Intervals and thresholds have limits, a time-out may not exceed its interval, and a typed check carries the block of
 * its own type only.  Source: compute v1 "healthChecks", "httpHealthChecks"; gce-cloud-provider.md §4.7, §16. */
#include "sim/compute/compute.h"

static const struct {
    const char *member;
    int64_t min, max;
} limits[] = {
    {"checkIntervalSec", 1, 300},  {"timeoutSec", 1, 300}, {"healthyThreshold", 1, 10},
    {"unhealthyThreshold", 1, 10}, {"port", 1, 65535},
};

static const struct {
    const char *type;
    const char *block;
} blocks[] = {
    {"HTTP", "httpHealthCheck"},
    {"HTTPS", "httpsHealthCheck"},
    {"HTTP2", "http2HealthCheck"},
    {"TCP", "tcpHealthCheck"},
    {"SSL", "sslHealthCheck"},
    {"GRPC", "grpcHealthCheck"},
    {"GRPC_WITH_TLS", "grpcTlsHealthCheck"},
};

static bool check_limits(struct request *q, struct json_object *o, const char *where)
{
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct json_object *value = json_member(o, limits[i].member);
        int64_t v = value ? json_object_get_int64(value) : limits[i].min;
        if (v < limits[i].min || v > limits[i].max) {
            return ce_refuse_invalid(
                &q->refusal, q->a, arena_printf(q->a, "%s.%s", where, limits[i].member),
                json_object_get_string(value),
                arena_printf(q->a, "Must be between %lld and %lld.", (long long)limits[i].min,
                             (long long)limits[i].max));
        }
    }
    const char *path = json_str(o, "requestPath");
    return !path || path[0] == '/' ||
           ce_refuse_invalid(&q->refusal, q->a, arena_printf(q->a, "%s.requestPath", where), path,
                             "Must begin with '/'.");
}

static bool check_block(struct request *q, struct json_object *body)
{
    const char *type = json_str(body, "type");
    if (!type || str_eq(q->collection, "httpHealthChecks")) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        struct json_object *block = json_member(body, blocks[i].block);
        bool own = str_eq(blocks[i].type, type);
        if (block && !own) {
            return ce_refuse_invalid(
                &q->refusal, q->a, "resource.type", type,
                arena_printf(q->a, "The check has a block %s of another type.", blocks[i].block));
        }
        if (own && block &&
            !check_limits(q, block, arena_printf(q->a, "resource.%s", blocks[i].block))) {
            return false;
        }
        if (own && !block) {
            json_add(body, blocks[i].block, json_object_new_object());
        }
    }
    struct json_object *http = json_member(body, "httpHealthCheck");
    if (http && !json_member(http, "port") && !json_member(http, "portSpecification")) {
        json_add_int(http, "port", 80);
    }
    if (http && !json_str(http, "requestPath")) {
        json_add_str(http, "requestPath", "/");
    }
    if (http && !json_str(http, "proxyHeader")) {
        json_add_str(http, "proxyHeader", "NONE");
    }
    return true;
}

bool ce_check_insert(struct request *q, struct json_object *body)
{
    if (!check_limits(q, body, "resource") || !check_block(q, body)) {
        return false;
    }
    int64_t interval = json_int(body, "checkIntervalSec", 5),
            timeout = json_int(body, "timeoutSec", 5);
    return timeout <= interval || ce_refuse_invalid(&q->refusal, q->a, "resource.timeoutSec",
                                                    arena_printf(q->a, "%lld", (long long)timeout),
                                                    "Must not be greater than checkIntervalSec.");
}

bool ce_check_change(struct request *q, struct json_object *old, struct json_object *body)
{
    const char *was = json_str(old, "type"), *now = json_str(body, "type");
    if (was && now && !str_eq(was, now)) {
        for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
            if (str_eq(blocks[i].type, was) && !json_member(q->body, blocks[i].block)) {
                json_object_object_del(body, blocks[i].block);
            }
        }
    }
    return ce_check_insert(q, body);
}
