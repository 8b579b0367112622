/* SPDX-License-Identifier: Apache-2.0 */
/* aws_classic_plan.c: a classic load balancer is made, or brought to what its Service wants.
 *
 * Here: the balancer, its security groups, listeners and instances; subnets, policies and settings
 * have files of their own.  Of a listener only the certificate can be changed.  One that differs
 * otherwise is deleted and made again, in two waves back to back; the second runs even when
 * something else failed meanwhile, because a port without listener is down.  Each kind of listener
 * that is to come is made on a spare port before: AWS says only then whether it takes it, with its
 * certificate, and whether the controller may make one at all.  Instances come before others go.
 * The scheme is what it was at creation; its subnets stay as well then, because those of the other
 * scheme would cut it off (docs/spec/aws.md 4.6, end). Tags: AWS is asked for them only when the
 * Service has additional-resource-tags; what the annotation no longer says stays. */
#include "providers/aws/plan/aws_classic_internal_plan.h"

#include "common/base/str.h"
#include "providers/aws/plan/aws_groups_plan.h"

#include <string.h>

#define KIND        "classic load balancer"
#define SPARE_PORT  65535 /* and those below it, */
#define SPARE_PORTS 100   /* as many as AWS gives listeners to a balancer */

bool aws_texts_have(const struct aws_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->items[i], text)) {
            return true;
        }
    }
    return false;
}

int aws_classic_draft(struct aws_classic_run *r, enum aws_phase phase, const char *action,
                      const char *why)
{
    int d = aws_draft(r->p, phase, LB_CHANGE, KIND, r->want->name, why);
    aws_draft_action(r->p, d, AWS_ELB, action);
    aws_draft_text(r->p, d, "LoadBalancerName", r->want->name);
    r->changes++;
    return d;
}

/* ---- listeners ------------------------------------------------------------------------------- */

const char *aws_classic_listener_text(struct arena *a, const struct aws_classic_listener *l)
{
    const char *certificate =
        l->certificate != NULL ? arena_printf(a, ", certificate %s", l->certificate) : "";
    return arena_printf(a, "%s %d → %s %d%s", str_lower(a, str_nonnull(l->protocol)), l->port,
                        str_lower(a, str_nonnull(l->instance_protocol)), l->instance_port,
                        certificate);
}

bool aws_classic_is_new(const struct aws_classic_run *r, const struct aws_classic_listener *l)
{
    for (size_t i = 0; r->seen != NULL && i < r->listeners.n_create; i++) {
        if (r->listeners.create[i].port == l->port) {
            return true;
        }
    }
    return r->seen == NULL;
}

static void draft_listeners(struct aws_planning *p, int d, const struct aws_classic_listener *items,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct aws_classic_listener *l = &items[i];
        const char *at = arena_printf(p->a, "Listeners.member.%zu", i + 1);
        aws_draft_text(p, d, arena_printf(p->a, "%s.Protocol", at), l->protocol);
        aws_draft_int(p, d, arena_printf(p->a, "%s.LoadBalancerPort", at), l->port);
        aws_draft_text(p, d, arena_printf(p->a, "%s.InstanceProtocol", at), l->instance_protocol);
        aws_draft_int(p, d, arena_printf(p->a, "%s.InstancePort", at), l->instance_port);
        aws_draft_text(p, d, arena_printf(p->a, "%s.SSLCertificateId", at), l->certificate);
        aws_draft_field(p, d, "listeners", NULL, aws_classic_listener_text(p->a, l));
    }
}

static bool is_made_again(const struct aws_listener_diff *diff, int32_t port)
{
    for (size_t i = 0; i < diff->n_create; i++) {
        if (diff->create[i].port == port) {
            return true;
        }
    }
    return false;
}

static bool is_removed(const struct aws_listener_diff *diff, int32_t port)
{
    for (size_t i = 0; i < diff->n_remove; i++) {
        if (diff->remove[i] == port) {
            return true;
        }
    }
    return false;
}

static const char *seen_certificate(const struct aws_classic_run *r, int32_t port)
{
    for (size_t i = 0; i < r->seen->n_listeners; i++) {
        if (r->seen->listeners[i].port == port) {
            return r->seen->listeners[i].certificate;
        }
    }
    return NULL;
}

