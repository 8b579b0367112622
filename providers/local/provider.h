/* SPDX-License-Identifier: Apache-2.0 */
/* provider.h: the handle of the provider `local`: what open() builds and every call shares.
 *
 * One worker, one mirror, one set of kernel sockets: `lock` is held for the whole of a call, since
 * a call that is over its deadline may still run when the next one begins.  Private to
 * providers/local but for the descriptor. */
#ifndef TRIMTAB_LOCAL_PROVIDER_H
#define TRIMTAB_LOCAL_PROVIDER_H

#include "common/base/intern.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/lb/driver.h"
#include "providers/local/director/director.h"
#include "providers/local/ipam/ipam.h"
#include "providers/local/plan/mirror.h"
#include "providers/local/plan/service_plan.h"

#include <trimtab/provider.h>

/* The part of the Services that is looked at next (watch.c). */
struct local_round {
    const struct interned **keys; /* of the Services of this round */
    size_t n;
    unsigned part; /* of LOCAL_ROUND_PARTS */
};

/* Events about addresses, in both flows. */
#define LOCAL_OUTSIDE_FORMAT                                                                       \
    "%s is in no pool any more; it is kept until annotation " LOCAL_PREFIX "move is \"true\""
#define LOCAL_SECOND_MISSING                                                                       \
    "no address of the second family is free; one is added as soon as there is"
#define LOCAL_PORTS_SHARED                                                                         \
    "other Services are at the address under another key; no other Service may join"

struct local_provider {
    struct arena *a; /* configuration */
    const struct tt_host *host;
    struct clock *clock;
    struct rng *rng;
    const struct local_config *config;
    const char *director;   /* name of this machine */
    bool planning;          /* nothing may be written, not even the lock */
    bool dumping;           /* --local-state-dump */
    uint32_t drift;         /* --drift: TT_DRIFT_… */
    int lock_fd;            /* of the instance on this machine; -1: not held */
    struct http_pool *http; /* none is made; the driver wants one */
    struct cancel *cancel;
    struct intern_table *texts; /* names of Services, and what many of them have in common */
    struct call_watch *watch;
    struct local_director *directing; /* NULL: planning, or a test without the thread */
    struct local_leasing *leasing;    /* NULL: what is held stays held (leasing.h) */

    struct mutex lock;
    /* by `lock` */
    struct local_kernel *kernel; /* NULL: role allocator */
    struct local_ipam *ipam;
    /* Services and their versions, as the allocator saw them (services.c) */
    struct local_seen *seen;
    struct map *namespaces; /* name → labels, when a pool asks for them */
    bool remembered;        /* the allocator knows what the kernel carries */
    bool listed;            /* the first lists are in */
    int64_t listed_ms;
    struct local_mirror *mirror;
    bool looked;       /* the mirror was filled */
    bool dests_unread; /* … without the destinations of IPVS */
    struct local_nft_table table;
    struct local_rt_args routes_were; /* as the table says; protocol 0: it does not */
    bool table_changed;               /* its sets, chains or rules are not those of this version */
    const struct tt_call *call;       /* that is under way */
    /* role director: addresses are those of statuses, which are another process' to write */
    bool follows;
    bool opened; /* open() went well */
    bool ipvs;   /* the kernel has IPVS, and we may change it; asked when it is needed first */
    bool service_stats;  /* --local-service-stats */
    struct map *traffic; /* frontend → struct local_ipvs_traffic, as it was counted last */
    bool allow_foreign;  /* services of IPVS in a pool that no trimtab made are taken over */
    struct index served; /* what the weights of each Service are made of (served.c) */
    bool own_turn;       /* the director's thread changes weights; no call is under way */
    struct local_round round;
    struct map *releasing;     /* key of a Service that goes → int64_t, since when */
    struct map *machine_told;  /* sysctl → what was logged of it */
    struct map *requests_told; /* "HANDLE API OP CODE" → uint64_t, as metrics have it */
    bool conntrack_full;
    bool no_ctnetlink;    /* and that was logged */
    int settle_told;      /* why packets under way are not waited for, as it was logged last */
    uint64_t subnets;     /* of the interfaces, as they were seen (subnets.c); 0: not yet */
    struct map *told;     /* key of a Service → what others changed, as its owner's event said
                       * (told.c) */
    struct map *outside;  /* keys of Services with an event about an address in no pool */
    struct map *taken;    /* address → struct taken (watch.c): others have a route for it */
    struct map *draining; /* key of a Service → int64_t, when its destinations of IPVS that drain
                           * are looked at (draining.c) */
};

