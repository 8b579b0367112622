/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_rules_plan.c: forwarding rules of one family, and the address that they share.
 *
 * What a rule is can hardly be changed: it is deleted and made again, and its address could go to
 * another user in between.  So the address is held before a rule goes that has it, and where two
 * rules are to share a new one; the first rule of a load balancer takes its address from the cloud
 * without holding (docs/deviations.md).  Global access, and the tier of an internal rule, are
 * patched in place.
 * Rules under names that are not wanted (another protocol's, the former scheme's) go before the
 * backend service is written, because the cloud refuses to change the protocol of one that rules
 * refer to (gce-l4.md §4.5).  Where that is not so, those of a family that the Service gives up
 * go last, when the status no longer names their address (docs/adr/0091).
 * Source: gce-l4.md §4.4, §4.5, §4.7, §5.2–§5.4, A4, A5; gce-cloud-provider.md §5.3,
 * §5.6, §5.7. Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>

/* ---- what is there --------------------------------------------------------------------------- */

static bool is_wanted_name(const struct bs_side *s, const char *name)
{
    for (size_t i = 0; s->d->wanted && i < s->d->n_rules; i++) {
        if (str_eq(s->d->rules[i].name, name)) {
            return true;
        }
    }
    return false;
}

static const char *scheme_of(const struct gce_rule *r)
{
    return str_is_empty(r->scheme) ? "EXTERNAL" : r->scheme;
}

/* A rule of a target pool, or one with another backend service, is not this plan's matter. */
static bool leads_here(const struct bs_ensure *n, const struct gce_rule *r)
{
    return !str_is_empty(r->backend_service) &&
           str_eq(gce_link_last(r->backend_service), n->d->service.name);
}

static void find_stale(struct bs_ensure *n, struct bs_side *s)
{
    for (size_t i = 0; n->has_names && n->names.rules[s->family][i] != NULL; i++) {
        const char *name = n->names.rules[s->family][i];
        const struct gce_rule *r = gce_slots_rule(n->e.seen, name);
        if (r != NULL && !is_wanted_name(s, name) && leads_here(n, r)) {
            s->stale[s->n_stale++] = r;
        }
    }
}

/* Those from which an address can be taken over: legacy name, TCP, UDP, L3. */
static size_t donors(const struct bs_ensure *n, const struct bs_side *s,
                     const struct gce_rule **out)
{
    size_t k = 0;
    const char *scheme = s->d->rules[0].scheme;
    for (size_t i = 0; n->has_names && n->names.rules[s->family][i] != NULL; i++) {
        const char *name = n->names.rules[s->family][i];
        const struct gce_rule *r = gce_slots_rule(n->e.seen, name);
        if (r != NULL && (is_wanted_name(s, name) || leads_here(n, r)) &&
            !str_is_empty(r->backend_service) && str_eq(scheme_of(r), scheme)) {
            out[k++] = r;
        }
    }
    return k;
}

/* ---- which address --------------------------------------------------------------------------- */

static const struct gce_rule *donor_of(struct arena *a, const struct gce_l4_address_question *q,
                                       const char *ip)
{
    for (size_t i = 0; i < q->n_rules; i++) {
        if (str_eq(gce_l4_ip_without_prefix(a, q->rules[i]->ip), ip)) {
            return q->rules[i];
        }
    }
    return NULL;
}

/* Without a valid annotation the tier follows the address that stays, because an address cannot
 * change it: that of the rule, or the one that an interrupted run holds. */
static const char *tier_of(const struct bs_ensure *n, const struct bs_side *s,
                           const struct gce_l4_address_question *q)
{
    const struct gce_rule *donor = s->choice.from_rule ? donor_of(n->e.a, q, s->choice.ip) : NULL;
    const char *kept = donor != NULL                                    ? donor->tier
                       : s->held != NULL && str_is_empty(s->choice.ask) ? s->held->tier
                                                                        : "";
    bool follows = !n->d->internal && !n->d->tier_is_set && !str_is_empty(kept);
    return follows ? kept : q->tier;
}

/* ---- which rules ----------------------------------------------------------------------------- */

static bool same_address(struct arena *a, const char *x, const char *y)
{
    struct ip_addr p;
    struct ip_addr q;
    const char *one = gce_l4_ip_without_prefix(a, x);
    const char *other = gce_l4_ip_without_prefix(a, y);
    return str_eq(one, other) || (ip_parse(one, &p) && ip_parse(other, &q) && ip_eq(&p, &q));
}

