/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_firewall_plan.c: health checks and firewalls of the ENSURE planner.
 *
 * A firewall whose body holds an address that is not known yet is planned after the operation
 * that yields it.  Where a rule goes for one with another address, a firewall lets clients in to
 * both until the new one stands: the right to change it is shown before the rule goes.
 * What upstream does not compare (protocol, tags, the pin of the shared rule) is fixed while the
 * rule is changed anyway; the protocol, which the Service names, also on what trimtab has made or
 * edited; on what else stands still it waits for --repair-adopted.
 * Source: gce-cloud-provider.md §4.6, §4.7, §4.13, §15 rows 6–9.  Pure. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_firewall_diff.h"
#include "providers/gce/target_pool/gce_target_pool_ensure_plan.h"

/* ---- health check ---------------------------------------------------------------------------- */

static const char *check_summary(const struct tp_ensure *n)
{
    const struct gce_check *c = &n->d->check;
    return arena_printf(n->e.a, "GET :%d%s, %d s", c->port, c->path, c->interval_s);
}

static struct gce_op check_op(const struct tp_emit *e, enum gce_verb verb,
                              const struct gce_check *check)
{
    return (struct gce_op){.c = GCE_CHECKS,
                           .verb = verb,
                           .name = check->name,
                           .body = gce_own(e->a, gce_check_body(check))};
}

void tp_plan_check(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    const struct gce_tp_desired *d = n->d;
    bool present = (d->local ? n->o->has_local_check : n->o->has_node_check) == GCE_PRESENT;
    const struct gce_check *found = d->local ? &n->o->local_check : &n->o->node_check;
    const char *note = d->local ? "asks the node port of this Service"
                                : "one for all services with policy Cluster";
    if (!present) {
        struct lb_op op = LB_OP(.verb = LB_CREATE, .why = "the target pool needs it",
                                .summary = check_summary(n), .note = note, .shared = !d->local);
        (void)tp_emit(e, op, check_op(e, GCE_INSERT, &d->check));
        return;
    }
    if (!gce_check_differs(found, &d->check)) {
        tp_keep(e, GCE_CHECKS, d->check.name);
        return;
    }
    struct lb_diff diff;
    struct gce_check merged = gce_check_merge(found, &d->check);
    lb_diff_init(&diff, e->a);
    gce_check_fields(&diff, found, &merged);
    struct lb_op op =
        LB_OP(.verb = LB_CHANGE,
              .why = d->local && found->port != d->check.port ? "spec.healthCheckNodePort changed"
                                                              : "it is weaker than it should be",
              .note = note, .shared = !d->local, .fields = diff.fields, .n_fields = diff.n);
    (void)tp_emit(e, op, check_op(e, GCE_UPDATE, &merged));
}

/* ---- firewalls ------------------------------------------------------------------------------- */

/* The firewall as it should be, for comparing; with an address that is not known yet it differs
 * anyway. */
static struct gce_firewall wanted(const struct tp_ensure *n, const struct gce_firewall *f)
{
    return gce_tp_firewall_for(n->e.a, n->d, f, n->ip.text == NULL ? "" : n->ip.text);
}

static int check_tags(const struct tp_ensure *n, struct err *err)
{
    if (n->e.in->tags.n > 0 || !n->e.in->tags_known) {
        return ERR_OK;
    }
    if (n->e.in->tags_err != NULL && err_is_retryable(n->e.in->tags_err->code)) {
        return err_copy(err, n->e.in->tags_err);
    }
    /* Without tags the firewall would open every machine of the network (§7.5, row 9). */
    return err_set(err, ERR_INVALID,
                   "no node tags supplied and also failed to parse the given lists of hosts for "
                   "tags. Abort creating firewall rule");
}

static const char *firewall_why(const struct tp_ensure *n, const struct gce_firewall *found,
                                const struct gce_firewall *want)
{
    struct str_set now = gce_strs_set(n->e.a, &found->sources);
    struct str_set then = gce_strs_set(n->e.a, &want->sources);
    if (n->ip.text == NULL || !gce_strs_same(n->e.a, &found->destinations, &want->destinations)) {
        return gce_tp_firewall_has_ip(n->d, want) && want->destinations.n > 0
                   ? "the address of the load balancer changes"
                   : "it serves one load balancer only, but all use it";
    }
    const char *priority = gce_firewall_priority_why(found->priority, want->priority);
    if (priority != NULL) {
        return priority;
    }
    if (!str_set_eq(&now, &then)) {
        return "spec.loadBalancerSourceRanges changed";
    }
    if (gce_firewall_tags_differ(n->e.a, found, want)) {
        return "node-tags changed";
    }
    return "spec.ports changed";
}

