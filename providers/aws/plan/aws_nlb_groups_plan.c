/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_groups_plan.c: target groups of an NLB: made, their health checks, attributes and
 * targets.
 *
 * Another node port or another protocol to the nodes takes another target group, which is made and
 * filled before a listener goes over to it.  Everything of a health check is changed in place, also
 * protocol and interval, for which upstream makes another group: no moment without targets, and the
 * name, which holds a hash of them, stays behind on purpose.
 *
 * Targets come before others go (Register in FILL, Deregister in DROP), so that replacing nodes
 * never empties a group.  Upstream does it the other way round because a group may be at its quota;
 * so do we (Deregister in MAKE) when old and new ones together are more than the quota of a zone or
 * AWS says that it is full, and when an instance changes its port: an emulator that knows targets
 * by their instance alone (10.4 row 15) would take the new one away with the old one.  A group
 * that is borrowed for another node port (aws_nlb_slots_plan.c) serves clients all the time: there
 * they come first.  Pure.  Source: docs/spec/aws.md 5.6, 5.7, 5.10; 13 row 8. */
#include "providers/aws/plan/aws_nlb_internal_plan.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/aws/plan/aws_limits_plan.h"

#include <string.h>

#define KIND  AWS_WORD_TARGET_GROUP
#define SHOWN 3 /* instances that a summary names */

/* ---- health checks --------------------------------------------------------------------------- */

static bool has_path(const struct aws_target_health_check *h)
{
    return !str_eq_nocase(h->protocol, "TCP") && !str_is_empty(h->path);
}

static const char *health_text(struct arena *a, const struct aws_target_health_check *h)
{
    bool own_port = str_eq(h->port, "traffic-port");
    return arena_printf(a, "checked by %s%s%s%s every %d s", h->protocol, own_port ? "" : " :",
                        own_port ? "" : h->port, has_path(h) ? h->path : "", (int)h->interval);
}

struct member {
    const char *param; /* wire name */
    const char *path;  /* in plans */
};
static void change_text(struct aws_planning *p, int d, struct member m, const char *old_text,
                        const char *new_text)
{
    aws_draft_text(p, d, m.param, new_text);
    aws_draft_field(p, d, m.path, old_text, new_text);
}

static void change_int(struct aws_planning *p, int d, struct member m, int32_t old_value,
                       int32_t new_value)
{
    aws_draft_int(p, d, m.param, new_value);
    aws_draft_field(p, d, m.path, old_value > 0 ? arena_printf(p->a, "%d", (int)old_value) : NULL,
                    arena_printf(p->a, "%d", (int)new_value));
}

/* Which members differ. */
struct health_diff {
    bool protocol, port, path, interval, thresholds;
    int32_t timeout; /* 0: stays */
};

/* A timeout is wanted only when it is annotated.  Otherwise it stays, but for one that is longer
 * than a shorter interval, which AWS would refuse. */
static int32_t timeout_diff(const struct aws_planning *p, const struct aws_target_health_check *has,
                            const struct aws_target_health_check *w)
{
    if (w->timeout > 0) {
        bool edited = p->repairs || has->interval != w->interval;
        return has->timeout != w->timeout && edited ? w->timeout : 0;
    }
    return w->interval < has->interval && has->timeout > w->interval ? w->interval : 0;
}

static struct health_diff health_diff(const struct aws_planning *p,
                                      const struct aws_target_health_check *has,
                                      const struct aws_target_health_check *w)
{
    bool unhealthy = has->unhealthy != w->unhealthy;
    return (struct health_diff){
        .protocol = !str_eq_nocase(has->protocol, w->protocol),
        .port = !str_eq(has->port, w->port),
        .path = has_path(w) && !str_eq(has->path, w->path),
        .interval = has->interval != w->interval,
        .thresholds = has->healthy != w->healthy || (unhealthy && p->repairs),
        .timeout = timeout_diff(p, has, w),
    };
}

static void draft_health(struct aws_planning *p, int d, const struct aws_target_health_check *has,
                         const struct aws_target_health_check *w, const struct health_diff *diff)
{
    if (diff->protocol) {
        change_text(p, d, (struct member){"HealthCheckProtocol", "healthCheck.protocol"},
                    has->protocol, w->protocol);
    }
    if (diff->port) {
        change_text(p, d, (struct member){"HealthCheckPort", "healthCheck.port"}, has->port,
                    w->port);
    }
    if (diff->path || (diff->protocol && has_path(w))) {
        change_text(p, d, (struct member){"HealthCheckPath", "healthCheck.path"}, has->path,
                    w->path);
    }
    if (diff->interval) {
        change_int(p, d, (struct member){"HealthCheckIntervalSeconds", "healthCheck.interval"},
                   has->interval, w->interval);
    }
    if (diff->timeout > 0) {
        change_int(p, d, (struct member){"HealthCheckTimeoutSeconds", "healthCheck.timeout"},
                   has->timeout, diff->timeout);
    }
    if (diff->thresholds) {
        change_int(p, d, (struct member){"HealthyThresholdCount", "healthCheck.healthy"},
                   has->healthy, w->healthy);
        change_int(p, d, (struct member){"UnhealthyThresholdCount", "healthCheck.unhealthy"},
                   has->unhealthy, w->unhealthy);
    }
}

