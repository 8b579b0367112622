/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_plan.c: the NLB of a Service, the balancer itself; its parts are in aws_nlb_groups_plan.c
 * and aws_nlb_listeners_plan.c.
 *
 * A new one takes two waves: balancer ∥ target groups, then targets ∥ listeners ∥ attributes.  With
 * a security group that is made in the same plan, the balancer waits for it.
 * On one that is there, security groups change last (SWITCH), when the rules of a new group are
 * written, so that no moment refuses traffic; and never from none to some, which AWS does not do.
 * Scheme, subnets, addresses and tags of an NLB are not changed (nor are they upstream) unless
 * [Trimtab] of the cloud-config says so; the plan reports it where it is visible (of the scheme:
 * aws_service_plan.c).
 * Pure.  Source: docs/spec/aws.md 5.3 to 5.10. */
#include "providers/aws/plan/aws_nlb_internal_plan.h"

#include "common/base/str.h"
#include "common/lb/diff.h"

#include <string.h>

#define KIND "load balancer"

/* ---- a new one ------------------------------------------------------------------------------- */

static const char *create_summary(struct arena *a, const struct aws_nlb_want *want)
{
    return arena_printf(a, "network, %s, %s", want->internal ? "internal" : "internet-facing",
                        str_count(a, want->n_mappings, "subnet"));
}

/* SecurityGroups, wherever they are sent whole: the own one, or those that the Service names. */
static void draft_groups(struct aws_planning *p, int draft, const struct aws_nlb_want *want,
                         struct lb_value own)
{
    if (want->own != NULL) {
        aws_draft_value(p, draft, "SecurityGroups.member.1", own);
    } else {
        aws_draft_list(p, draft, "SecurityGroups.member.%zu", &want->groups);
    }
}

static struct lb_value plan_create(struct aws_planning *p, const struct aws_nlb_want *want,
                                   struct lb_value own)
{
    bool waits = want->own != NULL && own.text == NULL && own.op >= 0;
    int d = aws_draft(p, waits ? AWS_PHASE_BALANCE : AWS_PHASE_MAKE, LB_CREATE, KIND, want->name,
                      p->anew ? "the one of the other scheme is gone by then"
                              : "the Service has no load balancer yet");
    aws_draft_op(p, d)->summary = create_summary(p->a, want);
    aws_draft_action(p, d, AWS_ELBV2, "CreateLoadBalancer");
    aws_draft_text(p, d, "Name", want->name);
    aws_draft_text(p, d, "Type", "network");
    aws_draft_text(p, d, "Scheme", want->internal ? "internal" : NULL);
    for (size_t i = 0; i < want->n_mappings; i++) {
        aws_draft_field(p, d, "subnets", NULL, want->mappings[i].subnet);
    }
    aws_nlb_draft_mappings(p, d, want->mappings, want->n_mappings);
    if (want->managed_groups) {
        draft_groups(p, d, want, own);
        if (want->own != NULL) {
            aws_draft_field_value(p, d, "securityGroups", NULL, own);
        }
        for (size_t i = 0; want->own == NULL && i < want->groups.n; i++) {
            aws_draft_field(p, d, "securityGroups", NULL, want->groups.items[i]);
        }
    }
    aws_draft_tags(p, d, "Tags.member", &want->tags);
    aws_draft_output(p, d, "arn", "LoadBalancers/member/LoadBalancerArn");
    aws_draft_output(p, d, "dns", "LoadBalancers/member/DNSName");
    return aws_draft_value_of(d, "arn");
}

/* ---- attributes ------------------------------------------------------------------------------ */

void aws_nlb_draft_attributes(struct aws_planning *p, int draft, const struct aws_tags *changed,
                              const struct aws_tags *seen)
{
    for (size_t i = 0; i < changed->n; i++) {
        const struct aws_tag *one = &changed->items[i];
        const char *head = arena_printf(p->a, "Attributes.member.%zu", i + 1);
        aws_draft_text(p, draft, arena_printf(p->a, "%s.Key", head), one->key);
        aws_draft_text(p, draft, arena_printf(p->a, "%s.Value", head), one->value);
        aws_draft_field(p, draft, one->key, seen != NULL ? aws_tag(seen, one->key) : NULL,
                        one->value);
    }
}

/* Attributes of a new NLB.  (moto knows no access_logs.s3.enabled until it is written once; then
 * the next sync does.) */
