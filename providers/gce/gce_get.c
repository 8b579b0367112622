/* SPDX-License-Identifier: Apache-2.0 */
/* gce_get.c: does a load balancer of this Service exist?  (get_load_balancer, gce_session.h)
 *
 * Upstream looks at the forwarding rule and, where it is gone, at the v1 finalizers, so that a
 * deletion that was interrupted is resumed.  Ours also looks for the other pieces of an external
 * load balancer, because a Service of older days carries no finalizer (§4.1, §10).  Kinds of
 * other controllers exist, too: they must not lose our cleanup finalizer before their owner is
 * done.  Only 404 means absent (§15 row 23). */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_l4_metrics.h"
#include "providers/gce/gce_session.h"
#include "providers/gce/model/gce_service_rules.h"

static struct session_source source_of(const struct gce_provider *p)
{
    return (struct session_source){
        .host = p->cloud.host,
        .clock = p->cloud.clock,
        .rng = p->cloud.rng,
        .http = p->cloud.http,
        .watch = p->cloud.watch,
        .cancel = p->cloud.cancel,
    };
}

void gce_session_begin(struct gce_session *x, struct gce_provider *p, const struct tt_call *call,
                       const struct tt_batch *batch)
{
    const struct session_source source = source_of(p);
    *x = (struct gce_session){
        .p = p,
        .s = {.a = arena_new(), .provider = &p->cloud, .batch = batch, .fresh = true},
    };
    session_begin(&x->session, &source, &x->s, call);
}

void gce_session_end(struct gce_session *x)
{
    session_end(&x->session);
    arena_free(x->s.a);
}

int gce_session_ready(struct gce_session *x, struct err *err)
{
    return x->p->cloud.offline ? ERR_OK
                               : gce_auth_ready(x->p->cloud.auth, x->s.http, x->s.cancel, err);
}

#define PIECES 5

static int read_pieces(struct gce_session *x, const struct gce_call_spec *specs, size_t n,
                       struct json_object **ret, struct err *err)
{
    struct gce_read reads[PIECES];
    struct http_job *jobs[PIECES] = {NULL};
    for (size_t i = 0; i < n; i++) {
        gce_read_init(&reads[i], &x->p->cloud.api, x->s.call, x->s.a, &specs[i]);
        jobs[i] = &reads[i].job;
    }
    http_run(x->s.http, jobs, n);
    for (size_t i = 0; i < n; i++) {
        struct err one = ERR_INIT;
        ret[i] = NULL;
        int rc = gce_read_json(&reads[i], x->s.a, &ret[i], &one);
        if (rc != ERR_OK && rc != ERR_NOT_FOUND) {
            return err_copy(err, &one);
        }
    }
    return ERR_OK;
}

static int snapshot_pieces(struct gce_session *x, const struct gce_call_spec *specs, size_t n,
                           struct json_object **ret)
{
    for (size_t i = 0; i < n; i++) {
        ret[i] = NULL;
        (void)gce_snapshot_get(x->p->cloud.snapshot, GCE_KEY(specs[i].collection, specs[i].name),
                               GCE_SNAPSHOT_ANY, x->s.a, &ret[i]);
    }
    return ERR_OK;
}

static int look(struct gce_session *x, const struct gce_call_spec *specs, size_t n,
                struct json_object **ret, struct err *err)
{
    return x->p->cloud.offline ? snapshot_pieces(x, specs, n, ret)
                               : read_pieces(x, specs, n, ret, err);
}

int gce_session_pieces(struct gce_session *x, const struct tt_service *svc, bool all,
                       struct gce_pieces *ret, struct err *err)
{
    struct gce_names names;
    gce_names_make(x->s.a, svc, "", &names);
    const struct gce_call_spec rule = {.collection = GCE_RULES, .verb = GCE_GET, .name = names.lb};
    const struct gce_call_spec others[PIECES] = {
        {.collection = GCE_POOLS, .verb = GCE_GET, .name = names.lb},
        {.collection = GCE_FIREWALLS, .verb = GCE_GET, .name = names.firewall},
        {.collection = GCE_CHECKS, .verb = GCE_GET, .name = names.local_check},
        {.collection = GCE_FIREWALLS, .verb = GCE_GET, .name = names.local_check_firewall},
        {.collection = GCE_ADDRESSES, .verb = GCE_GET, .name = names.lb},
    };
    struct json_object *found[PIECES];
    *ret = (struct gce_pieces){.rule = GCE_ABSENT};
    int rc = look(x, &rule, 1, found, err);
    if (rc == ERR_OK && found[0] != NULL) {
        ret->rule = GCE_PRESENT;
        return gce_rule_decode(x->s.a, found[0], &ret->rule_is, err);
    }
    if (rc == ERR_OK && all) {
        rc = look(x, others, PIECES, found, err);
        for (size_t i = 0; rc == ERR_OK && i < PIECES; i++) {
            ret->pool = ret->pool || (i == 0 && found[i] != NULL);
            ret->others = ret->others || found[i] != NULL;
        }
    }
    return rc;
}

