/* SPDX-License-Identifier: Apache-2.0 */
/* aws_health_rules.c: see aws_health_rules.h.
 *
 * Three bases: a Service with externalTrafficPolicy Local is asked at its health check node port;
 * in probe mode Shared the others are asked at kube-proxy's own port; else the node port is tried.
 * Annotations go over the base, except for an NLB in mode Shared, where protocol, port and path of
 * the mode win: upstream's order. */
#include "providers/aws/rules/aws_health_rules.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/aws/model/aws_annotations.h"

#define TRAFFIC_PORT "traffic-port"

static bool is_http(const char *protocol)
{
    return str_eq(protocol, "HTTP") || str_eq(protocol, "HTTPS");
}

static const char *shared_path(const struct aws_naming *n)
{
    return str_or(n->probe_path, "/healthz");
}

static int32_t shared_port(const struct aws_naming *n)
{
    return n->probe_port != 0 ? n->probe_port : 10256;
}

/* ---- classic --------------------------------------------------------------------------------- */

struct probe {
    const char *protocol; /* upper case */
    const char *path;     /* "" none */
    int32_t port;
};

static struct probe classic_base(struct arena *a, const struct aws_naming *naming,
                                 const struct tt_service *s, int32_t first_node_port)
{
    int32_t port;
    const char *path = svc_health_check(s, &port);
    const char *backend = str_lower(a, str_nonnull(aws_annotation(s, "backend-protocol")));
    bool tls = str_eq(backend, "https") || str_eq(backend, "ssl");
    if (path != NULL) {
        bool traffic = str_eq(aws_annotation(s, "healthcheck-port"), TRAFFIC_PORT);
        return (struct probe){
            .protocol = "HTTP", .path = path, .port = traffic ? first_node_port : port};
    }
    if (naming->probe_mode == AWS_PROBE_SHARED) {
        return (struct probe){
            .protocol = "HTTP", .path = shared_path(naming), .port = shared_port(naming)};
    }
    return (struct probe){.protocol = tls ? "SSL" : "TCP", .path = "", .port = first_node_port};
}

static int classic_probe(struct arena *a, const struct tt_service *s, struct probe *p,
                         struct err *err)
{
    const char *protocol = aws_annotation(s, "healthcheck-protocol");
    if (protocol != NULL) {
        p->protocol = str_upper(a, protocol);
    }
    if (is_http(p->protocol)) {
        p->path = str_or(str_or(aws_annotation(s, "healthcheck-path"), p->path), "/");
    } else {
        p->path = "";
    }
    if (str_eq(aws_annotation(s, "healthcheck-port"), TRAFFIC_PORT)) {
        return ERR_OK;
    }
    return aws_annotation_i32(s, "healthcheck-port", 0, &p->port, err);
}

int aws_classic_health(struct arena *a, const struct aws_naming *naming, const struct tt_service *s,
                       int32_t first_node_port, struct aws_classic_health *ret, struct err *err)
{
    struct aws_classic_health out = {
        .known = true, .healthy = 2, .unhealthy = 6, .timeout = 5, .interval = 10};
    struct probe p = classic_base(a, naming, s, first_node_port);
    int rc = classic_probe(a, s, &p, err);
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-healthy-threshold", 2, &out.healthy, err);
    }
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-unhealthy-threshold", 2, &out.unhealthy, err);
    }
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-timeout", 2, &out.timeout, err);
    }
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-interval", 5, &out.interval, err);
    }
    if (rc == ERR_OK) {
        out.target = arena_printf(a, "%s:%d%s", p.protocol, (int)p.port, p.path);
        *ret = out;
    }
    return rc;
}

/* ---- NLB ------------------------------------------------------------------------------------- */

static struct aws_target_health_check nlb_base(struct arena *a, const struct tt_service *s,
                                               bool local)
{
    struct aws_target_health_check out = {.protocol = "TCP",
                                          .port = TRAFFIC_PORT,
                                          .path = "/",
                                          .interval = 30,
                                          .healthy = 3,
                                          .unhealthy = 3};
    if (local) {
        int32_t port;
        out.path = str_nonnull(svc_health_check(s, &port));
        out.port = arena_printf(a, "%d", (int)port);
        out.protocol = "HTTP";
        out.interval = 10;
        out.healthy = 2;
        out.unhealthy = 2;
    }
    return out;
}

static int nlb_probe(struct arena *a, const struct aws_naming *naming, const struct tt_service *s,
                     bool local, struct aws_target_health_check *c, struct err *err)
{
    const char *protocol = aws_annotation(s, "healthcheck-protocol");
    const char *path = aws_annotation(s, "healthcheck-path");
    const char *port = aws_annotation(s, "healthcheck-port");
    if (protocol != NULL) {
        c->protocol = str_upper(a, protocol);
    }
    if (is_http(c->protocol)) {
        c->path = path != NULL ? path : c->path;
    } else if (str_eq(c->protocol, "TCP")) {
        c->path = "";
    } else {
        return aws_annotation_refuse(s, "healthcheck-protocol", "HTTP, HTTPS or TCP", err);
    }
    c->port = port != NULL ? port : c->port;
    if (naming->probe_mode == AWS_PROBE_INVALID) {
        return err_set(
            err, ERR_INVALID,
            "ClusterServiceLoadBalancerHealthProbeMode of the cloud-config: \"%s\": want "
            "Shared or ServiceNodePort",
            str_nonnull(naming->probe_mode_text));
    }
    if (naming->probe_mode == AWS_PROBE_SHARED && !local) {
        c->protocol = "HTTP";
        c->path = shared_path(naming);
        c->port = arena_printf(a, "%d", (int)shared_port(naming));
    }
    return ERR_OK;
}

/* The text stays as it was written, as it goes to AWS. */
static int check_port(const struct tt_service *s, const char *port, struct err *err)
{
    int64_t n;
    if (str_eq(port, TRAFFIC_PORT) || (aws_number(port, &n) && n >= 0 && n <= INT32_MAX)) {
        return ERR_OK;
    }
    return aws_annotation_refuse(s, "healthcheck-port", "a port number, or " TRAFFIC_PORT, err);
}

int aws_nlb_health(struct arena *a, const struct aws_naming *naming, const struct tt_service *s,
                   struct aws_target_health_check *ret, struct err *err)
{
    bool local = str_eq(s->external_traffic_policy, "Local");
    struct aws_target_health_check out = nlb_base(a, s, local);
    int rc = nlb_probe(a, naming, s, local, &out, err);
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-interval", 0, &out.interval, err);
    }
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-timeout", 0, &out.timeout, err);
    }
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-healthy-threshold", 0, &out.healthy, err);
    }
    if (rc == ERR_OK) {
        rc = aws_annotation_i32(s, "healthcheck-unhealthy-threshold", 0, &out.unhealthy, err);
    }
    if (rc == ERR_OK) {
        rc = check_port(s, out.port, err);
    }
    if (rc == ERR_OK) {
        *ret = out;
    }
    return rc;
}
