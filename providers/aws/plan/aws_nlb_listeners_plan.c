/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_listeners_plan.c: listeners of an NLB: made, changed in place, switched to another target
 * group, deleted.
 *
 * A ModifyListener says only what changes: members that are absent stay as they are.  A listener
 * goes from TCP to TLS and back in place.  To and from UDP it cannot, and a port has one listener,
 * so the old one is deleted when the new target group is made (BALANCE), and the port answers
 * no client until the new listener is there (FILL); the plan says so.  A policy that the Service
 * does not name is AWS' affair and not compared, nor is one on a listener without TLS (moto
 * answers one there).  Pure.  Source: docs/spec/aws.md 5.5; 10.4 rows 3, 4, 31a; 13 rows 6, 9. */
#include "providers/aws/plan/aws_nlb_internal_plan.h"

#include "common/base/str.h"

#include <string.h>

#define KIND "listener"
/* AWS' default policy of a new TLS listener.  When TCP becomes TLS in place, one must be named. */
#define DEFAULT_POLICY "ELBSecurityPolicy-2016-08"

static const char *listener_name(struct arena *a, const char *protocol, int32_t port)
{
    return arena_printf(a, "%s:%d", protocol, (int)port);
}

static const char *group_text(const struct aws_planning *p, const char *arn)
{
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        if (str_eq(p->seen->groups[i].group->arn, arn)) {
            return p->seen->groups[i].group->name;
        }
    }
    return arn;
}

/* ---- one that is not there ------------------------------------------------------------------- */

static int draft_create(struct aws_planning *p, const struct aws_nlb_want *want,
                        const struct aws_nlb_slot *slot, struct lb_value balancer, const char *why)
{
    const struct aws_nlb_port *port = slot->port;
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CREATE, KIND,
                      listener_name(p->a, port->protocol, port->port), why);
    aws_draft_action(p, d, AWS_ELBV2, "CreateListener");
    aws_draft_value(p, d, "LoadBalancerArn", balancer);
    aws_draft_int(p, d, "Port", port->port);
    aws_draft_text(p, d, "Protocol", port->protocol);
    aws_draft_text(p, d, "DefaultActions.member.1.Type", "forward");
    aws_draft_value(p, d, "DefaultActions.member.1.TargetGroupArn", slot->arn);
    if (!str_is_empty(port->certificate)) {
        aws_draft_text(p, d, "Certificates.member.1.CertificateArn", port->certificate);
        aws_draft_field(p, d, "certificate", NULL, port->certificate);
    }
    if (!str_is_empty(port->ssl_policy)) {
        aws_draft_text(p, d, "SslPolicy", port->ssl_policy);
        aws_draft_field(p, d, "sslPolicy", NULL, port->ssl_policy);
    }
    aws_draft_tags(p, d, "Tags.member", &want->tags);
    return d;
}

static int plan_create(struct aws_planning *p, const struct aws_nlb_want *want,
                       const struct aws_nlb_slot *slot, struct lb_value balancer)
{
    const struct aws_nlb_port *port = slot->port;
    const char *why = arena_printf(p->a, "port %d has no listener yet", (int)port->port);
    if (slot->turn == AWS_NLB_ANEW) {
        why = arena_printf(p->a, "port %d is %s now, not %s", (int)port->port, port->protocol,
                           slot->listener->protocol);
    }
    int d = draft_create(p, want, slot, balancer, why);
    const char *group = slot->group != NULL ? slot->group->group->name : port->group_name;
    aws_draft_op(p, d)->summary = arena_printf(p->a, "to %s", group);
    aws_draft_output(p, d, "arn", "Listeners/member/ListenerArn");
    return d;
}

static int plan_delete(struct aws_planning *p, enum aws_phase phase, const struct aws_listener *l,
                       const char *why)
{
    int d = aws_draft(p, phase, LB_DELETE, KIND, listener_name(p->a, l->protocol, l->port), why);
    aws_draft_action(p, d, AWS_ELBV2, "DeleteListener");
    aws_draft_text(p, d, "ListenerArn", l->arn);
    aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
    return d;
}