/* As each kind's upstream compares; what only differs in global access is patched in both. */
static int compare(struct bs_ensure *n, const struct bs_side *s, struct bs_rule *r, struct err *err)
{
    struct arena *a = n->e.a;
    bool same = false;
    if (n->d->legacy) {
        struct gce_rule but = r->want;
        but.global_access = r->is->global_access;
        same = gce_ilb_rule_equal(a, r->is, &r->want);
        r->patch = !same && gce_ilb_rule_equal(a, r->is, &but);
        r->patched = (struct gce_rule){
            .name = r->is->name, .id = r->is->id, .global_access = r->want.global_access};
    } else if (s->d->v6) {
        bool discrete = n->e.f->flags.discrete_ports;
        int rc = gce_l4_rule_equal_v6(a, r->is, &r->want, discrete, &same, err);
        if (rc != ERR_OK) {
            return rc;
        }
        same = same && (str_is_empty(s->d->user.ip) || same_address(a, r->is->ip, s->d->user.ip));
    } else {
        struct gce_rule_change c;
        int rc = gce_l4_rule_compare(a, r->is, &r->want, n->e.f->flags.discrete_ports, &c, err);
        if (rc != ERR_OK) {
            return rc;
        }
        same = c.equal;
        r->patch = !same && c.patch;
        r->patched = c.wanted;
    }
    r->remake = !same && !r->patch;
    return ERR_OK;
}

static int decide_rule(struct bs_ensure *n, struct bs_side *s, struct bs_rule *r,
                       const struct gce_l4_address_question *q, struct err *err)
{
    if (r->is == NULL) {
        r->because = n->service == NULL ? "the load balancer is new"
                     : n->service_again ? "the Service was of another scheme"
                     : s->n_stale > 0   ? "spec.ports changed"
                                        : "it is missing";
        return ERR_OK;
    }
    if (str_is_empty(r->is->backend_service)) {
        return err_set(err, ERR_INVALID,
                       "forwarding rule %s has no backend service; it stays unchanged",
                       r->is->name);
    }
    if (!str_eq(scheme_of(r->is), r->want.scheme) || n->service_again) {
        r->remake = true;
        r->because = "the Service was of another scheme";
        return ERR_OK;
    }
    if (gce_l4_rule_is_of_other_tier(r->is, q)) {
        r->remake = true;
        r->because = "the network tier changed, and with it the address";
        return ERR_OK;
    }
    int rc = compare(n, s, r, err);
    if (rc == ERR_OK && n->protocol_changes) {
        r->remake = true;
        r->patch = false;
    }
    r->because = bs_rule_because(r->is, &r->want);
    return rc;
}

static size_t count_inserted(const struct bs_side *s)
{
    size_t k = 0;
    for (size_t i = 0; i < s->d->n_rules; i++) {
        k += s->rules[i].is == NULL || s->rules[i].remake;
    }
    return k;
}

bool bs_side_loses_rules(const struct bs_side *s)
{
    bool goes = s->n_stale > 0;
    for (size_t i = 0; i < s->d->n_rules; i++) {
        goes = goes || s->rules[i].remake;
    }
    return goes;
}

bool bs_side_changes_rules(const struct bs_side *s)
{
    return s->d->wanted && (bs_side_loses_rules(s) || count_inserted(s) > 0);
}

static struct gce_l4_address_question question_of(const struct bs_ensure *n,
                                                  const struct bs_side *s,
                                                  const struct gce_rule **rules)
{
    const struct gce_rule *want = &s->d->rules[0];
    size_t n_rules = donors(n, s, rules);
    return (struct gce_l4_address_question){
        .user = &s->d->user,
        .internal = n->d->internal,
        .v6 = s->d->v6,
        .any_subnetwork = n->d->legacy,
        .tier_is_set = n->d->tier_is_set,
        .subnetwork = str_nonnull(want->subnetwork),
        .tier = str_nonnull(want->tier),
        .ip_collection = str_nonnull(want->ip_collection),
        .rules = rules,
        .n_rules = n_rules,
    };
}

static int decide_user_tier(const struct bs_ensure *n, const struct bs_side *s, const char *tier,
                            struct err *err)
{
    if (n->d->internal || s->d->v6 || (!n->d->tier_is_set && s->choice.from_rule)) {
        return ERR_OK;
    }
    return gce_l4_user_address_check(&s->d->user, tier, err);
}

/* The firewall of a new balancer names its address.  Held first, the address is known at once, and
 * the firewall is made beside all that the rule waits for.  Not where the cloud has just refused
 * one more reservation. */
