/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_delete_plan.c: takes away everything of a Service that carries its names (DELETE).
 *
 * Goes by names, in both naming schemes, not by the spec and not by memory: whatever kind the
 * Service had, and wherever an interrupted run stopped, it is found.  Waves: rules ∥ traffic
 * firewalls; deny firewalls ∥ backend service ∥ held addresses; health checks ∥ NEGs, right after
 * the backend service; firewalls of the checks.  What is not ours stays: a rule that leads to a
 * target pool, and then the firewalls that the old internal kind shares with target pools;
 * firewalls and NEGs on which another Service's description is; a shared check that others want.
 * When the Service only changes its kind (`only`), also what is of the kind that it gets: a view of
 * the Service may be older than the new balancer, and still name the old kind.  What keeps the new
 * one from being made goes before it (gce_bs_plan_way()): the rules, and a backend service of the
 * same name; the rest goes when it stands, so that little must be made to lead back.
 * Source: gce-l4.md §6, A11, A18; gce-cloud-provider.md §5.11.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_links.h"

#define WHY_SHARED "no Service with policy Cluster is left"

struct deleting {
    struct bs_emit e;
    const struct gce_rule *rule; /* one of those that go */
    bool keeps_negs;             /* they are members of another kind's balancer by now */
};

#define BIT(kind) (1u << (unsigned)(kind))
#define BIT_NETLB (BIT(GCE_KIND_NETLB_GROUPS) | BIT(GCE_KIND_NETLB_NEGS))

static const char *why(const struct deleting *x)
{
    return x->e.in->only != 0 ? "the Service gets another kind of load balancer"
                              : "the Service is going away";
}

/* Does a kind call its backend service, firewalls and NEGs as ingress-gce does? */
static bool shares_names(enum gce_kind kind)
{
    return kind == GCE_KIND_ILB_NEGS || (BIT(kind) & BIT_NETLB) != 0;
}

/* Is what has this name and this scheme of a kind that goes?  The rule and the address a<uid> are
 * internal with instance groups, external with ingress-gce's kinds. */
static bool goes(const struct deleting *x, const struct gce_bs_names *n, const char *name,
                 const char *scheme)
{
    unsigned only = x->e.in->only;
    bool internal = str_eq(scheme, "INTERNAL");
    if (only == 0) {
        return true;
    }
    if (n->legacy) {
        return internal;
    }
    return internal ? (only & BIT(GCE_KIND_ILB_NEGS)) != 0 && !str_eq(name, n->rules[0][0])
                    : (only & BIT_NETLB) != 0;
}

/* A backend service of another kind has the scheme's names, or will have them when the plan is
 * carried out: what is shared between kinds is that one's. */
static bool stands(const struct deleting *x, const struct gce_bs_names *n)
{
    if (!n->legacy && shares_names(x->e.in->becomes)) {
        return true;
    }
    const struct gce_bservice *b = gce_slots_bservice(x->e.seen, n->backends[0]);
    return !n->legacy && b != NULL && !goes(x, n, b->name, b->scheme);
}

/* The two naming schemes have some names in common. */
static int delete_once(struct deleting *x, enum bs_phase phase, enum gce_collection c,
                       const char *name, const char *why)
{
    return bs_deletes(&x->e, c, name) ? -1 : bs_delete(&x->e, phase, c, name, why);
}

/* One that a rule of ours refers to goes, too, when it was not read: Services may share it, and
 * then "in use" is the answer (gce-cloud-provider.md §5.5). */
static void delete_service(struct deleting *x, const char *name, bool referred)
{
    const struct gce_slot *slot = gce_slots_find(x->e.seen, GCE_BACKENDS, NULL, name);
    bool looked = slot != NULL && slot->known != GCE_UNKNOWN;
    if (looked ? slot->known == GCE_ABSENT : !referred) {
        return;
    }
    int at = delete_once(x, BS_UNBACK, GCE_BACKENDS, name, why(x));
    if (at >= 0) {
        bs_op(&x->e, at)->tolerate |= LB_TOLERATE_IN_USE;
    }
}

