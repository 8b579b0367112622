/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_firewall_plan.c: firewalls of a balancer with a backend service: who may come in, who may
 * not.
 *
 * Three things must never happen: a deny firewall above the one that allows (so deny comes last,
 * goes first, and waits for the change of allow), a firewall without target tags (it would open
 * every machine of the network), and an empty list of sources (the cloud reads it as all clients).
 * Where a family has no range left, its firewall goes.  A firewall of another network cannot be
 * patched: it is made again.  Long names of two Services can be the same (gce-l4.md §2.5 N27): what
 * another Service's description is on is not touched.
 * On a Shared VPC a missing permission is no failure; an event has the command.
 * Source: gce-l4.md §4.8, §5.7, §9.5 rules 1–2, A7, A8, A11; gce-cloud-provider.md
 * §4.12, §4.13, §5.8.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_firewall_diff.h"

#include <string.h>

/* ---- whose ----------------------------------------------------------------------------------- */

bool bs_firewall_is_ours(struct arena *a, const struct gce_bs_input *in,
                         const struct gce_firewall *found)
{
    struct gce_l4_description d;
    if (!gce_l4_description_parse(a, str_nonnull(found->description), &d)) {
        /* no such description at all: the old kind's, whose names hold the Service's uid */
        return true;
    }
    return str_is_empty(d.service) || str_eq(d.service, in->key);
}

/* ---- one firewall ---------------------------------------------------------------------------- */

static int check_tags(const struct gce_bs_input *in, struct err *err)
{
    if (in->tags.n > 0 || !in->tags_known) {
        return ERR_OK;
    }
    if (in->tags_err != NULL && err_is_retryable(in->tags_err->code)) {
        return err_copy(err, in->tags_err);
    }
    return err_set(
        err, ERR_INVALID,
        "no instances found: the nodes have no network tags, and without them a firewall "
        "would open every machine of the network");
}

/* As it should be; what is not known yet (tags, a later address) is taken from what is there. */
static struct gce_firewall as_wanted(const struct bs_ensure *n, const struct bs_firewall *w,
                                     const struct gce_firewall *is)
{
    bool late = w->has_ip && w->ip.text == NULL;
    struct gce_firewall want =
        w->has_ip ? gce_bs_firewall_for(n->e.a, n->d, w->f, str_nonnull(w->ip.text)) : *w->f;
    if (late) {
        want.destinations = (struct gce_strs){0};
    }
    for (size_t i = 0; !late && i < w->beside.n; i++) {
        want.destinations = gce_strs_with(n->e.a, &want.destinations, w->beside.items[i]);
    }
    if (is != NULL && n->e.in->tags.n == 0) {
        want.tags = is->tags;
    }
    return want;
}

static bool differs(const struct bs_ensure *n, const struct bs_firewall *w,
                    const struct gce_firewall *is, const struct gce_firewall *want)
{
    struct err why = ERR_INIT;
    bool same = false;
    if (w->has_ip && w->ip.text == NULL) {
        return true;
    }
    if (n->d->legacy) {
        return !gce_ilb_firewall_equal(n->e.a, want, is);
    }
    /* trimtab does not write unreadable ports or ranges. */
    int rc = gce_l4_firewall_equal(n->e.a, is, want, w->shared, &same, &why);
    return rc != ERR_OK || !same;
}

static const char *firewall_summary(struct arena *a, const struct gce_firewall *f)
{
    const struct gce_allows *w = f->allowed.n > 0 ? &f->allowed : &f->denied;
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append(&b, f->sources.n == 1 ? f->sources.items[0] : str_count(a, f->sources.n, "range"));
    for (size_t i = 0; i < w->n; i++) {
        const struct gce_allow *one = &w->items[i];
        str_appendf(&b, "%s%s%s%s", i == 0 ? " → " : " ", one->protocol,
                    one->ports.n > 0 ? ":" : "", str_join(a, one->ports.items, one->ports.n, ","));
    }
    return str_buf_to_arena(&b, a);
}

