/* SPDX-License-Identifier: Apache-2.0 */
/* lease_text.h: the Lease of a director as JSON: written as the API server wants it, read with what
 * others wrote.
 *
 *     metadata.labels       local.trimtab.io/instance   directors with the same one share addresses
 *                           local.trimtab.io/drain      an operator's: others hold what they can
 *     metadata.annotations  local.trimtab.io/holds      64 hex digits, a bit for each bucket, the
 *                           first one the highest;
 *                                                       sets that differ between pools:
 *                                                       "HEX=pool,pool HEX=pool"
 *                           local.trimtab.io/interfaces subnets in which it can announce:
 *                           "192.0.2.0/24@eth0,…"
 *                           local.trimtab.io/takes      may it be given buckets?
 *     spec.holderIdentity   the machine; "" when it let go of everything
 *
 * Pure; results live in the arena. */
#ifndef TRIMTAB_LOCAL_LEASES_LEASE_TEXT_H
#define TRIMTAB_LOCAL_LEASES_LEASE_TEXT_H

#include "common/data/json.h"
#include "providers/local/leases/holder_rules.h"
#include "providers/local/model/config.h"

#define LOCAL_LEASE_VERSION   "coordination.k8s.io/v1"
#define LOCAL_LEASE_NAMESPACE "kube-system"
#define LOCAL_LEASE_PREFIX    "trimtab-director-" /* of its name; the director's follows */
#define LOCAL_LEASE_NAME_MAX  200                 /* bytes of a director's name */
#define LOCAL_LEASE_LABEL     "local.trimtab.io/instance"
#define LOCAL_LEASE_DRAIN     "local.trimtab.io/drain"

/* Groups of buckets: one for each pool, in the order of the file, and one for addresses
 * outside of all pools. */
static inline size_t local_lease_groups(const struct local_config *c)
{
    return c->n_pools + 1;
}
size_t local_lease_group_of(const struct local_config *c, const struct local_pool *pool);

/* A subnet on a link. */
struct local_reach {
    struct ip_net net;
    const char *link;
};
/* The text to write. */
struct local_lease_words {
    const struct local_config *config;
    const char *director, *machine;
    const struct local_bucket_set *holds; /* of each group */
    const struct local_reach *reach;
    size_t n_reach;
    bool takes;
    bool ends;       /* it lets go of everything */
    int64_t wall_us; /* since 1970 */
};
/* The body of a POST. */
const char *local_lease_create(struct arena *a, const struct local_lease_words *w);
/* A merge patch that is refused when the Lease is not as it was in `version`. */
const char *local_lease_patch(struct arena *a, const struct local_lease_words *w,
                              const char *version);

/* The parsed text. */
struct local_lease {
    struct local_lease_seen seen;
    const char *version; /* of the object */
    const char *machine; /* "": ended */
    bool drain;
};
/* False: it is not the Lease of a director. */
bool local_lease_read(struct arena *a, const struct local_config *c, struct json_object *o,
                      struct local_lease *ret);

/* A director with these subnets reaches the group's clients. */
bool local_lease_reaches(const struct local_config *c, size_t group,
                         const struct local_reach *reach, size_t n);
/* May it be part of the Lease's name? */
bool local_lease_name_ok(const char *director);

#endif
