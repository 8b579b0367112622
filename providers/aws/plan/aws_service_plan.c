/* SPDX-License-Identifier: Apache-2.0 */
/* aws_service_plan.c: the whole plan of one Service: its planners, their order, and its findings.
 *
 * Targets are all of p->around->instances; the flow has chosen them.  The kind of a load balancer
 * never changes: whether the Service asks for another kind than it has is seen by what is there,
 * not by the looks of a host name (docs/spec/aws.md 4.2 item 1, FIX).  Where balancers of both
 * kinds are there, the wanted one is served and the other left alone until the Service goes.
 * Neither does its scheme change, but with ReplaceOnSchemeChange of [Trimtab] another balancer is
 * made. */
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/plan/aws_groups_plan.h"
#include "providers/aws/plan/aws_refused_rules.h"

#include "common/base/str.h"
#include "common/lb/findings.h"
#include "common/lb/service_rules.h"

#include <stdarg.h>
#include <string.h>

static void put_finding(struct aws_planning *p, struct aws_finding finding)
{
    if (p->n_findings == p->cap_findings) {
        size_t cap = p->cap_findings * 2 + 4;
        struct aws_finding *more = ARENA_ARRAY(p->a, struct aws_finding, cap);
        if (p->n_findings > 0) {
            memcpy(more, p->findings, p->n_findings * sizeof *more);
        }
        p->findings = more;
        p->cap_findings = cap;
    }
    p->findings[p->n_findings++] = finding;
}

void aws_plan_finding(struct aws_planning *p, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_finding(p, (struct aws_finding){.reason = reason, .message = arena_vprintf(p->a, fmt, ap)});
    va_end(ap);
}

void aws_plan_finding_of(struct aws_planning *p, const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_finding(p, (struct aws_finding){.reason = "AnnotationIgnored",
                                        .field = field,
                                        .message = arena_vprintf(p->a, fmt, ap)});
    va_end(ap);
}

/* ---- findings -------------------------------------------------------------------------------- */

static const char *scheme_text(bool internal)
{
    return internal ? "internal" : "internet-facing";
}

/* The scheme of the balancer of the wanted kind; NULL: it is not there, or does not say. */
static const char *seen_scheme(const struct aws_planning *p)
{
    const char *scheme = NULL;
    if (p->service->kind == AWS_CLASSIC && p->seen->classic != NULL) {
        scheme = p->seen->classic->scheme;
    } else if (p->service->kind == AWS_NLB && p->seen->nlb != NULL) {
        scheme = p->seen->nlb->scheme;
    }
    return str_is_empty(scheme) ? NULL : scheme;
}

static bool scheme_differs(const struct aws_planning *p)
{
    const char *scheme = seen_scheme(p);
    return scheme != NULL && str_eq(scheme, "internal") != p->service->internal;
}

/* Another one is made, and this one deleted first: both have the same name. */
static bool is_replaced(const struct aws_planning *p)
{
    return p->naming->options.replaces_scheme && !p->about_nodes && scheme_differs(p);
}

static void say_why(struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    const char *type = svc_annotation(s->in, AWS_ANNOTATION "type");
    const char *internal = svc_annotation(s->in, AWS_ANNOTATION "internal");
    if (type == NULL) {
        lb_plan_because(p->plan, s->key, "no aws-load-balancer-type annotation → %s",
                        aws_kind_text(s->kind));
    } else {
        lb_plan_because(p->plan, s->key, "aws-load-balancer-type is \"%s\" → %s", type,
                        aws_kind_text(s->kind));
    }
    if (is_replaced(p)) {
        lb_plan_because(p->plan, s->key,
                        "aws-load-balancer-internal is %s%s%s → %s, and ReplaceOnSchemeChange of "
                        "the cloud-config makes another load balancer",
                        internal != NULL ? "\"" : "", str_or(internal, "not set"),
                        internal != NULL ? "\"" : "", scheme_text(s->internal));
    } else if (internal != NULL && scheme_differs(p) && s->kind == AWS_CLASSIC) {
        lb_plan_because(p->plan, s->key,
                        "aws-load-balancer-internal is \"%s\" → %s, but the load balancer is %s "
                        "and stays so",
                        internal, scheme_text(s->internal), scheme_text(!s->internal));
    } else if (internal != NULL) {
        lb_plan_because(p->plan, s->key, "aws-load-balancer-internal is \"%s\" → %s", internal,
                        scheme_text(s->internal));
    }
}