static void delete_firewall(struct deleting *x, enum bs_phase phase, const char *name)
{
    const struct gce_firewall *is = name == NULL ? NULL : gce_slots_firewall(x->e.seen, name);
    if (is != NULL && bs_firewall_is_ours(x->e.a, x->e.in, is)) {
        (void)delete_once(x, phase, GCE_FIREWALLS, name, why(x));
    }
}

/* Only resources with trimtab's names are deleted, wherever the rule points to. */
static void delete_referred(struct deleting *x, const struct gce_bs_names *n, const char *name)
{
    if (gce_bs_names_backend(x->e.a, x->e.f, n, name)) {
        delete_service(x, name, true);
    }
}

/* An owner who reserved an address under the name that we would hold it by keeps it. */
static bool is_users(const struct deleting *x, const char *name)
{
    struct gce_strs names = gce_l4_address_names(x->e.a, x->e.in->service);
    for (size_t i = 0; i < names.n; i++) {
        if (str_eq(names.items[i], name)) {
            return true;
        }
    }
    return false;
}

static void delete_former_address(struct deleting *x, const struct gce_bs_names *n, int family)
{
    const char *name = n->former_address[family];
    if (name != NULL && !x->e.in->for_room &&
        (x->e.in->held[family] || gce_slots_address(x->e.seen, name) != NULL)) {
        (void)delete_once(x, BS_UNBACK, GCE_ADDRESSES, name,
                          x->e.in->only != 0
                              ? "no former forwarding rule needs it any more"
                              : arena_printf(x->e.a, "an interrupted run left it, and %s", why(x)));
    }
}

static void delete_rules(struct deleting *x, const struct gce_bs_names *n, int family)
{
    for (size_t i = 0; n->rules[family][i] != NULL; i++) {
        const char *name = n->rules[family][i];
        const struct gce_rule *r = gce_slots_rule(x->e.seen, name);
        if (r != NULL && !str_is_empty(r->backend_service) && goes(x, n, name, r->scheme)) {
            (void)delete_once(x, BS_UNRULE, GCE_RULES, name, why(x));
            delete_referred(x, n, gce_link_last(r->backend_service));
            x->rule = x->rule == NULL ? r : x->rule;
        }
        const struct gce_address *d = gce_slots_address(x->e.seen, name);
        if (d != NULL && goes(x, n, name, d->type) && !is_users(x, name)) {
            (void)delete_once(x, BS_UNBACK, GCE_ADDRESSES, name,
                              arena_printf(x->e.a, "an interrupted run left it, and %s", why(x)));
        }
    }
}

/* The old internal kind and target pools call their firewalls alike. */
static bool names_are_a_pools(const struct deleting *x, const struct gce_bs_names *n)
{
    const struct gce_rule *r = n->legacy ? gce_slots_rule(x->e.seen, n->rules[0][0]) : NULL;
    return r != NULL && str_is_empty(r->backend_service);
}

/* Of two kinds that share names one has its check in a region, and the other does not; their
 * firewalls are the same. */
static void delete_own_checks(struct deleting *x, const struct gce_bs_names *n)
{
    static const enum gce_collection both[] = {GCE_HCS, GCE_REGION_HCS};
    bool shares = stands(x, n);
    bool regional = (x->e.in->only & BIT_NETLB) != 0;
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        bool in_region = both[i] == GCE_REGION_HCS;
        if ((!shares || in_region == regional) &&
            gce_slots_hc(x->e.seen, in_region, n->local_check) != NULL) {
            (void)delete_once(x, BS_DROP, both[i], n->local_check, why(x));
        }
    }
    if (!shares) {
        delete_firewall(x, BS_AFTER, n->local_check_firewall[0]);
        delete_firewall(x, BS_AFTER, n->local_check_firewall[1]);
    }
}

/* Its firewall serves both schemes' checks; it goes when this one goes and the other
 * is not there. */