static const char *why_change(const struct bs_ensure *n, const struct bs_firewall *w,
                              const struct gce_firewall *is, const struct gce_firewall *want)
{
    struct arena *a = n->e.a;
    struct str_set now = gce_strs_set(a, &is->sources);
    struct str_set then = gce_strs_set(a, &want->sources);
    bool late = w->has_ip && w->ip.text == NULL;
    if (late || !gce_strs_same(a, &is->destinations, &want->destinations)) {
        return late || want->destinations.n > 0 ? "the address of the load balancer changes"
                                                : "addresses are not pinned any more";
    }
    const char *priority = gce_firewall_priority_why(is->priority, want->priority);
    if (priority != NULL) {
        return priority;
    }
    if (!str_set_eq(&now, &then)) {
        return "the source ranges changed";
    }
    if (gce_firewall_tags_differ(a, is, want)) {
        return "the tags of the nodes changed";
    }
    return w->change_why != NULL ? w->change_why : "it is not as it should be";
}

static struct lb_diff fields_of(const struct bs_ensure *n, const struct bs_firewall *w,
                                const struct gce_firewall *is, struct gce_firewall want)
{
    struct lb_diff diff;
    lb_diff_init(&diff, n->e.a);
    want.priority = want.priority == 0 ? is->priority : want.priority; /* not sent: it stays */
    if (w->has_ip && w->ip.text == NULL && w->ip.op >= 0) {
        bool replaces = w->beside.n == 0 && is->destinations.n > 0;
        const char *old = replaces ? is->destinations.items[0] : NULL;
        want.destinations = is->destinations;
        want.description = is->description; /* it only repeats the address */
        (void)lb_diff_value(&diff, "destinationRanges", old, w->ip);
    }
    gce_firewall_fields(&diff, is, &want);
    return diff;
}

/* Members of the body that depend on the rule's address. */
static void put_late(const struct bs_ensure *n, const struct bs_firewall *w,
                     const struct gce_firewall *full, struct gce_op *arg)
{
    const char *text = full->description;
    bool whole = w->f->denied.n > 0 && str_has_suffix(w->f->name, "-ipv6");
    arg->late[arg->n_late++] = (struct gce_op_late){.member = "destinationRanges",
                                                    .value = w->ip,
                                                    .beside = w->beside,
                                                    .suffix = whole ? GCE_BS_PREFIX_V6 : NULL};
    if (strstr(text, GCE_LATER) != NULL) { /* the old kind's description names the address */
        arg->late[arg->n_late++] = gce_late_text(n->e.a, "description", text, w->ip);
    }
}

static struct gce_op op_of(const struct bs_ensure *n, const struct bs_firewall *w,
                           const struct gce_firewall *is, const struct gce_firewall *want)
{
    struct arena *a = n->e.a;
    bool late = w->has_ip && w->ip.text == NULL;
    bool create = is == NULL;
    bool clears = !create && !late && want->destinations.n == 0 && is->destinations.n > 0;
    struct gce_op arg = {.c = GCE_FIREWALLS,
                         .verb = create ? GCE_INSERT : GCE_PATCH,
                         .body = gce_own(a, gce_firewall_body(want, clears))};
    struct gce_firewall told = *want;
    if (w->beside.n > 0 && !late) {
        told.destinations = gce_bs_firewall_for(a, n->d, w->f, w->ip.text).destinations;
    }
    if (late) {
        const struct gce_firewall full = gce_bs_firewall_for(a, n->d, w->f, GCE_LATER);
        put_late(n, w, &full, &arg);
        told.description = full.description;
        told.destinations = full.destinations;
    }
    gce_emit_by_hand(&n->e.out, &arg, &told);
    return arg;
}

