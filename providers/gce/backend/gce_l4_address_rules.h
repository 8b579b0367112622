/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_address_rules.h: which address one side of a balancer should have, who holds it, and which
 * rules of another tier have to go for it.
 *
 * Order of the wishes: an address that the annotation names, spec.loadBalancerIP, what the existing
 * rule has in the same subnetwork, anything.  An address that is chosen from a rule, or is not a
 * user's reservation, is held by us while rules are made again (docs/deviations.md: only then).
 * Asked from outside by trimtab-eval (gce.l4.ip_to_use, gce.ilb.ip_to_use).
 * Source: gce-l4.md §4.4, §5.2 steps 2 and 5, A4, vectors V67–V86; gce-cloud-provider.md
 * §5.3 step 12.  Pure. */
#ifndef TRIMTAB_GCE_L4_ADDRESS_RULES_H
#define TRIMTAB_GCE_L4_ADDRESS_RULES_H

#include "providers/gce/backend/gce_bs.h"

/* The address that the Service names: the first of gce_l4_address_names() of the wanted family
 * among `found` (those that exist; one without ipVersion is IPv4), else for IPv4
 * spec.loadBalancerIP.  *ret has ip "" when it names none.  Whether spec.loadBalancerIP is reserved
 * is not known here: `reserved` stays false, `tier` "" for the caller that looks the address up by
 * its IP.  *ret_both (may be NULL): the annotation won over spec.loadBalancerIP (event
 * MixedStaticIP). */
void gce_l4_user_address(struct arena *a, const struct tt_service *s,
                         const struct gce_address *const *found, size_t n, bool v6,
                         struct gce_bs_user_address *ret, bool *ret_both);
/* "2600::1/96" → "2600::1"; IPv4 as it is. */
const char *gce_l4_ip_without_prefix(struct arena *a, const char *ip);

struct gce_l4_address_question {
    const struct gce_bs_user_address *user;
    bool internal;
    bool v6;
    bool any_subnetwork;    /* the wanted subnetwork "" means "do not care" (GCE_KIND_ILB_GROUPS) */
    bool tier_is_set;       /* external: by a valid annotation */
    const char *subnetwork; /* link that the rules ask for, "" = none */
    const char *tier;       /* external: "PREMIUM", "STANDARD" */
    const char *ip_collection; /* external IPv6: a rule with another one loses its address; "" */
    /* Existing rules, in the order in which addresses are taken: external: legacy, TCP, UDP, L3. */
    const struct gce_rule *const *rules;
    size_t n_rules;
};
struct gce_l4_address_choice {
    const char *ip;   /* what upstream aims at, without prefix; "" = any */
    const char *ask;  /* what is to be asked for: ip, but "" when `lost` */
    const char *name; /* of the annotation's reservation, "" */
    bool managed;     /* no user has reserved it: it is ours to hold and to let go */
    bool from_rule;   /* an existing rule has it */
    bool lost;        /* it is of a rule whose tier is wrong: an address cannot change its tier */
};
void gce_l4_address_choose(struct arena *a, const struct gce_l4_address_question *q,
                           struct gce_l4_address_choice *ret);
/* §5.2 step 2: the rule goes before anything else, because its tier is not what a
 * valid annotation asks. */
bool gce_l4_rule_is_of_other_tier(const struct gce_rule *rule,
                                  const struct gce_l4_address_question *q);
/* Must it be reserved by us before the rules change?  `goes`: a rule is deleted, whose address must
 * not be lost, or for whose sake the new one must be had first; `wanted`: how many rules are to
 * share it; `inserted`: how many of them are not there yet (again). */
bool gce_l4_address_must_be_held(const struct gce_l4_address_choice *c, bool goes, size_t wanted,
                                 size_t inserted);
/* ERR_INVALID "Network tier mismatch …" when the user's reservation is of another
 * tier (external IPv4). */
int gce_l4_user_address_check(const struct gce_bs_user_address *user, const char *tier,
                              struct err *err) _warn_unused_;

#endif
