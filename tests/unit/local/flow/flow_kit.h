/* SPDX-License-Identifier: Apache-2.0 */
/* flow_kit.h: the whole provider `local` over the kernel in memory, as a script, so that a row of a table is one line.
 *
 *     "svc d/a; idle; state"  →  "10.0.0.0[d/a] held announced 80/tcp rr4 n1:30080*2 n2:30080*2 <0.0.0.0/0; "
 *
 * Two nodes, n1 (10.1.0.1) and n2; eth0 has 10.0.0.254/24 and fd00::fe/64; the pool is 10.0.0.0/29 and fd00::/125.  After
 * every step of the kernel the invariants are held against it: a held address has its guard, an open port has a target.
 * Commands, parted by ";":
 *   config TEXT       before the first sync: further lines of the configuration, "|" for a new line;  pool TEXT: its addresses and more
 *   many N            Services d/s000 …;  forbid: this replica may not write;  refuse-address IP: the kernel takes nothing with it
 *   svc KEY …         it is made, or is so from now on.  Words: ports=80/TCP/30080,… local type=T ask=IP share=K ranges=CIDR,…
 *                     fam=46 sched=S affinity created=N st=IP snat=W
 *   eps KEY n1 n2/down …  endpoints, one each; nothing: an empty slice
 *   nodes n1 n2 …     these are there
 *   delete KEY        it is being deleted;  vanish KEY: it is gone, and nobody was told
 *   sync KEY …        one call for these, or for all; adds "KEY!code(message) " for each that failed
 *   idle              syncs until nothing is left to do; fails when that does not come, or a Service fails 9 times
 *   check             the invariants count from now on
 *   cleanup KEY       one that "left" told of is deleted;  restart: another process
 *   refuse CODE N, lose N, kill N   the step of the kernel, counted from here; well: no more of it
 *   foreign guard|open|slots|bump KEY…   somebody else takes elements away, or changes some other table; flush: all of it
 *   requests          "requests(N) " since the last time: reads, and writes
 *   state, writes, order, status KEY, plan, announced IP, owned, left, explain KEY   add what they say; plan: "plan(N) " */
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

struct tt_result {
    int32_t code;
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
    struct ip_addr refusing; /* transactions with this address */
    char nodes[256];
    struct kit_service services[KIT_SERVICES];
    size_t n_services;
    const struct tt_service *snapshot[KIT_SERVICES];
    uint32_t n_snapshot;
    /* what came of it */
    unsigned writes;
    uint64_t requests;  /* of the kernel, all APIs, at the last look */
    uint32_t changes;   /* of all plans since the last look */
    bool moved;         /* a status or the set of Services changed in the last sync */
    unsigned killed_at; /* step of the kernel; 0: it lives.  Nobody hears results after it */
    unsigned failures;
    int unchecked; /* times to hold the invariants against the kernel: something was written */
    bool watching, broken; /* an invariant, told in `out` */
    struct str_buf order, out;
    /* Lets the clock go on when the driver waits between two tries after a conflict, which must be expected. */
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
/* How many changes a process would plan that has just been started. */
uint32_t flow_kit_second_plan(struct flow_kit *k);

/* --- flow_world.c: Services, nodes, slices and the kernel's state ------------------------------------------ */
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

#endif
