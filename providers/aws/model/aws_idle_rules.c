/* SPDX-License-Identifier: Apache-2.0 */
/* aws_idle_rules.c: annotations that AWS knows and that have no effect beside what the Service says
 * otherwise: one row each (aws_annotations.h).
 *
 * The owner hears of every wish without effect.  What the text of the Service shows is here; what
 * only the load balancer that stands shows is the planners' (aws_service_plan.c).  Pure. */
#include "providers/aws/model/aws_annotations.h"

#include <string.h>

#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/service_rules.h"
#include "providers/aws/model/aws_rules.h"

/* ---- conditions ------------------------------------------------------------------------------ */

struct asked {
    struct arena *a;
    const struct aws_naming *naming;
    const struct aws_service *s;
    const char *name; /* of the annotation, which is not empty */
};

static bool is_on(const struct asked *q, const char *name)
{
    bool on = false;
    struct err err = ERR_INIT;
    return aws_annotation_bool(q->s->in, name, &on, &err) == ERR_OK && on;
}

static bool without_logs(const struct asked *q)
{
    return !is_on(q, "access-log-enabled");
}

static bool without_draining(const struct asked *q)
{
    return !is_on(q, "connection-draining-enabled");
}

static bool without_certificate(const struct asked *q)
{
    return str_is_empty(q->s->certificate);
}

/* tcp is what it would be without the annotation; odd words have a finding of their own. */
static bool is_http_backend(const struct asked *q)
{
    const char *is = q->s->backend_protocol;
    bool http = str_eq(is, "http") || str_eq(is, "https");
    return http || (str_eq(is, "ssl") && without_certificate(q));
}

static bool is_asked_by_mode(const struct asked *q)
{
    return q->naming->probe_mode == AWS_PROBE_SHARED && !q->s->local;
}

/* Local traffic and probe mode Shared are checked by HTTP unless the Service says otherwise. */
static bool is_checked_without_path(const struct asked *q)
{
    const char *protocol = aws_annotation_filled(q->s->in, "healthcheck-protocol");
    int32_t port = 0;
    bool http = svc_health_check(q->s->in, &port) != NULL || is_asked_by_mode(q);
    return protocol == NULL ? !http
                            : !str_eq_nocase(protocol, "HTTP") && !str_eq_nocase(protocol, "HTTPS");
}

