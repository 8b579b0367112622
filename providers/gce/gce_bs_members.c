/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_members.c: which NEGs a Service has, who belongs into them, and who is in them
 * (gce_flow.h).
 *
 * Thinking sends no request: nodes, endpoints and the mirror say what is wanted.  Looking
 * (gce_neg_observe.h) lists what must be known before something is changed, or is due to be
 * compared again; when it did, what is wanted is thought out once more, because who is in
 * a NEG stays in it. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_neg_mirror.h"
#include "providers/gce/cache/gce_snapshot.h"
#include "providers/gce/cache/gce_svcneg.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/groups/gce_node_cache.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/negs/gce_neg_observe.h"

#include <string.h>

#define ZONES_MAX 64

static const char *neg_name(struct lb_sync *s, const struct gce_bs_item *b)
{
    struct gce_l4_names names;
    const struct tt_service *svc = b->in.service;
    gce_l4_names_make(s->a, b->facts.kube_system_uid, svc->ns, svc->name, str_nonnull(svc->uid),
                      &names);
    return names.backend;
}

/* The mirror's members, as input of the selection. */
static void current_places(struct lb_sync *s, const struct gce_bs_item *b, const char *name,
                           struct gce_neg_places *ret)
{
    struct gce_provider *p = gce_provider_of(s);
    struct gce_strs zones = gce_neg_mirror_zones(p->cloud.negs, s->a, name);
    ret->items = ARENA_ARRAY(s->a, struct gce_neg_place, zones.n);
    ret->n = 0;
    for (size_t i = 0; i < zones.n; i++) {
        struct gce_neg_place place = {.zone = zones.items[i],
                                      .subnet = gce_link_last(b->facts.subnetwork)};
        bool due;
        if (gce_neg_mirror_get(p->cloud.negs, place.zone, name, s->a, &place.endpoints, &place.n,
                               &due) != GCE_MIRROR_UNKNOWN) {
            ret->items[ret->n++] = place;
        }
    }
}

bool gce_bs_has_negs(const struct lb_sync *s, const struct gce_bs_item *b)
{
    const struct gce_provider *p = gce_provider_of(s);
    return gce_kind_has_negs(b->in.kind) && !b->negs_stay &&
           (b->in.kind != GCE_KIND_NEGS_ONLY || p->options.switches.standalone_negs);
}

bool gce_bs_negs_are_anothers(struct lb_sync *s, const struct gce_bs_item *b)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *svc = b->in.service;
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    p->cloud.host->services(p->cloud.host->ctx, s->call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct gce_case c = {.service = all[i], .flags = &p->options.switches};
        struct gce_decision d;
        if (!str_eq(all[i]->name, svc->name) || !str_eq(all[i]->ns, svc->ns) ||
            str_eq(all[i]->uid, svc->uid) || all[i]->deleted_us != 0) {
            continue;
        }
        gce_decide(&c, &d);
        return !d.teardown && gce_kind_has_negs(d.is);
    }
    return false;
}

int gce_bs_members_think(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                         struct err *err)
{
    const struct tt_service *svc = item->in->service;
    const struct gce_l4_flags *f = &b->facts.flags;
    struct gce_provider *p = gce_provider_of(s);
    const struct gce_node_filter filter = gce_bs_node_filter(&b->facts);
    /* Policy Cluster does not ask where the endpoints are, so it does not wait for the first slice
     * (docs/deviations.md). */
    static const struct tt_slice nowhere = {.size = sizeof(nowhere)};
    static const struct tt_slice *const one[] = {&nowhere};
    size_t n_slices = item->in->has_slices != 0 ? item->in->n_slices : 0;
    bool assumed = n_slices == 0 && !svc_only_local_traffic(svc);
    const struct tt_slice *const *slices = assumed ? one : item->in->slices;
    n_slices = assumed ? 1 : n_slices;
    struct gce_neg_places current;
    const struct gce_neg_wish wish = {
        .ns = svc->ns,
        .name = svc->name,
        .local = svc_only_local_traffic(svc),
        .internal = gce_kind_is_internal(b->in.kind),
        .filter = filter,
        .table =
            gce_node_cache_get(p->node_cache, s->a, &filter, s->batch->nodes, s->batch->n_nodes),
        .subnetwork = b->facts.subnetwork,
        .network = b->facts.network_name,
        .include_draining = f->neg_local_draining,
        .ipv6 = f->ipv6_node_endpoints,
        .nodes = s->batch->nodes,
        .n_nodes = s->batch->n_nodes,
        .slices = slices,
        .n_slices = n_slices,
    };
    current_places(s, b, neg_name(s, b), &current);
    int rc = gce_neg_membership(s->a, &wish, &current, &b->members, err);
    if (rc == ERR_OK) {
        b->in.zones = b->members.zones;
    }
    return rc;
}

/* ---- the NEGs of the Service ----------------------------------------------------------------- */

static bool has_zone(const struct gce_strs *zones, const char *zone)
{
    for (size_t i = 0; i < zones->n; i++) {
        if (str_eq(zones->items[i], zone)) {
            return true;
        }
    }
    return false;
}

