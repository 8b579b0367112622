/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint_set.h: endpoints that some slices are to hold, found by identity.  Private to this room.
 *
 * Two endpoints are the same one when their addresses (in any order), host names, and the
 * namespaces and names of their targets agree: a pod that comes back under its name and address is
 * updated in place.  A set is filled, sealed, then taken from; a look-up costs O(log n). */
#ifndef TRIMTAB_SERVICES_SLICES_ENDPOINT_SET_H
#define TRIMTAB_SERVICES_SLICES_ENDPOINT_SET_H

#include "common/services/decode/objects.h"

struct endpoint_item {
    const char *key; /* its identity */
    struct ks_slice_endpoint endpoint;
    size_t added; /* position in the order of adding */
    bool taken;   /* no longer in the set */
};
struct endpoint_set {
    struct endpoint_item *items; /* in the order of adding */
    struct endpoint_item **by_key;
    size_t n;
    size_t cap;
    size_t n_keys; /* of by_key, once sealed */
    size_t left;   /* items that are not taken */
    size_t next;   /* no item before it is left */
};

/* Room for `cap` endpoints. */
struct endpoint_set endpoint_set_make(struct arena *a, size_t cap);
/* Adds one, whose parts must outlive the set; its addresses are sorted.  At most `cap` times. */
void endpoint_set_add(struct arena *a, struct endpoint_set *s, const struct ks_slice_endpoint *e);
/* Ends adding.  Of endpoints with one identity the last one stays, at the first one's place. */
void endpoint_set_seal(struct endpoint_set *s);
/* The endpoint with the identity of `e`, NULL when there is none or it was taken.
 * `take` takes it. */
const struct ks_slice_endpoint *endpoint_set_find(struct arena *a, struct endpoint_set *s,
                                                  const struct ks_slice_endpoint *e, bool take);
/* Takes the first one that is left; NULL when none is. */
const struct ks_slice_endpoint *endpoint_set_next(struct endpoint_set *s);

/* True when two endpoints of one identity agree in everything that a slice would be written for:
 * node, zone, conditions (absent is not false), and the target but for its version.  Hints
 * are not compared. */
bool endpoints_agree(const struct ks_slice_endpoint *x, const struct ks_slice_endpoint *y);

#endif