extern const struct tt_provider tt_local_provider;

/* open() with a kernel, clock and randomness of a test; NULL members: the real ones.  The kernel is
 * the provider's from then on.  Two handles of one kernel in memory must not be used at once. */
struct local_open_with {
    struct clock *clock;
    struct rng *rng;
    struct local_kernel *kernel;
    struct local_kernel *directing_kernel; /* of the thread; NULL with a kernel: no thread */
    bool turns; /* the thread is not started: the test makes turns (p->directing) */
};
int32_t local_provider_open(const struct tt_open_args *args, const struct local_open_with *with,
                            void **ret_provider, struct tt_result *result);
int32_t local_check_config(const struct tt_open_args *args, struct tt_result *result);

/* --- directing.c: the director's thread, and what syncs and the thread tell each other -------- */
/* Starts it, but not when planning. */
int local_directing_start(struct local_provider *p, const struct local_open_with *with,
                          const struct local_sharing *sharing, struct err *err) _warn_unused_;
/* False: there is no thread to announce it. */
struct local_item;
bool local_directing_announce(struct local_provider *p, const struct local_announce_deed *deed);
void local_directing_withdraw(struct local_provider *p, const struct ip_addr *addr);
/* An address that is announced is announced where the Service and the pool say now. */
void local_directing_follow_links(struct local_provider *p, const struct local_vip_pair *v);
/* It was away for a moment: where it was announced before it is announced anew. */
void local_directing_again(struct local_provider *p, const struct ip_addr *addr);
/* Event about the announcement of an address. */
void local_directing_find(struct lb_sync *s, const struct lb_item *item,
                          const struct ip_addr *addr);
/* Why no neighbour hears of a granted address that is to be announced by ARP or NDP;
 * NULL: one does. */
const char *local_directing_silent(struct arena *a, const struct local_item *it, size_t address);
/* Asks the host for a sync of the Service in `after_ms`, if the host offers that: a reported
 * problem has changed, or something is left that only a sync deletes. */
void local_look_again(const struct local_provider *p, const char *service, int64_t after_ms);
/* In how many ms the Service is to be looked at again, because something is wrong and
 * local_look_again() will not come; 0: never. */
int64_t local_directing_again_ms(struct lb_sync *s, const struct local_item *it);

/* --- health.c: weights by the health of targets, in syncs and between them -------------------- */
/* NULL: no thread checks targets. */
const struct local_weigher *local_health_weigher(struct lb_sync *s, const struct lb_item *item);
/* The sync has planned the Service: its targets are checked from now on. */
void local_health_keep(struct lb_sync *s, const struct lb_item *item);
/* … and carried it out: from now on what is missing is others' doing. */
void local_health_settled(struct local_provider *p, const char *service);
void local_health_forget(struct local_provider *p, const char *service);
/* The director's thread: targets of these Services went down or came up.  False: some weights could
 * not be changed. */
bool local_health_changed(void *provider, const char *const *services, size_t n);
void local_health_find(struct lb_sync *s, const struct lb_item *item);

/* --- draining.c: destinations of IPVS that go ------------------------------------------------- */
/* The Service has some that drain: looked at in `after_ms`; 0: it has none.  Without a director's
 * thread nothing is noted, and a sync has to do it. */
void local_draining_note(struct local_provider *p, const char *key, int64_t after_ms);
/* The director's thread: deletes what has drained. */
void local_draining_turn(struct local_provider *p);

/* --- served.c --------------------------------------------------------------------------------- */
void local_served_init(struct local_provider *p);
void local_served_done(struct local_provider *p);

/* --- figures.c, machine.c: metrics, and sysctls of this machine; by the lock ------------------ */
#define LOCAL_METRICS 16
extern const struct tt_metric local_metrics[LOCAL_METRICS];
void local_figures_set(struct local_provider *p);
/* A local_kernel_took_fn, of any thread; not by the lock. */
void local_figures_took(void *provider, const char *api, double took_s);
void local_figures_synced(const struct local_provider *p, int64_t took_ms);
void local_machine_look(struct local_provider *p);

