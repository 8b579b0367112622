/* SPDX-License-Identifier: Apache-2.0 */
/* ipam_internal.h: what the files of the allocator share (see ipam.h). */
#ifndef TRIMTAB_LOCAL_IPAM_INTERNAL_H
#define TRIMTAB_LOCAL_IPAM_INTERNAL_H

#include "providers/local/ipam/ipam.h"
#include "providers/local/ipam/space.h"

#include "common/base/map.h"

#define PENDING_MAX_MS ((int64_t)5 * 60 * 1000)

enum policy { SINGLE_STACK, PREFER_DUAL_STACK, REQUIRE_DUAL_STACK };
/* Why a pool is not for a Service. */
enum closed { POOL_OPEN = 0, CLOSED_NAMESPACE, CLOSED_NAMESPACE_LABELS, CLOSED_SERVICE_LABELS };

struct service_port {
    uint8_t protocol; /* first letter of its name */
    uint16_t port;
};
/* An address that a Service has. */
struct had {
    struct ip_addr addr;
    bool in_status;
    int64_t pending_ms; /* since when, when it is not */
};
struct entry {
    char *key;
    char *ns; /* its beginning, up to the slash */
    char *uid;
    int64_t created_us;
    bool wants;
    bool was_ours;
    bool has_cluster_ips;
    bool asks; /* its wishes could be read */
    bool move;
    enum policy policy;
    uint8_t families[2]; /* 4, 16: lengths of addresses, in the order of spec.ipFamilies */
    size_t n_families;
    struct service_port *ports;
    size_t n_ports;
    char *share;
    char *pool;
    struct ip_addr asked[2];
    size_t n_asked;
    uint8_t *closed; /* enum closed of each pool; NULL: all are open */
    struct had *had; /* first those of the status, in its order */
    size_t n_had;
    bool waiting;        /* its last grant found nothing free */
    uint64_t waits_from; /* local_ipam.freed at that time */
};
/* An address that somebody has, or had a moment ago. */
struct use {
    struct ip_addr addr;
    struct entry **by;
    size_t n_by;     /* 0: given back */
    int64_t gone_ms; /* when it was given back */
    char *gone_key;  /* by whom; NULL: not known */
};
/* In the order in which they were given back; one that was taken again meanwhile has another gone_ms. */
struct gone {
    struct ip_addr addr;
    int64_t at_ms;
};
struct reserved {
    struct ip_addr addr;
    const char *service;
};
struct local_ipam {
    const struct local_config *config;
    struct space space;
    struct ip_addr *low;       /* of each span: below it nothing is free */
    size_t *order;             /* pools, as they are tried */
    struct reserved *reserved; /* sorted by address */
    size_t n_reserved;
    struct map *entries;
    struct use *uses; /* sorted by address */
    size_t n_uses, cap_uses;
    struct gone *gone;
    size_t first_gone, n_gone, cap_gone; /* n_gone: behind the last one */
    uint64_t freed;                      /* how often something became free */
    size_t n_waiting;
};

/* --- ipam.c --------------------------------------------------------------------------------------- */
const struct use *ipam_use(const struct local_ipam *m,
                           const struct ip_addr *addr); /* NULL: nobody's */
void ipam_take(struct local_ipam *m, struct entry *e, const struct ip_addr *addr, int64_t now_ms);
/* What is pending and was not granted just now is not asked for any more: given back. */
void ipam_drop_pending(struct local_ipam *m, struct entry *e, const struct local_grant *granted,
                       int64_t now_ms);
/* What was given back long enough ago becomes free. */
void ipam_expire(struct local_ipam *m, int64_t now_ms);
const struct reserved *ipam_reserved(const struct local_ipam *m, const struct ip_addr *addr);
/* The pool of the address, excluded and buggy ones left out; NULL: none. */
const struct local_pool *ipam_pool_of(const struct local_ipam *m, const struct ip_addr *addr);
/* Lowest free address of the pool and the family; false: none. */
bool ipam_first_free(struct local_ipam *m, size_t pool, uint8_t len, struct ip_addr *ret);
/* Older by creation, then by uid. */
bool ipam_is_older(const struct entry *a, const struct entry *b);

/* --- open.c --------------------------------------------------------------------------------------- */
/* NULL when all pools are open to it; else heap. */
uint8_t *ipam_closed(const struct local_config *config, const struct local_claim *claim);
enum closed ipam_why_closed(const struct local_ipam *m, const struct entry *e,
                            const struct local_pool *pool);
/* "pool "gold" is not for namespace demo". */
int ipam_refuse_closed(const struct entry *e, const struct local_pool *pool, enum closed why,
                       struct err *err);

/* --- share.c -------------------------------------------------------------------------------------- */
/* May `e`, which is not there, join those who have the address?  ERR_IN_USE: why not. */
int ipam_may_join(const struct entry *e, const struct use *use, struct err *err);
/* May `e` stay at an address that it has, and others, too?  *ret_broken: it may, but the key says otherwise by now. */
int ipam_may_stay(const struct entry *e, const struct use *use, bool *ret_broken, struct err *err);
/* The lowest shared address of its key and the family with its ports free. */
bool ipam_find_shared(const struct local_ipam *m, const struct entry *e, uint8_t len,
                      struct ip_addr *ret);

/* --- nothing_free.c ------------------------------------------------------------------------------- */
/* ERR_QUOTA: how full which pools are, and what else would help. */
int ipam_nothing_free(const struct local_ipam *m, const struct entry *e, uint8_t len,
                      struct err *err);
/* Who has waited longest; NULL: nobody waits. */
struct entry *ipam_oldest_waiting(const struct local_ipam *m);

#endif