static const struct aws_tag fresh[] = {
    {"access_logs.s3.bucket", ""},
    {"access_logs.s3.enabled", "false"},
    {"access_logs.s3.prefix", ""},
    {"load_balancing.cross_zone.enabled", "false"},
};

static bool plan_attributes(struct aws_planning *p, const struct aws_nlb_want *want,
                            struct lb_value balancer)
{
    const struct aws_tags defaults = {fresh, ARRAY_LEN(fresh)};
    bool is_new = p->seen->nlb == NULL;
    if (!is_new && !p->seen->has_nlb_attributes) {
        return false;
    }
    const struct aws_tags *seen = is_new ? &defaults : &p->seen->nlb_attributes;
    struct aws_tags changed = aws_nlb_attributes_diff(p->a, &want->attributes, seen);
    if (changed.n == 0) {
        return false;
    }
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CHANGE, KIND, want->name,
                      is_new ? "a new load balancer has other attributes than the Service asks for"
                             : "its attributes are not those that the Service asks for");
    aws_draft_op(p, d)->summary = "attributes";
    aws_draft_action(p, d, AWS_ELBV2, "ModifyLoadBalancerAttributes");
    aws_draft_value(p, d, "LoadBalancerArn", balancer);
    aws_nlb_draft_attributes(p, d, &changed, seen);
    return true;
}

/* ---- one that is there ----------------------------------------------------------------------- */

/* The difference as people see it; false if there is none. */
static bool groups_differ(const struct aws_planning *p, const struct aws_nlb_want *want,
                          struct lb_value own, struct lb_diff *diff)
{
    struct str_set has = str_set_make(p->a, p->seen->nlb->groups.items, p->seen->nlb->groups.n);
    struct str_set wanted = str_set_make(p->a, want->groups.items, want->groups.n);
    if (want->own != NULL) {
        wanted = str_set_make(p->a, &own.text, own.text != NULL ? 1 : 0);
    }
    bool differ = lb_diff_set(diff, "securityGroups", &has, &wanted);
    if (want->own != NULL && own.text == NULL) {
        differ |= lb_diff_value(diff, "securityGroups", NULL, own);
    }
    return differ;
}

static bool plan_security_groups(struct aws_planning *p, const struct aws_nlb_want *want,
                                 struct lb_value own)
{
    const struct aws_nlb *has = p->seen->nlb;
    bool none_wanted = want->own == NULL ? want->groups.n == 0 : own.text == NULL && own.op < 0;
    if (!want->managed_groups) {
        return false;
    }
    if (has->groups.n == 0) {
        lb_plan_because(p->plan, p->service->key,
                        "the NLB was created without security groups → AWS lets it have none");
        return false;
    }
    struct lb_diff diff;
    lb_diff_init(&diff, p->a);
    if (none_wanted || !groups_differ(p, want, own, &diff)) {
        return false;
    }
    int d = aws_draft(p, AWS_PHASE_SWITCH, LB_CHANGE, KIND, has->name,
                      "its security groups are not those that the Service asks for");
    aws_draft_op(p, d)->summary = "security groups";
    for (size_t i = 0; i < diff.n; i++) {
        aws_draft_field_value(p, d, diff.fields[i].path, diff.fields[i].old_text,
                              diff.fields[i].new_value);
    }
    aws_draft_action(p, d, AWS_ELBV2, "SetSecurityGroups");
    aws_draft_text(p, d, "LoadBalancerArn", has->arn);
    draft_groups(p, d, want, own);
    return true;
}

int aws_plan_nlb(struct aws_planning *p, const struct aws_nlb_want *want, struct lb_value own,
                 struct err *err)
{
    (void)err; /* nothing that a Service can say is found wrong only here */
    struct aws_nlb_slots slots = aws_nlb_slots_make(p, want);
    bool changes = p->seen->nlb == NULL;
    struct lb_value balancer;
    if (p->seen->nlb == NULL) {
        balancer = plan_create(p, want, own);
    } else {
        balancer = LB_VALUE(p->seen->nlb->arn);
        changes = aws_nlb_plan_subnets(p, want);
        changes |= plan_security_groups(p, want, own);
    }
    aws_nlb_plan_groups(p, want, &slots);
    aws_nlb_plan_listeners(p, want, &slots, balancer);
    changes |= plan_attributes(p, want, balancer);
    changes |= aws_nlb_plan_tags(p, want, &slots);
    if (!changes) {
        (void)aws_draft(p, AWS_PHASE_MAKE, LB_KEEP, KIND, want->name, NULL);
    }
    return ERR_OK;
}
