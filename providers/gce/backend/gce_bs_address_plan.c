/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_address_plan.c: the address that the forwarding rules of one family share: held before a
 * rule goes, given back when the new ones stand.
 *
 *     the rules keep their address    it is held under the rule's name until the new ones have it
 *     they get another one            that one is held, unless the Service names it; and the former
 *                                     one, too, under a name of its own (gce_former_address.h)
 * What an interrupted run left is used by the rules that are missing, or given back.
 * Source: gce-l4.md §4.4, §5.2; gce-cloud-provider.md §5.7; docs/adr/0071.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_former_address.h"
#include "providers/gce/model/gce_links.h"

/* ---- what is held ---------------------------------------------------------------------------- */

static bool fits(const struct bs_ensure *n, const struct bs_side *s, const struct gce_address *h,
                 const struct gce_rule *want)
{
    const char *type = n->d->internal ? "INTERNAL" : "EXTERNAL";
    const char *ip = gce_l4_ip_without_prefix(n->e.a, h->ip);
    bool place = !n->d->internal || str_is_empty(want->subnetwork) || str_is_empty(h->subnetwork) ||
                 gce_link_same(h->subnetwork, want->subnetwork);
    bool tier = n->d->internal || str_is_empty(h->tier) || str_eq(h->tier, want->tier);
    return *ip != '\0' && str_eq(str_or(h->type, "EXTERNAL"), type) && place && tier &&
           str_eq(str_nonnull(h->ip_collection), str_nonnull(want->ip_collection)) &&
           (*s->choice.ask == '\0' || str_eq(ip, s->choice.ask));
}

/* An address held for a rule of another protocol: a run was interrupted, and the ports changed
 * after it. */
static const struct gce_address *stray_address(const struct bs_ensure *n, const struct bs_side *s,
                                               const char *name)
{
    const struct gce_address *is = gce_slots_address(n->e.seen, name);
    bool ours = is != NULL && !str_eq(name, s->d->address_name) &&
                !str_eq(name, str_nonnull(s->d->user.name)) &&
                str_eq(is->description, gce_l4_address_description(n->e.a, n->e.in->key));
    return ours ? is : NULL;
}

/* A reservation of the user's whose name is the one under which we hold is not ours
 * to give back. */
static const struct gce_address *held_by_us(const struct bs_ensure *n, const struct bs_side *s)
{
    bool users = str_eq(str_nonnull(s->d->user.name), s->d->address_name);
    const struct gce_address *held =
        users ? NULL : gce_slots_address(n->e.seen, s->d->address_name);
    for (size_t i = 0; held == NULL && n->has_names && n->names.rules[s->family][i] != NULL; i++) {
        held = stray_address(n, s, n->names.rules[s->family][i]);
    }
    return held;
}

/* On a network without subnetworks an internal address cannot be reserved (gce-l4.md §4.4). */
static bool can_hold(const struct bs_ensure *n, const struct bs_side *s)
{
    return !n->d->internal ||
           !(str_is_empty(n->e.f->subnetwork) && str_is_empty(s->d->rules[0].subnetwork));
}

/* Without an annotation the rule follows the tier of what is held. */
static bool could_serve(const struct bs_ensure *n, const struct bs_side *s,
                        const struct gce_address *h)
{
    struct gce_rule want = s->d->rules[0];
    if (!n->d->tier_is_set && h != NULL && !str_is_empty(h->tier)) {
        want.tier = h->tier;
    }
    return h != NULL && fits(n, s, h, &want);
}

void bs_choose_held(struct bs_ensure *n, struct bs_side *s)
{
    const char *name = n->has_names ? n->names.former_address[s->family] : NULL;
    s->former = name == NULL ? NULL : gce_slots_address(n->e.seen, name);
    s->held = held_by_us(n, s);
    bool known = s->former != NULL && s->first == NULL &&
                 gce_former_address_is_known(n->e.a, n->e.in->service, s->former->ip);
    if (could_serve(n, s, s->former) && (known || !could_serve(n, s, s->held))) {
        s->held = s->former;
    }
}

