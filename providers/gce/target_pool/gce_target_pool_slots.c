/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_slots.c: see gce_target_pool_slots.h.
 *
 *     ENSURE   main: rule, pool, traffic firewall, the wanted check and its firewall, the deny
 *              firewall; extra: the Service's own check where it wants the shared one, the held
 *              address, that of the former rule
 *     UPDATE   main: the pool
 *     DELETE   the same names as ENSURE; each is asked for by its name
 * A normal create so takes five reads in one wave.
 * Source: gce-cloud-provider.md §4.3, §4.9, §4.10, §4.13; docs/adr/0005-observing.md. */
#include "providers/gce/target_pool/gce_target_pool_slots.h"

#include <string.h>

void gce_tp_slots_shared(struct gce_slots *s, bool main, const struct gce_names *names)
{
    gce_slots_add(s, main, GCE_CHECKS, NULL, names->node_check);
    gce_slots_add(s, main, GCE_FIREWALLS, NULL, names->node_check_firewall);
}

void gce_tp_slots(struct gce_slots *s, const struct gce_tp_facts *facts,
                  const struct gce_tp_input *in, const struct gce_names *names,
                  const struct gce_tp_desired *d)
{
    bool ensure = in->verb == TT_VERB_ENSURE;
    s->verb = in->verb;
    s->has_address = in->service->n_ingress > 0;
    s->by_name = in->verb == TT_VERB_DELETE;
    gce_slots_add(s, true, GCE_POOLS, NULL, names->lb);
    if (in->verb == TT_VERB_UPDATE) {
        return;
    }
    gce_slots_add(s, true, GCE_RULES, NULL, names->lb);
    gce_slots_add(s, true, GCE_FIREWALLS, NULL, names->firewall);
    gce_slots_add(s, ensure && d->local, GCE_CHECKS, NULL, names->local_check);
    gce_slots_add(s, ensure && d->local, GCE_FIREWALLS, NULL, names->local_check_firewall);
    if (ensure && !d->local) {
        gce_tp_slots_shared(s, true, names);
    }
    gce_slots_add(s, false, GCE_ADDRESSES, NULL, names->lb);
    gce_slots_add_rare(s, GCE_ADDRESSES, names->former_address);
    /* Main, even if it is to go: allow must not be raised to it because a list lacks it (§4.13). */
    if (facts->deny_firewall || facts->deny_cleanup) {
        gce_slots_add(s, ensure, GCE_FIREWALLS, NULL, names->deny_firewall);
    }
}

static enum gce_known take(const struct gce_slots *s, enum gce_collection c, const char *name,
                           void *to, size_t size)
{
    const struct gce_slot *slot = gce_slots_find(s, c, NULL, name);
    if (slot == NULL) {
        return GCE_UNKNOWN;
    }
    if (slot->known == GCE_PRESENT) {
        memcpy(to, slot->as, size);
    }
    return slot->known;
}
#define TAKE(c, name, to) take(s, c, name, &(to), sizeof(to))

void gce_tp_observed_of(const struct gce_slots *s, const struct gce_names *names,
                        struct gce_tp_observed *ret)
{
    const char *node_firewall = names->node_check_firewall;
    *ret = (struct gce_tp_observed){0};
    ret->has_rule = TAKE(GCE_RULES, names->lb, ret->rule);
    ret->has_pool = TAKE(GCE_POOLS, names->lb, ret->pool);
    ret->has_traffic = TAKE(GCE_FIREWALLS, names->firewall, ret->traffic);
    ret->has_local_check = TAKE(GCE_CHECKS, names->local_check, ret->local_check);
    ret->has_local_firewall = TAKE(GCE_FIREWALLS, names->local_check_firewall, ret->local_firewall);
    ret->has_node_check = TAKE(GCE_CHECKS, names->node_check, ret->node_check);
    ret->has_node_firewall = TAKE(GCE_FIREWALLS, node_firewall, ret->node_firewall);
    ret->has_address = TAKE(GCE_ADDRESSES, names->lb, ret->address);
    ret->has_former = TAKE(GCE_ADDRESSES, names->former_address, ret->former);
    ret->has_deny = TAKE(GCE_FIREWALLS, names->deny_firewall, ret->deny);
}
