/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_check_plan.c: the health check of a balancer with a backend service, its firewalls, and
 * those of the other policy.
 *
 * Policy Cluster has one check for all Services of a scheme, policy Local one of its own.  When the
 * policy changes, the new check is made first, the backend service is turned to it, and only then
 * the old one goes, its firewalls after it; the shared one only when no other Service wants it,
 * and "in use" is an answer like any other (gce-l4.md §4.3, §6.1, A17).  Internal and external
 * balancers have a shared check each, but one firewall for both.
 * Source: gce-l4.md §4.3, §6.1 step 6, A11; gce-cloud-provider.md §5.5, §5.8.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"

static enum gce_collection checks_of(bool regional)
{
    return regional ? GCE_REGION_HCS : GCE_HCS;
}

/* ---- the wanted one -------------------------------------------------------------------------- */

static void add_fields(struct lb_diff *diff, const struct gce_hc *is, const struct gce_hc *then)
{
    (void)lb_diff_int(diff, "httpHealthCheck.port", is->port, then->port);
    (void)lb_diff_text(diff, "httpHealthCheck.requestPath", is->path, then->path);
    (void)lb_diff_text(diff, "description", is->description, then->description);
    (void)lb_diff_int(diff, "checkIntervalSec", is->interval_s, then->interval_s);
    (void)lb_diff_int(diff, "timeoutSec", is->timeout_s, then->timeout_s);
    (void)lb_diff_int(diff, "healthyThreshold", is->healthy, then->healthy);
    (void)lb_diff_int(diff, "unhealthyThreshold", is->unhealthy, then->unhealthy);
}

static const char *why_update(const struct bs_ensure *n, const char *member)
{
    if (str_eq(member, "port") && !n->d->check_shared) {
        return "spec.healthCheckNodePort changed";
    }
    return str_has_suffix(member, "Sec") || str_has_suffix(member, "Threshold")
               ? "it is weaker than it should be"
               : "it is not as it should be";
}

/* The shared check of external Services has the name of the internal ones', which is global: the
 * note tells the two apart, for people and for a plan of several Services (plan_join.c). */
static const char *note_of(const struct gce_bs_desired *d)
{
    if (!d->check_shared) {
        return "asks the node port of this Service";
    }
    return d->check_regional ? "one for all external services with policy Cluster"
                             : "one for all services with policy Cluster";
}

void bs_plan_check(struct bs_ensure *n)
{
    struct bs_emit *e = &n->e;
    const struct gce_hc *want = &n->d->check;
    const struct gce_hc *is = gce_slots_hc(e->seen, n->d->check_regional, want->name);
    enum gce_collection c = checks_of(n->d->check_regional);
    const char *because = NULL;
    const char *note = note_of(n->d);
    if (is == NULL) {
        struct lb_op op =
            LB_OP(.verb = LB_CREATE, .name = want->name, .why = "the backend service needs it",
                  .summary = arena_printf(e->a, "GET :%d%s, %d s", want->port, want->path,
                                          want->interval_s),
                  .note = note, .shared = n->d->check_shared);
        (void)bs_emit(
            e, BS_PREPARE, op,
            (struct gce_op){.c = c, .verb = GCE_INSERT, .body = gce_own(e->a, gce_hc_body(want))});
        return;
    }
    if (!gce_hc_needs_update(is, want, &because)) {
        bs_keep(e, BS_PREPARE, c, want->name);
        return;
    }
    struct gce_hc then = gce_hc_merge(is, want);
    struct lb_diff diff;
    lb_diff_init(&diff, e->a);
    add_fields(&diff, is, &then);
    struct lb_op op =
        LB_OP(.verb = LB_CHANGE, .name = want->name, .why = why_update(n, because), .note = note,
              .shared = n->d->check_shared, .fields = diff.fields, .n_fields = diff.n);
    (void)bs_emit(
        e, BS_PREPARE, op,
        (struct gce_op){.c = c, .verb = GCE_UPDATE, .body = gce_own(e->a, gce_hc_body(&then))});
}

/* The firewall of the shared check stands above deny rules of all Services, so it is not lowered
 * again while one of them may still stand (gce-cloud-provider.md §4.13): letting checks in at a
 * higher priority does no harm. */
static struct gce_firewall keep_priority(const struct bs_ensure *n, const struct gce_firewall *f)
{
    struct gce_firewall want = *f;
    const struct gce_firewall *is = gce_slots_firewall(n->e.seen, f->name);
    if (n->d->check_firewall_shared && is != NULL && is->priority != 0 &&
        is->priority < want.priority) {
        want.priority = is->priority;
    }
    return want;
}

