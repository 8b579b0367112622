/* SPDX-License-Identifier: Apache-2.0 */
/* ipam_internal.h: what the files of the allocator share (see ipam.h). */
#ifndef TRIMTAB_LOCAL_IPAM_INTERNAL_H
#define TRIMTAB_LOCAL_IPAM_INTERNAL_H

#include "providers/local/ipam/ipam.h"
#include "providers/local/ipam/space.h"

#include "common/base/index.h"

#include <assert.h>

#define PENDING_MAX_MS ((int64_t)5 * 60 * 1000)

enum policy { SINGLE_STACK, PREFER_DUAL_STACK, REQUIRE_DUAL_STACK };
/* Why a pool is not for a Service. */
enum closed { POOL_OPEN = 0, CLOSED_NAMESPACE, CLOSED_NAMESPACE_LABELS, CLOSED_SERVICE_LABELS };

struct service_port {
    /* first letter of its name; of this width so that equal ports are equal bytes */
    uint16_t protocol;
    uint16_t port;
};
/* An address that a Service has. */
struct had {
    struct ip_addr addr;
    bool in_status;
    uint16_t pending_high; /* of the moment since when it is not; ipam_pending_ms() */
    uint32_t pending_low;
};
/* Wishes that few Services have; strings are those of local_ipam.texts. */
struct asked {
    const struct interned *share;  /* text, or NULL */
    const struct interned *pool;   /* the same */
    const struct interned *addrs;  /* struct ip_addr, one or two; NULL: none */
    const struct interned *closed; /* enum closed of each pool, a byte; NULL: all are open */
    uint64_t waits_from;           /* local_ipam.freed when it began to wait */
};
struct entry {
    const struct interned *key; /* "namespace/name"; first: interned_text_kind */
    union {
        /* as the API server makes them: "8-4-4-4-12" digits */
        uint8_t bytes[16];
        char *text; /* another; heap */
    } uid;
    int64_t created_us;
    uint64_t note; /* the caller's (local_ipam_note) */
    union {        /* first those of the status, in its order; ipam_had() */
        struct had one;
        struct had *many; /* n_had > 1; heap */
    } had;
    const struct interned *ports;  /* struct service_port, some; NULL: none */
    const struct interned *serves; /* the ports that it serves; the same */
    const struct asked *asked;     /* heap, or &ipam_asks_nothing; never NULL */
    uint16_t n_had;
    uint8_t policy;      /* enum policy */
    uint8_t families[2]; /* 4, 16: lengths of addresses, in the order of spec.ipFamilies */
    uint8_t n_families;
    bool uid_is_text : 1;
    bool wants : 1;
    bool was_ours : 1;
    bool has_cluster_ips : 1;
    bool asks : 1; /* its wishes could be read */
    bool move : 1;
    bool waiting : 1; /* its last grant found nothing free */
    bool seen : 1;    /* it was read at least once */
};
/* An address that a Service has, or had a moment ago. */
struct use {
    struct ip_addr addr;
    uint32_t n_by; /* 0: given back */
    union {
        struct entry *one;   /* n_by 1 */
        struct entry **many; /* more */
        struct given_back *back;
    };
};
static_assert(sizeof(struct entry) <= 96 && sizeof(struct use) <= 32 && sizeof(struct had) <= 24,
              "there are tens of thousands of them");
/* Addresses at which holders have one key to share. */
struct sharing {
    const struct interned *key; /* first: interned_text_kind */
    struct shared_at {
        struct ip_addr addr;
        uint32_t n_by; /* holders with this key */
    } *at;             /* sorted by address */
    size_t n, cap;
};
struct given_back {
    int64_t at_ms;
    const struct interned *key; /* by which Service */
};
/* In the order in which they were given back; one that was taken again meanwhile
 * has another gone_ms. */
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
    struct intern_table *texts;
    struct index entries;
    struct index sharings; /* struct sharing by key */
    struct use *uses;      /* sorted by address */
    size_t n_uses, cap_uses;
    struct gone *gone;
    size_t first_gone, n_gone, cap_gone; /* n_gone: behind the last one */
    uint64_t freed;                      /* how often something became free */
    size_t n_waiting;
};

