/* SPDX-License-Identifier: Apache-2.0 */
/* checks.c: see checks.h. */
#include "sim/reach/checks.h"

#include "common/base/attr.h"
#include "common/base/str.h"

#include <string.h>

struct reach_probe reach_gce_check(struct json_object *check)
{
    static const struct {
        const char *block;
        uint16_t preset;
        enum reach_probe_kind kind;
    } blocks[] = {
        {"httpHealthCheck", 80, REACH_PROBE_HTTP},  {"httpsHealthCheck", 443, REACH_PROBE_TLS},
        {"http2HealthCheck", 443, REACH_PROBE_TLS}, {"tcpHealthCheck", 80, REACH_PROBE_TCP},
        {"sslHealthCheck", 443, REACH_PROBE_TLS},   {"grpcHealthCheck", 0, REACH_PROBE_TLS},
        {"grpcTlsHealthCheck", 0, REACH_PROBE_TLS}};
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        struct json_object *block = json_member(check, blocks[i].block);
        if (block != NULL) {
            return (struct reach_probe){
                .port = (uint16_t)json_int(block, "port", blocks[i].preset),
                .kind = blocks[i].kind,
                .path = json_str(block, "requestPath"),
            };
        }
    }
    /* An httpHealthCheck has its port itself. */
    return (struct reach_probe){
        .port = (uint16_t)json_int(check, "port", 80),
        .kind = REACH_PROBE_HTTP,
        .path = json_str(check, "requestPath"),
    };
}

struct reach_probe reach_azure_check(struct json_object *properties)
{
    const char *protocol = json_str(properties, "protocol");
    return (struct reach_probe){
        .port = (uint16_t)json_int(properties, "port", 0),
        .kind = str_eq_nocase(protocol, "Http")    ? REACH_PROBE_HTTP
                : str_eq_nocase(protocol, "Https") ? REACH_PROBE_TLS
                                                   : REACH_PROBE_TCP,
        .path = json_str(properties, "requestPath"),
    };
}

struct reach_probe reach_elbv2_check(struct json_object *group, int64_t target_port)
{
    int64_t number;
    const char *text = str_or(json_str(group, "HealthCheckPort"), "traffic-port");
    const char *protocol = json_str(group, "HealthCheckProtocol");
    return (struct reach_probe){
        .port = (uint16_t)(str_to_i64(text, &number) ? number : target_port),
        .kind = str_eq(protocol, "HTTP")    ? REACH_PROBE_HTTP
                : str_eq(protocol, "HTTPS") ? REACH_PROBE_TLS
                                            : REACH_PROBE_TCP,
        .path = json_str(group, "HealthCheckPath"),
    };
}

/* "HTTP:10256/healthz". */
struct reach_probe reach_elb_check(struct arena *a, struct json_object *balancer)
{
    const char *text = str_nonnull(json_str(json_member(balancer, "HealthCheck"), "Target"));
    const char *colon = strchr(text, ':');
    struct reach_probe check = {.port = 0};
    int64_t port = 0;
    if (colon != NULL) {
        size_t digits = strcspn(colon + 1, "/");
        (void)!str_to_i64(arena_strndup(a, colon + 1, digits), &port);
        check.path = colon[1 + digits] == '/' ? arena_strdup(a, colon + 1 + digits) : NULL;
    }
    bool tls = str_has_prefix(text, "HTTPS:") || str_has_prefix(text, "SSL:");
    check.port = (uint16_t)port;
    check.kind = str_has_prefix(text, "HTTP:") ? REACH_PROBE_HTTP
                 : tls                         ? REACH_PROBE_TLS
                                               : REACH_PROBE_TCP;
    return check;
}