static void describe(struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    const struct aws_observed *seen = p->seen;
    struct lb_plan_service *told = lb_plan_service(p->plan, s->key);
    const char *dns = NULL;
    if (s->kind == AWS_CLASSIC && seen->classic != NULL) {
        dns = seen->classic->dns;
    } else if (s->kind == AWS_NLB && seen->nlb != NULL) {
        dns = seen->nlb->dns;
    }
    bool stays = scheme_differs(p) && !is_replaced(p);
    bool internal = stays ? !s->internal : s->internal;
    told->kind = arena_printf(p->a, "%s, %s", scheme_text(internal), aws_kind_text(s->kind));
    told->address = str_is_empty(dns) ? NULL : dns;
    say_why(p);
    if (is_replaced(p)) {
        lb_plan_effect(p->plan, s->key,
                       "The DNS name changes: AWS cannot change the scheme of a load balancer, so "
                       "it is deleted and recreated, and no client is served in between.");
    } else if (told->address != NULL) {
        lb_plan_effect(p->plan, s->key, "The DNS name stays.");
    }
    if (stays) {
        lb_plan_effect(p->plan, s->key, "The load balancer stays %s.", scheme_text(internal));
        aws_plan_finding(p, "SchemeNotChanged",
                         "The load balancer stays %s: AWS cannot change the scheme of one that is "
                         "there. To get %s one, delete the Service and create it anew.",
                         scheme_text(internal), internal ? "an internet-facing" : "an internal");
    }
}

static void describe_claim(struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    const char *over = aws_annotation(s->in, "handed-over");
    bool named = aws_status_names_ours(s);
    if (s->kind == AWS_ELSEWHERE) {
        lb_plan_effect(p->plan, p->service->key,
                       "The load balancer stays: another controller has not taken over yet.");
        aws_plan_finding(p, "NotHandedOver",
                         "The Service asks for another controller's load balancer, and %s, which "
                         "stays and gets its nodes.  It is deleted when the status names another "
                         "one, or with annotation " AWS_ANNOTATION "handed-over: \"true\"",
                         named ? "its status names ours" : "ours is there");
        if (!str_is_empty(over) && !str_eq(over, "false")) {
            aws_plan_finding_of(p, AWS_ANNOTATION "handed-over",
                                "annotation " AWS_ANNOTATION
                                "handed-over: \"%s\" counts as false; want true or false",
                                lb_finding_value(p->a, over));
        }
    }
}

static void describe_targets(struct aws_planning *p)
{
    if (p->around->no_node_fits) {
        const char *labels =
            str_nonnull(svc_annotation(p->service->in, AWS_ANNOTATION "target-node-labels"));
        lb_plan_effect(p->plan, p->service->key,
                       "No node has the labels %s: the nodes that are targets stay.", labels);
        aws_plan_finding(p, "NoNodeHasLabels",
                         "No node has the labels of annotation " AWS_ANNOTATION
                         "target-node-labels (%s); the nodes that are targets now stay, and none "
                         "comes",
                         labels);
    }
}

static void describe_ranges(struct aws_planning *p)
{
    const char *text = aws_ranges_without_effect(p);
    if (text != NULL) {
        put_finding(p, (struct aws_finding){.reason = "SourceRangeIgnored",
                                            .field = "spec.loadBalancerSourceRanges",
                                            .message = text});
    }
}

static void describe_going(struct aws_planning *p)
{
    const struct aws_observed *seen = p->seen;
    struct lb_plan_service *told = lb_plan_service(p->plan, p->service->key);
    const char *dns = seen->nlb != NULL       ? seen->nlb->dns
                      : seen->classic != NULL ? seen->classic->dns
                                              : NULL;
    if (seen->nlb != NULL || seen->classic != NULL) {
        told->kind = aws_kind_text(seen->nlb != NULL ? AWS_NLB : AWS_CLASSIC);
    }
    if (!str_is_empty(dns)) {
        told->address = dns;
        lb_plan_effect(p->plan, p->service->key, "The DNS name is given up.");
    }
}