static void delete_shared_firewalls(struct deleting *x, const struct gce_bs_names *n, int check)
{
    for (int i = 0; i < 2; i++) {
        const char *name = n->shared_check_firewall[i];
        if (name == NULL || gce_slots_firewall(x->e.seen, name) == NULL) {
            continue;
        }
        int at = bs_delete(&x->e, BS_AFTER, GCE_FIREWALLS, name, WHY_SHARED);
        bs_op(&x->e, at)->shared = true;
        if (check >= 0) { /* "in use" means that others need the firewall, too */
            bs_op(&x->e, at)->only_if_op = check;
            bs_op(&x->e, at)->only_if = LB_DONE;
        }
    }
}

static void delete_shared_check(struct deleting *x, const struct gce_bs_names *n)
{
    const struct gce_bs_input *in = x->e.in;
    bool regional = !gce_kind_is_internal(in->kind);
    enum gce_collection c = regional ? GCE_REGION_HCS : GCE_HCS;
    const struct gce_slot *slot = gce_slots_find(x->e.seen, c, NULL, n->shared_check);
    int check = -1;
    if (in->others_want_shared_check || n->legacy != (in->kind == GCE_KIND_ILB_GROUPS) ||
        slot == NULL || slot->known == GCE_UNKNOWN) {
        return;
    }
    if (slot->known == GCE_PRESENT) {
        check = bs_delete(&x->e, BS_DROP, c, n->shared_check, WHY_SHARED);
        bs_op(&x->e, check)->tolerate |= LB_TOLERATE_IN_USE;
        bs_op(&x->e, check)->shared = true;
    }
    bool becomes_other =
        !n->legacy && shares_names(in->becomes) && !svc_only_local_traffic(in->service);
    if (!in->other_scheme_has_check && !becomes_other) {
        delete_shared_firewalls(x, n, check);
    }
}

static void delete_all(struct deleting *x, const struct gce_bs_names *n)
{
    const struct gce_bs_input *in = x->e.in;
    unsigned only = in->only;
    bool shares = names_are_a_pools(x, n) || stands(x, n);
    bool has_deny = only == 0 || (only & BIT_NETLB) != 0;
    for (int family = 0; family < 2; family++) {
        delete_rules(x, n, family);
        delete_former_address(x, n, family);
        bool taken_over = n->legacy && in->keeps_traffic;
        for (size_t i = 0; !shares && !taken_over && n->firewalls[family][i] != NULL; i++) {
            delete_firewall(x, BS_UNRULE, n->firewalls[family][i]);
        }
        if (has_deny) {
            delete_firewall(x, BS_UNBACK, n->deny[family]);
        }
    }
    for (size_t i = 0; !stands(x, n) && n->backends[i] != NULL; i++) {
        delete_service(x, n->backends[i], false);
    }
    if (!stands(x, n) || x->e.in->becomes != GCE_KIND_NONE) {
        delete_own_checks(x, n);
    }
    x->keeps_negs = x->keeps_negs || (stands(x, n) && in->becomes == GCE_KIND_NONE);
    delete_shared_check(x, n);
}

/* Of this naming scheme nothing goes; where there were NEGs alone, all else is another
 * program's. */
static bool is_spared(const struct gce_bs_input *in, enum gce_kind scheme)
{
    unsigned of_scheme = scheme == GCE_KIND_ILB_GROUPS ? BIT(GCE_KIND_ILB_GROUPS)
                                                       : BIT(GCE_KIND_ILB_NEGS) | BIT_NETLB;
    return !gce_kind_has_service(in->kind) || (in->only != 0 && (in->only & of_scheme) == 0);
}

static void delete_negs(struct bs_emit *e, const struct gce_neg_plan *negs)
{
    struct lb_plan own;
    if (negs == NULL || negs->n == 0) {
        return;
    }
    struct gce_neg_plan copy = *negs;
    lb_plan_init(&own, e->a);
    gce_neg_plan_delete(&own, e->in->key, &copy, e->in->call);
    bs_adopt(e, &own,
             (struct bs_adoption){.deletes = BS_DROP, .creates = BS_DROP, .changes = BS_DROP});
}

