/* SPDX-License-Identifier: Apache-2.0 */
/* gce_shared_ip.h: a look at who has an address: its reservation, and the forwarding rules at it.
 *
 * Costs two requests in one wave, so it is taken only where a rule that stands would be taken away
 * for one at an address that the Service names, or where another Service of the cluster is known to
 * have that address. */
#ifndef TRIMTAB_GCE_SHARED_IP_H
#define TRIMTAB_GCE_SHARED_IP_H

#include "common/lb/driver.h"
#include "providers/gce/model/gce_shared_ip_rules.h"

/* Is it time for a look?  A sync writes nothing on what it only remembers, so it looks in its fresh
 * turn; a plan has one turn, and has to say what the sync finds.  Never of a saved state. */
bool gce_ip_may_look(const struct lb_sync *s);
/* Is it in the status of another Service that is not being deleted?  No request. */
bool gce_ip_is_anothers(struct lb_sync *s, const struct tt_service *self, const char *ip);
/* Fills *ret (arena-owned).  IPv4 only.  Blocks; errors of the API. */
int gce_ip_look(struct lb_sync *s, const char *ip, struct gce_ip_uses *ret,
                struct err *err) _warn_unused_;

#endif