/* --- traffic.c: figures of each Service; by the lock ------------------------------------------ */
void local_traffic_count(struct local_provider *p);
/* Why --local-service-stats has no effect with this configuration; NULL: it has. */
const char *local_traffic_idle(const struct local_config *c);

/* --- watch.c: what others change, between syncs ----------------------------------------------- */
/* The director's thread.  False: it could not be done, or not all could be put right. */
bool local_watch_look(void *provider, enum local_look what);
void local_watch_freed(void *provider, const struct ip_addr *addr);
void local_round_done(struct local_provider *p);
struct map *local_told_new(void);
/* Does this differ from what the Service's owner knows?  *ret_times: how often others changed
 * something of it lately, for the event; 1:  it was not often; 0: no event, because it is too
 * often. */
bool local_told_is_new(struct local_provider *p, const char *key, const char *text,
                       unsigned *ret_times);
/* The Service's address (its text) is in no pool any more.  After a start the owner hears of it
 * once, though nothing was edited. */
void local_told_outside(struct lb_sync *s, const struct lb_item *item, const char *addr);
/* Nothing of the Service differs now: the next time is another time. */
void local_told_right(struct local_provider *p, const char *key);
/* Others have a route for the address: it is not tried again for 10 s, 20 s … 5 min, or
 * until they give it up. */
#define LOCAL_TAKEN_FORMAT "%s: another program has a route for it"
void local_taken_note(struct local_provider *p, const struct ip_addr *addr, struct err *err);
void local_taken_free(struct local_provider *p, const struct ip_addr *addr);
int local_taken_check(struct local_provider *p, const struct ip_addr *addr, struct err *err);

/* --- leasing.c: addresses held for a time only, by a Lease or while this replica leads --- */
/* Before the director's thread begins: what it is to ask; NULL: nothing is shared, or *err
 * says why not. */
const struct local_sharing *local_leasing_start(struct local_provider *p, int64_t spare_ms,
                                                struct err *err);
/* After that: its own thread begins, where there are Leases. */
int local_leasing_talk(struct local_provider *p, struct err *err) _warn_unused_;
/* Lets go of everything and tells the other directors; takes two seconds at most. */
void local_leasing_end(struct local_provider *p);
void local_leasing_free(struct local_leasing *l);
/* Addresses of the pool (NULL: outside of all) are one director's at a time. */
bool local_leasing_shares(const struct local_provider *p, const struct local_pool *pool);
/* The same by the configuration alone, in a process that only plans. */
bool local_shared_by_config(const struct local_config *c, const struct local_pool *pool);
/* … or because another process holds this address for a time only: without that it would not stand
 * on the loopback link. */
bool local_leasing_seems_shared(const struct local_config *c, const struct local_pool *pool,
                                const struct local_vip *have);
/* The link on which such an address is held. */
int local_leasing_link(const struct ip_addr *addr, const struct local_link *const *links, size_t n);
void local_leasing_offer(struct local_provider *p, const struct ip_addr *addr, int link);
/* These Services (NULL: none) were synced: once all are, buckets may come. */
void local_leasing_synced(struct local_provider *p, const struct tt_call *call,
                          const struct tt_batch *batch);
/* The director that holds the address, by the Leases as they are; NULL: none, or it
 * is not known. */
const char *local_leasing_holder(struct local_provider *p, struct arena *a,
                                 const struct tt_call *call, const struct ip_addr *addr);

/* --- allocate.c: the allocator's flow: addresses and statuses, no kernel ---------------------- */
extern const struct lb_flow local_allocator_flow;

