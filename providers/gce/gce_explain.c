/* SPDX-License-Identifier: Apache-2.0 */
/* gce_explain.c: which load balancer a Service gets, by which rule, and which nodes serve it
 * (explain, validate).
 *
 * For people (ux.md): the answer first, then the facts that led to it in the order in which they
 * are asked. */
#include "common/base/str.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_service_rules.h"
#include "providers/gce/gce_session.h"

static const char *set_or_not(const char *v)
{
    return v == NULL ? "not set" : v;
}

static void fact(struct str_buf *b, const char *what, const char *value, const char *so)
{
    if (so == NULL) {
        str_appendf(b, "  %-28s %s\n", what, value);
    } else {
        str_appendf(b, "  %-28s %-16s → %s\n", what, value, so);
    }
}

static void because_of_class(struct str_buf *b, const struct tt_service *s)
{
    const char *so = s->lb_class == NULL ? "ours"
                     : gce_svc_class_is_foreign(s)
                         ? "another controller's"
                         : (gce_svc_scheme(s) == GCE_INTERNAL ? "internal" : "external");
    fact(b, "loadBalancerClass", set_or_not(s->lb_class), so);
}

static void because_of_annotations(struct str_buf *b, const struct tt_service *s)
{
    const char *type = svc_annotation(s, GCE_ANN_TYPE);
    if (type == NULL) {
        type = svc_annotation(s, GCE_ANN_TYPE_OLD);
    }
    fact(b, "load-balancer-type", set_or_not(type),
         gce_svc_scheme(s) == GCE_INTERNAL ? "internal" : "external");
    if (gce_svc_scheme(s) == GCE_EXTERNAL) {
        const char *rbs = svc_annotation(s, GCE_ANN_RBS);
        fact(b, "l4-rbs annotation", set_or_not(rbs),
             str_eq(rbs, "enabled") ? "backend service, unless a finalizer says otherwise" : NULL);
        const char *tier;
        const char *text = svc_annotation(s, GCE_ANN_TIER);
        fact(b, "network-tier", set_or_not(text),
             gce_svc_tier(s, &tier, NULL) == ERR_OK ? tier : "not a tier");
    }
}

static void because_of_finalizers(struct str_buf *b, const struct tt_service *s)
{
    const char *foreign = gce_svc_foreign_finalizer(s);
    if (svc_has_finalizer(s, GCE_FINALIZER_NETLB_V1)) {
        fact(b, "finalizer l4-netlb-v1", "set", "stays a target pool");
    } else if (foreign != NULL) {
        fact(b, foreign, "set", "another controller's");
    }
}

static void because_of_rule(struct str_buf *b, const struct gce_pieces *pieces)
{
    if (pieces->rule != GCE_PRESENT) {
        fact(b, "forwarding rule", "absent", NULL);
        return;
    }
    const struct gce_rule *r = &pieces->rule_is;
    const char *kind = str_eq(r->scheme, "INTERNAL")      ? "internal"
                       : str_is_empty(r->backend_service) ? "target pool"
                                                          : "backend service";
    fact(b, "forwarding rule", r->ip, kind);
}

static const char *verdict(const struct gce_provider *p, const struct tt_service *s,
                           const struct gce_pieces *pieces)
{
    const struct gce_rule *rule = pieces->rule == GCE_PRESENT ? &pieces->rule_is : NULL;
    if (gce_svc_class_is_foreign(s)) {
        return "is served by another controller (loadBalancerClass).";
    }
    if (gce_svc_scheme(s) == GCE_INTERNAL || (rule != NULL && str_eq(rule->scheme, "INTERNAL"))) {
        return "wants an internal load balancer, which this version does not serve.";
    }
    if (!gce_svc_target_pool_is_ours(s, rule, p->options.rbs_default)) {
        return "is served by ingress-gce: an external load balancer with a backend service.";
    }
    return "is served by an external load balancer with a target pool.";
}

static void explain_nodes(struct str_buf *b, struct arena *a, const struct tt_batch *batch,
                          const struct gce_members *m)
{
    str_appendf(b, "\nNodes: %zu of %u take part\n", m->n_ids, batch->n_nodes);
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        const char *why = node_left_out_because(a, batch->nodes[i]);
        if (why != NULL) {
            str_appendf(b, "  %-10s left out   %s\n", batch->nodes[i]->name, why);
        }
    }
    for (size_t i = 0; i < m->n_left_out; i++) {
        str_appendf(b, "  %-10s left out   %s\n", m->left_out[i].node, m->left_out[i].because);
    }
}

/* A heading and its text, which is broken where the line ends. */
static void paragraph(struct str_buf *b, const char *heading, const char *text)
{
    str_appendf(b, "%-9s", heading);
    str_append_wrapped(b, text, 9, 9);
    str_append_c(b, '\n');
}