/* Values that the Service names and upstream would not see: on what was only taken over they stay,
 * and plan names them. */
static void tell_left(struct aws_planning *p, const struct aws_target_health_check *has,
                      const struct aws_target_health_check *w)
{
    const struct tt_service *in = p->service->in;
    bool unhealthy = has->unhealthy != w->unhealthy &&
                     svc_annotation(in, AWS_ANNOTATION "healthcheck-unhealthy-threshold") != NULL;
    bool timeout = w->timeout > 0 && has->timeout != w->timeout;
    if (p->repairs || p->about_nodes || (!unhealthy && !timeout)) {
        return;
    }
    lb_plan_left(p->plan, p->service->key, "The health check has %s %d, and %d is asked for",
                 unhealthy ? "unhealthy threshold" : "timeout",
                 (int)(unhealthy ? has->unhealthy : has->timeout),
                 (int)(unhealthy ? w->unhealthy : w->timeout));
}

static bool plan_health(struct aws_planning *p, const struct aws_nlb_want *want,
                        const struct aws_target_group *g)
{
    tell_left(p, &g->health, &want->health);
    const struct aws_target_health_check *has = &g->health;
    struct health_diff diff = health_diff(p, has, &want->health);
    if (!diff.protocol && !diff.port && !diff.path && !diff.interval && !diff.thresholds &&
        diff.timeout == 0) {
        return false;
    }
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CHANGE, KIND, g->name,
                      "its health check is not the one that the Service asks for");
    aws_draft_op(p, d)->summary = "health check";
    aws_draft_action(p, d, AWS_ELBV2, "ModifyTargetGroup");
    aws_draft_text(p, d, "TargetGroupArn", g->arn);
    draft_health(p, d, has, &want->health, &diff);
    return true;
}

/* ---- a new group ----------------------------------------------------------------------------- */

static const char *create_why(struct arena *a, const struct aws_planning *p,
                              const struct aws_nlb_slot *slot)
{
    int port = (int)slot->port->port;
    if (slot->listener == NULL) {
        return arena_printf(a, "port %d has no target group yet", port);
    }
    for (size_t i = 0; i < p->seen->n_groups; i++) {
        const struct aws_target_group *g = p->seen->groups[i].group;
        if (!str_eq(g->arn, slot->listener->target_group)) {
            continue;
        }
        if (g->port != slot->port->node_port) {
            return arena_printf(a, "port %d goes to node port %d now, not %d", port,
                                (int)slot->port->node_port, (int)g->port);
        }
        if (!str_eq(g->protocol, slot->port->traffic_protocol)) {
            return arena_printf(a, "port %d speaks %s to the nodes now, not %s", port,
                                slot->port->traffic_protocol, g->protocol);
        }
        return arena_printf(a, "port %d needs a target group of its own", port);
    }
    return arena_printf(a, "the listener of port %d forwards to no target group that is there",
                        port);
}

static struct lb_value plan_new_group(struct aws_planning *p, const struct aws_nlb_want *want,
                                      const struct aws_nlb_slot *slot)
{
    const struct aws_nlb_port *port = slot->port;
    const struct aws_target_health_check *h = &want->health;
    int d = aws_draft(p, slot->borrows ? AWS_PHASE_FORGET : AWS_PHASE_MAKE, LB_CREATE, KIND,
                      port->group_name, create_why(p->a, p, slot));
    aws_draft_op(p, d)->serves_without = slot->borrows;
    aws_draft_op(p, d)->summary = arena_printf(p->a, "%s %d, %s", port->traffic_protocol,
                                               (int)port->node_port, health_text(p->a, h));
    const char *vpc =
        p->seen->nlb != NULL ? str_or(p->seen->nlb->vpc, p->naming->vpc) : p->naming->vpc;
    aws_draft_action(p, d, AWS_ELBV2, "CreateTargetGroup");
    aws_draft_text(p, d, "Name", port->group_name);
    aws_draft_text(p, d, "VpcId", vpc);
    aws_draft_int(p, d, "Port", port->node_port);
    aws_draft_text(p, d, "Protocol", port->traffic_protocol);
    aws_draft_text(p, d, "TargetType", "instance");
    aws_draft_text(p, d, "HealthCheckProtocol", h->protocol);
    aws_draft_text(p, d, "HealthCheckPort", h->port);
    aws_draft_text(p, d, "HealthCheckPath", has_path(h) ? h->path : NULL);
    aws_draft_int(p, d, "HealthCheckIntervalSeconds", h->interval);
    if (h->timeout > 0) {
        aws_draft_int(p, d, "HealthCheckTimeoutSeconds", h->timeout);
    }
    aws_draft_int(p, d, "HealthyThresholdCount", h->healthy);
    aws_draft_int(p, d, "UnhealthyThresholdCount", h->unhealthy);
    aws_draft_tags(p, d, "Tags.member", &want->tags);
    aws_draft_output(p, d, "arn", "TargetGroups/member/TargetGroupArn");
    return aws_draft_value_of(d, "arn");
}