static const char *seen_text(const struct aws_classic_run *r, int32_t port)
{
    for (size_t i = 0; i < r->seen->n_listeners; i++) {
        if (r->seen->listeners[i].port == port) {
            return aws_classic_listener_text(r->p->a, &r->seen->listeners[i]);
        }
    }
    return arena_printf(r->p->a, "%d", port);
}

/* Does AWS judge one of the listeners as it judges `l`?  Neither port matters. */
static bool has_alike(const struct aws_classic_listener *items, size_t n,
                      const struct aws_classic_listener *l)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(str_nonnull(items[i].certificate), str_nonnull(l->certificate)) &&
            str_eq_nocase(items[i].protocol, l->protocol) &&
            str_eq_nocase(items[i].instance_protocol, l->instance_protocol)) {
            return true;
        }
    }
    return false;
}

static bool is_port_used(const struct aws_classic_run *r, int32_t port)
{
    for (size_t i = 0; i < r->seen->n_listeners; i++) {
        if (r->seen->listeners[i].port == port) {
            return true;
        }
    }
    for (size_t i = 0; i < r->want->n_listeners; i++) {
        if (r->want->listeners[i].port == port) {
            return true;
        }
    }
    return false;
}

/* Has an earlier sync tried such a listener?  It is still there when AWS did not let the listeners
 * go that were to be replaced; another one at each retry would fill the balancer. */
static bool was_tried(const struct aws_classic_run *r, const struct aws_classic_listener *l)
{
    for (size_t i = 0; i < r->seen->n_listeners; i++) {
        const struct aws_classic_listener *left = &r->seen->listeners[i];
        if (left->port > SPARE_PORT - SPARE_PORTS && is_removed(&r->listeners, left->port) &&
            has_alike(left, 1, l)) {
            return true;
        }
    }
    return false;
}

/* Listeners on spare ports like those that are recreated.  They go with the ones that are replaced;
 * their ports are let in by no rule of ours.  *ret_n 0: none is needed, or there is no room. */
static const struct aws_classic_listener *listeners_try(struct aws_classic_run *r, size_t *ret_n)
{
    struct aws_planning *p = r->p;
    const struct aws_listener_diff *diff = &r->listeners;
    struct aws_classic_listener *tried =
        ARENA_ARRAY(p->a, struct aws_classic_listener, diff->n_create);
    int32_t port = SPARE_PORT;
    size_t n = 0;
    for (size_t i = 0; i < diff->n_create; i++) {
        const struct aws_classic_listener *l = &diff->create[i];
        if (!is_removed(diff, l->port) || has_alike(tried, n, l) || was_tried(r, l)) {
            continue;
        }
        while (is_port_used(r, port)) {
            port--;
        }
        tried[n] = *l;
        tried[n++].port = port--;
    }
    if (n > 0 && lb_plan_makes_room(p->plan, p->service->key, KIND)) {
        n = 0; /* there is room for no further listener; those that go are put back if need be */
    }
    *ret_n = n;
    if (n > 0) {
        int d = aws_classic_draft(r, AWS_PHASE_TRY, "CreateLoadBalancerListeners",
                                  "AWS says only then whether it takes such a listener");
        draft_listeners(p, d, tried, n);
    }
    return tried;
}

static void listeners_certify(struct aws_classic_run *r)
{
    struct aws_planning *p = r->p;
    for (size_t i = 0; i < r->listeners.n_certify; i++) {
        const struct aws_classic_listener *l = &r->listeners.certify[i];
        int d = aws_classic_draft(r, r->set, "SetLoadBalancerListenerSSLCertificate",
                                  "its certificate is not the one that the Service asks for");
        aws_draft_int(p, d, "LoadBalancerPort", l->port);
        aws_draft_text(p, d, "SSLCertificateId", l->certificate);
        aws_draft_field(p, d, arena_printf(p->a, "listeners[%d].certificate", (int)l->port),
                        seen_certificate(r, l->port), l->certificate);
    }
}

/* A full balancer takes the new listeners in the place of those that go; else none goes. */
static bool fits_in(const struct aws_listener_diff *diff)
{
    return diff->n_create <= diff->n_remove;
}

/* Those of the ports to remove that are made again, and those that were tried; or those that are
 * not.  The draft, or -1: there is none. */