/* The listener as it is, which goes in `gone` for the one that `made` makes.  Its target group
 * stays until then. */
static void plan_undo(struct aws_planning *p, const struct aws_nlb_want *want,
                      const struct aws_listener *l, int gone, int made)
{
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CREATE, KIND, listener_name(p->a, l->protocol, l->port),
                      NULL);
    aws_draft_action(p, d, AWS_ELBV2, "CreateListener");
    aws_draft_text(p, d, "LoadBalancerArn", l->balancer);
    aws_draft_int(p, d, "Port", l->port);
    aws_draft_text(p, d, "Protocol", l->protocol);
    aws_draft_text(p, d, "DefaultActions.member.1.Type", "forward");
    aws_draft_text(p, d, "DefaultActions.member.1.TargetGroupArn", l->target_group);
    if (str_eq(l->protocol, "TLS")) {
        aws_draft_text(p, d, "Certificates.member.1.CertificateArn", l->certificate);
        aws_draft_text(p, d, "SslPolicy", str_is_empty(l->ssl_policy) ? NULL : l->ssl_policy);
    }
    aws_draft_tags(p, d, "Tags.member", &want->tags);
    aws_draft_undoes(p, d, gone, made);
}

/* AWS gives no listener that ID. */
static const char *arn_of_none(struct arena *a, const char *arn)
{
    static const char none[] = "0000000000000000";
    const char *id = strrchr(arn, '/');
    return id == NULL ? arn : arena_printf(a, "%.*s/%s", (int)(id - arn), arn, none);
}

/* May `gone` be deleted, and its replacement made?  The port is still taken.  A target group that
 * this very plan makes is not there to ask with. */
static void plan_proof(struct aws_planning *p, const struct aws_nlb_want *want,
                       const struct aws_nlb_slot *slot, int gone)
{
    const struct aws_listener *l = slot->listener;
    if (slot->arn.text == NULL) {
        return;
    }
    int d = aws_draft(p, AWS_PHASE_BALANCE, LB_DELETE, KIND,
                      listener_name(p->a, l->protocol, l->port), NULL);
    aws_draft_action(p, d, AWS_ELBV2, "DeleteListener");
    aws_draft_text(p, d, "ListenerArn", arn_of_none(p->a, l->arn));
    aws_draft_proves(p, d, gone);
    aws_draft_proves(p, draft_create(p, want, slot, LB_VALUE(l->balancer), NULL), gone);
}

/* ---- one that is there ----------------------------------------------------------------------- */

struct listener_diff {
    bool protocol, certificate, group;
    const char *policy; /* NULL: stays */
};

static struct listener_diff listener_diff(const struct aws_nlb_slot *slot)
{
    const struct aws_listener *l = slot->listener;
    const struct aws_nlb_port *port = slot->port;
    struct listener_diff diff = {
        .protocol = slot->turn == AWS_NLB_IN_PLACE,
        .group = slot->switches,
    };
    if (str_eq(port->protocol, "TLS")) {
        const char *asked = diff.protocol ? str_or(port->ssl_policy, DEFAULT_POLICY)
                                          : str_nonnull(port->ssl_policy);
        bool other = !str_is_empty(asked) && !str_eq(asked, l->ssl_policy);
        diff.certificate = diff.protocol || !str_eq(l->certificate, port->certificate);
        diff.policy = diff.protocol || other ? asked : NULL;
    }
    return diff;
}

static const char *change_why(struct arena *a, const struct aws_nlb_slot *slot,
                              const struct listener_diff *diff)
{
    if (diff->protocol) {
        return arena_printf(a, "port %d is %s now, not %s", (int)slot->port->port,
                            slot->port->protocol, slot->listener->protocol);
    }
    if (diff->group) {
        return slot->group != NULL ? "another target group of the port is filled"
                                   : "the port has a new target group";
    }
    if (diff->certificate && diff->policy != NULL) {
        return "its certificate and its policy are not those that the Service asks for";
    }
    return diff->certificate ? "its certificate is not the one that the Service asks for"
                             : "its policy is not the one that the Service asks for";
}