static bool pays_to_hold(const struct bs_ensure *n, const struct bs_side *s)
{
    const char *kind = gce_collection_word(GCE_ADDRESSES);
    struct lb_plan_service *svc = lb_plan_service(n->e.p, n->e.in->key);
    bool is_new = count_inserted(s) == s->d->n_rules && !bs_side_loses_rules(s);
    if (!n->e.f->hold_first || !is_new || !n->d->pinhole || !s->d->want_firewall ||
        !s->choice.managed || *s->choice.ask != '\0' || s->held != NULL) {
        return false;
    }
    lb_kinds_add(n->e.p->a, &svc->asks_room, kind);
    return !lb_kinds_have(svc->full, kind);
}

static void decide_ip(struct bs_ensure *n, struct bs_side *s)
{
    size_t inserted = count_inserted(s);
    bool must =
        gce_l4_address_must_be_held(&s->choice, bs_side_loses_rules(s), s->d->n_rules, inserted);
    bs_decide_hold(n, s, must, pays_to_hold(n, s));
    s->ip = LB_VALUE(NULL);
    if (inserted < s->d->n_rules && s->rules[0].is != NULL && !s->rules[0].remake) {
        s->ip = LB_VALUE(gce_l4_ip_without_prefix(n->e.a, s->rules[0].is->ip));
    } else if (*s->choice.ask != '\0') {
        s->ip = LB_VALUE(s->choice.ask);
    } else if (s->held_usable) {
        s->ip = LB_VALUE(gce_l4_ip_without_prefix(n->e.a, s->held->ip));
    }
}

int bs_decide_side(struct bs_ensure *n, struct bs_side *s, struct err *err)
{
    const struct gce_rule *rules[GCE_BS_NAMES_MAX];
    s->hold = -1;
    s->keep = -1;
    s->allow = -1;
    find_stale(n, s);
    if (!s->d->wanted) {
        return ERR_OK;
    }
    struct gce_l4_address_question q = question_of(n, s, rules);
    gce_l4_address_choose(n->e.a, &q, &s->choice);
    s->first = q.n_rules > 0 ? q.rules[0] : NULL;
    bs_choose_held(n, s);
    q.tier = tier_of(n, s, &q);
    int rc = decide_user_tier(n, s, q.tier, err);
    for (size_t i = 0; rc == ERR_OK && i < s->d->n_rules; i++) {
        struct bs_rule *r = &s->rules[i];
        struct gce_rule tiered = s->d->rules[i];
        tiered.tier = n->d->internal ? tiered.tier : q.tier;
        r->is = gce_slots_rule(n->e.seen, tiered.name);
        r->want = gce_bs_rule_for(n->e.a, n->d, &tiered, s->choice.ask);
        rc = decide_rule(n, s, r, &q, err);
    }
    if (rc == ERR_OK) {
        decide_ip(n, s);
    }
    return rc;
}

/* ---- rules: away, changed, made -------------------------------------------------------------- */

bool bs_side_goes_last(const struct bs_ensure *n, const struct bs_side *s)
{
    return !s->d->wanted && !n->protocol_changes && !n->service_again;
}

static void plan_away(struct bs_ensure *n, const struct bs_side *s, const struct gce_rule *r,
                      const char *why, const char *note)
{
    bool keeps = s->d->wanted && *s->choice.ask != '\0';
    bool last = bs_side_goes_last(n, s);
    int at = bs_delete(&n->e, last ? BS_DROP : BS_UNRULE, GCE_RULES, r->name, why);
    struct lb_op *op = bs_op(&n->e, at);
    op->awaits_status = last; /* which names the family's address until then */
    op->note = note;
    op->undo = bs_undo_rule(n, s, r);
    op->ask = bs_ask_rule(n, s, r);
    op->proof = gce_emit_proof(&n->e.out, GCE_RULES, r->name);
    op->critical = keeps && !n->critical_taken;
    n->critical_taken = n->critical_taken || op->critical;
}

static const char *why_stale(const struct bs_ensure *n, const struct bs_side *s,
                             const struct gce_rule *r)
{
    if (!s->d->wanted) {
        return s->family == 0 ? "spec.ipFamilies holds no IPv4" : "spec.ipFamilies holds no IPv6";
    }
    return str_eq(scheme_of(r), n->d->service.scheme) ? "spec.ports changed"
                                                      : "the Service was of another scheme";
}

