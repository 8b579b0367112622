/* SPDX-License-Identifier: Apache-2.0 */
/* aws_order_plan.c: which operation of a Service's plan waits for which others.
 *
 * The phases of aws_plan.h are the order in which a plan is read; here each operation gets the
 * names of those of earlier phases that it needs, so that an address comes after its longest chain
 * and not after the slowest of each phase.  One table for both kinds of balancers and all verbs:
 *
 *     a rule that comes                  rules that leave first, for room
 *     a target group that is made        listeners and target groups that leave first, for room or
 *                                        the name; in FORGET (there was no room): all
 *     targets that join                  rules that let traffic reach them; targets of the group
 *                                        that leave first
 *     a health check that changes        rules that let probes reach targets
 *     a classic balancer's check         rules that let probes reach targets; the balancer
 *     a listener that is made            the one that it replaces, or that makes room; rules
 *     a listener that changes            its target group is filled and checked as it should be;
 *                                        rules
 *     a listener that leaves             in BALANCE: its replacement's target group and rules; in
 *                                        DROP: all listeners that come or change, so that a port
 *                                        goes only when what stays serves
 *     targets that leave                 those that join the same target group
 *     subnets, security groups           rules; the step before
 *     a target group that leaves         listeners
 *     rules that leave                   all that may still use them; those that a narrower range
 *                                        shuts out: rules that come to the same group
 *     a security group that leaves       rules and balancers that refer to it
 *
 * Attributes, tags, policies and certificates fail alone (plan.h), and what leaves does not wait
 * for them: a range that the Service no longer names is closed although AWS refuses a setting.
 * What an operation is not listed for waits for all earlier phases, and every operation for those
 * whose values it sends.  Deleting a balancer is critical, which makes it a barrier.
 * A classic listener that is made again comes as soon as the former one has gone and rules have
 * come, also when those were refused.
 * Source: docs/spec/aws.md 4.6, 5.3 to 5.11, 7.3; docs/adr/0037.  Pure. */
#include "providers/aws/plan/aws_order_plan.h"

#include "common/base/str.h"

/* Of a phase so many at a time: the next one waits for the one that many before it.  AWS counts
 * calls per second and account, and takes a burst of about as many. */
#define WINDOW 16

/* The part that an operation plays in the table; bits. */
#define OTHER          0x0001u
#define RULES_COME     0x0002u
#define RULES_LEAVE    0x0004u
#define SECURITY_GROUP 0x0008u /* made or tagged */
#define SECURITY_GOES  0x0010u
#define TARGET_GROUP   0x0020u /* made */
#define TARGET_SET     0x0040u /* its health check or attributes */
#define TARGET_GOES    0x0080u
#define JOIN           0x0100u
#define LEAVE          0x0200u
#define LISTENER       0x0400u
#define LISTENER_SET   0x0800u
#define LISTENER_GOES  0x1000u
#define BALANCER       0x2000u
#define BALANCER_SET                                                                               \
    0x4000u /* attributes, tags, policies that are defined: nothing else hangs on them */
#define BALANCER_GROUPS 0x8000u
#define BALANCER_ZONES  0x10000u
#define CHECK           0x20000u /* of a classic balancer */
#define ALL             0x3ffffu
#define GOES            (RULES_LEAVE | TARGET_GOES | LISTENER_GOES)