int gce_bs_plan_delete(struct lb_plan *p, const struct gce_bs_facts *f,
                       const struct gce_bs_input *in, const struct gce_slots *seen,
                       const struct gce_neg_plan *negs, struct err *err)
{
    static const enum gce_kind schemes[] = {GCE_KIND_ILB_NEGS, GCE_KIND_ILB_GROUPS};
    struct deleting x = {.keeps_negs = gce_kind_has_negs(in->becomes)};
    (void)err;
    bs_emit_init(&x.e, p, f, in, seen);
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        struct gce_bs_names names;
        if (!is_spared(in, schemes[i]) && gce_bs_names_make(p->a, f, in, schemes[i], &names)) {
            if (!names.legacy && in->only == 0) {
                bs_delete_older(&x.e, names.backends[0]);
            }
            delete_all(&x, &names);
        }
    }
    if (!x.keeps_negs) {
        delete_negs(&x.e, negs);
    }
    struct lb_plan_service *s = lb_plan_service(p, in->key);
    s->kind = arena_printf(p->a, "%s, %s", gce_kind_text(in->kind), f->region);
    s->address = x.rule == NULL ? NULL : gce_l4_ip_without_prefix(p->a, x.rule->ip);
    bs_flush(&x.e);
    if (x.rule != NULL) {
        lb_plan_effect(p, in->key, "The address is given up.");
    }
    return ERR_OK;
}

/* ---- the first half of a change of kind ------------------------------------------------------ */

static void clear_rules(struct deleting *x, const struct gce_bs_names *n, int family, bool held[2])
{
    for (size_t i = 0; n->rules[family][i] != NULL; i++) {
        const char *name = n->rules[family][i];
        const struct gce_rule *r = gce_slots_rule(x->e.seen, name);
        if (r == NULL || str_is_empty(r->backend_service) || !goes(x, n, name, r->scheme) ||
            bs_deletes(&x->e, GCE_RULES, name)) {
            continue;
        }
        if (n->former_address[family] != NULL && !held[family]) {
            int at = bs_hold_former(&x->e, r, n->former_address[family]);
            held[family] = at >= 0;
            if (at >= 0) { /* while it is not there, nothing has gone */
                bs_op(&x->e, at)->serves_without = true;
            }
        }
        (void)bs_delete(&x->e, BS_UNRULE, GCE_RULES, name, why(x));
        x->rule = x->rule == NULL ? r : x->rule;
    }
}

/* Of the same name and another scheme. */
static void clear_backend(struct deleting *x, const struct gce_bs_names *n)
{
    const struct gce_bservice *b = gce_slots_bservice(x->e.seen, n->backends[0]);
    if (!n->legacy && shares_names(x->e.in->becomes) && b != NULL &&
        goes(x, n, b->name, b->scheme)) {
        (void)delete_once(x, BS_UNBACK, GCE_BACKENDS, b->name, why(x));
    }
}

void gce_bs_plan_way(struct lb_plan *p, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                     const struct gce_slots *seen, bool held[2])
{
    static const enum gce_kind schemes[] = {GCE_KIND_ILB_NEGS, GCE_KIND_ILB_GROUPS};
    struct deleting x = {0};
    bs_emit_init(&x.e, p, f, in, seen);
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        struct gce_bs_names names;
        if (!is_spared(in, schemes[i]) && gce_bs_names_make(p->a, f, in, schemes[i], &names)) {
            clear_rules(&x, &names, 0, held);
            clear_rules(&x, &names, 1, held);
            clear_backend(&x, &names);
        }
    }
    struct lb_plan_service *s = lb_plan_service(p, in->key);
    s->kind = arena_printf(p->a, "%s, %s", gce_kind_text(in->kind), f->region);
    s->address = x.rule == NULL ? NULL : gce_l4_ip_without_prefix(p->a, x.rule->ip);
    bs_flush(&x.e);
}
