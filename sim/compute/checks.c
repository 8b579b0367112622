/* SPDX-License-Identifier: Apache-2.0 */
/* checks.c: health checks, the legacy HTTP ones and the typed ones, global and regional.
 *
 * Intervals and thresholds have limits, a time-out may not exceed its interval, and a typed check
 * carries the block of its own type only.  Source: compute v1 "healthChecks", "httpHealthChecks";
 * gce-cloud-provider.md §4.7, §16. */
#include "sim/compute/compute.h"

/* 0 counts as absent. */
static const struct {
    const char *member;
    int64_t min, max;
    int64_t preset;
} limits[] = {
    {"checkIntervalSec", 1, 300, 5},  {"timeoutSec", 1, 300, 5}, {"healthyThreshold", 1, 10, 2},
    {"unhealthyThreshold", 1, 10, 2}, {"port", 1, 65535, 0},
};

static const struct {
    const char *type;
    const char *block;
    int64_t port; /* preset; 0: none */
} blocks[] = {
    {"HTTP", "httpHealthCheck", 80},
    {"HTTPS", "httpsHealthCheck", 443},
    {"HTTP2", "http2HealthCheck", 443},
    {"TCP", "tcpHealthCheck", 80},
    {"SSL", "sslHealthCheck", 443},
    {"GRPC", "grpcHealthCheck", 0},
    {"GRPC_WITH_TLS", "grpcTlsHealthCheck", 0},
};

static void drop_zero(struct json_object *o, const char *member)
{
    struct json_object *value = json_member(o, member);
    if (value && json_object_get_int64(value) == 0) {
        json_object_object_del(o, member);
    }
}

static void add_presets(struct json_object *body)
{
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        drop_zero(body, limits[i].member);
        if (limits[i].preset && !json_member(body, limits[i].member)) {
            json_add_int(body, limits[i].member, limits[i].preset);
        }
    }
}

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

/* The block of the check's own type, completed. */
static bool check_own_block(struct request *q, struct json_object *body, size_t i)
{
    struct json_object *block = json_member(body, blocks[i].block);
    if (!block) {
        block = json_object_new_object();
        json_add(body, blocks[i].block, block);
    }
    drop_zero(block, "port");
    if (blocks[i].port && !json_member(block, "port") && !json_member(block, "portSpecification")) {
        json_add_int(block, "port", blocks[i].port);
    }
    bool is_http = str_has_prefix(blocks[i].type, "HTTP");
    if (is_http && str_is_empty(json_str(block, "requestPath"))) {
        json_add_str(block, "requestPath", "/");
    }
    if (blocks[i].port && !json_str(block, "proxyHeader")) {
        json_add_str(block, "proxyHeader", "NONE");
    }
    return check_limits(q, block, arena_printf(q->a, "resource.%s", blocks[i].block));
}

static bool check_block(struct request *q, struct json_object *body)
{
    const char *type = json_str(body, "type");
    if (str_eq(q->collection, "httpHealthChecks")) {
        if (!json_member(body, "port")) {
            json_add_int(body, "port", 80);
        }
        return true;
    }
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        bool own = str_eq(blocks[i].type, type);
        if (!own && json_member(body, blocks[i].block)) {
            return ce_refuse_invalid(
                &q->refusal, q->a, "resource.type", str_nonnull(type),
                arena_printf(q->a, "The check has a block %s of another type.", blocks[i].block));
        }
        if (own && !check_own_block(q, body, i)) {
            return false;
        }
        known = known || own;
    }
    return known || ce_refuse_invalid(&q->refusal, q->a, "resource.type", str_nonnull(type),
                                      "Must be the type of a health check.");
}

bool ce_check_insert(struct request *q, struct json_object *body)
{
    add_presets(body);
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
