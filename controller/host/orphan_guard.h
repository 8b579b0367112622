/* SPDX-License-Identifier: Apache-2.0 */
/* orphan_guard.h: the load balancers of Services that went in a way in which Services do not go.
 *
 * A Service that is deleted is seen to be deleted: by a deletionTimestamp, or a DELETED event.
 * When one complete list suddenly lacks many that were there a moment ago, the cluster's state was
 * put back to an older one, or the list is not what it seems.  Deleting their load balancers would
 * give up addresses unintentionally; a list is not an order to delete.  Such load balancers are
 * kept: a Warning says so, `trimtab orphans` lists them, and `trimtab orphans --delete` is the
 * order.  A Service that comes back (the same UID) takes up its own.
 * Source: none upstream, which deletes them; docs/operations.md, "Services
 * that vanish". Thread-safe. */
#ifndef TRIMTAB_CONTROLLER_ORPHAN_GUARD_H
#define TRIMTAB_CONTROLLER_ORPHAN_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "controller/kube/store/object.h"

/* Minimum of missing Services in one list … */
#define ORPHAN_GUARD_LEAST 3
/* … and of known Services per missing one: more than one in this number. */
#define ORPHAN_GUARD_SHARE 3

struct orphan_guard;

/* Off, it keeps nothing; so does NULL, in all functions below. */
struct orphan_guard *orphan_guard_new(bool on) _warn_unused_;
void orphan_guard_free(struct orphan_guard *g); /* NULL is fine */

/* The rule alone: are `n_lost` of `n_known` Services too many for one list? */
bool orphan_guard_trips(size_t n_lost, size_t n_known);
/* A list lacks these Services, which want load balancers of ours and were not being deleted, of
 * `n_known` such.  True:  they are kept from now on. */
bool orphan_guard_lost(struct orphan_guard *g, struct kube_object *const *services, size_t n_lost,
                       size_t n_known);
/* The Services that are kept, as they were seen last: they are users of shared things still.  `ret`
 * holds references, which the arena gives back; NULL when there are none. */
struct kube_object **orphan_guard_services(struct orphan_guard *g, struct arena *a, size_t *ret_n);
/* Is the load balancer of this Service kept?  *ret_lost and *ret_known (may be NULL) are
 * what the list lacked. */
bool orphan_guard_keeps(struct orphan_guard *g, const char *uid, size_t *ret_lost,
                        size_t *ret_known);
/* The Service is there (again). */
void orphan_guard_seen(struct orphan_guard *g, const char *uid);
/* How many are kept. */
size_t orphan_guard_count(struct orphan_guard *g);

#endif