/* --- flow.c ----------------------------------------------------------------------------------- */
/* A sync's data of one item; lb_item.data. */
struct local_item {
    const struct tt_service *service;
    struct local_wish wish;
    bool has_wish;
    /* TT_ITEM_UNPROVEN: nothing of the Service is carried out, targets come and go */
    bool as_stands;
    bool leaves; /* it was served, and is to be left alone: what the kernel has of it goes */
    struct local_grant grant;
    /* from observe: */
    struct local_front *have;
    size_t n_have;
    struct local_vip_pair *vips; /* granted ones first, then those that go */
    size_t n_vips;
    /* from plan: */
    struct local_wanted *wanted; /* of each granted address, then of each old one */
    size_t n_wanted;
    int64_t again_ms; /* a destination drains: look again then; 0: none does */
};
/* lb_sync.data */
struct local_sync {
    struct local_provider *p;
    struct local_item *items;
    struct local_link *links;
    size_t n_links;
    struct local_link_addr *addrs;
    size_t n_addrs;
    bool forwarding_read[2]; /* by family, IPv6 second */
    bool forwarding_off[2];
    bool asked_for_proxy;
    const char *kube_proxy; /* where its rules are on this machine; NULL: nowhere */
};
extern const struct lb_flow local_flow;
int32_t local_reconcile(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t local_plan(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int local_facts(struct lb_sync *s, struct err *err);
/* "VIP", "Proxy": of an address that is served like this. */
const char *local_ip_mode_of(const struct local_provider *p, const struct local_serve *serve);
/* Of the granted addresses, then of those that go; NULL: the address is in no pool. */
const struct local_pool *local_pool_at(const struct lb_sync *s, const struct local_item *it,
                                       size_t address);
int local_observe(struct lb_sync *s, struct err *err);
/* Another Service has the port at this address. */
bool local_port_is_anothers(const struct lb_sync *s, const struct local_item *it,
                            const struct local_frontend_id *id);
/* Into the mirror: routes and addresses of ours; everything. */
int local_read_holds(struct local_provider *p, struct arena *a, const struct local_link_addr *addrs,
                     size_t n_addrs, struct err *err);
int local_read_all(struct local_provider *p, struct arena *a, const struct local_link_addr *addrs,
                   size_t n_addrs, struct err *err);
int local_plan_stage(struct lb_sync *s, struct lb_plan *plan, struct err *err);

/* --- subnets.c -------------------------------------------------------------------------------- */
/* The addresses of this machine, as they were just read. */
void local_subnets_look(struct local_provider *p, const struct local_link_addr *addrs, size_t n);

/* --- findings.c ------------------------------------------------------------------------------- */
/* Whether the kernel can end connections, as it was asked to. */
void local_lacks_ctnetlink(struct local_provider *p, bool lacks);
/* Tells what is to be said of a planned Service. */
void local_find(struct lb_sync *s, const struct lb_item *item, const struct local_item *it);

/* --- run.c ------------------------------------------------------------------------------------ */
struct lb_op_run;
/* How the table is, as of the last look. */
enum local_table_is local_table_is(const struct local_provider *p);
/* Fails: others made it. */
int local_table_is_foreign(const struct local_provider *p, struct err *err);
/* Are its chains and rules as this version makes them? */
int local_table_check(struct local_provider *p, struct err *err);
/* Routes and addresses become those of this configuration, when the table says that an earlier run
 * had other numbers for them. */
int local_routes_adopt(struct local_provider *p, bool *ret_some, struct err *err);
/* False, and the operation fails: this replica may not write now.  In the thread's own turn it may
 * (docs/adr/0035). */
bool local_may_write(struct lb_op_run *run);

/* --- services.c: Services as the allocator sees them ------------------------------------------ */
/* Tells the allocator of everything that has changed since, and of labels for which Services of the
 * batch may wait. */
void local_services_see(struct local_provider *p, struct arena *a, const struct tt_call *call,
                        const struct tt_batch *batch);
struct local_seen *local_seen_new(void);
void local_seen_free(struct local_seen *seen);
bool local_wants(const struct local_provider *p, const struct tt_service *s);
/* It is to be left alone.  A director goes on for as long as the status names an address of a pool:
 * clients come by it until the allocator has emptied the status. */
bool local_ignores(const struct local_provider *p, const struct tt_service *s,
                   const struct local_wish *wish);
/* The first lists are in, from now on at the latest. */
void local_services_listed(struct local_provider *p);
/* May what belongs to no Service go?  Only when the first lists have been in for
 * director.orphanGrace. */
bool local_grace_is_over(const struct local_provider *p);
/* The Service `key` ("namespace/name") as the host has it, until the call ends; NULL:
 * there is none. */
const struct tt_service *local_service_called(const struct local_provider *p,
                                              const struct tt_call *call, const char *key);
/* The same from a list of all of them. */
const struct tt_service *local_service_of(const struct tt_service *const *all, uint32_t n,
                                          const char *key);

/* --- nobodys.c: addresses that no Service has, when orphanGrace is over ----------------------- */
/* The Service that stands for such an address in `orphans`: its namespace is this, which no
 * Namespace can be called, its name the address. */
#define LOCAL_NOBODY "-"
/* It is this instance's: another one has routes of the same number. */
bool local_is_of_this_instance(const struct local_provider *p, const struct local_mirror_vip *v);
/* The address for which such a Service stands; NULL: it is another Service, or the
 * address is in use. */
const struct local_mirror_vip *local_nobodys_of(const struct local_provider *p, struct arena *a,
                                                const struct tt_service *s);
void local_nobodys_each(const struct local_provider *p, struct arena *a,
                        void (*each)(void *arg, const struct local_mirror_vip *v), void *arg);
/* Takes them away, but not with --drift=report. */
int local_nobodys_go(struct local_provider *p, struct err *err);

/* --- conn_sync.c: IPVS daemons that carry connections to other directors (connSync) --- */
int local_conn_sync_start(struct local_provider *p, struct err *err) _warn_unused_;

/* --- ipvs.c ----------------------------------------------------------------------------------- */
/* ERR_INVALID, ERR_AUTH: the kernel has no IPVS, or this process may not change it (kernel.h). */
int local_ipvs_usable(struct local_provider *p, struct err *err);
/* Of open(): a pool that needs IPVS has it, and no other program's services stand in a pool. */
int local_ipvs_start(struct local_provider *p, struct err *err);
/* Services that are ours go into the mirror, without their destinations. */
int local_ipvs_list(struct local_provider *p, struct arena *a, struct err *err);
/* Reads the item's resources again: IPVS sends no change events. */
int local_ipvs_observe(struct lb_sync *s, const struct local_item *it, struct err *err);
/* The item's mode can work on this machine: IPVS is there, and its sysctls are
 * right.  ERR_INVALID else. */
int local_ipvs_fits(struct lb_sync *s, const struct local_item *it, struct err *err);
/* Further events for the owner. */
void local_ipvs_findings(struct lb_sync *s, const struct lb_item *item,
                         const struct local_item *it);
/* The scope that the plan needs: the same for all. */
void local_ipvs_scope_of(struct lb_sync *s, struct local_service_state *states, size_t n);

/* --- interfaces.c ----------------------------------------------------------------------------- */
/* Of open(): no pool has an address of this machine; `file` for messages.  Warnings go
 * to the log. */
int local_check_machine(struct local_provider *p, const char *file, struct err *err);

/* --- dump.c ----------------------------------------------------------------------------------- */
/* trimtab's kernel state, as JSON. */
int local_state_dump(struct local_provider *p, struct arena *a, const char **ret, struct err *err);

/* --- release.c -------------------------------------------------------------------------------- */
/* A Service goes whose directors are other processes: ERR_IN_PROGRESS until they have had
 * releaseDelay to withdraw its addresses. */
int local_release_wait(struct local_provider *p, const char *key, struct err *err);
void local_release_over(struct local_provider *p, const char *key);

/* --- others ----------------------------------------------------------------------------------- */
int32_t local_get_load_balancer(void *provider, const struct tt_call *call,
                                const struct tt_item *item);
int32_t local_explain(void *provider, const struct tt_call *call, const struct tt_batch *batch);
int32_t local_list_owned(void *provider, const struct tt_call *call);
int32_t local_list_left(void *provider, const struct tt_call *call);
/* A look at Services outside a sync: facts and observe, nothing written.  The caller holds the
 * lock, until after the end. */
struct local_session {
    struct lb_sync s;
    struct arena *a;
};
int local_session_begin(struct local_session *x, struct local_provider *p,
                        const struct tt_call *call, const struct tt_batch *batch, struct err *err);
void local_session_end(struct local_session *x);

#endif