static const struct part {
    const char *action;
    unsigned role;
} parts[] = {
    {"AuthorizeSecurityGroupIngress", RULES_COME},
    {"RevokeSecurityGroupIngress", RULES_LEAVE},
    {"CreateSecurityGroup", SECURITY_GROUP},
    {"CreateTags", SECURITY_GROUP},
    {"DeleteSecurityGroup", SECURITY_GOES},
    {"CreateTargetGroup", TARGET_GROUP},
    {"ModifyTargetGroup", TARGET_SET},
    {"ModifyTargetGroupAttributes", TARGET_SET},
    {"ConfigureHealthCheck", CHECK},
    {"DeleteTargetGroup", TARGET_GOES},
    {"RegisterTargets", JOIN},
    {"RegisterInstancesWithLoadBalancer", JOIN},
    {"DeregisterTargets", LEAVE},
    {"DeregisterInstancesFromLoadBalancer", LEAVE},
    {"CreateListener", LISTENER},
    {"CreateLoadBalancerListeners", LISTENER},
    {"ModifyListener", LISTENER_SET},
    {"DeleteListener", LISTENER_GOES},
    {"DeleteLoadBalancerListeners", LISTENER_GOES},
    {"CreateLoadBalancer", BALANCER},
    {"ModifyLoadBalancerAttributes", BALANCER_SET},
    {"AddTags", BALANCER_SET},
    {"CreateLoadBalancerPolicy", BALANCER_SET},
    {"SetSecurityGroups", BALANCER_GROUPS},
    {"ApplySecurityGroupsToLoadBalancer", BALANCER_GROUPS},
    {"SetSubnets", BALANCER_ZONES},
};

static unsigned role_of(const struct aws_step *s)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_eq(parts[i].action, s->write->action)) {
            return parts[i].role;
        }
    }
    return OTHER;
}

/* Does it set what nothing that serves hangs on: attributes, tags, policies, certificates?  When
 * AWS refuses that, ports, ranges and nodes follow the Service all the same. */
static bool is_setting(const struct aws_step *s)
{
    static const char *const actions[] = {
        "ModifyLoadBalancerAttributes",
        "AddTags",
        "CreateLoadBalancerPolicy",
        "SetLoadBalancerPoliciesOfListener",
        "SetLoadBalancerPoliciesForBackendServer",
        "SetLoadBalancerListenerSSLCertificate",
    };
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(actions[i], s->write->action)) {
            return true;
        }
    }
    for (size_t i = 0; i < s->write->n_params; i++) {
        if (str_has_prefix(s->write->params[i].name, "DefaultActions.")) {
            return false; /* the listener goes to another target group */
        }
    }
    return str_eq(s->write->action, "ModifyListener");
}

/* Roles, among the steps of earlier phases, that a step waits for. */
static unsigned waits_for(unsigned role, enum aws_phase phase)
{
    switch (role) {
    case SECURITY_GROUP:
        return 0;
    case RULES_COME:
        return RULES_LEAVE;
    case RULES_LEAVE:
        return phase == AWS_PHASE_CLEAR ? 0 : ALL & ~(TARGET_GOES | RULES_LEAVE);
    case SECURITY_GOES:
        return RULES_LEAVE | BALANCER_GROUPS;
    case TARGET_GROUP:
        return phase == AWS_PHASE_FORGET ? ALL : LISTENER_GOES | TARGET_GOES;
    case TARGET_GOES:
        return LISTENER | LISTENER_SET | LISTENER_GOES;
    case TARGET_SET:
        return RULES_COME;
    case CHECK:
        return RULES_COME | BALANCER;
    case JOIN:
        return RULES_COME | BALANCER;
    case LEAVE:
        return 0;
    case LISTENER:
        return RULES_COME | LISTENER_GOES;
    case LISTENER_SET:
        return RULES_COME;
    case LISTENER_GOES:
        return phase == AWS_PHASE_BALANCE ? RULES_COME | TARGET_GROUP : LISTENER | LISTENER_SET;
    case BALANCER:
    case BALANCER_SET:
        return BALANCER;
    case BALANCER_GROUPS:
        return RULES_COME | RULES_LEAVE | SECURITY_GROUP | BALANCER_GROUPS;
    case BALANCER_ZONES:
        return RULES_COME | BALANCER_ZONES;
    default:
        return ALL;
    }
}

/* Roles that a step waits for where they are about the same target group, or the
 * same classic balancer. */
static unsigned waits_for_of_group(unsigned role)
{
    switch (role) {
    case JOIN:
        return LEAVE;
    case LEAVE:
        return JOIN;
    case LISTENER_SET:
        return JOIN | TARGET_SET;
    default:
        return 0;
    }
}

/* ---- the same group -------------------------------------------------------------------------- */

