/* SPDX-License-Identifier: Apache-2.0 */
/* gce_exchange_rules.h: two Services that exchange ports at an address, or addresses.
 *
 *     default/a  has 203.0.113.1 TCP/80,  asks for TCP/443        default/b  has TCP/443, asks for
 *                TCP/80
 *
 * Each is refused as long as the other's forwarding rule stands, and a rule that would be replaced
 * stays until the new one can be made: both would wait forever.  One of them must give up its rule
 * first.  The wishes and the state of both decide which one, so that every sync, every process and
 * every plan comes to the same answer.
 * Source: ours; compute v1 lets no two rules of an address match one packet
 * (gce_shared_ip_rules.h).  Pure. */
#ifndef TRIMTAB_GCE_EXCHANGE_RULES_H
#define TRIMTAB_GCE_EXCHANGE_RULES_H

#include "common/base/arena.h"
#include "providers/gce/model/gce_resources.h"

#include <trimtab/provider.h>

#include <stdbool.h>
#include <stddef.h>

#define GCE_PARTY_WANTS 2 /* a rule per protocol */
struct gce_party {
    const char *ip;                         /* the address that it asks for; "": none */
    struct gce_rule wants[GCE_PARTY_WANTS]; /* address, protocol and ports alone */
    size_t n_wants;
    const struct gce_rule *const *has; /* its forwarding rules as they are */
    size_t n_has;
};

/* The rules that spec.ports asks for.  `range`: the kind has one range from the lowest
 * to the highest port. */
void gce_party_init(struct arena *a, const struct tt_service *svc, const char *ip, bool range,
                    struct gce_party *ret);
/* Does the Service ask for what a packet to this rule could match? */
bool gce_party_asks_for(const struct gce_party *p, const struct gce_rule *r);
/* Each asks for what the other has, and they ask for nothing in common. */
bool gce_parties_exchange(const struct gce_party *one, const struct gce_party *other);

#endif