static bool always(const struct asked *q)
{
    (void)q;
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define BOTH (AWS_ON_CLASSIC | AWS_ON_NLB)
#define MODE                                                                                       \
    "on an NLB while ClusterServiceLoadBalancerHealthProbeMode of the cloud-config is Shared"
#define LOGS "unless " AWS_ANNOTATION "access-log-enabled is \"true\""
#define CERT "without " AWS_ANNOTATION "ssl-cert"

static const struct idle {
    const char *name;
    unsigned on; /* AWS_ON_… */
    bool (*is)(const struct asked *q);
    const char *why; /* follows "has no effect" */
} idle[] = {
    {"handed-over", BOTH, always,
     "while " AWS_ANNOTATION "type names no other controller's load balancer"},
    {"access-log-s3-bucket-name", BOTH, without_logs, LOGS},
    {"access-log-s3-bucket-prefix", BOTH, without_logs, LOGS},
    {"access-log-emit-interval", AWS_ON_CLASSIC, without_logs, LOGS},
    {"connection-draining-timeout", AWS_ON_CLASSIC, without_draining,
     "unless " AWS_ANNOTATION "connection-draining-enabled is \"true\""},
    {"ssl-ports", BOTH, without_certificate, CERT},
    {"ssl-negotiation-policy", BOTH, without_certificate, CERT},
    {"backend-protocol", AWS_ON_NLB, is_http_backend,
     "on an NLB unless it is \"ssl\", with " AWS_ANNOTATION "ssl-cert"},
    {"healthcheck-protocol", AWS_ON_NLB, is_asked_by_mode, MODE},
    {"healthcheck-port", AWS_ON_NLB, is_asked_by_mode, MODE},
    {"healthcheck-path", AWS_ON_NLB, is_asked_by_mode, MODE},
    {"healthcheck-path", BOTH, is_checked_without_path,
     "unless " AWS_ANNOTATION "healthcheck-protocol is HTTP or HTTPS"},
};

/* ---- pieces of lists ------------------------------------------------------------------------- */

static const char *keyless_piece(const struct asked *q, const char *piece)
{
    return aws_pairs_read(q->a, piece).n == 0 ? "without a key" : NULL;
}

static const char *portless_piece(const struct asked *q, const char *piece)
{
    const struct tt_service *in = q->s->in;
    int64_t number = 0;
    bool is_number = str_to_i64(piece, &number);
    for (uint32_t i = 0; i < in->n_ports; i++) {
        if (str_eq_nocase(in->ports[i].name, piece) || (is_number && number == in->ports[i].port)) {
            return NULL;
        }
    }
    return str_eq(piece, "*") || without_certificate(q) ? NULL : "which is no port of the Service";
}

static const struct list {
    const char *name;
    const char *(*why)(const struct asked *q, const char *piece); /* NULL: it is understood */
} lists[] = {
    {"additional-resource-tags", keyless_piece},
    {"target-node-labels", keyless_piece},
    {"ssl-ports", portless_piece},
};

static const char *odd_piece(const struct asked *q, const struct list *l)
{
    struct aws_texts pieces = aws_pieces(q->a, aws_annotation(q->s->in, q->name), false);
    for (size_t i = 0; i < pieces.n; i++) {
        const char *why = l->why(q, pieces.items[i]);
        if (why != NULL) {
            return arena_printf(q->a, "annotation " AWS_ANNOTATION "%s: \"%s\" is left out, %s",
                                q->name, lb_finding_value(q->a, pieces.items[i]), why);
        }
    }
    return NULL;
}

/* ---- findings -------------------------------------------------------------------------------- */

struct out {
    struct aws_finding *items;
    size_t n, most;
};

static void add(struct out *out, const struct asked *q, const char *message)
{
    for (size_t i = 0; i < out->n; i++) {
        if (str_eq(out->items[i].field, arena_printf(q->a, AWS_ANNOTATION "%s", q->name))) {
            return; /* one reason is enough */
        }
    }
    if (out->n < out->most && message != NULL) {
        out->items[out->n++] =
            (struct aws_finding){.reason = "AnnotationIgnored",
                                 .field = arena_printf(q->a, AWS_ANNOTATION "%s", q->name),
                                 .message = message};
    }
}

size_t aws_idle_findings(struct arena *a, const struct aws_naming *naming,
                         const struct aws_service *s, struct aws_finding *ret, size_t most)
{
    struct out out = {.items = ret, .most = most};
    unsigned on = s->kind == AWS_NLB ? AWS_ON_NLB : AWS_ON_CLASSIC;
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        const struct asked q = {a, naming, s, idle[i].name};
        if ((idle[i].on & on) != 0 && aws_annotation_filled(s->in, q.name) != NULL &&
            idle[i].is(&q)) {
            add(&out, &q,
                arena_printf(a, "annotation " AWS_ANNOTATION "%s has no effect %s", q.name,
                             idle[i].why));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct asked q = {a, naming, s, lists[i].name};
        if (aws_annotation_filled(s->in, q.name) != NULL) {
            add(&out, &q, odd_piece(&q, &lists[i]));
        }
    }
    return out.n;
}

/* ---- what is no longer asked for, and stays -------------------------------------------------- */

static bool lacks_key(const struct aws_tags *now, const struct aws_tags *before)
{
    for (size_t i = 0; i < before->n; i++) {
        if (aws_tag(now, before->items[i].key) == NULL) {
            return true;
        }
    }
    return false;
}

size_t aws_kept_findings(struct arena *a, const struct aws_service *now,
                         const struct aws_service *before, struct aws_finding *ret, size_t most)
{
    const struct {
        const char *name;
        bool stays;
        const char *text;
    } rows[] = {
        {"additional-resource-tags", lacks_key(&now->extra_tags, &before->extra_tags),
         "tags that it no longer names stay on what bears them"},
        {"ssl-negotiation-policy",
         now->kind == AWS_CLASSIC && str_is_empty(now->ssl_policy) &&
             !str_is_empty(before->ssl_policy) && !str_is_empty(now->certificate),
         "the listeners keep the policy that it named last"},
    };
    size_t n = 0;
    for (size_t i = 0; now->kind == before->kind && i < ARRAY_LEN(rows) && n < most; i++) {
        if (rows[i].stays) {
            ret[n++] = (struct aws_finding){
                .reason = "AnnotationIgnored",
                .field = arena_printf(a, AWS_ANNOTATION "%s", rows[i].name),
                .message = arena_printf(a, "annotation " AWS_ANNOTATION "%s: %s", rows[i].name,
                                        rows[i].text)};
        }
    }
    return n;
}