static int listeners_remove(struct aws_classic_run *r, bool again,
                            const struct aws_classic_listener *tried, size_t n_tried)
{
    struct aws_planning *p = r->p;
    bool first = again || (r->listeners.n_create > 0 && fits_in(&r->listeners) &&
                           lb_plan_makes_room(p->plan, p->service->key, KIND));
    int d = -1;
    size_t n = 0;
    for (size_t i = 0; i < r->listeners.n_remove; i++) {
        int32_t port = r->listeners.remove[i];
        if (is_made_again(&r->listeners, port) != again) {
            continue;
        }
        if (d < 0) {
            d = aws_classic_draft(
                r, first ? AWS_PHASE_CLEAR : AWS_PHASE_DROP, "DeleteLoadBalancerListeners",
                again ? "AWS cannot change a listener; it is made anew"
                      : arena_printf(p->a, "Service %s has no such port", p->service->key));
            aws_draft_op(p, d)->tolerate = LB_TOLERATE_ABSENT;
        }
        aws_draft_int(p, d, arena_printf(p->a, "LoadBalancerPorts.member.%zu", ++n), port);
        aws_draft_field(p, d, "listeners", seen_text(r, port), NULL);
    }
    for (size_t i = 0; d >= 0 && i < n_tried; i++) {
        aws_draft_int(p, d, arena_printf(p->a, "LoadBalancerPorts.member.%zu", ++n), tried[i].port);
        aws_draft_field(p, d, "listeners", aws_classic_listener_text(p->a, &tried[i]), NULL);
    }
    return d;
}

static void listener_policies_undo(struct aws_classic_run *r, const struct aws_classic_listener *l,
                                   int cleared, int made)
{
    struct aws_planning *p = r->p;
    if (l->policies.n > 0) {
        int d = aws_draft(p, r->set, LB_CHANGE, "listener policies",
                          arena_printf(p->a, "%s:%d", r->want->name, (int)l->port), NULL);
        aws_draft_action(p, d, AWS_ELB, "SetLoadBalancerPoliciesOfListener");
        aws_draft_text(p, d, "LoadBalancerName", r->want->name);
        aws_draft_int(p, d, "LoadBalancerPort", l->port);
        aws_draft_list(p, d, "PolicyNames.member.%zu", &l->policies);
        aws_draft_undoes(p, d, cleared, made);
    }
}

/* The listeners that are recreated, as they are, with the policies that a deleted one loses. */
static void listeners_undo(struct aws_classic_run *r, int cleared, int made)
{
    struct aws_planning *p = r->p;
    struct aws_classic_listener *former =
        ARENA_ARRAY(p->a, struct aws_classic_listener, r->seen->n_listeners);
    size_t n = 0;
    for (size_t i = 0; i < r->seen->n_listeners; i++) {
        int32_t port = r->seen->listeners[i].port;
        if (is_removed(&r->listeners, port) && is_made_again(&r->listeners, port)) {
            former[n++] = r->seen->listeners[i];
        }
    }
    if (n == 0) {
        return;
    }
    int d = aws_draft(p, AWS_PHASE_FILL, LB_CREATE, n == 1 ? "listener" : "listeners",
                      r->want->name, NULL);
    aws_draft_action(p, d, AWS_ELB, "CreateLoadBalancerListeners");
    aws_draft_text(p, d, "LoadBalancerName", r->want->name);
    draft_listeners(p, d, former, n);
    aws_draft_undoes(p, d, cleared, made);
    for (size_t i = 0; i < n; i++) {
        listener_policies_undo(r, &former[i], cleared, made);
    }
}

/* "a0123…" without its last letter, and one that no UID has: no balancer of ours. */
static const char *name_of_none(struct arena *a, const char *name)
{
    return arena_printf(a, "%.*sx", (int)strlen(name) - 1, name);
}

/* May `cleared` be carried out, and may these listeners be made?  Their ports are still taken. */
static void listeners_prove(struct aws_classic_run *r, const struct aws_classic_listener *again,
                            size_t n, int cleared)
{
    struct aws_planning *p = r->p;
    int d = aws_draft(p, AWS_PHASE_CLEAR, LB_DELETE, "listeners", r->want->name, NULL);
    aws_draft_action(p, d, AWS_ELB, "DeleteLoadBalancerListeners");
    aws_draft_text(p, d, "LoadBalancerName", name_of_none(p->a, r->want->name));
    aws_draft_int(p, d, "LoadBalancerPorts.member.1", again[0].port);
    aws_draft_proves(p, d, cleared);
    d = aws_draft(p, AWS_PHASE_FILL, LB_CREATE, "listeners", r->want->name, NULL);
    aws_draft_action(p, d, AWS_ELB, "CreateLoadBalancerListeners");
    aws_draft_text(p, d, "LoadBalancerName", r->want->name);
    draft_listeners(p, d, again, n);
    aws_draft_proves(p, d, cleared);
}