/* A name that is taken stands in the way of the group that needs it. */
static void plan_stale(struct aws_planning *p, const struct aws_nlb_slot *slot)
{
    const struct aws_target_group *g = slot->stale->group;
    int d = aws_draft(p, AWS_PHASE_CLEAR, LB_DELETE, KIND, g->name,
                      "it was left, fits no port, and has the name that another one needs");
    aws_draft_action(p, d, AWS_ELBV2, "DeleteTargetGroup");
    aws_draft_text(p, d, "TargetGroupArn", g->arn);
    aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
}

/* ---- targets --------------------------------------------------------------------------------- */

static const char *targets_text(struct arena *a, const struct aws_targets *some)
{
    const char *names[SHOWN];
    size_t n = some->n < SHOWN ? some->n : SHOWN;
    for (size_t i = 0; i < n; i++) {
        names[i] = some->items[i].id;
    }
    const char *text = str_join(a, names, n, ", ");
    return some->n > n ? arena_printf(a, "%s and %zu more", text, some->n - n) : text;
}

/* Names of a call's parameters: the same for each call, and a service with thousands of
 * targets has many. */
struct member_names {
    const char *id;
    const char *port;
};
static const struct member_names *member_names(struct arena *a, size_t n)
{
    struct member_names *names = ARENA_ARRAY(a, struct member_names, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = (struct member_names){arena_printf(a, "Targets.member.%zu.Id", i + 1),
                                         arena_printf(a, "Targets.member.%zu.Port", i + 1)};
    }
    return names;
}

static void plan_target(struct aws_planning *p, int d, bool adds, const struct member_names *names,
                        const struct aws_target *t, const char *port)
{
    const char *text = arena_printf(p->a, "%s:%s", t->id, port);
    aws_draft_text(p, d, names->id, t->id);
    aws_draft_text(p, d, names->port, port);
    aws_draft_field(p, d, "targets", adds ? NULL : text, adds ? text : NULL);
}

/* One call for each AWS_TARGETS_PER_CALL. */
static void plan_targets_calls(struct aws_planning *p, struct lb_op like, enum aws_phase phase,
                               struct lb_value group, const struct aws_targets *all)
{
    bool adds = like.verb == LB_CREATE;
    size_t most = all->n < AWS_TARGETS_PER_CALL ? all->n : AWS_TARGETS_PER_CALL;
    const struct member_names *names = member_names(p->a, most);
    int32_t last = -1;
    const char *port = "";
    for (size_t from = 0; from < all->n; from += AWS_TARGETS_PER_CALL) {
        size_t n = all->n - from < AWS_TARGETS_PER_CALL ? all->n - from : AWS_TARGETS_PER_CALL;
        struct aws_targets some = {all->items + from, n};
        int d = aws_draft(p, phase, like.verb, "targets", like.name, like.why);
        aws_draft_reserve(p, d, 2 * n + 1, n);
        aws_draft_op(p, d)->summary = targets_text(p->a, &some);
        aws_draft_action(p, d, AWS_ELBV2, adds ? "RegisterTargets" : "DeregisterTargets");
        aws_draft_value(p, d, "TargetGroupArn", group);
        for (size_t i = 0; i < n; i++) {
            const struct aws_target *t = &some.items[i];
            port = t->port == last ? port : arena_printf(p->a, "%d", (int)t->port);
            last = t->port;
            plan_target(p, d, adds, &names[i], t, port);
        }
        if (adds) {
            aws_draft_isolate(p, d, AWS_ISOLATE_TARGETS);
        } else {
            aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
        }
    }
}

/* An instance that changes its port. */
static bool changes_port(const struct aws_target_diff *diff)
{
    for (size_t i = 0; i < diff->deregister.n; i++) {
        for (size_t k = 0; k < diff->register_.n; k++) {
            if (str_eq(diff->deregister.items[i].id, diff->register_.items[k].id)) {
                return true;
            }
        }
    }
    return false;
}