static void plan_change(struct aws_planning *p, const struct aws_nlb_slot *slot)
{
    const struct aws_listener *l = slot->listener;
    const struct aws_nlb_port *port = slot->port;
    struct listener_diff diff = listener_diff(slot);
    const char *name = listener_name(p->a, port->protocol, port->port);
    if (!diff.protocol && !diff.certificate && !diff.group && diff.policy == NULL) {
        (void)aws_draft(p, AWS_PHASE_FILL, LB_KEEP, KIND, name, NULL);
        return;
    }
    int d = aws_draft(p, diff.group ? AWS_PHASE_SWITCH : AWS_PHASE_FILL, LB_CHANGE, KIND, name,
                      change_why(p->a, slot, &diff));
    aws_draft_action(p, d, AWS_ELBV2, "ModifyListener");
    aws_draft_text(p, d, "ListenerArn", l->arn);
    if (diff.protocol) {
        aws_draft_text(p, d, "Protocol", port->protocol);
        aws_draft_field(p, d, "protocol", l->protocol, port->protocol);
    }
    if (diff.certificate) {
        aws_draft_text(p, d, "Certificates.member.1.CertificateArn", port->certificate);
        aws_draft_field(p, d, "certificate", l->certificate, port->certificate);
    }
    if (diff.policy != NULL) {
        aws_draft_text(p, d, "SslPolicy", diff.policy);
        aws_draft_field(p, d, "sslPolicy", diff.protocol ? NULL : l->ssl_policy, diff.policy);
    }
    if (diff.group) {
        const char *now = slot->group != NULL ? slot->group->group->name : port->group_name;
        aws_draft_text(p, d, "DefaultActions.member.1.Type", "forward");
        aws_draft_value(p, d, "DefaultActions.member.1.TargetGroupArn", slot->arn);
        aws_draft_field(p, d, "targetGroup", group_text(p, l->target_group), now);
    }
}

void aws_nlb_plan_listeners(struct aws_planning *p, const struct aws_nlb_want *want,
                            const struct aws_nlb_slots *slots, struct lb_value balancer)
{
    bool comes = false;
    size_t n_more = 0; /* listeners of ports that have none */
    for (size_t i = 0; i < slots->n; i++) {
        const struct aws_nlb_slot *slot = &slots->items[i];
        if (slot->listener != NULL && slot->turn != AWS_NLB_ANEW) {
            plan_change(p, slot);
            continue;
        }
        int gone = -1;
        if (slot->listener != NULL) {
            int port = (int)slot->port->port;
            gone = plan_delete(p, AWS_PHASE_BALANCE, slot->listener,
                               arena_printf(p->a, "port %d is %s now, and a port has one listener",
                                            port, slot->port->protocol));
            lb_plan_effect(p->plan, p->service->key,
                           "Port %d does not answer until its new listener exists.", port);
        }
        comes = true;
        n_more += slot->listener == NULL ? 1 : 0;
        int made = plan_create(p, want, slot, balancer);
        if (gone >= 0 && !str_is_empty(slot->listener->target_group)) {
            plan_undo(p, want, slot->listener, gone, made);
            plan_proof(p, want, slot, gone);
        }
    }
    bool first = false;
    if (slots->n_unwanted > 0) {
        /* a full balancer takes them in the place of those that go; else none goes for them */
        first = comes && n_more <= slots->n_unwanted &&
                lb_plan_makes_room(p->plan, p->service->key, KIND);
        first = aws_nlb_groups_make_room(p, slots) || first;
    }
    for (size_t i = 0; i < slots->n_unwanted; i++) {
        const struct aws_listener *l = slots->unwanted[i];
        (void)plan_delete(p, first ? AWS_PHASE_CLEAR : AWS_PHASE_DROP, l,
                          arena_printf(p->a, "the Service has no port %d any more", (int)l->port));
    }
}