static int listeners_make(struct aws_classic_run *r, const struct aws_classic_listener *items,
                          size_t n)
{
    struct aws_planning *p = r->p;
    const char *why = arena_printf(p->a, "Service %s has this port", p->service->key);
    int d = aws_classic_draft(r, r->fill, "CreateLoadBalancerListeners", why);
    draft_listeners(p, d, items, n);
    return d;
}

/* Those that are made again, of which AWS took one of each kind before (listeners_try()). */
static void listeners_replace(struct aws_classic_run *r, int cleared)
{
    struct aws_planning *p = r->p;
    const struct aws_listener_diff *diff = &r->listeners;
    struct aws_classic_listener *again =
        ARENA_ARRAY(p->a, struct aws_classic_listener, diff->n_create);
    size_t n = 0;
    for (size_t i = 0; i < diff->n_create; i++) {
        if (is_removed(diff, diff->create[i].port)) {
            again[n++] = diff->create[i];
        }
    }
    if (n == 0) {
        return;
    }
    int d = listeners_make(r, again, n);
    struct lb_op *op = aws_draft_op(p, d);
    op->part = "listeners";
    op->finally = LB_FINALLY_IN_PLACE;
    op->only_if_op = cleared;
    op->only_if = LB_DONE | LB_TOLERATED;
    listeners_undo(r, cleared, d);
    listeners_prove(r, again, n, cleared);
    lb_plan_effect(p->plan, p->service->key,
                   "Ports whose listeners are recreated are interrupted briefly.");
}

/* Those of further ports, in a request for each kind: AWS takes all listeners of a request or none,
 * and a port without certificate does not wait for one whose certificate is not there. */
static void listeners_add(struct aws_classic_run *r)
{
    const struct aws_listener_diff *diff = &r->listeners;
    for (size_t i = 0; i < diff->n_create; i++) {
        struct aws_classic_listener *alike =
            ARENA_ARRAY(r->p->a, struct aws_classic_listener, diff->n_create);
        size_t n = 0;
        bool first = true;
        for (size_t k = 0; k < diff->n_create; k++) {
            const struct aws_classic_listener *l = &diff->create[k];
            if (!is_removed(diff, l->port) && has_alike(l, 1, &diff->create[i])) {
                first = first && k >= i;
                alike[n++] = *l;
            }
        }
        if (first && n > 0 && !is_removed(diff, diff->create[i].port)) {
            (void)listeners_make(r, alike, n);
        }
    }
}

static void plan_listeners(struct aws_classic_run *r)
{
    size_t n_tried = 0;
    const struct aws_classic_listener *tried = listeners_try(r, &n_tried);
    int cleared = listeners_remove(r, true, tried, n_tried);
    if (cleared >= 0) {
        listeners_replace(r, cleared);
    }
    listeners_add(r);
    listeners_certify(r);
    (void)listeners_remove(r, false, NULL, 0);
}

/* ---- security groups ------------------------------------------------------------------------- */

static bool has_value(const struct lb_value *items, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(items[i].text, text)) {
            return true;
        }
    }
    return false;
}

/* Own one first, then those that were named, each once; at most n + 1. */
static size_t all_groups(const struct aws_planning *p, const struct aws_classic_want *want,
                         struct lb_value own, struct lb_value **ret)
{
    struct lb_value *items = ARENA_ARRAY(p->a, struct lb_value, want->groups.n + 1);
    size_t n = 0;
    if (want->own != NULL) {
        items[n++] = own;
    }
    for (size_t i = 0; i < want->groups.n; i++) {
        if (!has_value(items, n, want->groups.items[i])) {
            items[n++] = LB_VALUE(want->groups.items[i]);
        }
    }
    *ret = items;
    return n;
}

static void draft_groups(struct aws_planning *p, int d, const struct lb_value *groups, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        aws_draft_value(p, d, arena_printf(p->a, "SecurityGroups.member.%zu", i + 1), groups[i]);
    }
}

