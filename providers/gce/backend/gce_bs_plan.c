/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_plan.c: what makes what was seen into the wanted balancer with a backend service (ENSURE),
 * and what follows the nodes (UPDATE).
 *
 * First everything is decided, per family and for the backend service; then each part puts its
 * operations into the phases of gce_bs_emit_plan.h, which are the waves.  A new internal balancer
 * on NEGs is four waves deep: check ∥ its firewall ∥ NEGs; backend service ∥ members; rule; traffic
 * firewall.
 * Source: gce-l4.md §4.1, §5.1, §9.4, §9.5; gce-cloud-provider.md §5.3, §5.10.  Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/gce/model/gce_links.h"

/* ---- NEGs ------------------------------------------------------------------------------------ */

static int plan_negs(struct bs_emit *e, const struct gce_neg_plan *negs, struct err *err)
{
    struct lb_plan own;
    if (negs == NULL || negs->n == 0) {
        return ERR_OK;
    }
    struct gce_neg_plan copy =
        *negs; /* the places of its operations are in the copy only: they move */
    lb_plan_init(&own, e->a);
    lb_plan_room_like(&own, e->p, e->in->key);
    int rc = gce_neg_plan_make(&own, e->in->key, &copy, e->in->call, err);
    if (rc == ERR_OK) {
        bs_adopt(e, &own,
                 (struct bs_adoption){.deletes = BS_FIRST,
                                      .creates = BS_PREPARE,
                                      .changes = BS_TURN,
                                      .n_first = copy.makes_room});
        lb_plan_room_like(e->p, &own, e->in->key);
    }
    return rc;
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *address_of(const struct bs_ensure *n, const struct bs_side *s)
{
    return s->first == NULL ? NULL : gce_l4_ip_without_prefix(n->e.a, s->first->ip);
}

static void name_service(struct bs_ensure *n)
{
    struct arena *a = n->e.a;
    struct lb_plan_service *s = lb_plan_service(n->e.p, n->e.in->key);
    const char *v4 = address_of(n, &n->sides[0]);
    const char *v6 = address_of(n, &n->sides[1]);
    s->kind = arena_printf(a, "%s, %s", gce_kind_text(n->d->kind), n->e.f->region);
    s->address = v4 != NULL && v6 != NULL ? arena_printf(a, "%s %s", v4, v6) : v4 != NULL ? v4 : v6;
}

static const char *why_rules(const struct bs_ensure *n, const struct bs_side *s)
{
    for (size_t i = 0; i < s->d->n_rules; i++) {
        if (s->rules[i].remake) {
            return s->rules[i].because;
        }
    }
    return n->service_again ? "the Service was of another scheme" : "spec.ports changed";
}

static bool interrupts(const struct bs_ensure *n, const struct bs_side *s)
{
    bool serves = s->first != NULL || (n->service_again && s->n_stale > 0);
    return s->d->wanted && serves && bs_side_loses_rules(s);
}

static void tell_address(struct bs_ensure *n, const struct bs_side *s)
{
    const char *was = address_of(n, s);
    const char *word = n->sides[0].d->wanted && n->sides[1].d->wanted
                           ? (s->family == 0 ? "IPv4 address" : "IPv6 address")
                           : "address";
    if (was == NULL) {
        if (n->service_again && s->n_stale > 0) {
            lb_plan_effect(n->e.p, n->e.in->key, "The %s changes.", word);
        }
        return;
    }
    bool stays = s->ip.text != NULL && str_eq(s->ip.text, was);
    lb_plan_effect(n->e.p, n->e.in->key, "The %s %s.", word, stays ? "stays" : "changes");
}

static void tell_side(struct bs_ensure *n, const struct bs_side *s)
{
    const char *key = n->e.in->key;
    if (!s->d->wanted) {
        if (s->n_stale > 0) {
            lb_plan_effect(n->e.p, key, "The %s address is given up.",
                           s->family == 0 ? "IPv4" : "IPv6");
        }
        return;
    }
    tell_address(n, s);
    if (s->ranges_changed) {
        lb_plan_effect(n->e.p, key, "Traffic from outside the %s will be refused.",
                       str_count(n->e.a, s->d->firewall.sources.n, "range"));
    }
    if (interrupts(n, s)) {
        lb_plan_effect(
            n->e.p, key,
            "Traffic stops for some seconds while the forwarding rule is made again: %s.",
            why_rules(n, s));
    }
}

/* ---- ENSURE ---------------------------------------------------------------------------------- */

static int decide(struct bs_ensure *n, struct err *err)
{
    int rc = ERR_OK;
    n->has_names = gce_bs_names_make(n->e.a, n->e.f, n->e.in, n->d->kind, &n->names);
    bs_decide_backend(n);
    for (int i = 0; rc == ERR_OK && i < 2; i++) {
        n->sides[i].family = i;
        n->sides[i].d = i == 0 ? &n->d->v4 : &n->d->v6;
        rc = bs_decide_side(n, &n->sides[i], err);
    }
    return rc;
}

void gce_bs_plan_asked(struct arena *a, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                       const struct gce_bs_desired *d, const struct gce_slots *seen,
                       struct gce_bs_asked *ret)
{
    struct bs_ensure n = {.d = d};
    struct lb_plan unused;
    struct err why = ERR_INIT;
    lb_plan_init(&unused, a);
    bs_emit_init(&n.e, &unused, f, in, seen);
    *ret = (struct gce_bs_asked){.ip = ""};
    if (!d->v4.wanted || str_is_empty(d->v4.user.ip) || decide(&n, &why) != ERR_OK) {
        return; /* the plan says why */
    }
    const struct bs_side *s = &n.sides[0];
    for (size_t i = 0; i < s->d->n_rules; i++) {
        if (s->rules[i].is == NULL || s->rules[i].remake) {
            ret->rules[ret->n++] = s->rules[i].want;
        }
    }
    ret->ip = ret->n > 0 ? s->d->user.ip : "";
    ret->replaces = bs_side_loses_rules(s);
}

static int plan_sides(struct bs_ensure *n, struct err *err)
{
    int rc = ERR_OK;
    if (!n->d->legacy) {
        bs_delete_older(&n->e, n->d->service.name);
    }
    for (int i = 0; rc == ERR_OK && i < 2; i++) {
        struct bs_side *s = &n->sides[i];
        bs_plan_deny_off(n, s);
        bs_plan_rules(n, s);
        rc = bs_plan_traffic(n, s, err);
        rc = rc == ERR_OK ? bs_plan_deny(n, s, err) : rc;
        bs_plan_release(n, s);
    }
    return rc;
}

/* Takes in the operations on another kind that is in the way.  A backend service of the wanted name
 * goes after the rule that refers to it. */
static void adopt_way(struct bs_ensure *n)
{
    struct gce_emit *out = &n->e.out;
    (void)gce_emit_way(out, n->e.in->way, GCE_WAY_ADDRESSES, BS_FIRST, BS_PREPARE);
    (void)gce_emit_way(out, n->e.in->way, GCE_WAY_OTHERS, BS_UNRULE, BS_UNRULE);
}

/* A kind that has no more than NEGs. */
static int plan_negs_only(struct bs_emit *e, const struct gce_neg_plan *negs, struct err *err)
{
    lb_plan_service(e->p, e->in->key)->kind =
        arena_printf(e->a, "%s, %s", gce_kind_text(e->in->kind), e->f->region);
    int rc = plan_negs(e, negs, err);
    bs_flush(e);
    return rc;
}

int gce_bs_plan_ensure(struct lb_plan *p, const struct gce_bs_facts *f,
                       const struct gce_bs_input *in, const struct gce_bs_desired *d,
                       const struct gce_slots *seen, const struct gce_neg_plan *negs,
                       struct err *err)
{
    struct bs_ensure n = {.d = d};
    bs_emit_init(&n.e, p, f, in, seen);
    if (!gce_kind_has_service(in->kind)) {
        return plan_negs_only(&n.e, negs, err);
    }
    int rc = decide(&n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    name_service(&n);
    adopt_way(&n);
    bs_plan_check(&n);
    rc = bs_plan_check_firewalls(&n, err);
    rc = rc == ERR_OK ? plan_negs(&n.e, negs, err) : rc;
    if (rc != ERR_OK) {
        return rc;
    }
    bs_plan_backend(&n);
    rc = plan_sides(&n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    bs_plan_old_traffic(&n);
    bs_plan_drop_checks(&n);
    bool changes = bs_changes(&n.e);
    bs_flush(&n.e);
    for (int i = 0; changes && i < 2; i++) {
        tell_side(&n, &n.sides[i]);
    }
    return ERR_OK;
}

/* ---- UPDATE ---------------------------------------------------------------------------------- */

static const char *group_link(const struct bs_emit *e, const char *zone, const char *collection,
                              const char *name)
{
    return URL_RESOURCE_PATH(e->a, e->f->projects_base, e->f->project, "zones", zone, collection,
                             name);
}

/* Links of the NEGs that are there or are made, and are ours. */
static struct gce_strs neg_links(const struct bs_emit *e, const struct gce_neg_plan *negs)
{
    size_t n = negs == NULL ? 0 : negs->n;
    struct gce_strs out = {.items = ARENA_ARRAY(e->a, const char *, n)};
    for (size_t i = 0; i < n; i++) {
        const struct gce_neg_one *one = &negs->items[i];
        if (one->wanted && !one->foreign) {
            out.items[out.n++] = group_link(e, one->zone, "networkEndpointGroups", one->name);
        }
    }
    return out;
}

static struct gce_strs group_links(const struct bs_emit *e)
{
    const struct gce_strs *zones = &e->in->zones;
    const char *id = e->f->cluster_id;
    const char *name = e->in->kind != GCE_KIND_ILB_GROUPS ? gce_l4_group_name(e->a, id)
                       : str_is_empty(id)                 ? "k8s-ig"
                                                          : arena_printf(e->a, "k8s-ig--%s", id);
    struct gce_strs out = {.items = ARENA_ARRAY(e->a, const char *, zones->n), .n = zones->n};
    for (size_t i = 0; i < zones->n; i++) {
        out.items[i] = group_link(e, zones->items[i], "instanceGroups", name);
    }
    return out;
}

/* An edit to another kind was carried out in part: the service has the name of both. */
static bool is_of_other_scheme(const struct gce_bservice *is, enum gce_kind kind)
{
    return str_eq(is->scheme, "INTERNAL") != gce_kind_is_internal(kind);
}

int gce_bs_plan_update(struct lb_plan *p, const struct gce_bs_facts *f,
                       const struct gce_bs_input *in, const struct gce_slots *seen,
                       const struct gce_neg_plan *negs, struct err *err)
{
    struct bs_emit e;
    struct gce_bs_names names;
    bs_emit_init(&e, p, f, in, seen);
    if (!gce_kind_has_service(in->kind)) {
        return plan_negs_only(&e, negs, err);
    }
    bool has_names = gce_bs_names_make(p->a, f, in, in->kind, &names);
    const struct gce_bservice *is = has_names ? gce_slots_bservice(seen, names.backends[0]) : NULL;
    struct lb_plan_service *s = lb_plan_service(p, in->key);
    s->kind = arena_printf(p->a, "%s, %s", gce_kind_text(in->kind), f->region);
    if (is == NULL) {
        return err_set(err, ERR_NOT_FOUND, "there is no backend service %s",
                       has_names ? names.backends[0] : "of this Service");
    }
    if (is_of_other_scheme(is, in->kind)) {
        return ERR_OK; /* no group of this kind is one of its backends; the next ensure has them */
    }
    bool has_negs = gce_kind_has_negs(in->kind);
    struct gce_strs links = has_negs ? neg_links(&e, negs) : group_links(&e);
    int rc = has_negs ? plan_negs(&e, negs, err) : ERR_OK;
    if (rc != ERR_OK) {
        return rc;
    }
    /* Mode as the kinds' makers choose it (gce-l4.md §4.9; gce-cloud-provider.md §15 row 20). */
    const char *mode = in->kind == GCE_KIND_NETLB_GROUPS ? "" : "CONNECTION";
    bs_write_backends(&e, is, &links, mode, !has_negs);
    bs_flush(&e);
    return ERR_OK;
}
