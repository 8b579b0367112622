/* SPDX-License-Identifier: Apache-2.0 */
/* aws_explain.c: which load balancer a Service gets, by which rule, and which nodes serve it
 * (explain, validate).
 *
 * For people (docs/ux.md): the answer first, then the facts that led to it in the order in which
 * they are asked. */
#include "common/base/str.h"
#include "common/lb/explain.h"
#include "common/lb/service_rules.h"
#include "providers/aws/aws_node_reasons.h"
#include "providers/aws/aws_session.h"
#include "providers/aws/model/aws_desired.h"
#include "providers/aws/model/aws_name_rules.h"

#include <stdio.h>

static const char *annotation(const struct aws_service *s, const char *suffix)
{
    static const char prefix[] = AWS_ANNOTATION;
    char key[128];
    (void)snprintf(key, sizeof(key), "%s%s", prefix, suffix);
    return svc_annotation(s->in, key);
}

/* ---- the Service ----------------------------------------------------------------------------- */

static void because_of_service(struct arena *a, struct lb_explain *b,
                               const struct aws_naming *naming, const struct aws_service *s)
{
    const char *type = annotation(s, "type");
    const char *internal = annotation(s, "internal");
    lb_explain_decision(b, "aws-load-balancer-type", type != NULL ? type : "not set",
                        aws_kind_text(s->kind));
    if (s->kind == AWS_ELSEWHERE) {
        return; /* the rest is the other controller's to decide */
    }
    lb_explain_decision(b, "aws-load-balancer-internal", internal != NULL ? internal : "not set",
                        s->internal ? "internal" : "internet-facing");
    lb_explain_decision(b, "externalTrafficPolicy", s->local ? "Local" : "Cluster",
                        s->local ? "nodes without pods fail the health check"
                                 : "every node serves");
    bool managed = s->kind == AWS_NLB && !str_is_empty(naming->nlb_group_mode);
    if (s->groups.n > 0 && (managed || s->kind != AWS_NLB)) {
        lb_explain_decision(b, "security groups", str_join(a, s->groups.items, s->groups.n, ", "),
                            "by annotation: rules are yours");
    } else if (s->kind == AWS_NLB) {
        lb_explain_decision(b, "NLBSecurityGroupMode", str_or(naming->nlb_group_mode, "not set"),
                            str_is_empty(naming->nlb_group_mode) ? "no security group of its own"
                                                                 : s->nlb_group);
    } else if (!str_is_empty(naming->shared_group)) {
        lb_explain_decision(b, "security group", naming->shared_group,
                            "ElbSecurityGroup of the cloud config");
    } else {
        lb_explain_decision(b, "security group", s->classic_group,
                            "rules are kept by the controller");
    }
    lb_explain_decision(b, "rules in groups of nodes",
                        naming->no_node_rules ? "none" : "kept by the controller",
                        naming->no_node_rules ? "DisableSecurityGroupIngress" : NULL);
}

/* Is a load balancer there, and of the other type alone? */
static bool is_other_type(const struct aws_item *it)
{
    const struct aws_observed *seen = &it->seen;
    return it->service->kind == AWS_NLB ? seen->nlb == NULL && seen->classic != NULL
                                        : seen->classic == NULL && seen->nlb != NULL;
}

/* An existing load balancer keeps its type and scheme. */
static void is_there(struct arena *a, struct lb_explain *b, const struct aws_item *it)
{
    const struct aws_nlb *nlb = it->seen.nlb;
    const struct aws_classic *classic = it->seen.classic;
    const char *scheme = nlb != NULL ? nlb->scheme : classic != NULL ? classic->scheme : "";
    const char *dns = nlb != NULL ? nlb->dns : classic != NULL ? classic->dns : "";
    const char *what = nlb != NULL && classic != NULL ? "twice: a network and a classic one"
                       : nlb != NULL                  ? "a network load balancer"
                       : classic != NULL              ? "a classic load balancer"
                                                      : "no";
    bool ours = it->service->kind != AWS_ELSEWHERE;
    bool other_type = ours && is_other_type(it);
    bool other_scheme =
        ours && !str_is_empty(scheme) && str_eq(scheme, "internal") != it->service->internal;
    lb_explain_decision(b, "is there", what,
                        other_type ? "its type cannot be changed"
                        : other_scheme
                            ? arena_printf(a, "stays %s: its scheme cannot be changed", scheme)
                            : NULL);
    if (!str_is_empty(dns)) {
        lb_explain_decision(b, "DNS name", dns, NULL);
        lb_explain_text_row(b, TT_EXPLAIN_ADDRESS, dns);
    }
    if (nlb != NULL && !str_is_empty(nlb->state) && !str_eq(nlb->state, "active")) {
        lb_explain_decision(b, "state", nlb->state, NULL);
    }
}

