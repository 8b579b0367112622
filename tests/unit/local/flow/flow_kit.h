/* SPDX-License-Identifier: Apache-2.0 */
/* flow_kit.h: the whole provider `local` over the kernel in memory, as a script, so that a row of a
 * table is one line.
 *
 *     "svc d/a; idle; state"  →  "10.0.0.0[d/a] held announced 80/tcp rr4 n1:30080*2 n2:30080*2
 *                             <0.0.0.0/0; "
 *     with mode=ipvs-dr       →  "10.0.0.0[d/a] held announced 80/tcp ipvs-rr n1:80g1 n2:80g1
 *                             <0.0.0.0/0; "
 *
 * Two nodes, n1 (10.1.0.1) and n2; eth0 has 10.0.0.254/24, 10.1.0.254/24, fd00::fe/64, fd01::fe/64;
 * the pool is 10.0.0.0/29 and fd00::/125.  After every step of the kernel the invariants are held
 * against it: a held address has its guard, an open port has a target, a destination that goes has
 * drained, virtual services stand in the scope.  Commands, parted by ";":
 *   config TEXT       before the first sync: further lines of the configuration, "|" for a new
 *                     line;  pool TEXT: its addresses and more
 *   many N            Services d/s000 …;  forbid: this replica may not write;  refuse-address IP:
 *                     the kernel takes nothing with it
 *   svc KEY …         it is made, or is so from now on.  Words: ports=80/TCP/30080,… local type=T
 *                     ask=IP share=K ranges=CIDR,… fam=46 fam=~46 (46 at best) sched=S mode=M
 *                     drain=T affinity created=N st=IP snat=W move pool=P @KEY=VALUE (an
 *                     annotation; a KEY without "/" is ours) .FIELD=JSON (of the spec; no blanks)
 *   eps KEY n1 n2/down …  endpoints, one each; nothing: an empty slice
 *   nodes n1 n2 …     these are there
 *   delete KEY        it is being deleted;  vanish KEY: it is gone, without a call
 *   sync KEY …        one call for these, or for all; adds "KEY!code(message) " for each that
 *                     failed
 *   update KEY …      the same after nodes have changed: no status is written
 *   unwritten         from now on no status can be written, or again all can
 *   upkeep KEY …      the same for Services that are refused, by what stands (TT_ITEM_UNPROVEN)
 *   idle              syncs until nothing is left to do, and time passes while destinations drain;
 *                     fails when that does not come, or a Service fails 9 times
 *   active N IP…      destinations of IPVS with these addresses have N connections;  drains N: they
 *                     have ended after N ms; pass N: time goes by
 *   check             the invariants count from now on
 *   cleanup KEY       one that "left" told of is deleted;  sweep: "left", and all that it tells of
 *                     are deleted;  restart: another process
 *   refuse CODE N, lose N, kill N   the step of the kernel, counted from here; well: no more of it
 *   foreign guard|open|slots|bump KEY…   another program takes elements away, or changes some
 *                                        other table; flush: all of it; ipvs: all
 *                     virtual services;  stranger: they add the guard of 10.0.0.7;
 *                     instance IP: another instance holds the address
 *   director [report]  before the first sync: there is a director's thread, whose turns are made by
 *                      "pass"; no target is checked.  With it events on Services are added to the
 *                      text: "event(d/a REASON: words) "
 *   pass MS            time goes by for the director;  drift: adds how often others changed
 *                      something, "drift(N) "
 *   sysctl NAME N      it is so from now on; with a director what is logged of sysctls is added:
 *                      "log(words) "
 *   neighbour IP N     a host with MAC 02:00:00:00:01:N has the address, and answers for it
 *   figures NAME       adds the gauges of this name: "LABEL…=N "
 *   foreign layout N, rules   another version of trimtab made the table; others change its rules
 *   foreign hold|taken|freed IP, lost   others take a route of ours, make or give up one of their
 *                                       own; events are lost.  A last
 *                      word "quiet": the kernel does not tell
 *   spare MS          before the first sync: there is an election, and what is held is held for so
 *                     long
 *   requests          "requests(N) " since the last time: reads, and writes
 *   planned           all that a process would plan that has just been started: "planned(WAVE:VERB
 *                     KIND NAME, … KEY: EFFECT …) "
 *   state, writes, order, status KEY, plan, announced IP, owned, left, explain KEY
 *                     add what they say; plan: "plan(N) " */