size_t gce_session_pool_size(struct gce_session *x, const struct tt_service *svc)
{
    struct gce_names names;
    struct json_object *found[PIECES];
    gce_names_make(x->s.a, svc, "", &names);
    const struct gce_call_spec pool = {.collection = GCE_POOLS, .verb = GCE_GET, .name = names.lb};
    struct err err = ERR_INIT;
    int rc = look(x, &pool, 1, found, &err);
    return rc == ERR_OK ? json_len(json_member(found[0], "instances")) : 0;
}

static int exists(struct gce_session *x, const struct tt_service *svc, bool *ret_exists,
                  const char **ret_ip, struct err *err)
{
    struct gce_pieces pieces;
    bool marked =
        svc_has_finalizer(svc, GCE_FINALIZER_NETLB_V1) || gce_svc_foreign_finalizer(svc) != NULL;
    int rc = gce_session_ready(x, err);
    if (rc == ERR_OK) {
        rc = gce_session_pieces(x, svc, !marked, &pieces, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    /* Names of firewall and address are those of internal load balancers, too: they count only
     * where the Service would be ours. */
    bool ours = gce_svc_scheme(svc) == GCE_EXTERNAL &&
                gce_svc_target_pool_is_ours(svc, NULL, x->p->options.rbs_default);
    bool has_rule = pieces.rule == GCE_PRESENT && gce_rule_is_own(svc, &pieces.rule_is);
    *ret_ip = has_rule ? pieces.rule_is.ip : "";
    *ret_exists = has_rule || marked || pieces.pool || (ours && pieces.others);
    return ERR_OK;
}

/* The answer by the class, without reads: for an unknown class nothing exists, unless a sign on the
 * Service tells that it was served here before; NEGs alone are looked for by the code that deletes
 * them. */
static bool is_told_by_class(const struct gce_provider *p, const struct tt_service *svc,
                             bool *ret_exists)
{
    const struct gce_case c = {.service = svc, .flags = &p->options.switches};
    struct gce_decision d;
    gce_decide(&c, &d);
    *ret_exists = d.kind == GCE_KIND_NEGS_ONLY;
    bool foreign = d.is == GCE_KIND_NONE && !gce_flow_has_sign(svc);
    return svc->lb_class != NULL && (foreign || d.is == GCE_KIND_NEGS_ONLY);
}

int32_t gce_get_load_balancer(void *provider, const struct tt_call *call,
                              const struct tt_item *item)
{
    struct gce_provider *p = provider;
    struct gce_session x;
    struct err err = ERR_INIT;
    bool is_there = false;
    const char *ip = "";
    if (is_told_by_class(p, item->service, &is_there)) {
        p->cloud.host->result_exists(item->result, is_there);
        return TT_OK;
    }
    gce_session_begin(&x, p, call, NULL);
    int rc = exists(&x, item->service, &is_there, &ip, &err);
    if (rc != ERR_OK) {
        (void)err_prefix(&err, "looking for the load balancer");
        p->cloud.host->result_fail(item->result, err.code, err.message, err.retry_after_ms);
    } else {
        const struct tt_ingress ingress = {.ip = ip};
        p->cloud.host->result_exists(item->result, is_there);
        if (!is_there && item->service->deleted_us != 0) {
            gce_metrics_gone(p, item->service); /* it will not be asked for its deletion */
        }
        if (!str_is_empty(ip)) {
            p->cloud.host->result_ingress(item->result, &ingress, 1);
        }
    }
    gce_session_end(&x);
    return rc;
}