struct firewall_plan {
    const struct gce_firewall *f; /* one of desired's */
    /* Destinations that it lets clients in to besides: while the rule with that address stands. */
    struct gce_strs beside;
    enum gce_known has;
    const struct gce_firewall *found;
    bool differs;
    bool clear_destinations;
    bool told; /* the owner hears of a missing permission */
    const char *create_why;
    const char *note;
    int only_after; /* index of an operation that must have been done; -1: none */
};

static const char *firewall_summary(const struct tp_ensure *n, const struct gce_firewall *f)
{
    const struct gce_allows *w = f->allowed.n > 0 ? &f->allowed : &f->denied;
    const char *from =
        f->sources.n == 1 ? f->sources.items[0] : arena_printf(n->e.a, "%zu ranges", f->sources.n);
    const char *ports = str_join(n->e.a, w->items[0].ports.items, w->items[0].ports.n, ",");
    return arena_printf(n->e.a, "%s → %s%s%s", from, w->items[0].protocol,
                        *ports == '\0' ? "" : ":", ports);
}

/* The differences.  An unknown address is named by the operation that yields it; then the
 * description, which repeats it, is omitted. */
static struct lb_diff changed_fields(const struct tp_ensure *n, const struct firewall_plan *fp,
                                     struct gce_firewall want)
{
    struct lb_diff diff;
    bool late = n->ip.text == NULL && gce_tp_firewall_has_ip(n->d, fp->f);
    lb_diff_init(&diff, n->e.a);
    if (late) {
        const struct gce_strs *old = &fp->found->destinations;
        bool replaces = fp->beside.n == 0 && old->n > 0;
        want.description = fp->found->description;
        want.destinations = *old;
        (void)lb_diff_value(&diff, "destinationRanges", replaces ? old->items[0] : NULL, n->ip);
    }
    gce_firewall_fields(&diff, fp->found, &want);
    return diff;
}

/* The former rule serves no client that the nodes do not let in: with it its ports and its address
 * come back.  Not its ranges, because an edit that is refused must not let more clients in than it
 * asks for. */
static const struct lb_undo *traffic_undo(struct tp_ensure *n, const struct firewall_plan *fp,
                                          const struct gce_firewall *want)
{
    bool same = false;
    bool replaces = fp->f == &n->d->traffic && n->new_rule && n->need.exists;
    bool stays =
        n->ip.text != NULL && gce_strs_same(n->e.a, &fp->found->destinations, &want->destinations);
    if (!replaces ||
        (stays && gce_firewall_traffic_equal(n->e.a, fp->found, want, &same, NULL) == ERR_OK &&
         same)) {
        return NULL;
    }
    struct gce_firewall former = *want;
    former.allowed = fp->found->allowed;
    former.destinations = fp->found->destinations;
    former.description = fp->found->description; /* it names the address */
    const struct gce_op back = {.c = GCE_FIREWALLS,
                                .verb = GCE_PATCH,
                                .name = fp->f->name,
                                .body = gce_own(n->e.a, gce_firewall_body(&former, false))};
    return tp_undo(&n->e, back, GCE_RULES);
}

static struct gce_op firewall_op(const struct tp_ensure *n, const struct firewall_plan *fp,
                                 bool create)
{
    struct arena *a = n->e.a;
    bool late = n->ip.text == NULL && gce_tp_firewall_has_ip(n->d, fp->f);
    struct gce_firewall full = gce_tp_firewall_for(a, n->d, fp->f, late ? GCE_LATER : n->ip.text);
    for (size_t i = 0; !late && i < fp->beside.n; i++) {
        full.destinations = gce_strs_with(a, &full.destinations, fp->beside.items[i]);
    }
    struct gce_op arg = {.c = GCE_FIREWALLS,
                         .verb = create ? GCE_INSERT : GCE_PATCH,
                         .name = full.name,
                         .body = gce_own(a, gce_firewall_body(&full, fp->clear_destinations))};
    if (late) {
        arg.late[arg.n_late++] = (struct gce_op_late){
            .member = "destinationRanges", .value = n->ip, .beside = fp->beside};
        arg.late[arg.n_late++] = gce_late_text(a, "description", full.description, n->ip);
    }
    if (fp->told) {
        full = gce_tp_firewall_for(a, n->d, fp->f, late ? GCE_LATER : n->ip.text);
        gce_emit_by_hand(&n->e.out, &arg, &full);
    }
    return arg;
}

bool tp_traffic_waits(const struct tp_ensure *n)
{
    const struct gce_tp_observed *o = n->o;
    return n->e.in->way != NULL && o->has_traffic == GCE_PRESENT &&
           !gce_firewall_serves_both(n->e.a, &o->traffic, &n->d->traffic);
}