/* ---- subnets --------------------------------------------------------------------------------- */

static int choose_subnets(struct aws_planning *p, struct aws_texts *ret, struct err *err)
{
    struct aws_texts why_not = {0};
    int rc =
        aws_subnets_choose(p->a, p->naming, &p->around->places, p->service, ret, &why_not, err);
    if (rc != ERR_OK || ret->n > 0) {
        return rc;
    }
    if (why_not.n == 0) {
        return err_set(err, ERR_INVALID, "VPC %s has no subnet for the load balancer",
                       p->naming->vpc);
    }
    return err_set(err, ERR_INVALID, "VPC %s has no subnet for the load balancer: %s",
                   p->naming->vpc, str_join(p->a, why_not.items, why_not.n, "; "));
}

/* Does an NLB that is there go where the Service asks for?  Not while it has the other scheme,
 * whose subnets are others. */
static bool follows_subnets(const struct aws_planning *p)
{
    return p->seen->nlb != NULL && p->naming->options.nlb_subnets && !p->about_nodes &&
           !scheme_differs(p);
}

/* An NLB keeps the subnets that it was made with, unless NLBSubnets says otherwise: if those that
 * the Service asks for are unknown, its targets are updated all the same.  What is chosen and not
 * had, aws_plan_nlb() tells. */
static int subnets_of_nlb(struct aws_planning *p, struct aws_texts *ret, struct err *err)
{
    const struct aws_nlb *nlb = p->seen->nlb;
    struct err why = ERR_INIT;
    if (nlb == NULL || nlb->subnets.n == 0) {
        return choose_subnets(p, ret, err);
    }
    bool asked = p->service->has_subnets || follows_subnets(p);
    if (!asked || choose_subnets(p, ret, &why) != ERR_OK) {
        *ret = nlb->subnets;
    }
    if (why.code != ERR_OK) {
        aws_plan_finding(p, "SubnetsNotFound", "The NLB stays in the subnets that it has: %s.",
                         why.message);
    }
    return ERR_OK;
}

/* Subnets of the other scheme would cut the balancer off.  Those of the VPC are not read when only
 * nodes changed. */
static int subnets_of_classic(struct aws_planning *p, struct aws_texts *ret, struct err *err)
{
    bool unread = p->around->places.n_subnets == 0;
    if (p->seen->classic != NULL && (scheme_differs(p) || unread)) {
        *ret = p->seen->classic->subnets;
        return ERR_OK;
    }
    return choose_subnets(p, ret, err);
}

static bool is_target_already(const struct aws_planning *p, const char *id)
{
    const struct aws_classic *classic = p->seen->classic;
    for (size_t i = 0; classic != NULL && i < classic->instances.n; i++) {
        if (str_eq(classic->instances.items[i], id)) {
            return true;
        }
    }
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        const struct aws_targets *t = &p->seen->groups[i].targets;
        for (size_t k = 0; k < t->n; k++) {
            if (str_eq(t->items[k].id, id)) {
                return true;
            }
        }
    }
    return false;
}

/* AWS takes only running instances as new targets (6.3); one that was stopped stays a target, as
 * upstream leaves it. */
static struct aws_texts instance_ids(const struct aws_planning *p)
{
    const char **ids = ARENA_ARRAY(p->a, const char *, p->around->n_instances);
    size_t n = 0;
    for (size_t i = 0; i < p->around->n_instances; i++) {
        const struct aws_instance *in = &p->around->instances[i];
        if (aws_instance_runs(in) || is_target_already(p, in->id)) {
            ids[n++] = in->id;
        }
    }
    return (struct aws_texts){.items = ids, .n = n};
}

/* Of the load balancer that is there. */
static struct str_set seen_zones(const struct aws_planning *p)
{
    const struct aws_observed *seen = p->seen;
    bool nlb = seen->nlb != NULL && (p->service->kind != AWS_CLASSIC || seen->classic == NULL);
    struct aws_texts zones = nlb                     ? seen->nlb->zones
                             : seen->classic != NULL ? seen->classic->zones
                                                     : (struct aws_texts){0};
    return str_set_make(p->a, zones.items, zones.n);
}