/* One call.  Groups that are not known yet are not among the old ones. */
static void apply_groups(struct aws_classic_run *r, enum aws_phase phase, const char *why,
                         const struct lb_value *groups, size_t n, const struct str_set *have)
{
    struct aws_planning *p = r->p;
    const char **ids = ARENA_ARRAY(p->a, const char *, n);
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        if (groups[i].text != NULL) {
            ids[known++] = groups[i].text;
        }
    }
    struct str_set want = str_set_make(p->a, ids, known);
    if (known == n && str_set_eq(&want, have)) {
        return;
    }
    int d = aws_classic_draft(r, phase, "ApplySecurityGroupsToLoadBalancer", why);
    draft_groups(p, d, groups, n);
    struct str_set gone = str_set_minus(p->a, have, &want);
    struct str_set come = str_set_minus(p->a, &want, have);
    const char *id;
    STR_SET_EACH (id, &gone) {
        aws_draft_field(p, d, "securityGroups", id, NULL);
    }
    STR_SET_EACH (id, &come) {
        aws_draft_field(p, d, "securityGroups", NULL, id);
    }
    for (size_t i = 0; i < n; i++) {
        if (groups[i].text == NULL) {
            aws_draft_field_value(p, d, "securityGroups", NULL, groups[i]);
        }
    }
}

/* AWS takes a whole list.  Rules of a group that is new to the balancer stand before (MAKE,
 * BALANCE).  Another program's group that nodes let in stays on the balancer until those rules
 * have gone: nothing else tells the next sync, should this one stop, that they are the
 * controller's.  So does each group whose rules are exchanged (aws_planning.exchange). */
static void plan_groups(struct aws_classic_run *r, struct lb_value own)
{
    struct aws_planning *p = r->p;
    struct lb_value *groups;
    size_t n = all_groups(p, r->want, own, &groups);
    const char *why =
        arena_printf(p->a, "Service %s asks for other security groups", p->service->key);
    struct str_set have = str_set_make(p->a, r->seen->groups.items, r->seen->groups.n);
    struct str_set go = aws_classic_groups_that_go(p, r->want, own);
    bool exchanges = p->exchange.nodes.n > 0;
    go = exchanges ? str_set_union(p->a, &go, &p->exchange.former) : go;
    struct lb_value *both = ARENA_ARRAY(p->a, struct lb_value, n + go.n);
    const char **ids = ARENA_ARRAY(p->a, const char *, n + go.n);
    size_t n_both = n;
    memcpy(both, groups, n * sizeof *both);
    const char *id;
    STR_SET_EACH (id, &go) {
        if (aws_group_is_let_in(p, id)) {
            both[n_both++] = LB_VALUE(id);
        }
    }
    if (n_both == n || n_both > aws_limits[AWS_LIMIT_GROUPS].most) {
        apply_groups(r, AWS_PHASE_FILL, why, groups, n, &have);
        return;
    }
    apply_groups(r, AWS_PHASE_FILL, why, both, n_both, &have);
    for (size_t i = 0; i < n_both; i++) {
        ids[i] = str_nonnull(both[i].text);
    }
    struct str_set meanwhile = str_set_make(p->a, ids, n_both);
    apply_groups(r, exchanges ? AWS_PHASE_LEAVE : AWS_PHASE_FORGET,
                 "no group of nodes lets it in any more", groups, n, &meanwhile);
}

/* ---- instances ------------------------------------------------------------------------------- */

static void draft_instances(struct aws_classic_run *r, bool come, const struct str_set *ids)
{
    struct aws_planning *p = r->p;
    const char *why = come ? "nodes of the cluster came" : "they are nodes of the cluster no more";
    if (r->seen == NULL) {
        why = "a new load balancer has no instances";
    }
    enum aws_phase comes = r->set == AWS_PHASE_MAKE ? AWS_PHASE_MAKE : AWS_PHASE_FILL;
    for (size_t from = 0; from < ids->n; from += AWS_INSTANCES_PER_CALL) {
        int d = aws_classic_draft(r, come ? comes : AWS_PHASE_DROP,
                                  come ? "RegisterInstancesWithLoadBalancer"
                                       : "DeregisterInstancesFromLoadBalancer",
                                  why);
        size_t left = ids->n - from;
        size_t n = left < AWS_INSTANCES_PER_CALL ? left : AWS_INSTANCES_PER_CALL;
        aws_draft_reserve(p, d, n, n);
        for (size_t i = from; i < from + n; i++) {
            const char *id = ids->items[i];
            const char *name = arena_printf(p->a, "Instances.member.%zu.InstanceId", i - from + 1);
            aws_draft_text(p, d, name, id);
            aws_draft_field(p, d, "instances", come ? NULL : id, come ? id : NULL);
        }
        aws_draft_isolate(p, d, AWS_ISOLATE_INSTANCES);
    }
}