#ifndef TESTS_UNIT_LOCAL_FLOW_KIT_H
#define TESTS_UNIT_LOCAL_FLOW_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after these four */
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/local/provider.h"
#include "tests/support/fake_kernel.h"

#define KIT_SERVICES 400
/* A look that is asked for within less waits for a destination that drains. */
#define KIT_SOON_MS 30000

struct tt_result {
    int32_t code;
    int64_t again_ms; /* 0: it need not be looked at again soon */
    char message[512];
    char ingress[128]; /* addresses between blanks */
    bool has_ingress;
    struct str_buf text;
};
struct kit_service {
    char *key;
    char *words; /* of its last svc */
    char *endpoints;
    char status[128];
    bool has_endpoints, deleting, gone, made, finalizer;
    unsigned version;
    const struct tt_service *seen; /* as the snapshot has it */
    struct tt_result result;
};
/* A destination of IPVS as the kernel had it at the last step. */
struct kit_real {
    struct local_frontend_id id;
    struct local_ipvs_dest dest;
    int64_t quiet_ms; /* since when it has no weight; 0: it has */
};
struct kit_reals {
    struct kit_real items[256];
    size_t n;
};
struct flow_kit {
    struct arena *a;
    struct clock *clock;
    struct rng *rng;
    struct local_kernel *kernel;
    struct local_kernel_ops ops, real_ops;
    struct tt_host host;
    struct tt_call call;
    void *p;
    const char *config, *pool;
    bool forbidden;          /* to write */
    bool updates;            /* syncs are updates of backends */
    bool unproven;           /* … of Services that are refused */
    bool unwritten;          /* no status can be written */
    bool directed;           /* there is a director's thread */
    uint32_t drift;          /* --drift */
    int64_t spare_ms;        /* of an election: what is held has this lifetime; 0: there is none */
    unsigned n_drift;        /* what metrics say of it */
    unsigned n_findings;     /* of all plans since the test set it to 0 */
    struct map *figures;     /* "NAME LABEL…" → its value as text */
    struct ip_addr refusing; /* transactions with this address */
    char nodes[256];
    struct kit_service services[KIT_SERVICES];
    size_t n_services;
    const struct tt_service *snapshot[KIT_SERVICES];
    uint32_t n_snapshot;
    size_t (*work)(void); /* counts what the test wants to know of; NULL: nothing is counted */
    /* what came of it */
    size_t worked; /* by `work`, within the provider's calls */
    unsigned writes;
    uint64_t requests;  /* of the kernel, all APIs, at the last look */
    uint32_t changes;   /* of all plans since the last look */
    bool moved;         /* a status or the set of Services changed in the last sync */
    unsigned killed_at; /* step of the kernel; 0: it lives.  No results are seen after it */
    unsigned failures;
    int unchecked; /* times to hold the invariants against the kernel: something was written */
    bool watching, broken; /* an invariant, told in `out` */
    bool flushed; /* others took the table: it is unknown which virtual services are ours */
    struct kit_reals reals;
    int64_t drain_ms; /* so long a destination may have connections before it goes */
    struct str_buf order, out;
    struct str_buf asked; /* Services that the provider asked to be synced again */
    bool effects;         /* of a plan are added to `order` */
    /* Lets the clock go on when the driver waits between two tries after a conflict, which
     * must be expected. */
    bool conflicts;
    atomic_bool stop;
    pthread_t mover;
};

