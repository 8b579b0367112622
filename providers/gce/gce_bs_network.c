/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_network.c: in which network a balancer with a backend service is, and whether something of
 * it is in another.
 *
 * With --enable-multi-networking a Service can name a network (gce_network.h); its facts then say
 * where that is, and all that is made follows from them.  Nothing that a balancer is made of can
 * move to another network, so what stands elsewhere is never made again: the sync is refused before
 * the first write (gce_network_rules.h). */
#include "common/base/str.h"
#include "providers/gce/cache/gce_network.h"
#include "providers/gce/gce_flow.h"

#include <string.h>

/* ---- where it is to be ----------------------------------------------------------------------- */

int gce_bs_find_network(const struct gce_network_reads *r, const char *name, struct gce_bs_facts *f,
                        struct err *err)
{
    struct gce_network_place place;
    const struct gce_network_links links = {
        .projects_base = f->projects_base, .project = f->network_project, .region = f->region};
    if (!f->flags.multi_network || name == NULL) {
        return ERR_OK;
    }
    int rc = gce_network_find(r, &links, name, &place, err);
    if (rc == ERR_OK) {
        f->home_subnetwork = f->subnetwork;
        f->network_name = name;
        f->network = place.network;
        f->subnetwork = place.subnetwork;
    }
    return rc;
}

/* The network that the Service names, where its kind can be of another than the cluster's. */
int gce_bs_flow_find_network(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct gce_network_reads r = {
        .texts = p->kube_texts, .host = s->host, .call = s->call, .a = s->a};
    return gce_bs_has_negs(s, b)
               ? gce_bs_find_network(&r, gce_network_of_service(b->in.service), &b->facts, err)
               : ERR_OK;
}

/* ---- where it is ----------------------------------------------------------------------------- */

/* The Service's resources that may be in another network.  Where there is a balancer, it says of
 * its NEGs, too; the owner of NEGs alone may have made one that is not seen here.  External rules
 * and backend services tell none; while the flag is on, firewalls are no reason to refuse: they are
 * made again where they are wanted. */
static size_t seen_networks(const struct gce_bs_item *b, struct gce_network_seen *ret)
{
    bool internal = gce_kind_is_internal(b->in.kind);
    size_t n = 0;
    for (size_t i = 0; i < b->slots.n; i++) {
        const struct gce_slot *slot = &b->slots.items[i];
        struct gce_network_seen one = {.name = slot->name};
        if (slot->known != GCE_PRESENT || slot->as == NULL) {
            continue;
        }
        if (slot->c == GCE_BACKENDS && internal) {
            one.what = "backend service";
            one.network = ((const struct gce_bservice *)slot->as)->network;
        } else if (slot->c == GCE_RULES && internal) {
            one.what = "forwarding rule";
            one.network = ((const struct gce_rule *)slot->as)->network;
        } else if (slot->c == GCE_NEGS && b->in.kind == GCE_KIND_NEGS_ONLY) {
            one.what = "network endpoint group";
            one.network = ((const struct gce_neg *)slot->as)->network;
        } else if (slot->c == GCE_FIREWALLS && !b->facts.flags.multi_network) {
            one.what = "firewall";
            one.network = ((const struct gce_firewall *)slot->as)->network;
        }
        if (one.what != NULL) {
            ret[n++] = one;
        }
    }
    return n;
}

static bool has_negs_instead(const struct gce_bs_item *b)
{
    for (size_t i = 0; b->in.kind == GCE_KIND_NETLB_GROUPS && i < b->slots.n; i++) {
        const struct gce_slot *slot = &b->slots.items[i];
        const struct gce_bservice *is = slot->c == GCE_BACKENDS ? slot->as : NULL;
        if (is != NULL && slot->known == GCE_PRESENT && is->n_backends > 0 &&
            strstr(str_nonnull(is->backends[0].group), "/networkEndpointGroups/") != NULL) {
            return true;
        }
    }
    return false;
}

int gce_bs_flow_check_network(struct lb_sync *s, const struct gce_bs_item *b, struct err *err)
{
    struct gce_network_seen *seen = ARENA_ARRAY(s->a, struct gce_network_seen, b->slots.n);
    if (b->in.verb == TT_VERB_DELETE || b->in.kind == GCE_KIND_ILB_GROUPS) {
        return ERR_OK;
    }
    const struct gce_network_case c = {
        .selected = gce_network_of_service(b->in.service),
        .enabled = b->facts.flags.multi_network,
        .wanted = b->facts.network,
        .groups_instead_negs = has_negs_instead(b),
        .seen = seen,
        .n = seen_networks(b, seen),
    };
    return gce_network_check_seen(&c, err);
}

int gce_bs_flow_look_ahead(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    struct gce_l4_names n;
    const struct tt_service *svc = b->in.service;
    if (b->in.kind != GCE_KIND_NETLB_GROUPS || gce_network_of_service(svc) == NULL) {
        return ERR_OK;
    }
    gce_l4_names_make(s->a, b->facts.kube_system_uid, svc->ns, svc->name, str_nonnull(svc->uid),
                      &n);
    gce_slots_init(&b->slots, s->a);
    gce_slots_add(&b->slots, true, GCE_BACKENDS, NULL, n.backend);
    gce_slots_add(&b->slots, true, GCE_FIREWALLS, NULL, n.firewall);
    int rc = gce_slots_look(&b->slots, s, err);
    return rc != ERR_OK ? rc : gce_bs_flow_check_network(s, b, err);
}