static struct gce_neg_one *one_of(struct gce_bs_item *b, const char *zone)
{
    for (size_t i = 0; i < b->negs.n; i++) {
        if (str_eq(b->negs.items[i].zone, zone)) {
            return &b->negs.items[i];
        }
    }
    return NULL;
}

static void add_zone(struct lb_sync *s, struct gce_bs_item *b, const char *name, const char *zone)
{
    if (one_of(b, zone) == NULL && b->negs.n < ZONES_MAX) {
        b->negs.items[b->negs.n++] =
            (struct gce_neg_one){.zone = arena_strdup(s->a, zone),
                                 .name = name,
                                 .wanted = has_zone(&b->members.zones, zone)};
    }
}

/* Zones in which the Service has NEGs, or will have, or, when it goes, may have. */
static void collect_zones(struct lb_sync *s, struct gce_bs_item *b)
{
    struct gce_provider *p = gce_provider_of(s);
    const char *name = neg_name(s, b);
    const struct gce_node_filter filter = gce_bs_node_filter(&b->facts);
    const struct gce_node_table *t =
        gce_node_cache_get(p->node_cache, s->a, &filter, s->batch->nodes, s->batch->n_nodes);
    b->neg_name = name;
    b->negs = (struct gce_neg_plan){
        .items = ARENA_ARRAY(s->a, struct gce_neg_one, ZONES_MAX),
        .nodes = t,
        .local = svc_only_local_traffic(b->in.service),
        .first_op = -1,
        .last_op = -1,
    };
    for (size_t i = 0; i < b->members.zones.n; i++) {
        add_zone(s, b, name, b->members.zones.items[i]);
    }
    struct gce_strs known = gce_neg_mirror_zones(p->cloud.negs, s->a, name);
    for (size_t i = 0; i < known.n; i++) {
        add_zone(s, b, name, known.items[i]);
    }
    for (size_t i = 0; b->in.verb == TT_VERB_DELETE && i < t->n; i++) {
        if (!str_is_empty(t->rows[i].zone)) {
            add_zone(s, b, name, t->rows[i].zone);
        }
    }
}

/* A NEG is checked by who ensures or deletes; who only moves members knows it from the
 * mirror, or looks, too. */
void gce_bs_members_slots(struct lb_sync *s, struct gce_bs_item *b)
{
    struct gce_provider *p = gce_provider_of(s);
    collect_zones(s, b);
    for (size_t i = 0; i < b->negs.n; i++) {
        const struct gce_neg_one *n = &b->negs.items[i];
        struct gce_endpoint *e;
        size_t n_e;
        bool due;
        bool known = gce_neg_mirror_get(p->cloud.negs, n->zone, n->name, s->a, &e, &n_e, &due) !=
                     GCE_MIRROR_UNKNOWN;
        if (b->in.verb != TT_VERB_UPDATE || !known) {
            gce_slots_add(&b->slots, b->in.verb != TT_VERB_DELETE, GCE_NEGS, n->zone, n->name);
        }
    }
}

/* Zones of links to NEGs of the Service's. */
static void add_linked(struct lb_sync *s, struct gce_bs_item *b, const char *url)
{
    struct gce_link link;
    if (gce_link_parse(s->a, url, &link, NULL) == ERR_OK && str_eq(link.name, b->neg_name) &&
        str_eq(link.resource, "networkEndpointGroups") && !str_is_empty(link.zone)) {
        add_zone(s, b, b->neg_name, link.zone);
    }
}

/* After a restart this process does not know of a NEG in a zone that has lost its nodes: it stays
 * with the Service, and goes with it (gce-l4.md §3.6, §6.4).  The list of all NEGs has it, or the
 * backend service refers to it, or the object beside the NEGs names it. */
static int look_at_strays(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    const struct gce_bservice *is = gce_slots_bservice(&b->slots, b->neg_name);
    struct gce_strs zones = gce_snapshot_zones(p->cloud.snapshot, GCE_NEGS, b->neg_name, s->a);
    struct gce_strs links = {0};
    size_t before = b->negs.n;
    int rc = ERR_OK;
    for (size_t i = 0; i < zones.n; i++) {
        add_zone(s, b, b->neg_name, zones.items[i]);
    }
    for (size_t i = 0; is != NULL && i < is->n_backends; i++) {
        add_linked(s, b, is->backends[i].group);
    }
    if (b->in.verb == TT_VERB_DELETE && gce_kind_has_negs(b->in.kind) && !p->cloud.offline) {
        const struct gce_svcneg_call k = {.host = s->host, .call = s->call};
        rc = gce_svcneg_links(p->svcneg, &k, s->a, b->in.service->ns, b->neg_name, &links, err);
    }
    for (size_t i = 0; i < links.n; i++) {
        add_linked(s, b, links.items[i]);
    }
    for (size_t i = before; i < b->negs.n; i++) {
        gce_slots_add(&b->slots, b->in.verb != TT_VERB_DELETE, GCE_NEGS, b->negs.items[i].zone,
                      b->neg_name);
    }
    return rc != ERR_OK || b->negs.n == before ? rc : gce_slots_look(&b->slots, s, err);
}