int bs_plan_check_firewalls(struct bs_ensure *n, struct err *err)
{
    int rc = ERR_OK;
    for (int i = 0; rc == ERR_OK && i < 2; i++) {
        const struct gce_bs_side *side = n->sides[i].d;
        if (!side->wanted || str_is_empty(side->check_firewall.name)) {
            continue;
        }
        struct gce_firewall want = keep_priority(n, &side->check_firewall);
        const struct bs_firewall w = {
            .f = &want,
            .phase = BS_PREPARE,
            .late_phase = BS_PREPARE,
            .ip = LB_VALUE(NULL),
            .shared = n->d->check_firewall_shared,
            .of_check = true,
            .only_after = -1,
            .create_why = "health checks must reach the nodes",
            .note = "lets the checks in",
        };
        rc = bs_firewall_ensure(n, &w, NULL, err);
    }
    return rc;
}

/* ---- what is not used any more --------------------------------------------------------------- */

static void drop_firewalls(struct bs_ensure *n, const char *const names[2], int check,
                           const char *why, bool shared)
{
    for (int i = 0; i < 2; i++) {
        const struct gce_firewall *fw =
            names[i] == NULL ? NULL : gce_slots_firewall(n->e.seen, names[i]);
        if (fw == NULL || (!shared && !bs_firewall_is_ours(n->e.a, n->e.in, fw))) {
            continue;
        }
        int at = bs_delete(&n->e, BS_AFTER, GCE_FIREWALLS, names[i], why);
        struct lb_op *op = bs_op(&n->e, at);
        op->shared = shared;
        if (check >= 0 && shared) { /* "in use" means that others need the firewall, too */
            op->only_if_op = check;
            op->only_if = LB_DONE;
        }
    }
}

/* From Cluster to Local.  Only when this sync turns the backend service away from it: upstream
 * leaves the check for the last deletion, so one that stands about is no reason to write. */
static void drop_shared(struct bs_ensure *n)
{
    static const char why[] = "no Service with policy Cluster is left";
    const struct gce_bs_input *in = n->e.in;
    if (in->others_want_shared_check || !n->left_shared ||
        gce_slots_hc(n->e.seen, n->d->check_regional, n->names.shared_check) == NULL) {
        return;
    }
    int check =
        bs_delete(&n->e, BS_DROP, checks_of(n->d->check_regional), n->names.shared_check, why);
    bs_op(&n->e, check)->tolerate |= LB_TOLERATE_IN_USE;
    bs_op(&n->e, check)->shared = true;
    if (!in->other_scheme_has_check) {
        drop_firewalls(n, n->names.shared_check_firewall, check, why, true);
    }
}

/* Firewalls of an own check that no family uses: with policy Cluster the shared one serves, but for
 * a Service of another network, whose own one goes with its family alone. */
static void find_unused(const struct bs_ensure *n, const char *ret[2])
{
    for (int i = 0; i < 2; i++) {
        const struct gce_bs_side *side = n->sides[i].d;
        bool used = side->wanted && !n->d->check_firewall_shared;
        ret[i] = used ? NULL : n->names.local_check_firewall[i];
    }
}

/* From Local to Cluster, and what an interrupted run of it left. */
static void drop_local(struct bs_ensure *n)
{
    static const char why[] = "spec.externalTrafficPolicy is not Local";
    for (int regional = 0; regional < 2; regional++) {
        if (gce_slots_hc(n->e.seen, regional == 1, n->names.local_check) != NULL) {
            (void)bs_delete(&n->e, BS_DROP, checks_of(regional == 1), n->names.local_check, why);
        }
    }
    const char *firewalls[2];
    find_unused(n, firewalls);
    drop_firewalls(n, firewalls, -1, why, false);
}

/* The own check of the scheme that the Service had before, and the firewall of a family that
 * it has no more. */
static void drop_unwanted_of_local(struct bs_ensure *n)
{
    bool other = !n->d->check_regional;
    const char *firewalls[2];
    if (gce_slots_hc(n->e.seen, other, n->names.local_check) != NULL) {
        (void)bs_delete(&n->e, BS_DROP, checks_of(other), n->names.local_check,
                        "the Service was of another scheme");
    }
    find_unused(n, firewalls);
    drop_firewalls(n, firewalls, -1, "spec.ipFamilies changed", false);
}

/* Leading back leaves the check that a refused edit has prepared: its next try needs it. */
void bs_plan_drop_checks(struct bs_ensure *n)
{
    bool prepared = n->e.in->leads_back;
    if (!n->has_names) {
        return;
    }
    if (!n->d->check_shared) {
        drop_shared(n);
    }
    if (n->d->check_shared && !prepared) {
        drop_local(n);
    } else if (!prepared) {
        drop_unwanted_of_local(n);
    }
}
