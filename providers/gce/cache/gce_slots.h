/* SPDX-License-Identifier: Apache-2.0 */
/* gce_slots.h: what is to be looked at for one Service, and what was seen: one wave of reads, or
 * none.
 *
 * A slot is one resource by collection, zone and name.  *Main* slots are what the verb is about;
 * *extra* ones are what an interrupted run, or the kind that the Service had before, may have
 * left: these are read only while the snapshot does not know them to be absent (docs/adr/0005).
 * What the snapshot knows answers
 *     main    for a minute
 *     extra   whatever its age; when fresh is asked, only that something is absent
 *     NEGs, instance groups, and the main ones of an UPDATE but for target pools, which hold their
 *     members: that they are there, whatever the age, also
 *             when fresh is asked, until a conflict has shown that it is outdated (nodes come and
 *             go, a backend service that we wrote stays)
 * A slot that was seen holds its resource decoded, as the struct of its collection.  Of what the
 * snapshot answered the members are those that it keeps (gce_store_kept): a backend service that is
 * to be written over is read first (gce_ops.c).  Filling
 * blocks (gce_slots_look); asking is pure, so planners take a struct gce_slots that a test made. */
#ifndef TRIMTAB_GCE_SLOTS_H
#define TRIMTAB_GCE_SLOTS_H

#include "common/base/arena.h"
#include "common/lb/driver.h"
#include "providers/gce/api/gce_api.h"
#include "providers/gce/model/gce_l4_resources.h"
#include "providers/gce/model/gce_target_pool.h"

struct gce_slot {
    enum gce_collection c;
    const char *zone; /* zonal collections, else NULL */
    const char *name;
    bool main;
    bool rare;   /* a list that lacks it is believed: gce_slots_add_rare() */
    bool looked; /* `known` has been found out */
    enum gce_known known;
    /* PRESENT: struct gce_rule, gce_address, gce_firewall, gce_pool, gce_check, gce_hc (both
     * health-check collections), gce_bservice, gce_neg, gce_group, gce_subnetwork */
    const void *as;
    struct gce_read *ahead; /* its answer, read beside those of other Services; NULL: not read */
};
struct gce_slots {
    struct arena *a;
    uint32_t verb;    /* TT_VERB_…; 0 reads as ENSURE */
    bool has_address; /* the Service has one: what a list lacks is asked for by its name */
    struct gce_slot *items;
    size_t n;
    size_t cap;
    unsigned more_kinds; /* DELETE: kinds that are listed along if they never were (GCE_KIND) */
    bool from_snapshot;  /* an answer of it that may be outdated was used */
    bool from_cloud;     /* the cloud was asked: what is added later is asked for there, too */
    /* DELETE: nothing is taken for absent that was not asked for by its name */
    bool by_name;
    unsigned listed_now; /* kinds (GCE_KIND) that these looks have listed */
};
/* At each observation anew. */
void gce_slots_init(struct gce_slots *s, struct arena *a);
/* Once per resource: added again it only may become main. */
void gce_slots_add(struct gce_slots *s, bool main, enum gce_collection c, const char *zone,
                   const char *name);
/* An extra one that only a sync which died between two requests leaves: it costs no request of its
 * own once its collection was listed. */
void gce_slots_add_rare(struct gce_slots *s, enum gce_collection c, const char *name);
const struct gce_slot *gce_slots_find(const struct gce_slots *s, enum gce_collection c,
                                      const char *zone, const char *name);
/* The resource, or NULL when it is absent or was not looked at. */
const struct gce_rule *gce_slots_rule(const struct gce_slots *s, const char *name);
const struct gce_address *gce_slots_address(const struct gce_slots *s, const char *name);
const struct gce_firewall *gce_slots_firewall(const struct gce_slots *s, const char *name);
const struct gce_hc *gce_slots_hc(const struct gce_slots *s, bool regional, const char *name);
const struct gce_bservice *gce_slots_bservice(const struct gce_slots *s, const char *name);
const struct gce_neg *gce_slots_neg(const struct gce_slots *s, const char *zone, const char *name);
/* Decodes `o` as the struct of the collection. */
int gce_slot_decode(struct arena *a, enum gce_collection c, struct json_object *o, const void **ret,
                    struct err *err) _warn_unused_;
/* The same from a view; BUG for a backend service, whose tree is kept. */
int gce_slot_decode_view(struct arena *a, enum gce_collection c, const struct json_view *v,
                         const void **ret, struct err *err) _warn_unused_;

/* Fills every slot: from the snapshot where that is enough, else by one list per collection when
 * nothing was ever listed or many keys wait, else by one wave of GETs.  Sets sync->observed_fresh
 * and adds to sync->reads.  Errors of the API but NOT_FOUND; TRANSIENT for an ENSURE that sees a
 * rule or an address without IP.  May be called again after more slots were added: only these are
 * then looked at. */
int gce_slots_look(struct gce_slots *s, struct lb_sync *sync, struct err *err) _warn_unused_;

#endif