static int put_firewall(struct bs_ensure *n, const struct bs_firewall *w,
                        const struct gce_firewall *is, struct gce_firewall want,
                        enum bs_phase phase)
{
    bool create = is == NULL;
    bool after_former = !create && n->e.in->way != NULL && !w->shared && w->beside.n == 0;
    struct lb_op op =
        LB_OP(.verb = create ? LB_CREATE : LB_CHANGE, .name = want.name,
              .why = create ? w->create_why : why_change(n, w, is, &want),
              .summary = firewall_summary(n->e.a, &want), .note = w->note, .shared = w->shared,
              .tolerate = n->e.f->on_xpn ? LB_TOLERATE_FORBIDDEN : 0);
    if (!create) {
        struct lb_diff diff = fields_of(n, w, is, want);
        op.fields = diff.fields;
        op.n_fields = diff.n;
    }
    if (w->only_after >= 0) {
        op.only_if_op = w->only_after;
        op.only_if = LB_DONE;
    }
    phase = after_former && phase < BS_BACKEND ? BS_BACKEND : phase;
    int at = bs_emit(&n->e, phase, op, op_of(n, w, is, &want));
    bs_pending_of(&n->e, at)->of_check = w->of_check;
    bs_pending_of(&n->e, at)->after_former = after_former;
    return at;
}

/* A patch cannot move it to another network: it goes, and is made in the same place of the plan. */
static void move_network(struct bs_ensure *n, const struct bs_firewall *w, enum bs_phase *phase)
{
    int at = bs_delete(&n->e, BS_FIRST, GCE_FIREWALLS, w->f->name, "it is on another network");
    bs_op(&n->e, at)->note = "made again below";
    bs_op(&n->e, at)->shared = w->shared;
    *phase = *phase == BS_FIRST ? BS_PREPARE : *phase;
}