void aws_classic_plan_instances(struct aws_classic_run *r)
{
    struct arena *a = r->p->a;
    struct str_set have = {0};
    if (r->seen != NULL) {
        have = str_set_make(a, r->seen->instances.items, r->seen->instances.n);
    }
    struct str_set want = str_set_make(a, r->want->instances.items, r->want->instances.n);
    struct str_set come = str_set_minus(a, &want, &have);
    struct str_set gone = str_set_minus(a, &have, &want);
    draft_instances(r, true, &come);
    draft_instances(r, false, &gone);
}

/* ---- the balancer ---------------------------------------------------------------------------- */

static void balancer_make(struct aws_classic_run *r, struct lb_value own)
{
    struct aws_planning *p = r->p;
    const struct aws_classic_want *w = r->want;
    bool waits = w->own != NULL && own.text == NULL;
    const char *why =
        p->anew ? "the one of the other scheme is gone by then"
                : arena_printf(p->a, "Service %s has no load balancer yet", p->service->key);
    int d = aws_draft(p, waits ? AWS_PHASE_BALANCE : AWS_PHASE_MAKE, LB_CREATE, KIND, w->name, why);
    aws_draft_action(p, d, AWS_ELB, "CreateLoadBalancer");
    aws_draft_text(p, d, "LoadBalancerName", w->name);
    draft_listeners(p, d, w->listeners, w->n_listeners);
    aws_draft_text(p, d, "Scheme", w->internal ? "internal" : NULL);
    aws_draft_list(p, d, "Subnets.member.%zu", &w->subnets);
    struct lb_value *groups;
    size_t n_groups = all_groups(p, w, own, &groups);
    draft_groups(p, d, groups, n_groups);
    aws_draft_tags(p, d, "Tags.member", &w->tags);
    aws_draft_output(p, d, "dns", "DNSName");
    aws_draft_op(p, d)->summary =
        arena_printf(p->a, "%s, %s", w->internal ? "internal" : "internet-facing",
                     str_count(p->a, w->subnets.n, "subnet"));
    for (size_t i = 0; i < w->subnets.n; i++) {
        aws_draft_field(p, d, "subnets", NULL, w->subnets.items[i]);
    }
    for (size_t i = 0; i < n_groups; i++) {
        aws_draft_field_value(p, d, "securityGroups", NULL, groups[i]);
    }
}

int aws_plan_classic(struct aws_planning *p, const struct aws_classic_want *want,
                     struct lb_value own, struct err *err)
{
    (void)err; /* what a Service may not ask for was refused when `want` was made */
    struct aws_classic_run r = {.p = p, .want = want, .seen = p->seen->classic};
    if (r.seen == NULL) {
        r.fill = AWS_PHASE_FILL;
        r.set = AWS_PHASE_SWITCH;
        balancer_make(&r, own);
    } else {
        r.fill = AWS_PHASE_MAKE;
        r.set = AWS_PHASE_FILL;
        r.listeners = aws_listeners_diff(p->a, want->listeners, want->n_listeners,
                                         r.seen->listeners, r.seen->n_listeners);
        if (!p->certificates_anew) {
            r.listeners =
                aws_listeners_in_place(p->a, &r.listeners, r.seen->listeners, r.seen->n_listeners);
        }
        aws_classic_plan_subnets(&r);
        plan_groups(&r, own);
        plan_listeners(&r);
    }
    aws_classic_plan_policies(&r);
    aws_classic_plan_settings(&r);
    aws_classic_plan_instances(&r);
    if (r.seen != NULL && r.changes == 0) {
        (void)aws_draft(p, AWS_PHASE_MAKE, LB_KEEP, KIND, want->name, NULL);
    }
    return ERR_OK;
}
