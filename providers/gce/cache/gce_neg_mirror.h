/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_mirror.h: what is in the NEGs of this cluster, as far as this process knows.
 *
 * Per NEG: its members, whether they are known, when they were last compared with the cloud.  Own
 * attaches and detaches that ended well update it; a failure makes it unknown; at the start a NEG's
 * `size` must match what is wanted, or its members are listed; before the first change of a NEG by
 * this process they are listed in any case; later they are listed once within the sync period, at a
 * moment that is spread over it.  While target and mirror are the same nothing is asked and nothing
 * is sent.  Members are kept as numbers of interned endpoints, so that 5,000 NEGs of 25 cost less
 * than two megabytes, names of NEGs and nodes included.  Thread-safe; a NEG belongs to one Service,
 * so two writers never meet.
 * Source: gce-l4.md §9.6, §3.7. */
#ifndef TRIMTAB_GCE_NEG_MIRROR_H
#define TRIMTAB_GCE_NEG_MIRROR_H

#include "common/base/clock.h"
#include "providers/gce/model/gce_neg_rules.h"

enum gce_mirror_state {
    GCE_MIRROR_UNKNOWN = 0, /* nothing is known, or the last change failed: list before a change */
    /* never listed, but the NEG's size is that of what is wanted: taken for it until a
     * change is needed */
    GCE_MIRROR_BY_SIZE,
    GCE_MIRROR_KNOWN,
};
struct gce_neg_mirror;
struct gce_neg_mirror *gce_neg_mirror_new(struct clock *clock, struct rng *rng,
                                          int64_t period_ms) _warn_unused_;
void gce_neg_mirror_free(struct gce_neg_mirror *m);
/* Copies into the arena, sorted by instance.  `ret_due`: it is to be compared with the cloud. */
enum gce_mirror_state gce_neg_mirror_get(struct gce_neg_mirror *m, const char *zone,
                                         const char *name, struct arena *a,
                                         struct gce_endpoint **ret, size_t *ret_n, bool *ret_due);
/* The same without the members. */
enum gce_mirror_state gce_neg_mirror_state(struct gce_neg_mirror *m, const char *zone,
                                           const char *name, bool *ret_due);
/* Was it known until a change failed?  Its size says nothing then: one may have to join
 * and another one to leave. */
bool gce_neg_mirror_is_forgotten(struct gce_neg_mirror *m, const char *zone, const char *name);
/* Was listed, or made by us (n = 0). */
void gce_neg_mirror_set(struct gce_neg_mirror *m, const char *zone, const char *name,
                        const struct gce_endpoint *e, size_t n);
/* The NEG's size equals that of `e`, which is wanted: BY_SIZE. */
void gce_neg_mirror_assume(struct gce_neg_mirror *m, const char *zone, const char *name,
                           const struct gce_endpoint *e, size_t n);
void gce_neg_mirror_add(struct gce_neg_mirror *m, const char *zone, const char *name,
                        const struct gce_endpoint *e, size_t n);
void gce_neg_mirror_remove(struct gce_neg_mirror *m, const char *zone, const char *name,
                           const struct gce_endpoint *e, size_t n);
void gce_neg_mirror_forget(struct gce_neg_mirror *m, const char *zone,
                           const char *name); /* UNKNOWN */
void gce_neg_mirror_drop(struct gce_neg_mirror *m, const char *zone,
                         const char *name); /* it is gone */
/* Zones in which a NEG of this name is known to exist. */
struct gce_strs gce_neg_mirror_zones(struct gce_neg_mirror *m, struct arena *a, const char *name);

#endif
