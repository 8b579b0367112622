/* SPDX-License-Identifier: Apache-2.0 */
/* gce_shared_ip_rules.h: may a forwarding rule be made at an address that others may use, too?
 *
 * A reserved external address serves the rules of several Services as long as no packet could match
 * two of them; an internal one only when it was reserved for sharing.  A rule can hardly be
 * changed, so it is taken away before the new one is made: whether the cloud will take that one
 * must be known before.
 * Source: gce-cloud-provider.md §4.3.2; gce-l4.md §4.7.  Pure. */
#ifndef TRIMTAB_GCE_SHARED_IP_RULES_H
#define TRIMTAB_GCE_SHARED_IP_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/gce/model/gce_resources.h"

#include <trimtab/provider.h>

#include <stdbool.h>
#include <stddef.h>

/* Google's name for an internal address that several rules may have. */
#define GCE_PURPOSE_SHARED "SHARED_LOADBALANCER_VIP"

/* Rules and holders found at an address. */
struct gce_ip_uses {
    const char *ip;                      /* without prefix */
    bool reserved;                       /* there is a reservation of it */
    struct gce_address address;          /* with `reserved` */
    const struct gce_rule *const *rules; /* all rules of the region that have it, of any owner */
    size_t n_rules;
};

/* Could a packet match both?  Rules of two protocols never meet: the one for a protocol
 * beats the one for all. */
bool gce_rules_overlap(const struct gce_rule *x, const struct gce_rule *y);
/* "default/web", by a description of ours or of upstream's; NULL: it names none. */
const char *gce_description_service(struct arena *a, const char *description);

/* ERR_INVALID when a reserved address is of the other side than the load balancer.  `type` NULL or
 * "": unknown, which is fine. */
int gce_address_check_side(const char *ip, const char *type, bool internal,
                           struct err *err) _warn_unused_;

/* "a<uid>", or with "-ipv6", of another uid than the Service's. */
bool gce_rule_name_is_of_another_uid(struct arena *a, const char *name,
                                     const struct tt_service *svc);

/* A rule "a<uid>" that an older Service of the same namespace and name left: by its description it
 * is this one's, by its uid without owner. */
bool gce_rule_is_an_older_ones(struct arena *a, const struct gce_rule *r,
                               const struct tt_service *svc);

/* ERR_INVALID as above, and when it is reserved in another network tier; ERR_IN_USE when `want`
 * (one of `n`) cannot be made beside the rules found that are not of the Service; the message names
 * the ports, and the Service that has them.  A rule that an older Service of that name left
 * ("a<uid>") is not its own. */
int gce_ip_check_rules(struct arena *a, const struct gce_ip_uses *u, const struct tt_service *svc,
                       bool internal, const struct gce_rule *want, size_t n,
                       struct err *err) _warn_unused_;

#endif
