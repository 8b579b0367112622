/* SPDX-License-Identifier: Apache-2.0 */
/* chaos.h: what the clouds of fault-chaos share: wishes, the episode in progress, and the row that
 * a cloud is.
 *
 * chaos.c plays an episode and judges its end; what is a cloud's own stands in chaos_gce.c (target
 * pools), chaos_gce_l4.c, chaos_azure.c and chaos_aws.c.  A cloud is a row of `struct chaos_cloud`;
 * functions that it does not have are NULL. */
#ifndef TRIMTAB_TESTS_FAULT_CHAOS_H
#define TRIMTAB_TESTS_FAULT_CHAOS_H

#include "tests/fault/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAOS_SERVICES_MAX 200
#define CHAOS_STATICS      8 /* users' addresses 203.0.113.200 … 207 */
#define CHAOS_PODS_MAX     6

/* The user's settings of a Service. */
struct wish {
    char name[24]; /* "" when there is none */
    unsigned port;
    bool two_ports;
    bool udp;
    bool local;
    bool sticky;
    bool standard; /* Google: network tier */
    bool internal;
    bool narrow;     /* source ranges */
    bool cluster_ip; /* no load balancer */
    int address;     /* Google: which of the users' addresses; -1: none */
    unsigned check_port;
    /* Google's balancers with a backend service (chaos_gce_l4.c) */
    bool rbs;          /* asks for a backend service; never taken back */
    bool both;         /* both families */
    bool global;       /* access from other regions */
    bool by_name;      /* the address is asked for by its name */
    const char *class; /* loadBalancerClass, forever; NULL: none */
    bool crowd;        /* a pod on every node; else: */
    unsigned n_pods;   /* on these */
    char pods[CHAOS_PODS_MAX][24];
    /* AWS (chaos_aws.c) */
    bool nlb;        /* else classic; forever */
    bool flipped;    /* asks for the other kind, which is refused */
    bool tls;        /* a certificate */
    bool back_tls;   /* TLS to nodes, too */
    unsigned groups; /* own groups: 0 none, 1 and 2: the first, the second of users */
    unsigned tags;   /* further tags; on a classic balancer they are never taken back */
    bool subnets;    /* two are named; of an NLB forever */
    bool checked;    /* by HTTP, every 20 seconds */
    bool cross_zone;
    bool proxy;    /* classic: the proxy protocol */
    bool was_none; /* it has been without a balancer */
};

struct chaos;

struct chaos_action {
    int (*act)(struct chaos *c);
    unsigned weight;
    bool rough; /* makes something go wrong: not within a quiet stretch (chaos_rest.c) */
};

struct chaos_cloud {
    const char *name;  /* on the command line */
    const char *sim;   /* the simulator's word for it */
    size_t n_services; /* at once */
    size_t n_at_first; /* created before anything goes wrong */
    int actions;
    size_t episodes;
    const char *const *calls; /* of which some are down now and then */
    size_t n_calls;
    const struct chaos_action *more; /* besides those that all clouds have */
    size_t n_more;
    int (*change_nodes)(struct chaos *c);
    const char *(*annotations)(struct arena *a, const struct wish *w); /* JSON; null: none */
    const char *(*spec)(struct arena *a, const struct wish *w);        /* ",\"member\":…" */
    bool (*special)(struct chaos *c, struct wish *w); /* a change of its own; as change_wish() */
    void (*first)(struct chaos *c, struct wish *w);   /* what else a new one is */
    void (*fit)(struct chaos *c,
                struct wish *w); /* takes from a wish what the cloud does not have */
    int (*created)(struct chaos *c, struct wish *w);             /* what else happens then */
    void (*choose)(struct chaos *c, uint64_t seed);              /* flags, stage, how much */
    void (*prepare)(struct chaos *c, struct json_object *world); /* the world at the start */
    void (*listen)(struct chaos *c);                             /* to calls */
    void (*others)(struct chaos *c, bool act); /* the other writer writes, or pauses */
    int (*calm)(
        struct chaos *c); /* right before a rest is waited for: what cannot be done is taken back */
    int (*last)(struct chaos *c); /* the same before the end */
    int (*part)(struct chaos *c); /* from the other writer */
    int (*judge)(struct chaos *c, struct json_object *end);
    void (*level)(struct arena *a, struct json_object *world); /* see check_against_fresh() */
    void (*done)(struct chaos *c);
};
extern const struct chaos_cloud chaos_gce;
extern const struct chaos_cloud chaos_gce_l4;
extern const struct chaos_cloud chaos_azure;
extern const struct chaos_cloud chaos_aws;

struct chaos {
    struct stage s;
    const struct chaos_cloud *cloud;
    struct rng *rng;
    const char *const *flags;
    size_t n_services; /* at once */
    size_t n_at_first;
    int actions;
    bool deny; /* as world_check_whole() takes it */
    struct wish wishes[CHAOS_SERVICES_MAX];
    bool taken[CHAOS_STATICS]; /* a user's address is asked for once in an episode */
    unsigned n_named;
    struct rng *rests; /* of chaos_rest.c, so that all else is the same with and without */
    bool quiet;        /* nothing goes wrong */
    struct str_buf story;
    const char *log; /* of the controllers of a rig that is gone; NULL: none */
    void *own;       /* the cloud's */
};

uint64_t chaos_below(struct chaos *c, uint64_t n);
bool chaos_one_in(struct chaos *c, uint64_t n);
/* An edit, which the story tells. */
int chaos_step(struct chaos *c, enum step_do act, const char *what, const char *body) _warn_unused_;
/* A Service as its wish has it now. */
int chaos_edit_to(struct chaos *c, struct wish *w) _warn_unused_;
/* Any slot, with a Service in it or without; NULL if there is none. */
struct wish *chaos_any_wish(struct chaos *c, bool existing);
/* A tier, which is never taken back (a rule keeps its own), or a user's address. */
void chaos_google_address(struct chaos *c, struct wish *w);
/* Does something by chance. */
int chaos_act(struct chaos *c) _warn_unused_;
/* All faults end. */
int chaos_heal(struct chaos *c) _warn_unused_;
/* Decides at which of its actions the episode rests; `seed` is that of the episode. */
void chaos_rest_choose(struct chaos *c, uint64_t seed);
/* Before action `i`: rests and judges, and plays a quiet stretch, if it is time. */
int chaos_rest(struct chaos *c, int i) _warn_unused_;
/* One node joins or leaves, or a machine of the cloud, within these limits. */
int chaos_some_nodes(struct chaos *c, size_t min, size_t max) _warn_unused_;

#endif