void flow_kit_begin(struct flow_kit *k);
void flow_kit_end(struct flow_kit *k);
/* Returns what the script adds; the arena's. */
const char *flow_kit_run(struct flow_kit *k, const char *script);
/* The kernel as text. */
const char *flow_kit_state(struct flow_kit *k);
bool flow_kit_open(struct flow_kit *k, bool planning, void **ret);
void flow_kit_close(struct flow_kit *k);
/* One call for those that are named, or for all. */
void flow_kit_sync(struct flow_kit *k, char *const *keys, size_t n);
/* As the controller does with a Service that list_left reported. */
void flow_kit_cleanup(struct flow_kit *k, const char *key);
void flow_kit_explain(struct flow_kit *k, char **keys, size_t n);
/* Syncs until nothing is left to do. */
void flow_kit_idle(struct flow_kit *k);
/* Lets time pass until some Service asks to be looked at again, if that is soon;
 * false: none does. */
bool flow_kit_pass(struct flow_kit *k);
/* How many changes a process would plan that has just been started. */
uint32_t flow_kit_second_plan(struct flow_kit *k);

/* --- flow_others.c: what others do, and the director's thread --------------------------------- */
/* False: it is no command of these. */
bool flow_others_command(struct flow_kit *k, char **w, size_t n);
/* The host's service_again(): notes it in k->asked. */
void flow_others_again(struct tt_host_ctx *ctx, const char *ns, const char *name, int64_t after_ms);
bool flow_others_foreign(struct flow_kit *k, char **w, size_t n);
void flow_others_added(struct flow_kit *k, const char *name, const struct tt_kv *labels, uint32_t n,
                       double more);
void flow_others_figure(struct flow_kit *k, const char *name, const struct tt_kv *labels,
                        uint32_t n, double value);
void flow_others_log(struct flow_kit *k, const char *message);
/* Counts findings; with k->effects the effects are added to k->order. */
void flow_others_effects(struct flow_kit *k, const struct tt_plan *plan);
void flow_others_event(struct flow_kit *k, const struct tt_service *service, const char *reason,
                       const char *message);

/* --- flow_world.c: Services, nodes, slices and the kernel's state ----------------------------- */
/* Unless none can be written. */
void flow_world_write_status(struct flow_kit *k, struct kit_service *s, const char *status);
void flow_world_text(struct tt_result *r, const char *text);
void flow_world_row(struct tt_result *r, const struct tt_explain_row *row);
/* As the host's result_publish(). */
int32_t flow_world_publish(struct flow_kit *k, const struct tt_result *r);
struct kit_service *flow_world_service(struct flow_kit *k, const char *key);
void flow_world_make(struct flow_kit *k, const char *key, const char *words);
/* All that live, sorted, as the host shows them. */
void flow_world_snapshot(struct flow_kit *k);
const struct tt_node **flow_world_nodes(struct flow_kit *k, size_t *ret_n);
const struct tt_slice **flow_world_slices(struct flow_kit *k, const struct kit_service *s,
                                          size_t *ret_n);
/* Tells in k->out when an invariant is broken. */
void flow_world_check(void *kit, struct local_kernel *kernel);
void flow_world_foreign(struct flow_kit *k, const char *what);
/* Tells in k->out that an invariant does not hold at this address, and sets k->broken. */
void flow_world_broken(struct flow_kit *k, const char *which, const struct ip_addr *addr);
/* As "n1:80" or "10.9.9.9:80". */
void flow_world_show_dest(struct str_buf *b, const struct ip_addr *addr, uint16_t port);

/* --- flow_world_ipvs.c: virtual services of the kernel ---------------------------------------- */
/* Into the mirror of a check. */
void flow_world_read_ipvs(struct flow_kit *k, struct local_mirror *m);
void flow_world_show_ipvs(struct str_buf *b, const struct local_mirror *m,
                          const struct local_ipvs_front *f);
/* I4: what went since the last check had drained, or its port was closed; virtual services
 * stand in the scope. */
void flow_world_check_ipvs(struct flow_kit *k, const struct local_mirror *m);
/* As `ipvsadm -C`. */
void flow_world_clear_ipvs(struct flow_kit *k);
void flow_world_active(struct flow_kit *k, uint32_t n, char *const *addrs, size_t n_addrs);

#endif