static void explain_path(struct str_buf *b, struct arena *a, const struct tt_service *s,
                         const struct gce_pieces *pieces, const struct gce_members *m)
{
    int32_t port;
    const char *path = svc_health_check(s, &port);
    const char *ip = pieces->rule == GCE_PRESENT ? pieces->rule_is.ip : "(new address)";
    int32_t first = s->n_ports > 0 ? s->ports[0].port : 0;
    paragraph(b, "Packet:",
              arena_printf(a,
                           "client → %s:%d → %s of %zu instances, port %d → kube-proxy → a pod "
                           "(source address is %s)",
                           ip, first, path != NULL ? "one with a ready pod" : "any", m->n_ids,
                           first,
                           path != NULL ? "kept: policy Local" : "not kept: policy Cluster"));
    paragraph(b, "Health:",
              arena_printf(a, "GET http://node:%d%s every 8 s", path != NULL ? port : 10256,
                           path != NULL ? path : "/healthz"));
}

/* Why nothing is built for it, or NULL: what gce_validate() and a sync would say. */
static const char *refusal(struct gce_session *s, const struct tt_service *svc)
{
    struct gce_tp_outcome outcome = {0};
    const struct gce_tp_input in = {
        .service = svc, .key = "", .cluster_id = "", .outcome = &outcome};
    struct gce_tp_desired d;
    struct err err = ERR_INIT;
    bool fine = gce_tp_desired_make(s->a, &s->p->tp_facts, &in, &d, &err) == ERR_OK;
    return fine ? NULL : arena_strdup(s->a, err.message);
}

static int explain_one(struct gce_session *s, const struct tt_batch *batch,
                       const struct tt_item *item, struct err *err)
{
    const struct tt_service *svc = item->service;
    struct gce_pieces pieces = {.rule = GCE_ABSENT};
    int rc = s->p->offline ? ERR_OK : gce_auth_ready(s->p->auth, s->http, s->cancel, err);
    if (rc == ERR_OK) {
        rc = gce_session_pieces(s, svc, false, &pieces, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct gce_members m;
    gce_members_of(s->a, batch->nodes, batch->n_nodes, s->p->facts.project, s->p->facts.region, &m);
    const char *answer = verdict(s->p, svc, &pieces);
    bool is_ours = str_has_suffix(answer, "target pool.");
    const char *refused = is_ours ? refusal(s, svc) : NULL;
    if (refused != NULL) {
        answer = arena_printf(s->a, "is refused: %s.", refused);
    }
    str_appendf(&b, "%s %s\n", svc_key(s->a, svc), answer);
    because_of_class(&b, svc);
    if (!gce_svc_class_is_foreign(svc)) {
        because_of_annotations(&b, svc);
        because_of_finalizers(&b, svc);
    }
    because_of_rule(&b, &pieces);
    if (is_ours && refused == NULL) {
        explain_nodes(&b, s->a, batch, &m);
        explain_path(&b, s->a, svc, &pieces, &m);
    }
    s->p->host->result_text(item->result, str_buf_text(&b));
    return ERR_OK;
}

int32_t gce_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct gce_provider *p = provider;
    struct gce_session s;
    int32_t first = TT_OK;
    gce_session_begin(&s, p, call);
    for (uint32_t i = 0; i < batch->n_items; i++) {
        struct err err = ERR_INIT;
        const struct tt_item *item = batch->items[i];
        if (explain_one(&s, batch, item, &err) != ERR_OK) {
            p->host->result_fail(item->result, err.code, err.message, err.retry_after_ms);
            first = first == TT_OK ? err.code : first;
        }
    }
    gce_session_end(&s);
    return first;
}

/* Pure: what can be said of a Service without looking at anything else. */
int32_t gce_validate(void *provider, const struct tt_item *item)
{
    const struct gce_provider *p = provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_service *s = item->service;
    struct gce_tp_outcome outcome = {0};
    const struct gce_tp_input in = {.service = s, .key = "", .cluster_id = "", .outcome = &outcome};
    struct gce_tp_desired d;
    struct err err = ERR_INIT;
    if (gce_svc_class_is_foreign(s) || gce_svc_scheme(s) == GCE_INTERNAL ||
        !gce_svc_target_pool_is_ours(s, NULL, p->options.rbs_default)) {
        p->host->result_fail(item->result, TT_IMPLEMENTED_ELSEWHERE,
                             "another controller serves this kind of load balancer", 0);
        return TT_IMPLEMENTED_ELSEWHERE;
    }
    if (gce_tp_desired_make(a, &p->tp_facts, &in, &d, &err) != ERR_OK) {
        p->host->result_fail(item->result, err.code, err.message, 0);
        return err.code;
    }
    return TT_OK;
}
