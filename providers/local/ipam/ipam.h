/* SPDX-License-Identifier: Apache-2.0 */
/* ipam.h: which Service has which address: the allocator, without I/O.
 *
 * It gets every Service that exists (local_ipam_see) and of those that are gone
 * (local_ipam_forget), and answers which addresses one of them has or gets (local_ipam_grant).  The
 * truth is in the Services' statuses; beside them it remembers what it gave out and is not
 * written yet (pending), and what was given back a moment ago (released).  Statuses claim first:
 * nothing is granted again before every Service of the first list was seen.  Addresses of a pool
 * are never enumerated: a free one is the first gap between used ones.
 * Costs: see and grant are O(log n) in the number of used addresses; a Service needs about 150
 * bytes, and its name.  One thread at a time. */
#ifndef TRIMTAB_LOCAL_IPAM_IPAM_H
#define TRIMTAB_LOCAL_IPAM_IPAM_H

#include "common/base/intern.h"
#include "providers/local/model/wish.h"

struct local_ipam;

/* A Service as the allocator sees it; texts are copied. */
struct local_claim {
    const struct tt_service *service;
    bool wants; /* type LoadBalancer, a class that is served here, not ignored, not being deleted */
    bool is_manifest; /* planned without an API server's defaults: families as it says, else IPv4 */
    bool was_ours;    /* the cleanup finalizer or annotation LOCAL_POOL_GIVEN is there */
    const struct local_wish *wish; /* NULL when it does not want, or its wishes cannot be read */
    const struct tt_kv *ns_labels; /* of its namespace, sorted by key */
    size_t n_ns_labels;
    bool has_ns_labels; /* false: not known; a pool with namespaceSelector is closed then */
};

#define LOCAL_GRANT_SECOND_MISSING 0x1u /* SecondFamilyMissing: PreferDualStack, one family only */
#define LOCAL_GRANT_OUTSIDE        0x2u /* AddressOutsidePools: an address is in no pool any more */
#define LOCAL_GRANT_SHARE_BROKEN                                                                   \
    0x4u /* PortsShared: it has no key any more, and others are on its address */

/* One address of a grant. */
struct local_granted {
    struct ip_addr addr;
    const struct local_pool *pool; /* NULL: outside all pools */
    bool in_status;                /* the Service has it in its status */
    bool is_new;                   /* this grant has given it */
};
struct local_grant {
    struct local_granted have[2]; /* in the order of spec.ipFamilies */
    size_t n;
    /* Addresses of its status that it has to give up once `have` is in the status: still served
     * until then.  For an update also those that it was given and that are not in the status. */
    struct ip_addr old[2];
    size_t n_old;
    unsigned flags; /* LOCAL_GRANT_… */
};

/* Names and what many Services have in common are strings of `texts`.  Both must outlive it. */
struct local_ipam *local_ipam_new(const struct local_config *config, struct intern_table *texts);
void local_ipam_free(struct local_ipam *m);
/* As a reservation of the configuration, of an address that has none; `service` outlives it. */
void local_ipam_reserve(struct local_ipam *m, const struct ip_addr *addr, const char *service);
/* As the Service is now.  An entry of `pending` goes when the status has its address. */
void local_ipam_see(struct local_ipam *m, const struct local_claim *claim, int64_t now_ms);
/* It is gone: what it had alone was released at now_ms. */
void local_ipam_forget(struct local_ipam *m, const char *key, int64_t now_ms);
/* A number that the caller keeps of the Service in the allocator's record, 0 at first; good until
 * the next call that sees or forgets one.  NULL: it was not seen. */
uint64_t *local_ipam_note(struct local_ipam *m, const char *key);
/* Forgets those whose note goes, in the order of their keys. */
void local_ipam_forget_noted(struct local_ipam *m, bool (*goes)(void *arg, uint64_t note),
                             void *arg, int64_t now_ms);
/* Which addresses the Service has; what it gets again is pending from now on.
 *   ERR_OK                     n may be 0: it wants none
 *   ERR_INVALID                impossible wish; the message says why
 *   ERR_IN_USE                 an address that it has or asks for is another's; may pass without an
 *                              edit of it
 *   ERR_QUOTA                  no free address: what would help
 *   ERR_TRANSIENT              its clusterIPs are not there yet
 *   ERR_IMPLEMENTED_ELSEWHERE  its status holds an address of others, and it was never ours
 * *ret is what it continues having (n may be 0) also when an error is returned.
 * `a` for messages. */
int local_ipam_grant(struct local_ipam *m, const char *key, int64_t now_ms, struct local_grant *ret,
                     struct err *err) _warn_unused_;
/* Nothing will be made of the grant: what is new in it is free again at once, as if it
 * had never been given. */
void local_ipam_take_back(struct local_ipam *m, const char *key, const struct local_grant *grant);
/* Its present addresses only: for an update of backends, which writes no status.  Errors as above
 * but ERR_QUOTA. */
int local_ipam_kept(struct local_ipam *m, const char *key, int64_t now_ms, struct local_grant *ret,
                    struct err *err) _warn_unused_;
/* The result of grant without an assignment: for plans. */
int local_ipam_would_grant(const struct local_ipam *m, const char *key, int64_t now_ms,
                           struct local_grant *ret, struct err *err) _warn_unused_;
/* The Service serves those of these ports whose `served` is set (NULL: all), and no others: its
 * last sync ended well, or the kernel shows it.  Of Services that share an address, the one that
 * serves a port keeps it, also while an edit of it is refused. */
void local_ipam_serves(struct local_ipam *m, const char *key, const struct tt_service *service,
                       const bool *served);
/* `protocol`: the first letter of its name, 'T' or 'U'. */
bool local_ipam_is_served(const struct local_ipam *m, const char *key, char protocol,
                          uint16_t port);
/* It serves exactly the ports that it asks for. */
bool local_ipam_is_settled(const struct local_ipam *m, const char *key);
/* The addresses of its status, for a director: nothing is assigned.  ERR_IN_USE: another Service
 * has the address, or the port. */
int local_ipam_follow(const struct local_ipam *m, const char *key, struct local_grant *ret,
                      struct err *err) _warn_unused_;
/* The address was found in the kernel with the comment `key` (a process that died before it wrote
 * the status): pending. */
void local_ipam_remember(struct local_ipam *m, const char *key, const struct ip_addr *addr,
                         int64_t now_ms);
/* How many Services have asked in vain. */
size_t local_ipam_n_waiting(const struct local_ipam *m);
/* Other Services on this address, sorted; for comments and events. */
size_t local_ipam_sharers(const struct local_ipam *m, struct arena *a, const struct ip_addr *addr,
                          const char *const **ret_keys);

struct local_pool_use {
    const struct local_pool *pool;
    int64_t total[2]; /* IPv4, IPv6; saturates at INT64_MAX */
    int64_t used[2];
    int64_t reserved[2];
};
/* One for each pool, in the order of the file. */
struct local_pool_use *local_ipam_use(const struct local_ipam *m, struct arena *a);

/* The pool that has the address and does not exclude it; NULL: none. */
const struct local_pool *local_pool_of(const struct local_config *config,
                                       const struct ip_addr *addr);

#endif