static void because_of_cloud(struct arena *a, struct lb_explain *b, const struct aws_item *it)
{
    lb_explain_decision(b, "load balancer", it->service->lb_name, "named after the Service's UID");
    is_there(a, b, it);
    for (size_t i = 0; i < it->seen.n_groups; i++) {
        if (it->seen.groups[i].left) {
            lb_explain_decision(b, "left by an earlier run", it->seen.groups[i].group->name,
                                "target group");
        }
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* It was handed over, and the load balancer that is there stays for now. */
static bool is_kept(const struct aws_session *x, const struct aws_item *it)
{
    enum aws_claim claim = aws_service_claim(x->s.a, it->service);
    return claim == AWS_CLAIM_STAYS ||
           (claim == AWS_CLAIM_UNNAMED && (it->seen.nlb != NULL || it->seen.classic != NULL));
}

/* The session looks as a deletion does: nodes, and what a new load balancer would be chosen by, are
 * not among that. */
static int observe_nodes(struct aws_session *x, struct aws_item *it, struct err *err)
{
    const struct aws_observed *seen = &it->seen;
    bool wanted = it->want;
    int rc = ERR_OK;
    if (it->service->kind == AWS_ELSEWHERE && !is_kept(x, it)) {
        return ERR_OK;
    }
    it->want = true;
    if (seen->nlb == NULL && seen->classic == NULL) {
        rc = aws_observe_places(&x->y, it, err);
    }
    /* Targets stay where no node has the labels: which are there, then? */
    bool asks_targets = seen->nlb != NULL && it->service->node_labels.n > 0;
    const struct aws_observed_group *groups = seen->groups;
    size_t n_groups = seen->n_groups;
    rc = rc == ERR_OK && asks_targets ? aws_observe_target_groups(&x->y, it, err) : rc;
    rc = rc == ERR_OK ? aws_observe_instances(&x->y, it, err) : rc;
    it->seen.groups = groups;
    it->seen.n_groups = n_groups;
    it->want = wanted;
    return rc;
}

/* In which the load balancer is, or would be made; n 0: not known. */
static struct str_set zones_of(struct aws_session *x, const struct aws_item *it)
{
    struct arena *a = x->s.a;
    const struct aws_nlb *nlb = it->seen.nlb;
    const struct aws_classic *classic = it->seen.classic;
    struct aws_texts subnets = {0};
    struct err unclear = ERR_INIT;
    if (nlb != NULL && (it->service->kind != AWS_CLASSIC || classic == NULL)) {
        return str_set_make(a, nlb->zones.items, nlb->zones.n);
    }
    if (classic != NULL) {
        return str_set_make(a, classic->zones.items, classic->zones.n);
    }
    int rc = aws_subnets_choose(a, &x->scope.p->naming, &it->around.places, it->service, &subnets,
                                NULL, &unclear);
    return rc == ERR_OK ? aws_zones_of(a, &it->around.places, &subnets) : (struct str_set){0};
}

static void explain_nodes(struct lb_explain *b, struct aws_session *x, const struct aws_item *it)
{
    const struct tt_batch *batch = x->s.batch;
    struct str_set zones = zones_of(x, it);
    const char **idle = aws_node_reasons(&x->y, it, &zones, false);
    uint32_t n = 0;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        n += idle[i] == NULL;
    }
    lb_explain_nodes(b, n, batch->n_nodes,
                     arena_printf(x->s.a, "%u of %u take part", n, batch->n_nodes));
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        if (idle[i] != NULL) {
            lb_explain_left_out(b, batch->nodes[i]->name, idle[i]);
        }
    }
    if (it->service->local) {
        lb_explain_all_down(b, it->service->kind == AWS_NLB);
    }
}

/* ---- what can be said without looking at anything else --------------------------------------- */