/* The address is that of an operation before it, or whatever the cloud gives. */
static struct gce_op insert_op(struct bs_ensure *n, const struct bs_side *s,
                               const struct gce_rule *want)
{
    struct arena *a = n->e.a;
    struct gce_op arg = {
        .c = GCE_RULES, .verb = GCE_INSERT, .body = gce_own(a, gce_rule_body(want))};
    if (s->ip.text != NULL) {
        return arg;
    }
    if (s->hold < 0) {
        arg.read_member = "IPAddress";
        arg.ret_value = bs_outcome_ip(n, s);
        return arg;
    }
    bool prefix = gce_bs_rule_has_prefix(n->d, want);
    const char *text = gce_bs_rule_for(a, n->d, want, GCE_LATER).description;
    arg.late[arg.n_late++] = (struct gce_op_late){
        .member = "IPAddress", .value = s->ip, .suffix = prefix ? GCE_BS_PREFIX_V6 : NULL};
    if (strstr(text, GCE_LATER) !=
        NULL) { /* the description names the address that was asked for */
        arg.late[arg.n_late++] = gce_late_text(a, "description", text, s->ip);
    }
    return arg;
}

static void plan_insert(struct bs_ensure *n, struct bs_side *s, struct bs_rule *r)
{
    struct bs_emit *e = &n->e;
    const char *ip = s->ip.text;
    bool chosen = ip == NULL && s->hold < 0;
    struct gce_rule want = gce_bs_rule_for(e->a, n->d, &r->want, str_nonnull(ip));
    struct lb_diff diff;
    lb_diff_init(&diff, e->a);
    bs_rule_fields(&diff, r->is, &want, s->ip);
    struct lb_op op = LB_OP(.verb = LB_CREATE, .name = want.name, .why = r->because,
                            .summary = bs_rule_summary(e->a, &want),
                            .note = ip != NULL ? ip
                                    : chosen   ? "the cloud chooses the address"
                                               : "address known after the one that is held",
                            .fields = diff.fields, .n_fields = diff.n);
    const struct gce_op arg = insert_op(n, s, &want);
    if (r->is == NULL && s->n_stale > 0 && arg.n_late == 0) { /* with another protocol */
        struct gce_rule renamed = want;
        renamed.name = s->stale[0]->name;
        op.asked = gce_emit_asked(&e->out,
                                  (struct gce_op){.c = GCE_RULES,
                                                  .verb = GCE_INSERT,
                                                  .name = renamed.name,
                                                  .body = gce_own(e->a, gce_rule_body(&renamed))});
    }
    int at = bs_emit(e, BS_RULE, op, arg);
    if (chosen) {
        s->ip = LB_VALUE_OF(at, "value");
    }
}

static void plan_patch(struct bs_ensure *n, const struct bs_rule *r)
{
    struct bs_emit *e = &n->e;
    struct lb_diff diff;
    lb_diff_init(&diff, e->a);
    bs_rule_fields(&diff, r->is, &r->want, LB_VALUE(r->is->ip));
    struct lb_op op = LB_OP(.verb = LB_CHANGE, .name = r->is->name, .why = r->because,
                            .note = "in place", .fields = diff.fields, .n_fields = diff.n);
    (void)bs_emit(e, BS_RULE, op,
                  (struct gce_op){
                      .c = GCE_RULES,
                      .verb = GCE_PATCH,
                      .body = gce_own(e->a, gce_rule_patch_body(&r->patched)),
                  });
}

void bs_plan_rules(struct bs_ensure *n, struct bs_side *s)
{
    for (size_t i = 0; i < s->n_stale; i++) {
        plan_away(n, s, s->stale[i], why_stale(n, s, s->stale[i]), NULL);
    }
    for (size_t i = 0; s->d->wanted && i < s->d->n_rules; i++) {
        if (s->rules[i].remake) {
            plan_away(n, s, s->rules[i].is, s->rules[i].because, "made again below");
        }
    }
    if (!s->d->wanted) {
        return;
    }
    bs_plan_hold(n, s);
    bs_plan_keep(n, s);
    for (size_t i = 0; i < s->d->n_rules; i++) {
        struct bs_rule *r = &s->rules[i];
        if (r->is == NULL || r->remake) {
            plan_insert(n, s, r);
        } else if (r->patch) {
            plan_patch(n, r);
        } else {
            bs_keep(&n->e, BS_RULE, GCE_RULES, r->is->name);
        }
    }
    if (s->ip.text != NULL) {
        *bs_outcome_ip(n, s) = s->ip.text;
    }
}