/* The rule that goes, perhaps one of another kind, has its clients until then, and if it is put
 * back. */
static void stand_by_both(struct tp_ensure *n, struct firewall_plan *fp)
{
    bool moves = n->ip.text == NULL || !str_eq(n->ip.text, n->o->rule.ip);
    if (n->e.in->way != NULL && fp->f == &n->d->traffic && fp->has == GCE_PRESENT &&
        !tp_traffic_waits(n)) {
        fp->beside = fp->found->destinations;
        return;
    }
    if (fp->has == GCE_PRESENT && fp->differs && n->new_rule && n->need.exists && moves &&
        gce_tp_firewall_has_ip(n->d, fp->f)) {
        fp->beside = fp->found->destinations;
    }
}

/* As it should be until the former rule has gone. */
static struct gce_firewall between(const struct tp_ensure *n, const struct firewall_plan *fp)
{
    struct gce_firewall want = wanted(n, fp->f);
    for (size_t i = 0; n->ip.text != NULL && i < fp->beside.n; i++) {
        want.destinations = gce_strs_with(n->e.a, &want.destinations, fp->beside.items[i]);
    }
    return want;
}

static void note_narrowing(struct tp_ensure *n, const struct firewall_plan *fp, int at,
                           const struct gce_firewall *want)
{
    struct tp_narrowing *one = &n->narrowings[n->n_narrowings++];
    *one = (struct tp_narrowing){.f = fp->f, .between = *want, .after = at};
    one->between.destinations = fp->beside;
    if (n->ip.text != NULL) {
        one->between.destinations = gce_strs_with(n->e.a, &fp->beside, n->ip.text);
    }
}

/* Once the new rule stands. */
void tp_plan_narrow(struct tp_ensure *n)
{
    struct tp_emit *e = &n->e;
    for (size_t i = 0; i < n->n_narrowings; i++) {
        const struct tp_narrowing *one = &n->narrowings[i];
        const struct firewall_plan fp = {.f = one->f, .found = &one->between, .told = true};
        struct gce_firewall want = wanted(n, one->f);
        if (n->ip.text != NULL &&
            gce_strs_same(e->a, &one->between.destinations, &want.destinations)) {
            continue; /* it lets clients in to the new address alone already */
        }
        struct lb_diff diff = changed_fields(n, &fp, want);
        tp_next_wave(e);
        int at = tp_emit(e,
                         LB_OP(.verb = LB_CHANGE, .why = "no rule has the former address any more",
                               .summary = firewall_summary(n, one->f), .fields = diff.fields,
                               .n_fields = diff.n, .tidies = true,
                               .tolerate = e->facts->on_xpn ? LB_TOLERATE_FORBIDDEN : 0),
                         firewall_op(n, &fp, false));
        if (one->after >= 0) {
            tp_op(e, at)->only_if_op = one->after;
            tp_op(e, at)->only_if = LB_DONE;
        }
        gce_emit_at(&e->out, at)->narrows = true;
    }
}