/* --- entry.c ---------------------------------------------------------------------------------- */
struct entry *ipam_entry(const struct local_ipam *m, const char *key); /* NULL if there is none */
struct entry *ipam_entry_make(struct local_ipam *m, const char *key);
void ipam_entry_free(const struct local_ipam *m, struct entry *e);
extern const struct asked ipam_asks_nothing;
/* Its addresses: n_had of them. */
struct had *ipam_had(struct entry *e);
const struct had *ipam_had_of(const struct entry *e);
/* Takes `had` over, from the heap; n may be 0. */
void ipam_had_set(struct entry *e, struct had *had, size_t n);
int64_t ipam_pending_ms(const struct had *h);
struct had ipam_pending(const struct ip_addr *addr, int64_t since_ms);
void ipam_wait_from(struct entry *e, uint64_t freed);
/* Everything but its addresses. */
void ipam_entry_read(struct local_ipam *m, struct entry *e, const struct local_claim *claim);
bool ipam_entry_is(const struct entry *e, const char *uid);
const char *ipam_key(const struct entry *e);
/* The length of its namespace, with which its key begins. */
size_t ipam_ns_len(const struct entry *e);
const struct service_port *ipam_ports(const struct entry *e, size_t *ret_n);
bool ipam_serves(const struct entry *e, const struct service_port *port);
/* It serves those ports of `s` whose `served` is set; NULL: all of them. */
void ipam_entry_serve(const struct local_ipam *m, struct entry *e, const struct tt_service *s,
                      const bool *served);
const struct ip_addr *ipam_asked(const struct entry *e, size_t *ret_n);
/* Older by creation, then by uid. */
bool ipam_is_older(const struct entry *a, const struct entry *b);

/* --- ipam.c ----------------------------------------------------------------------------------- */
/* Its holders: n_by of them. */
struct entry *const *ipam_by(const struct use *u);
const struct use *ipam_use(const struct local_ipam *m, const struct ip_addr *addr); /* NULL: free */
void ipam_take(struct local_ipam *m, struct entry *e, const struct ip_addr *addr, int64_t now_ms);
/* Releases pending addresses that were not granted now. */
void ipam_drop_pending(struct local_ipam *m, struct entry *e, const struct local_grant *granted,
                       int64_t now_ms);
/* Frees addresses that were released long enough ago. */
void ipam_expire(struct local_ipam *m, int64_t now_ms);
const struct reserved *ipam_reserved(const struct local_ipam *m, const struct ip_addr *addr);
/* The pool of the address, excluded and buggy ones left out; NULL: none. */
const struct local_pool *ipam_pool_of(const struct local_ipam *m, const struct ip_addr *addr);
/* Lowest free address of the pool and the family; false: none. */
bool ipam_first_free(struct local_ipam *m, size_t pool, uint8_t len, struct ip_addr *ret);

/* --- open.c ----------------------------------------------------------------------------------- */
/* NULL when all pools are open to it. */
const struct interned *ipam_closed(const struct local_ipam *m, const struct local_claim *claim);
enum closed ipam_why_closed(const struct local_ipam *m, const struct entry *e,
                            const struct local_pool *pool);
/* "pool "gold" is not for namespace demo". */
int ipam_refuse_closed(const struct entry *e, const struct local_pool *pool, enum closed why,
                       struct err *err);

/* --- share.c ---------------------------------------------------------------------------------- */
/* May `e`, which is not there, join those who have the address?  ERR_IN_USE: why not. */
int ipam_may_join(const struct entry *e, const struct use *use, struct err *err);
/* May `e` stay at an address that it has, and others, too?  *ret_broken: it may, but the key says
 * otherwise by now. */
int ipam_may_stay(const struct entry *e, const struct use *use, bool *ret_broken, struct err *err);
/* `e` has the address now, or has it no more. */
void ipam_share_joined(struct local_ipam *m, const struct entry *e, const struct ip_addr *addr);
void ipam_share_parted(struct local_ipam *m, const struct entry *e, const struct ip_addr *addr);
void ipam_shares_done(struct local_ipam *m);
/* The lowest shared address of its key and the family with its ports free. */
bool ipam_find_shared(const struct local_ipam *m, const struct entry *e, uint8_t len,
                      struct ip_addr *ret);

/* --- nothing_free.c --------------------------------------------------------------------------- */
/* ERR_QUOTA: how full which pools are, and what else would help. */
int ipam_nothing_free(const struct local_ipam *m, const struct entry *e, uint8_t len,
                      struct err *err);
/* The longest waiting Service; NULL: none. */
struct entry *ipam_oldest_waiting(const struct local_ipam *m);

#endif
