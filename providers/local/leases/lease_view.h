/* SPDX-License-Identifier: Apache-2.0 */
/* lease_view.h: the Leases of all directors as a watch shows them, and whether that is recent
 * enough to decide by.
 *
 * A watch shows every change, in order, but late.  Once it has shown the last write of this
 * director's own Lease, all that others wrote earlier is in the view, too: it is worth as much as a
 * list that was asked for after that write.  Until then the view is not current, and the caller
 * waits for it, or lists.
 *
 * One thread at a time; no I/O, no clock. */
#ifndef TRIMTAB_LOCAL_LEASES_LEASE_VIEW_H
#define TRIMTAB_LOCAL_LEASES_LEASE_VIEW_H

#include "providers/local/leases/lease_text.h"

struct local_lease_view;

/* `director`: this one's name; copied.  Not current at first. */
struct local_lease_view *local_lease_view_new(const char *director, size_t n_groups) _warn_unused_;
void local_lease_view_free(struct local_lease_view *v); /* NULL is fine */

/* An event: the Lease as it is now; copied.  Of LOCAL_DIRECTORS_MAX + 1 others, not of more. */
void local_lease_view_put(struct local_lease_view *v, const struct local_lease *lease);
/* An event: that director's Lease is gone. */
void local_lease_view_drop(struct local_lease_view *v, const char *director);
/* The own Lease was written, or listed, and has that version. */
void local_lease_view_wrote(struct local_lease_view *v, const char *version);

bool local_lease_view_is_current(const struct local_lease_view *v);
/* The own Lease as it was shown last; NULL if there is none. */
const struct local_lease *local_lease_view_own(const struct local_lease_view *v);
/* The others' Leases, in no order; valid until the next event. */
const struct local_lease_seen *local_lease_view_others(struct local_lease_view *v, size_t *ret_n);

#endif