static int check(struct arena *a, const struct aws_naming *naming, const struct aws_service *s,
                 struct err *err)
{
    static const char *const some[] = {"subnet-x"};
    const struct aws_texts subnets = {.items = some, .n = 1};
    const struct aws_texts none = {0};
    struct aws_service plain = *s; /* how many subnets there are is not known */
    struct aws_nlb_want nlb;
    struct aws_classic_want classic;
    plain.has_allocations = plain.has_addresses = false;
    if (s->err.code != ERR_OK) {
        return err_copy(err, &s->err);
    }
    return s->kind == AWS_NLB
               ? aws_nlb_desired(a, naming, &plain, subnets, none, &nlb, err)
               : aws_classic_desired(a, naming, &plain, subnets, none, &classic, err);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The scheme of what serves: that of a load balancer which is there stays, unless it
 * is replaced. */
static const char *scheme_of(const struct aws_provider *p, const struct aws_item *it)
{
    const struct aws_observed *seen = &it->seen;
    const char *has = it->service->kind == AWS_NLB ? seen->nlb != NULL ? seen->nlb->scheme : NULL
                      : seen->classic != NULL      ? seen->classic->scheme
                                                   : NULL;
    bool stays = !str_is_empty(has) && !p->naming.options.replaces_scheme;
    bool internal = stays ? str_eq(has, "internal") : it->service->internal;
    return internal ? "internal" : "internet-facing";
}

static void explain_one(struct aws_session *x, struct aws_item *it)
{
    const struct aws_provider *p = x->scope.p;
    const struct aws_service *s = it->service;
    struct err err = ERR_INIT;
    struct lb_explain b;
    bool stays = is_kept(x, it);
    lb_explain_init(&b, x->s.a);
    const char *kind = arena_printf(x->s.a, "%s %s", scheme_of(p, it), aws_kind_text(s->kind));
    if (stays) {
        lb_explain_answer(&b, "served", NULL,
                          arena_printf(x->s.a,
                                       "is to be left to another controller; %s, which is there, "
                                       "stays until the status names another one, or "
                                       "annotation " AWS_ANNOTATION "handed-over is \"true\".",
                                       s->lb_name));
    } else if (s->kind == AWS_ELSEWHERE) {
        bool goes = aws_service_claim(x->s.a, s) == AWS_CLAIM_GOES &&
                    (it->seen.nlb != NULL || it->seen.classic != NULL);
        lb_explain_answer(&b, "elsewhere", NULL,
                          goes ? arena_printf(x->s.a,
                                              "is left to aws-load-balancer-controller; load "
                                              "balancer %s of trimtab is deleted.",
                                              s->lb_name)
                               : "is left to aws-load-balancer-controller.");
    } else if (check(x->s.a, &p->naming, s, &err) != ERR_OK) {
        lb_explain_answer(&b, "refused", kind,
                          arena_printf(x->s.a, "is refused: %s.", err.message));
    } else if (is_other_type(it)) {
        const char *has = aws_kind_text(it->seen.nlb != NULL ? AWS_NLB : AWS_CLASSIC);
        lb_explain_answer(&b, "refused", kind,
                          arena_printf(x->s.a,
                                       "asks for %s %s, and is served by the %s %s, whose type "
                                       "cannot be changed.",
                                       s->internal ? "an internal" : "an internet-facing",
                                       aws_kind_text(s->kind), has, s->lb_name));
    } else {
        lb_explain_answer(&b, "served", kind,
                          arena_printf(x->s.a, "is served by the %s %s.", kind, s->lb_name));
    }
    because_of_service(x->s.a, &b, &p->naming, s);
    if ((s->kind != AWS_ELSEWHERE || stays) && err.code == ERR_OK) {
        because_of_cloud(x->s.a, &b, it);
        explain_nodes(&b, x, it);
    }
    for (size_t i = 0; i < s->n_findings; i++) {
        lb_explain_text_row(&b, TT_EXPLAIN_WARNING, s->findings[i].message);
    }
    lb_explain_send(&b, p->host, it->item->in->result, s->key);
}

int32_t aws_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch)
{
    struct aws_provider *p = provider;
    struct aws_session x;
    const struct err none = ERR_INIT;
    struct err looked = ERR_INIT;
    int32_t first = TT_OK;
    aws_session_begin(&x, p, call, batch, false);
    int rc = aws_session_ready(&x, &looked);
    rc = rc == ERR_OK ? aws_observe(&x.s, &looked) : rc;
    for (uint32_t i = 0; i < batch->n_items; i++) {
        struct aws_item *it = &x.y.items[i];
        struct err nodes = ERR_INIT;
        const struct err *err = rc != ERR_OK                              ? &looked
                                : it->item->err.code != ERR_OK            ? &it->item->err
                                : observe_nodes(&x, it, &nodes) != ERR_OK ? &nodes
                                                                          : &none;
        if (err->code != ERR_OK) {
            p->host->result_fail(batch->items[i]->result, err->code, err->message,
                                 err->retry_after_ms);
            first = first == TT_OK ? err->code : first;
        } else {
            explain_one(&x, it);
        }
    }
    aws_session_end(&x);
    return first;
}

/* Pure: what can be said of a Service without looking at anything else. */
int32_t aws_validate(void *provider, const struct tt_item *item)
{
    const struct aws_provider *p = provider;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct aws_service *s = aws_service_read(a, &p->naming, item->service);
    struct err err = ERR_INIT;
    if (s->kind != AWS_ELSEWHERE &&
        (aws_names_check(a, &p->config, item->service, item->previous, &err) != ERR_OK ||
         check(a, &p->naming, s, &err) != ERR_OK)) {
        p->host->result_fail(item->result, err.code, err.message, 0);
    }
    return err.code;
}