int bs_firewall_ensure(struct bs_ensure *n, const struct bs_firewall *w, int *ret_op,
                       struct err *err)
{
    struct bs_emit *e = &n->e;
    const struct gce_firewall *is = gce_slots_firewall(e->seen, w->f->name);
    bool late = w->has_ip && w->ip.text == NULL;
    enum bs_phase phase = late ? w->late_phase : w->phase;
    if (ret_op != NULL) {
        *ret_op = -1;
    }
    if (is != NULL && !w->shared && !bs_firewall_is_ours(e->a, e->in, is)) {
        lb_plan_effect(
            e->p, e->in->key,
            "Firewall %s belongs to another Service of the same name, and stays unchanged.",
            is->name);
        return ERR_OK;
    }
    struct gce_firewall want = as_wanted(n, w, is);
    bool moves = is != NULL && gce_firewall_network_differs(is, &want);
    if (is != NULL && !moves && !differs(n, w, is, &want)) {
        bs_keep(e, phase, GCE_FIREWALLS, is->name);
        return ERR_OK;
    }
    int rc = check_tags(e->in, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (moves) {
        move_network(n, w, &phase);
        is = NULL;
    }
    int at = put_firewall(n, w, is, want, phase);
    if (ret_op != NULL) {
        *ret_op = at;
    }
    return ERR_OK;
}

/* ---- traffic --------------------------------------------------------------------------------- */

static bool opens_to_all(struct arena *a, const struct gce_firewall *f)
{
    struct str_set sources = gce_strs_set(a, &f->sources);
    return str_set_has(&sources, "0.0.0.0/0") || str_set_has(&sources, "0::0/0") ||
           str_set_has(&sources, "::/0");
}

static bool narrows(const struct bs_ensure *n, const struct gce_firewall *is,
                    const struct gce_firewall *want)
{
    struct str_set now = gce_strs_set(n->e.a, &is->sources);
    struct str_set then = gce_strs_set(n->e.a, &want->sources);
    return !opens_to_all(n->e.a, want) && !str_set_eq(&now, &then);
}

/* A family whose ranges were all dropped lets no client in; a firewall of an earlier spec would.
 * The one that upstream opens in this case stays as it was found until the Service is edited, or
 * --repair-adopted says so (docs/deviations.md). */
static void drop_traffic(struct bs_ensure *n, const struct bs_side *s)
{
    const char *name = n->has_names ? n->names.firewalls[s->family][0] : s->d->firewall.name;
    const struct gce_firewall *is = str_is_empty(name) ? NULL : gce_slots_firewall(n->e.seen, name);
    if (is == NULL || !bs_firewall_is_ours(n->e.a, n->e.in, is)) {
        return;
    }
    if (s->d->wanted && !s->d->nobody) {
        return; /* switched off means: not looked after */
    }
    if (s->d->wanted && n->e.in->adopts && !n->e.f->repair_adopted && opens_to_all(n->e.a, is)) {
        lb_plan_left(
            n->e.p, n->e.in->key,
            "Firewall %s allows all clients, although no source range of its family is given",
            name);
        return;
    }
    if (s->d->wanted) {
        lb_plan_effect(n->e.p, n->e.in->key,
                       "All clients are refused over %s: no source range is of that family.",
                       s->family == 0 ? "IPv4" : "IPv6");
    }
    enum bs_phase phase = s->d->wanted ? BS_PREPARE : bs_side_goes_last(n, s) ? BS_DROP : BS_UNBACK;
    (void)bs_delete(&n->e, phase, GCE_FIREWALLS, name,
                    s->d->wanted ? "no source range of this family is left"
                                 : "spec.ipFamilies changed");
}

/* Lowering allow to the priority of a deny firewall that stays would shut all clients out. */
static struct gce_firewall above_deny(const struct bs_ensure *n, const struct bs_side *s)
{
    struct gce_firewall f = s->d->firewall;
    const char *deny = n->has_names ? n->names.deny[s->family] : s->d->deny.name;
    const struct gce_firewall *is = gce_slots_firewall(n->e.seen, f.name);
    bool stays = !s->d->want_deny && !n->e.f->flags.deny_cleanup && !str_is_empty(deny) &&
                 gce_slots_firewall(n->e.seen, deny) != NULL;
    if (stays && is != NULL && is->priority != 0) {
        f.priority = is->priority;
    }
    return f;
}

/* The rule that goes, perhaps one of another kind, has its clients until then, and if it is put
 * back. */
static bool stands_by_both(const struct bs_ensure *n, const struct bs_side *s,
                           const struct gce_firewall *is, const struct bs_firewall *w)
{
    if (n->e.in->way != NULL) {
        bool known = w->ip.text != NULL || s->hold >= 0; /* before the new rule is made */
        return w->has_ip && known && is != NULL && gce_firewall_serves_both(n->e.a, is, w->f);
    }
    const char *was = s->first == NULL ? "" : gce_l4_ip_without_prefix(n->e.a, s->first->ip);
    bool moves = *was != '\0' && (w->ip.text == NULL || !str_eq(w->ip.text, was));
    return w->has_ip && is != NULL && is->destinations.n > 0 && moves && bs_side_loses_rules(s);
}

/* Once the new rule stands; whatever made the firewall as it is until then. */
static void plan_narrow(struct bs_ensure *n, const struct bs_side *s,
                        const struct bs_firewall *both, const struct gce_firewall *between)
{
    struct bs_firewall w = *both;
    w.beside = (struct gce_strs){0};
    w.only_after = s->allow;
    w.change_why = "no rule has the former address any more";
    struct gce_firewall is = *between;
    if (w.ip.text == NULL) {
        is.destinations = both->beside;
    }
    struct gce_firewall want = as_wanted(n, &w, &is);
    if (!differs(n, &w, &is, &want)) {
        return; /* it lets clients in to the new address alone already */
    }
    int at = put_firewall(n, &w, &is, want, BS_DROP);
    bs_op(&n->e, at)->why = w.change_why;
    bs_op(&n->e, at)->tidies = true;
    bs_pending_of(&n->e, at)->narrows = true;
}

int bs_plan_traffic(struct bs_ensure *n, struct bs_side *s, struct err *err)
{
    if (!s->d->wanted || !s->d->want_firewall) {
        drop_traffic(n, s);
        return ERR_OK;
    }
    struct gce_firewall f = above_deny(n, s);
    const struct gce_firewall *is = gce_slots_firewall(n->e.seen, f.name);
    struct bs_firewall w = {
        .f = &f,
        .phase = BS_PREPARE,
        .late_phase = s->hold >= 0 && (is == NULL || s->hold_first) ? BS_BACKEND : BS_ALLOW,
        .ip = s->ip,
        .has_ip = n->d->pinhole,
        .only_after = -1,
        .create_why = "clients must reach the nodes",
        .change_why = "spec.ports changed",
        .note = arena_printf(n->e.a, "tags: %s", str_set_text(n->e.a, &n->e.in->tags, ", ")),
    };
    bool both = stands_by_both(n, s, is, &w);
    w.beside = both ? is->destinations : w.beside;
    w.late_phase = both ? BS_PREPARE : w.late_phase;
    struct gce_firewall want = as_wanted(n, &w, is);
    bool pinned_elsewhere = !both && is != NULL && w.has_ip && w.ip.text != NULL &&
                            !gce_strs_same(n->e.a, &is->destinations, &want.destinations);
    /* While the old rule stands its clients may come in: the firewall follows the rule
     * to another address. */
    w.phase = pinned_elsewhere ? BS_ALLOW : BS_PREPARE;
    s->ranges_changed = is != NULL && narrows(n, is, &want);
    int rc = bs_firewall_ensure(n, &w, &s->allow, err);
    bool early = both || (w.phase == BS_PREPARE && !(w.has_ip && w.ip.text == NULL));
    if (rc == ERR_OK && s->allow >= 0 && is != NULL && early &&
        bs_op(&n->e, s->allow)->verb == LB_CHANGE) {
        bs_op(&n->e, s->allow)->undo = bs_undo_traffic(n, s, is, &want);
    }
    if (rc == ERR_OK && both && bs_firewall_is_ours(n->e.a, n->e.in, is)) {
        plan_narrow(n, s, &w, &want);
    }
    return rc;
}

/* The firewall that very old versions made under the name of the rule (gce-cloud-provider.md §5.8):
 * once the new one is there. */
void bs_plan_old_traffic(struct bs_ensure *n)
{
    const char *old = n->d->legacy && n->has_names ? n->names.firewalls[0][1] : NULL;
    if (old != NULL && gce_slots_firewall(n->e.seen, old) != NULL) {
        (void)bs_delete(&n->e, BS_DROP, GCE_FIREWALLS, old, "a newer one has taken its place");
    }
}

/* ---- deny ------------------------------------------------------------------------------------ */

int bs_plan_deny(struct bs_ensure *n, struct bs_side *s, struct err *err)
{
    if (!s->d->wanted || !s->d->want_deny) {
        return ERR_OK;
    }
    const struct bs_firewall w = {
        .f = &s->d->deny,
        .phase = BS_DENY,
        .late_phase = BS_DENY,
        .ip = s->ip,
        .has_ip = true,
        /* On a Shared VPC the allow rule may have stayed as it was: then deny would win over it. */
        .only_after = s->allow,
        .create_why = "everything that no firewall allows is to be denied",
        .note = "below the allow rules",
    };
    return bs_firewall_ensure(n, &w, NULL, err);
}

void bs_plan_deny_off(struct bs_ensure *n, const struct bs_side *s)
{
    const char *name = n->has_names ? n->names.deny[s->family] : NULL;
    bool wanted = s->d->wanted && s->d->want_deny;
    const struct gce_firewall *is = name == NULL ? NULL : gce_slots_firewall(n->e.seen, name);
    if (is == NULL || wanted || !bs_firewall_is_ours(n->e.a, n->e.in, is)) {
        return;
    }
    if (!s->d->wanted) {
        enum bs_phase phase = bs_side_goes_last(n, s) ? BS_AFTER : BS_DENY;
        (void)bs_delete(&n->e, phase, GCE_FIREWALLS, name, "spec.ipFamilies changed");
    } else if (n->e.f->flags.deny_cleanup) {
        /* Deny goes before allow rises to its priority: never may deny win over allow. */
        (void)bs_delete(&n->e, BS_FIRST, GCE_FIREWALLS, name, "the deny firewall is switched off");
    }
}