bool aws_nlb_plan_targets(struct aws_planning *p, struct aws_texts instances,
                          const struct aws_nlb_slot *slot, enum aws_phase comes)
{
    const struct aws_observed_group *g = slot->group;
    static const struct aws_targets none;
    bool in_use = g != NULL && slot->listener != NULL && !slot->switches;
    if (in_use && !g->has_targets) {
        return false;
    }
    const struct aws_targets *actual = g != NULL && g->has_targets ? &g->targets : &none;
    struct aws_target_diff diff = aws_targets_diff(p->a, instances, slot->port->node_port, actual);
    const char *name = g != NULL ? g->group->name : slot->port->group_name;
    struct lb_op go =
        LB_OP(.verb = LB_DELETE, .name = name, .why = "the nodes do not take part any more");
    struct lb_op come = LB_OP(.verb = LB_CREATE, .name = name,
                              .why = g == NULL ? "a new target group has none"
                                               : "the nodes take part and are not registered");
    bool both = diff.deregister.n > 0 && diff.register_.n > 0;
    bool full = actual->n + diff.register_.n > aws_limits[AWS_LIMIT_ZONE_TARGETS].most ||
                (both && lb_plan_makes_room(p->plan, p->service->key, "targets"));
    bool first = full || (!slot->borrows && changes_port(&diff));
    if (first && both && slot->borrows) {
        lb_plan_effect(p->plan, p->service->key,
                       "Port %d is interrupted for a moment: target group %s has no room for its "
                       "targets at both node ports.",
                       (int)slot->port->port, name);
    }
    enum aws_phase phase = first ? AWS_PHASE_MAKE : AWS_PHASE_DROP;
    plan_targets_calls(p, go, phase, slot->arn, &diff.deregister);
    plan_targets_calls(p, come, phase == AWS_PHASE_DROP ? comes : AWS_PHASE_FILL, slot->arn,
                       &diff.register_);
    return diff.deregister.n + diff.register_.n > 0;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* A new group gets all of them: what it has by itself depends on its protocol, and emulators
 * have nothing (10.4 row 13). */
static bool plan_attributes(struct aws_planning *p, const struct aws_nlb_want *want,
                            const struct aws_nlb_slot *slot)
{
    const struct aws_observed_group *g = slot->group;
    const struct aws_tags none = {0};
    bool in_use = g != NULL && slot->listener != NULL && !slot->switches;
    bool known = g != NULL && g->has_attributes;
    if (!want->has_group_attributes || (in_use && !known)) {
        return false;
    }
    const struct aws_tags *seen = known ? &g->attributes : &none;
    /* AWS' own values need no call for a group of which nothing is known: it has them. */
    const struct aws_tags asked = {want->group_attributes.items,
                                   known ? want->group_attributes.n : want->n_named_attributes};
    struct aws_tags changed = aws_group_attributes_diff(p->a, &asked, seen, true);
    if (changed.n == 0) {
        return false;
    }
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CHANGE, KIND,
                      g != NULL ? g->group->name : slot->port->group_name,
                      "its attributes are not those that the Service asks for");
    aws_draft_op(p, d)->summary = "attributes";
    aws_draft_action(p, d, AWS_ELBV2, "ModifyTargetGroupAttributes");
    aws_draft_value(p, d, "TargetGroupArn", slot->arn);
    aws_nlb_draft_attributes(p, d, &changed, seen);
    return true;
}

void aws_nlb_plan_groups(struct aws_planning *p, const struct aws_nlb_want *want,
                         struct aws_nlb_slots *slots)
{
    for (size_t i = 0; i < slots->n; i++) {
        struct aws_nlb_slot *slot = &slots->items[i];
        bool changes = slot->group == NULL;
        if (slot->group == NULL) {
            if (slot->stale != NULL) {
                plan_stale(p, slot);
            }
            slot->arn = plan_new_group(p, want, slot);
        } else {
            slot->arn = LB_VALUE(slot->group->group->arn);
            changes = plan_health(p, want, slot->group->group);
        }
        changes |= aws_nlb_plan_targets(p, want->instances, slot, AWS_PHASE_FILL);
        changes |= plan_attributes(p, want, slot);
        if (slot->borrows) {
            changes = true;
            (void)plan_new_group(p, want, slot);
            lb_plan_again(p->plan, p->service->key);
            lb_plan_effect(p->plan, p->service->key,
                           "Port %d is served by target group %s, whose own port is another one, "
                           "until there is room for a new one.",
                           (int)slot->port->port, slot->group->group->name);
        }
        if (!changes) {
            (void)aws_draft(p, AWS_PHASE_MAKE, LB_KEEP, KIND, slot->group->group->name, NULL);
        }
    }
}