/* ---- members --------------------------------------------------------------------------------- */

static const struct gce_neg_place *place_of(const struct gce_bs_item *b, const char *zone)
{
    for (size_t i = 0; i < b->members.places.n; i++) {
        if (str_eq(b->members.places.items[i].zone, zone)) {
            return &b->members.places.items[i];
        }
    }
    return NULL;
}

/* The backend service, which has the NEGs' name, refers to this one. */
static bool is_linked(struct lb_sync *s, const struct gce_bs_item *b, const struct gce_neg_one *n)
{
    const struct gce_bservice *is = gce_slots_bservice(&b->slots, n->name);
    for (size_t i = 0; is != NULL && i < is->n_backends; i++) {
        struct gce_link link;
        if (gce_link_parse(s->a, is->backends[i].group, &link, NULL) == ERR_OK &&
            str_eq(link.name, n->name) && str_eq(link.zone, n->zone)) {
            return true;
        }
    }
    return false;
}

/* The desired state of each NEG, and whether it exists: read or cached. */
static void fill(struct lb_sync *s, struct gce_bs_item *b)
{
    struct gce_provider *p = gce_provider_of(s);
    for (size_t i = 0; i < b->negs.n; i++) {
        struct gce_neg_one *n = &b->negs.items[i];
        const struct gce_neg_place *place = place_of(b, n->zone);
        const struct gce_slot *slot = gce_slots_find(&b->slots, GCE_NEGS, n->zone, n->name);
        struct gce_neg *known = ARENA_NEW(s->a, struct gce_neg);
        n->want = place != NULL ? place->endpoints : NULL;
        n->n_want = place != NULL ? place->n : 0;
        n->seen = gce_slots_neg(&b->slots, n->zone, n->name);
        if (slot == NULL && gce_neg_is_known(p->cloud.negs, n->zone, n->name, known)) {
            n->seen = known;
        }
        if (slot != NULL && slot->known == GCE_ABSENT) {
            gce_neg_mirror_drop(p->cloud.negs, n->zone, n->name);
        }
        n->linked = n->seen != NULL && is_linked(s, b, n);
        n->unknown = b->members.unsaid && n->seen != NULL;
        n->foreign = n->seen != NULL && !str_is_empty(n->seen->description) &&
                     gce_neg_description_judge(s->a, b->negs.description, n->seen->description) !=
                         GCE_NEG_MATCHES;
    }
}

void gce_bs_members_read_ahead(struct lb_sync *s, struct lb_item *const *items, size_t n)
{
    size_t cap = ZONES_MAX;
    struct gce_neg_one *all = ARENA_ARRAY(s->a, struct gce_neg_one, cap);
    size_t n_all = 0;
    unsigned reads = s->reads;
    struct err none = ERR_INIT;
    for (size_t i = 0; i < n; i++) {
        struct gce_bs_item *b = &gce_item_of(items[i])->bs;
        gce_slots_init(&b->slots, s->a);
        gce_bs_members_slots(s, b);
        fill(s, b);
        for (size_t k = 0; k < b->negs.n && !b->members.unsaid; k++) {
            if (n_all == cap) {
                struct gce_neg_one *bigger = ARENA_ARRAY(s->a, struct gce_neg_one, cap * 2);
                all = memcpy(bigger, all, n_all * sizeof *all);
                cap = cap * 2;
            }
            all[n_all++] = b->negs.items[k];
        }
    }
    int rc = gce_neg_observe(s, false, all, n_all, &none);
    if (rc == ERR_OK && s->reads == reads) {
        return; /* all was known */
    }
    for (size_t i = 0; i < n; i++) { /* who is in a NEG stays in it */
        struct lb_item *item = items[i];
        item->err.code = gce_bs_members_think(s, item, &gce_item_of(item)->bs, &item->err);
    }
}

int gce_bs_members_observe(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                           struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *svc = b->in.service;
    int rc = look_at_strays(s, b, err);
    if (rc != ERR_OK) {
        return rc;
    }
    b->negs.description = gce_neg_describe(s->a, b->facts.kube_system_uid, svc->ns, svc->name);
    b->negs.network = b->facts.network;
    b->negs.subnetwork = b->facts.subnetwork;
    fill(s, b);
    if (b->in.verb == TT_VERB_DELETE || b->members.unsaid || p->cloud.offline) {
        return ERR_OK;
    }
    /* When something was listed, who may stay is known better, and that may be a reason to list
     * more: at most each NEG once. */
    bool compare = b->in.verb == TT_VERB_ENSURE;
    for (size_t i = 0; rc == ERR_OK && i <= b->negs.n; i++) {
        unsigned reads = s->reads;
        rc = gce_neg_observe(s, compare, b->negs.items, b->negs.n, err);
        if (rc != ERR_OK || s->reads == reads) {
            return rc;
        }
        rc = gce_bs_members_think(s, item, b, err);
        fill(s, b);
    }
    return rc != ERR_OK ? rc : gce_neg_observe(s, compare, b->negs.items, b->negs.n, err);
}