/* Rules of one security group, which is there: a new one has none that leave. */
static bool same_rules(const struct aws_step *x, const struct aws_step *y)
{
    const char *ids[2] = {NULL, NULL};
    const struct aws_step *const steps[2] = {x, y};
    for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
        for (size_t i = 0; i < steps[k]->write->n_params; i++) {
            const struct aws_param *param = &steps[k]->write->params[i];
            ids[k] = str_eq(param->name, "GroupId") ? param->value.text : ids[k];
        }
    }
    return ids[0] != NULL && str_eq(ids[0], ids[1]);
}

static const struct lb_value *group_of(const struct aws_step *s)
{
    static const char *const names[] = {"TargetGroupArn", "DefaultActions.member.1.TargetGroupArn",
                                        "LoadBalancerName"};
    for (size_t i = 0; i < s->write->n_params; i++) {
        for (size_t k = 0; k < ARRAY_LEN(names); k++) {
            if (str_eq(s->write->params[i].name, names[k])) {
                return &s->write->params[i].value;
            }
        }
    }
    return NULL;
}

static bool same_group(const struct aws_step *x, const struct aws_step *y)
{
    const struct lb_value *a = group_of(x);
    const struct lb_value *b = group_of(y);
    if (a == NULL || b == NULL) {
        return true; /* unknown: they count as one */
    }
    return a->text != NULL ? str_eq(a->text, b->text) : b->text == NULL && a->op == b->op;
}

/* ---- edges ----------------------------------------------------------------------------------- */

struct order {
    struct lb_plan *plan;
    const struct aws_step *steps;
    const unsigned *roles;
};

/* Is it a listener of a further port, and the other goes for one that replaces it?  That gives no
 * room, and the further port is not to hang on it. */
static bool is_beside(const struct order *o, size_t at, size_t on)
{
    const struct lb_op *goes = &o->plan->ops[o->steps[on].op];
    return o->roles[at] == LISTENER && o->roles[on] == LISTENER_GOES && goes->undo != NULL &&
           !lb_op_ends_undo(&o->plan->ops[o->steps[at].op], goes->undo);
}

static bool follows(const struct order *o, size_t at, size_t on)
{
    const struct aws_step *s = &o->steps[at];
    const struct aws_step *other = &o->steps[on];
    if (other->phase >= s->phase || (o->roles[at] & GOES && is_setting(other)) ||
        is_beside(o, at, on)) {
        return false;
    }
    if (s->write->narrows) {
        return o->roles[on] == RULES_COME && same_rules(s, other);
    }
    return (waits_for(o->roles[at], s->phase) & o->roles[on]) != 0 ||
           ((waits_for_of_group(o->roles[at]) & o->roles[on]) != 0 && same_group(s, other));
}

static void name_all(const struct order *o, size_t at)
{
    const struct aws_step *s = &o->steps[at];
    o->plan->ops[s->op].fails_alone = is_setting(s);
    lb_plan_after(o->plan, s->op, -1);
    for (size_t i = 0; i < s->write->n_params; i++) {
        const struct lb_value *v = &s->write->params[i].value;
        if (v->text == NULL && v->op >= 0) {
            lb_plan_after(o->plan, s->op, v->op);
        }
    }
    for (size_t i = 0; i < at; i++) {
        if (follows(o, at, i)) {
            lb_plan_after(o->plan, s->op, o->steps[i].op);
        }
    }
    if (at >= WINDOW && !s->write->narrows && o->steps[at - WINDOW].phase == s->phase &&
        !is_setting(&o->steps[at - WINDOW])) {
        lb_plan_after(o->plan, s->op, o->steps[at - WINDOW].op);
    }
}

void aws_order_steps(struct lb_plan *plan, struct arena *a, const struct aws_step *steps, size_t n)
{
    unsigned *roles = ARENA_ARRAY(a, unsigned, n + 1);
    const struct order o = {.plan = plan, .steps = steps, .roles = roles};
    for (size_t i = 0; i < n; i++) {
        roles[i] = role_of(&steps[i]);
    }
    for (size_t i = 0; i < n; i++) {
        name_all(&o, i);
    }
}