static int plan_firewall(struct tp_ensure *n, const struct firewall_plan *fp, struct err *err)
{
    struct tp_emit *e = &n->e;
    bool create = fp->has != GCE_PRESENT;
    struct gce_firewall want = between(n, fp);
    if (!create && !fp->differs) {
        tp_keep(e, GCE_FIREWALLS, fp->f->name);
        if (fp->beside.n > 0) { /* an earlier try has let in at both addresses */
            note_narrowing(n, fp, -1, &want);
        }
        return ERR_OK;
    }
    int rc = check_tags(n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct lb_op op = LB_OP(.verb = create ? LB_CREATE : LB_CHANGE,
                            .why = create ? fp->create_why : firewall_why(n, fp->found, &want),
                            .summary = firewall_summary(n, fp->f), .note = fp->note,
                            .shared = !gce_tp_firewall_has_ip(n->d, fp->f),
                            .tolerate = e->facts->on_xpn ? LB_TOLERATE_FORBIDDEN : 0);
    if (!create) {
        struct lb_diff diff = changed_fields(n, fp, want);
        op.fields = diff.fields;
        op.n_fields = diff.n;
        op.undo = traffic_undo(n, fp, &want);
    }
    if (fp->only_after >= 0) {
        op.only_if_op = fp->only_after;
        op.only_if = LB_DONE;
    }
    int at = tp_emit(e, op, firewall_op(n, fp, create));
    if (fp->f == &n->d->traffic) {
        n->traffic = at;
    }
    if (fp->beside.n > 0) {
        note_narrowing(n, fp, at, &want);
    }
    return ERR_OK;
}

/* Upstream compares neither protocol nor tags: see above. */
static bool traffic_differs(const struct tp_ensure *n, const struct gce_firewall *want, bool mend)
{
    struct arena *a = n->e.a;
    const struct gce_firewall *found = &n->o->traffic;
    return gce_firewall_traffic_differs(a, found, want, &n->d->plain_ports) ||
           (mend && gce_firewall_protocol_differs(found, want)) ||
           (n->e.facts->repair_adopted && n->e.facts->node_tags.n > 0 &&
            gce_firewall_tags_differ(a, found, want));
}

/* §4.6. */
int tp_plan_traffic(struct tp_ensure *n, struct err *err)
{
    struct arena *a = n->e.a;
    const struct gce_tp_desired *d = n->d;
    struct gce_firewall want = wanted(n, &d->traffic);
    const struct gce_firewall *found = &n->o->traffic;
    bool mend = n->new_rule || n->e.facts->repair_adopted || n->e.in->puts_right;
    struct firewall_plan fp = {
        .f = &d->traffic,
        .has = n->o->has_traffic,
        .found = found,
        .told = true,
        .only_after = -1,
        .create_why = "clients must reach the nodes",
        .note = arena_printf(a, "tags: %s", str_set_text(a, &n->e.in->tags, ", ")),
    };
    if (fp.has == GCE_PRESENT) {
        struct str_set now = gce_strs_set(a, &found->sources);
        struct str_set then = gce_strs_set(a, &want.sources);
        n->ranges_changed = !str_set_eq(&now, &then) && !svc_ranges_allow_all(&then);
        fp.differs = traffic_differs(n, &want, mend);
        if (!mend && gce_firewall_protocol_differs(found, &want)) {
            lb_plan_left(n->e.p, n->e.in->key, "Firewall %s lets %s in, and %s is asked for",
                         want.name, found->allowed.items[0].protocol,
                         want.allowed.items[0].protocol);
        }
    }
    stand_by_both(n, &fp);
    if (fp.beside.n > 0 && n->ip.text != NULL) {
        want = between(n, &fp);
        fp.differs = traffic_differs(n, &want, mend);
    }
    return plan_firewall(n, &fp, err);
}

/* §4.7 */
int tp_plan_check_firewall(struct tp_ensure *n, struct err *err)
{
    struct arena *a = n->e.a;
    const struct gce_tp_desired *d = n->d;
    const struct gce_tp_observed *o = n->o;
    struct gce_firewall want = wanted(n, &d->check_firewall);
    struct firewall_plan fp = {
        .f = &d->check_firewall,
        .has = d->local ? o->has_local_firewall : o->has_node_firewall,
        .found = d->local ? &o->local_firewall : &o->node_firewall,
        .told = true,
        .only_after = -1,
        .create_why = "health checks must reach the nodes",
        .note = "lets the checks in",
    };
    if (fp.has == GCE_PRESENT) {
        /* The shared one rises when the last deny rule has gone: never may deny win over allow
         * (§4.13). */
        if (!d->local && !d->want_deny && n->e.in->others_have_deny) {
            want.priority = fp.found->priority;
        }
        bool repair = n->e.facts->repair_adopted;
        /* §15 row 8: a shared rule that upstream pinned to one address lets no other check in. */
        fp.clear_destinations = repair && !d->local && fp.found->destinations.n > 0;
        fp.differs =
            gce_firewall_check_differs(a, fp.found, &want) || fp.clear_destinations ||
            (d->local && n->ip.text == NULL) ||
            (repair && n->e.facts->node_tags.n > 0 && gce_firewall_tags_differ(a, fp.found, &want));
    }
    stand_by_both(n, &fp);
    return plan_firewall(n, &fp, err);
}

int tp_plan_deny(struct tp_ensure *n, struct err *err)
{
    const struct gce_tp_desired *d = n->d;
    if (!d->want_deny) {
        return ERR_OK;
    }
    struct gce_firewall want = wanted(n, &d->deny);
    bool same = false;
    if (n->o->has_deny == GCE_PRESENT &&
        gce_firewall_equal(n->e.a, &n->o->deny, &want, &same, NULL) != ERR_OK) {
        same = false;
    }
    struct firewall_plan fp = {
        .f = &d->deny,
        .has = n->o->has_deny,
        .found = &n->o->deny,
        .differs = !same,
        /* On a Shared VPC the allow rule may have stayed as it was: then deny would win over it. */
        .only_after = n->traffic,
        .create_why = "everything that no firewall allows is to be denied",
        .note = "below the allow rules",
    };
    tp_next_wave(&n->e);
    return plan_firewall(n, &fp, err);
}