void bs_decide_hold(struct bs_ensure *n, struct bs_side *s, bool must, bool pays)
{
    bool can = can_hold(n, s);
    s->held_usable = s->held != NULL && fits(n, s, s->held, &s->rules[0].want);
    s->hold_first = !must && can && pays;
    s->hold_wanted = s->hold_first || (must && can && !s->held_usable);
}

const char **bs_outcome_ip(const struct bs_ensure *n, const struct bs_side *s)
{
    struct gce_bs_outcome *o = n->e.in->outcome;
    return s->d->v6 ? &o->ip_v6 : &o->ip_v4;
}

/* ---- held ------------------------------------------------------------------------------------ */

static struct gce_address address_body(const struct bs_ensure *n, const struct bs_side *s)
{
    const struct gce_rule *want = &s->rules[0].want;
    bool known = *s->choice.ask != '\0';
    struct gce_address d = {
        .name = s->d->address_name,
        .description = gce_l4_address_description(n->e.a, n->e.in->key),
        .ip = s->choice.ask,
        .type = n->d->internal ? "INTERNAL" : "EXTERNAL",
        .tier = n->d->internal ? "" : want->tier,
        .subnetwork = n->d->internal ? want->subnetwork : "",
        .ip_collection = want->ip_collection,
    };
    if (s->d->v6 && known) {
        d.prefix_length = 96;
    } else if (s->d->v6) {
        d.ip_version = "IPV6";
        d.endpoint_type = n->d->internal ? "" : "NETLB";
        d.subnetwork = want->subnetwork;
    }
    return d;
}

static const char *hold_why(const struct bs_side *s, bool known)
{
    if (known) {
        return "a forwarding rule must be made again without losing its address";
    }
    if (s->hold_first) {
        return "the firewall names it, and need not wait for the rule then";
    }
    return bs_side_loses_rules(s)
               ? "the old forwarding rule stays until there is an address for the new one"
               : "two forwarding rules are to share it";
}

void bs_plan_hold(struct bs_ensure *n, struct bs_side *s)
{
    struct bs_emit *e = &n->e;
    bool known = *s->choice.ask != '\0';
    if (s->held != NULL && s->held != s->former && !s->held_usable && s->hold_wanted) {
        (void)bs_delete(e, BS_FIRST, GCE_ADDRESSES, s->held->name,
                        "an interrupted run left it, and it cannot serve the rule");
    }
    if (!s->hold_wanted) {
        return;
    }
    struct gce_address d = address_body(n, s);
    bool critical = !known && !s->hold_first && !n->critical_taken;
    struct lb_op op = LB_OP(.verb = LB_CREATE, .name = d.name, .why = hold_why(s, known),
                            .summary = n->d->internal ? "regional, internal"
                                                      : arena_printf(e->a, "regional, %s", d.tier),
                            .note = "holds the address until the rule has it",
                            .tolerate = known ? LB_TOLERATE_EXISTS : 0, .critical = critical);
    n->critical_taken = n->critical_taken || critical;
    s->hold = bs_emit(e, BS_PREPARE, op,
                      (struct gce_op){
                          .c = GCE_ADDRESSES,
                          .verb = GCE_INSERT,
                          .body = gce_own(e->a, gce_address_body(&d)),
                          .read_member = known ? NULL : "address",
                          .ret_value = known ? NULL : bs_outcome_ip(n, s),
                      });
    if (!known) {
        s->ip = LB_VALUE_OF(s->hold, "value");
    }
}