/* Instances that are targets of the load balancer and get packets. */
static size_t count_serving(const struct aws_planning *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->around->n_instances; i++) {
        const struct aws_instance *in = &p->around->instances[i];
        n += aws_instance_runs(in) && aws_zones_have(&p->zones, in->zone);
    }
    return n;
}

/* ---- the two kinds --------------------------------------------------------------------------- */

static int plan_classic(struct aws_planning *p, struct err *err)
{
    struct aws_texts subnets = {0};
    struct aws_classic_want want;
    struct lb_value own = LB_VALUE(NULL);
    int rc = subnets_of_classic(p, &subnets, err);
    if (rc == ERR_OK) {
        rc = aws_classic_desired(p->a, p->naming, p->service, subnets, instance_ids(p), &want, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    p->zones = aws_zones_of(p->a, &p->around->places, &subnets);
    aws_limits_of_classic(p, &want);
    if (want.own != NULL) {
        rc = aws_plan_own_group(p, want.own, &own, err);
    }
    if (rc == ERR_OK) {
        rc = aws_exchange_decide(p, &want, own, err);
    }
    if (rc == ERR_OK) {
        rc = aws_plan_classic(p, &want, own, err);
    }
    if (rc == ERR_OK) {
        rc = aws_plan_classic_node_groups(p, &want, own, err);
    }
    return rc == ERR_OK ? aws_plan_left_groups(p, want.own != NULL ? want.own->name : NULL, err)
                        : rc;
}

/* AWS gives groups only to NLBs that were made with one (5.9). */
static bool takes_groups(const struct aws_planning *p)
{
    return p->seen->nlb == NULL || p->seen->nlb->groups.n > 0;
}

/* The name of the own group, when the NLB has it or will have it. */
static const char *kept_group(const struct aws_planning *p, const struct aws_nlb_want *want)
{
    if (want->managed_groups) {
        return want->own != NULL && takes_groups(p) ? want->own->name : NULL;
    }
    return takes_groups(p) && p->seen->nlb != NULL ? p->service->nlb_group : NULL;
}

/* An elastic or private address for each subnet, where the Service names some. */
static bool addresses_fit(const struct aws_service *s, size_t n_subnets)
{
    return (!s->has_allocations || s->allocations.n == n_subnets) &&
           (!s->has_addresses || s->addresses.n == n_subnets);
}

/* Why an NLB does not go to the subnets that the Service asks for. */
static const char *stays_because(const struct aws_planning *p)
{
    if (!p->naming->options.nlb_subnets) {
        return "the subnets of an NLB are not changed unless NLBSubnets in [Trimtab] of the "
               "cloud-config says so";
    }
    return scheme_differs(p) ? "its scheme is not the one that the Service asks for"
                             : "the annotations name another number of addresses than of subnets";
}

static bool same_texts(struct arena *a, struct aws_texts x, struct aws_texts y)
{
    struct str_set sx = str_set_make(a, x.items, x.n);
    struct str_set sy = str_set_make(a, y.items, y.n);
    return str_set_eq(&sx, &sy);
}

/* AWS takes addresses at creation only: what is asked for later comes with the
 * next load balancer. */
static void tell_addresses(struct aws_planning *p)
{
    const struct aws_service *s = p->service;
    const struct aws_nlb *nlb = p->seen->nlb;
    const struct {
        const char *name;
        bool asked;
        struct aws_texts want, is;
    } rows[] = {{"eip-allocations", s->has_allocations, s->allocations, nlb->allocations},
                {"private-ipv4-addresses", s->has_addresses, s->addresses, nlb->addresses}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool filled = aws_annotation_filled(s->in, rows[i].name) != NULL;
        if (rows[i].asked && filled && !same_texts(p->a, rows[i].want, rows[i].is)) {
            aws_plan_finding_of(
                p, arena_printf(p->a, AWS_ANNOTATION "%s", rows[i].name),
                "annotation " AWS_ANNOTATION
                "%s has no effect on an NLB that is there: it keeps the addresses that "
                "it was made with. To get others, delete the Service and create it "
                "anew",
                rows[i].name);
        }
    }
}

/* Tags reach an NLB that is there with NLBTags alone. */
static void tell_tags(struct aws_planning *p)
{
    const struct aws_tags *extra = &p->service->extra_tags;
    const struct aws_tags *has = NULL;
    for (size_t i = 0; !p->naming->options.nlb_tags && i < p->seen->n_tags; i++) {
        has = str_eq(p->seen->tags[i].arn, p->seen->nlb->arn) ? &p->seen->tags[i].tags : has;
    }
    for (size_t i = 0; has != NULL && i < extra->n; i++) {
        if (!str_eq(aws_tag(has, extra->items[i].key), extra->items[i].value)) {
            aws_plan_finding_of(
                p, AWS_ANNOTATION "additional-resource-tags",
                "annotation " AWS_ANNOTATION "additional-resource-tags: tag %s does "
                "not reach the NLB, which keeps the tags that it was made with. Set "
                "NLBTags in [Trimtab] of the cloud-config, or delete the Service "
                "and create it anew",
                extra->items[i].key);
            return;
        }
    }
}

/* AWS gives groups only to NLBs that were made with one. */
static void tell_groups(struct aws_planning *p)
{
    bool named = p->service->groups.n > 0 && str_eq(p->naming->nlb_group_mode, "Managed");
    if (named && p->seen->nlb->groups.n == 0) {
        aws_plan_finding_of(p, AWS_ANNOTATION "security-groups",
                            "annotation " AWS_ANNOTATION "security-groups has no effect on an NLB "
                            "that was made without security groups: AWS lets it have none. To get "
                            "one with groups, delete the Service and create it anew");
    }
}

static int plan_nlb(struct aws_planning *p, struct err *err)
{
    struct aws_texts subnets = {0};
    struct aws_nlb_want want;
    struct lb_value own = LB_VALUE(NULL);
    struct aws_service s = *p->service;
    int rc = subnets_of_nlb(p, &subnets, err);
    bool moves = follows_subnets(p) && addresses_fit(&s, subnets.n);
    if (p->seen->nlb != NULL) {
        tell_tags(p);
        tell_groups(p);
    }
    if (p->seen->nlb != NULL && !moves) { /* addresses were given at creation: not counted again */
        s.has_allocations = false;
        s.has_addresses = false;
        tell_addresses(p);
    }
    if (rc == ERR_OK) {
        rc = aws_nlb_desired(p->a, p->naming, &s, subnets, instance_ids(p), &want, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    want.moves = moves && aws_nlb_can_move(p, &want);
    bool stays = p->seen->nlb != NULL && p->seen->nlb->subnets.n > 0 && !want.moves;
    p->zones = aws_zones_of(p->a, &p->around->places, stays ? &p->seen->nlb->subnets : &subnets);
    want.stays_because = moves ? "its only zone would have to be left first" : stays_because(p);
    aws_limits_of_nlb(p, &want);
    if (want.own != NULL && takes_groups(p)) {
        rc = aws_plan_own_group(p, want.own, &own, err);
    }
    if (rc == ERR_OK) {
        rc = aws_plan_nlb(p, &want, own, err);
    }
    if (rc == ERR_OK) {
        rc = aws_plan_nlb_node_groups(p, &want, err);
    }
    if (rc == ERR_OK) {
        rc = aws_plan_left_target_groups(p, &want, err);
    }
    return rc == ERR_OK ? aws_plan_left_groups(p, kept_group(p, &want), err) : rc;
}

/* ---- one Service ----------------------------------------------------------------------------- */

static int check_kind(const struct aws_planning *p, struct err *err)
{
    const struct aws_service *s = p->service;
    bool has_classic = p->seen->classic != NULL;
    bool has_nlb = p->seen->nlb != NULL;
    bool nlb = s->kind == AWS_NLB;
    if (nlb ? has_nlb || !has_classic : has_classic || !has_nlb) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "the type of a load balancer cannot be changed: %s is %s, and the annotation "
                   "aws-load-balancer-type asks for %s; put the annotation back, or delete the "
                   "Service and create it anew",
                   s->lb_name, nlb ? "a classic load balancer" : "an NLB",
                   nlb ? "an NLB" : "a classic load balancer");
}

static bool has_listener(const struct aws_planning *p, int32_t port)
{
    const struct aws_classic *classic = p->seen->classic;
    for (size_t i = 0; classic != NULL && i < classic->n_listeners; i++) {
        if (classic->listeners[i].port == port) {
            return true;
        }
    }
    for (size_t i = 0; i < p->seen->n_listeners; i++) {
        if (p->seen->listeners[i].port == port) {
            return true;
        }
    }
    return false;
}

/* A port without node port gets no listener (PortIgnored); one that is served is not taken
 * away for that. */
static int check_ports(const struct aws_planning *p, struct err *err)
{
    const struct tt_service *s = p->service->in;
    for (uint32_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].node_port == 0 && has_listener(p, s->ports[i].port)) {
            return err_set(err, ERR_INVALID,
                           "port %d: no node port is allocated "
                           "(spec.allocateLoadBalancerNodePorts), so that no client could be "
                           "served there any more; set a node port, or take the port out",
                           (int)s->ports[i].port);
        }
    }
    if (p->service->kind == AWS_CLASSIC && p->seen->classic == NULL && p->service->n_ports == 0) {
        return err_set(
            err, ERR_INVALID,
            "no port has a node port (spec.allocateLoadBalancerNodePorts), and AWS makes "
            "no classic load balancer without a listener; name a node port");
    }
    return ERR_OK;
}

static int plan_kind(struct aws_planning *p, struct err *err)
{
    return p->service->kind == AWS_NLB ? plan_nlb(p, err) : plan_classic(p, err);
}

/* The balancer of the other scheme goes; then the Service is planned as if it had none.  Its target
 * groups serve on. */
static int plan_anew(struct aws_planning *p, struct err *err)
{
    const struct aws_observed *seen = p->seen;
    struct aws_observed bare = *seen;
    const char *why = arena_printf(p->a, "it is %s, and the Service asks for %s one",
                                   scheme_text(!p->service->internal),
                                   p->service->internal ? "an internal" : "an internet-facing");
    if (p->service->kind == AWS_NLB) {
        aws_plan_balancer_goes(p, AWS_PHASE_CLEAR, AWS_NLB, why);
        bare.nlb = NULL;
        bare.listeners = NULL;
        bare.n_listeners = 0;
        bare.has_nlb_attributes = false;
    } else {
        aws_plan_balancer_goes(p, AWS_PHASE_CLEAR, AWS_CLASSIC, why);
        bare.classic = NULL;
        bare.classic_attributes = NULL;
        bare.has_classic_tags = false;
    }
    p->seen = &bare;
    p->anew = true;
    int rc = plan_kind(p, err);
    p->seen = seen;
    return rc;
}

static int plan_wanted(struct aws_planning *p, struct err *err)
{
    const struct aws_service *s = p->service;
    if (p->about_nodes && (p->seen->nlb != NULL || p->seen->classic != NULL)) {
        describe(p);
        describe_claim(p);
        p->zones = seen_zones(p);
        p->n_serving = count_serving(p);
        return aws_plan_upkeep(p, instance_ids(p), err);
    }
    if (s->kind == AWS_ELSEWHERE) {
        return err_copy(err, &s->err);
    }
    int rc = check_kind(p, err);
    if (rc == ERR_OK) {
        rc = err_copy(err, &s->err);
    }
    if (rc == ERR_OK) {
        rc = check_ports(p, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    describe(p);
    describe_targets(p);
    describe_ranges(p);
    rc = is_replaced(p) ? plan_anew(p, err) : plan_kind(p, err);
    p->n_serving = count_serving(p);
    return rc == ERR_OK ? aws_refused_check(p, err) : rc;
}

int aws_plan_service(struct aws_planning *p, bool want, struct err *err)
{
    int rc = ERR_OK;
    aws_draft_begin(p);
    if (want) {
        rc = plan_wanted(p, err);
    } else {
        describe_going(p);
        rc = aws_plan_delete(p, err);
    }
    if (rc == ERR_OK) { /* half a plan would be none */
        aws_draft_finish(p);
    }
    return rc;
}
