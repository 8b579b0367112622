/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_slots.c: which resources are checked for one balancer with a backend service (gce_bs.h,
 * gce_slots.h).
 *
 *     ENSURE   main: what is wanted: rules, backend service, health check, firewalls (five for one
 *              family); rules that an older Service of its name left extra: every other name that
 *              the Service may have left something under: rules of another protocol, the family
 *              that it no longer has, the check of the other policy, held addresses, deny firewalls
 *     UPDATE   main: the backend service
 *     DELETE   main: what the kind has when it is whole; extra: all names, in both naming schemes
 * Of NEGs alone nothing else is checked.  NEGs and addresses that the Service names are added by
 * gce_bs_observe.c.  A shared health check that others want does not concern
 * this Service.
 * Source: gce-l4.md §6, §9.4; gce-cloud-provider.md §5.11, §15 row
 * 16; docs/adr/0005-observing.md. Pure. */
#include "providers/gce/backend/gce_bs_names.h"

#include "common/base/str.h"

static void add(struct gce_slots *s, bool main, enum gce_collection c, const char *name)
{
    if (!str_is_empty(name)) {
        gce_slots_add(s, main, c, NULL, name);
    }
}

/* ---- everything under a naming scheme -------------------------------------------------------- */

static void add_shared(struct gce_slots *s, const struct gce_bs_input *in,
                       const struct gce_bs_names *n)
{
    if (in->others_want_shared_check || n->legacy != (in->kind == GCE_KIND_ILB_GROUPS)) {
        return;
    }
    add(s, false, GCE_HCS, n->shared_check);
    if (!n->legacy) {
        /* who drops one scheme's check must know of the other's: they have one firewall */
        add(s, false, GCE_REGION_HCS, n->shared_check);
    }
    add(s, false, GCE_FIREWALLS, n->shared_check_firewall[0]);
    add(s, false, GCE_FIREWALLS, n->shared_check_firewall[1]);
}

static void add_all(struct gce_slots *s, const struct gce_bs_input *in,
                    const struct gce_bs_names *n)
{
    for (size_t i = 0; n->backends[i] != NULL; i++) {
        add(s, false, GCE_BACKENDS, n->backends[i]);
    }
    for (int family = 0; family < 2; family++) {
        for (size_t i = 0; n->rules[family][i] != NULL; i++) {
            add(s, false, GCE_RULES, n->rules[family][i]);
            add(s, false, GCE_ADDRESSES, n->rules[family][i]);
        }
        if (n->former_address[family] != NULL) {
            gce_slots_add_rare(s, GCE_ADDRESSES, n->former_address[family]);
        }
        for (size_t i = 0; n->firewalls[family][i] != NULL; i++) {
            add(s, false, GCE_FIREWALLS, n->firewalls[family][i]);
        }
        add(s, false, GCE_FIREWALLS, n->deny[family]);
        add(s, false, GCE_FIREWALLS, n->local_check_firewall[family]);
    }
    add(s, false, GCE_HCS, n->local_check);
    if (!n->legacy) {
        add(s, false, GCE_REGION_HCS, n->local_check);
    }
    add_shared(s, in, n);
}

/* ---- by verb --------------------------------------------------------------------------------- */

static void add_side(struct gce_slots *s, const struct gce_bs_side *side)
{
    if (!side->wanted) {
        return;
    }
    for (size_t i = 0; i < side->n_rules; i++) {
        add(s, true, GCE_RULES, side->rules[i].name);
    }
    if (side->want_firewall) {
        add(s, true, GCE_FIREWALLS, side->firewall.name);
    }
    if (side->want_deny) {
        add(s, true, GCE_FIREWALLS, side->deny.name);
    }
    add(s, true, GCE_FIREWALLS, side->check_firewall.name);
    for (size_t i = 0; i < side->stale_rules.n; i++) {
        add(s, false, GCE_RULES, side->stale_rules.items[i]);
    }
    add(s, false, GCE_ADDRESSES, side->address_name);
}

static void add_wanted(struct gce_slots *s, const struct gce_bs_desired *d)
{
    add(s, true, GCE_BACKENDS, d->service.name);
    add(s, true, d->check_regional ? GCE_REGION_HCS : GCE_HCS, d->check.name);
    add_side(s, &d->v4);
    add_side(s, &d->v6);
}

/* Resources of a complete balancer of one protocol, by the first names of its lists. */
static void add_whole(struct gce_slots *s, const struct gce_bs_input *in,
                      const struct gce_bs_names *n)
{
    bool external = !gce_kind_is_internal(in->kind);
    const struct tt_service *svc = in->service;
    bool udp = svc->n_ports > 0 && str_eq(svc->ports[0].protocol, "UDP");
    add(s, true, GCE_RULES, n->rules[0][n->legacy || external ? 0 : udp ? 2 : 1]);
    add(s, true, GCE_FIREWALLS, n->firewalls[0][0]);
    add(s, true, GCE_BACKENDS, n->backends[0]);
}

void gce_bs_slots(struct gce_slots *s, const struct gce_bs_facts *f, const struct gce_bs_input *in,
                  const struct gce_bs_desired *d)
{
    struct gce_bs_names own;
    struct gce_bs_names other;
    enum gce_kind other_kind =
        in->kind == GCE_KIND_ILB_GROUPS ? GCE_KIND_ILB_NEGS : GCE_KIND_ILB_GROUPS;
    bool has_own = gce_bs_names_make(s->a, f, in, in->kind, &own);
    s->verb = in->verb;
    if (!gce_kind_has_service(in->kind)) {
        return;
    }
    s->has_address = in->service->n_ingress > 0;
    if (in->verb == TT_VERB_UPDATE) {
        if (has_own) {
            add(s, true, GCE_BACKENDS, own.backends[0]);
        }
        return;
    }
    if (d != NULL) {
        add_wanted(s, d);
    } else if (has_own) {
        add_whole(s, in, &own);
    }
    if (has_own) {
        add_all(s, in, &own);
    }
    for (size_t i = 0; i < in->older_rules.n; i++) {
        add(s, true, GCE_RULES, in->older_rules.items[i]);
        add(s, false, GCE_ADDRESSES, in->older_rules.items[i]);
    }
    if (in->verb == TT_VERB_DELETE && gce_bs_names_make(s->a, f, in, other_kind, &other)) {
        add_all(s, in, &other);
    }
}