int bs_hold_former(struct bs_emit *e, const struct gce_rule *rule, const char *name)
{
    const struct gce_address d =
        gce_former_address_of(e->a, rule, name, gce_l4_address_description(e->a, e->in->key));
    const struct gce_address *held = gce_slots_address(e->seen, name);
    bool internal = str_eq(rule->scheme, "INTERNAL");
    bool can = !internal || !str_is_empty(rule->subnetwork);
    /* That which clients know stays: the rule that goes was made for a wish that is refused. */
    bool stands = held != NULL && (str_eq(gce_l4_ip_without_prefix(e->a, held->ip), d.ip) ||
                                   gce_former_address_is_known(e->a, e->in->service, held->ip));
    if (!can || stands || str_set_has(&e->in->reserved_ips, d.ip) ||
        lb_plan_makes_room(e->p, e->in->key, gce_collection_word(GCE_ADDRESSES))) {
        return -1;
    }
    if (held != NULL) {
        (void)bs_delete(e, BS_FIRST, GCE_ADDRESSES, name,
                        "an interrupted run left it for another rule");
    }
    struct lb_op op =
        LB_OP(.verb = LB_CREATE, .name = name,
              .why = "the former forwarding rule comes back with its address if the new one is "
                     "refused",
              .summary =
                  internal ? "regional, internal" : arena_printf(e->a, "regional, %s", d.tier),
              .note = "holds it until the new rule stands", .tolerate = LB_TOLERATE_EXISTS);
    return bs_emit(e, BS_PREPARE, op,
                   (struct gce_op){.c = GCE_ADDRESSES,
                                   .verb = GCE_INSERT,
                                   .body = gce_own(e->a, gce_address_body(&d))});
}

void bs_plan_keep(struct bs_ensure *n, struct bs_side *s)
{
    const char *name = n->has_names ? n->names.former_address[s->family] : NULL;
    if (name == NULL || s->first == NULL || !bs_side_loses_rules(s)) {
        return;
    }
    const char *was = gce_l4_ip_without_prefix(n->e.a, s->first->ip);
    if (s->ip.text == NULL || !str_eq(s->ip.text, was)) {
        s->keep = bs_hold_former(&n->e, s->first, name);
    }
}

/* ---- given back ------------------------------------------------------------------------------ */

/* `hold`: the operation of this plan that reserved it, or -1.  Only when all went well
 * (docs/adr/0074): after a failure the next sync finds the address under our name, and reserves
 * none anew. */
static struct lb_op *release(struct bs_ensure *n, const char *name, int hold, const char *why)
{
    struct lb_op *op = bs_op(&n->e, bs_delete(&n->e, BS_RELEASE, GCE_ADDRESSES, name, why));
    op->gives_back = true;
    op->tolerate |= LB_TOLERATE_IN_USE;
    op->finally = LB_FINALLY_OK;
    if (hold >= 0) {
        op->only_if_op = hold;
        op->only_if = LB_DONE;
    }
    return op;
}

/* More than the one that was held. */
static void release_strays(struct bs_ensure *n, const struct bs_side *s)
{
    for (size_t i = 0; n->has_names && n->names.rules[s->family][i] != NULL; i++) {
        const char *name = n->names.rules[s->family][i];
        if (stray_address(n, s, name) == NULL ||
            (s->held != NULL && str_eq(s->held->name, name) && s->hold < 0)) {
            continue;
        }
        (void)release(n, name, -1, "an interrupted run left it, and no rule of its name is wanted");
    }
}

static void release_held(struct bs_ensure *n, const struct bs_side *s)
{
    bool leftover = s->held != NULL && s->held != s->former && !s->hold_wanted;
    if (s->hold < 0 && !leftover) {
        return;
    }
    const char *why =
        s->held != NULL && !s->held_usable ? "an interrupted run left it, and no rule has it"
        : bs_side_changes_rules(s)         ? "the rule keeps it now"
                                   : "an interrupted run left it, and the rule has its address";
    (void)release(n, s->hold >= 0 ? s->d->address_name : s->held->name, s->hold, why);
}

/* The former rule's, and what was held for the new one where the former came first. */
static void release_former(struct bs_ensure *n, const struct bs_side *s)
{
    const struct gce_address *own = held_by_us(n, s);
    bool used = s->held != NULL && s->held == s->former;
    if (used && own != NULL && s->hold < 0) {
        (void)release(n, own->name, -1, "an interrupted run left it, and no rule has it");
    }
    if (s->keep >= 0 || (s->former != NULL && !n->e.in->holds_former)) {
        struct lb_op *op = release(n, n->names.former_address[s->family], s->keep,
                                   used ? "an interrupted run left it, and the rule has its address"
                                        : "no former forwarding rule needs it any more");
        op->awaits_status = true; /* the cloud may give it to another project */
    }
}

void bs_plan_release(struct bs_ensure *n, struct bs_side *s)
{
    release_strays(n, s);
    release_held(n, s);
    release_former(n, s);
}
