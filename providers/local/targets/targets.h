/* SPDX-License-Identifier: Apache-2.0 */
/* targets.h: where the packets of a frontend go, and with which weight.  Pure. */
#ifndef TRIMTAB_LOCAL_TARGETS_TARGETS_H
#define TRIMTAB_LOCAL_TARGETS_TARGETS_H

#include "providers/local/model/wish.h"

/* VIP, protocol and Service port: the unit of the data plane. */
struct local_frontend_id {
    struct ip_addr vip;
    uint8_t protocol; /* IPPROTO_TCP, IPPROTO_UDP */
    uint16_t port;
};
int local_frontend_cmp(const struct local_frontend_id *a, const struct local_frontend_id *b);
/* "203.0.113.5:80/tcp", "[2001:db8::5]:53/udp". */
#define LOCAL_FRONTEND_TEXT_MAX 80
void local_frontend_text(const struct local_frontend_id *f, char out[LOCAL_FRONTEND_TEXT_MAX]);

#define LOCAL_AFFINITY_DEFAULT_S 10800 /* of sessionAffinityConfig, as the API server fills it in */

/* An address and a port to which packets go. */
struct local_dest {
    struct ip_addr addr;
    uint16_t port;
};
struct local_target {
    struct ip_addr addr;
    uint16_t port;
    uint16_t weight; /* 0: gets no new connections */
    uint16_t spare;  /* of one in another zone: its weight when no target of the own zone is well */
    const char *node; /* name; of a pod: that of its node, or NULL */
    const char *pod;  /* "namespace/name" or NULL */
    const char *why;  /* ends "because …": "node-7 has 2 ready pods of demo/web" */
};
/* A pod or node that is not a target, for explain. */
struct local_left_out {
    const char *who;
    const char *why;
};
struct local_target_set {
    struct local_target *items; /* sorted by address and port, each once */
    size_t n;
    struct local_left_out *left_out;
    size_t n_left_out;
    size_t n_over; /* of left_out, at its end: more than mode nft takes */
};
/* How the Service is served: configuration, pool and wishes put together. */
struct local_serve {
    enum local_mode mode;           /* never AUTO */
    enum local_scheduler scheduler; /* local_scheduler_of() */
    enum local_targets targets;     /* never AUTO */
    bool snat;
    bool affinity;
    int32_t affinity_s; /* of `affinity`: 1 to 86400 */
    struct local_check_config checks;
    enum local_check check; /* never AUTO */
    struct local_health_wish health;
    int64_t drain_timeout_ms;
    bool fail_open;
    struct local_sorry sorry;
    bool udp_one_packet;
    bool zone_only; /* PreferSameZone, PreferClose or PreferSameNode */
};
/* ERR_INVALID for what does not go together (§3.5, §5.2, §7 of the provider's specification):
 * "scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh". */
int local_serve_of(const struct local_config *config, const struct local_pool *pool,
                   const struct tt_service *s, const struct local_wish *wish,
                   struct local_serve *ret, struct err *err) _warn_unused_;

/* How a frontend goes on whose mode, scheduler, targets, snat and affinity are those of `stands`:
 * checks, times and the rest are the pool's. */
void local_serve_standing(const struct local_config *config, const struct local_pool *pool,
                          const struct tt_service *s, const struct local_serve *stands,
                          struct local_serve *ret);

/* The scheduler, never AUTO: of AUTO wrr when two targets with weight have different
 * ones, else rr. */
enum local_scheduler local_scheduler_of(const struct local_serve *serve,
                                        const struct local_target_set *t);

struct local_target_args {
    const struct local_config *config;
    const struct local_serve *serve;
    const struct tt_service *service;
    const struct tt_port *port;
    int family; /* AF_INET or AF_INET6, the VIP's */
    const struct tt_node *const *nodes;
    size_t n_nodes;
    const struct tt_slice *const *slices;
    size_t n_slices;
    bool has_slices;
    const char *zone; /* the director's; NULL or "": not known */
    bool served;      /* the frontend has served before */
    /* of the frontend, as they stand in the kernel (addr.len 0: missing); NULL: none */
    const struct local_dest *slots;
    size_t n_slots;
};
/* Weights are those of the policy and the zone; health (director) comes on top.  ERR_INVALID: "nft
 * mode has at most 256 targets per port (demo/web has 300); use an ipvs mode".  A frontend
 * that was served is not refused for that: targets with slots stay, the first of the others fill up
 * to 256, and the rest is left out. */
int local_targets_of(struct arena *a, const struct local_target_args *args,
                     struct local_target_set *ret, struct err *err) _warn_unused_;
/* Differs when the targets that the node makes do, its endpoints apart: of its addresses of the
 * types of director.nodeAddressTypes and its zone; 0: it is no target. */
uint64_t local_node_digest(const struct local_config *config, const struct tt_node *n);

#endif
