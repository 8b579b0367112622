/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h: trimtab and its simulator in one process: a cluster, a cloud and the real controller
 * between them.
 *
 *     ┌ thread of the simulator ────────────┐        ┌ threads of the controller ─────┐
 *     │ Kubernetes · Compute · metadata     │◀─HTTP─▶│ app.h with its provider        │
 *     └───────────▲─────────────────────────┘        └───────────────▲────────────────┘
 *                 │ rig_in_sim(), rig_kube()                         │ rig_start(), rig_stop() …
 *                 └──────────────── the test's thread ───────────────┘
 *
 * A typical test:
 *
 *     rig_new(&(struct rig_args){.world_file = "gce/world-legacy.json"}, &rig, &err);
 *     rig_start(rig, &err);
 *     rig_settle(rig, RIG_SOON);                     the first syncs are over
 *     rig_kube(rig, "PATCH", path, "{…}", NULL);     an edit
 *     rig_settle(rig, RIG_SOON);
 *     assert(rig_calls(rig, "gce", "compute.firewalls.patch") == 1);
 *
 * Time: the controller's clock is a fake one that only rig_settle() and rig_advance() move, so a
 * back-off of minutes costs nothing; the simulator's is real (it answers at once), but AWS, which
 * checks how old a signature is, and a cloud with latency have the fake one.  Nothing sleeps for a
 * fixed time.  Controllers come and go (rig_start, rig_stop, rig_kill_at) while the cloud stays:
 * that is a restart.  One rig at a time in a process: its log, its environment (GCE_METADATA_HOST)
 * and libcurl are process-wide. */
#ifndef TRIMTAB_TESTS_RIG_H
#define TRIMTAB_TESTS_RIG_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app; /* controller/process/app.h */
struct rig;
struct tt_plan;

/* How far rig_settle() may move the fake clock. */
#define RIG_NOW   0       /* not at all */
#define RIG_SOON  4000    /* over debounces, not over back-offs (5 s and more) */
#define RIG_LATER 3600000 /* over every back-off */

struct rig_args {
    const char *world_file;    /* a world below TRIMTAB_TEST_DATA; or NULL */
    struct json_object *world; /* the same as a tree (borrowed); or NULL */
    struct sim_config sim;     /* nodes, zones, logs, … (no TLS); `world` is filled in */
    const char *const
        *flags; /* for trimtab, behind those by which it finds the simulator; NULL-terminated, */
                /* copied; NULL: none.  A world's own flags are not taken over. */
    /* text of gce.conf, azure.json or aws.conf in place of the world's or the simulator's; */
    const char *cloud_config;
    /* "<endpoint>" and "<own>" (what the simulator says) are filled in; NULL: theirs */
    bool log_traffic;  /* the simulator logs calls: rig_file(r, "traffic.log") and "kube.log" */
    bool real_clock;   /* the controller runs by the real one */
    bool shared_clock; /* the simulator runs by the controller's, whatever the cloud */
};

/* Starts the simulator.  The controller does not run yet.  ERR_INVALID: the world, a flag. */
int rig_new(const struct rig_args *args, struct rig **ret, struct err *err) _warn_unused_;
/* Stops what runs; NULL is fine. */
void rig_free(struct rig *r);
/* Lives as long as the rig. */
struct arena *rig_arena(struct rig *r);

/* ---- the controller -------------------------------------------------------------------------- */
/* Blocks until its first lists are in and its workers run.  After a failure there is none. */
int rig_start(struct rig *r, struct err *err) _warn_unused_;
/* The same where the start may meet trouble: what it waits for (a server that does not answer, a
 * list that is refused) is skipped, and when `over` returns true, the controller is stopped.
 * `over` may be NULL. */
int rig_start_unless(struct rig *r, bool (*over)(void *arg), void *arg,
                     struct err *err) _warn_unused_;
/* `fn` is called for each plan of the controllers that are started from now on, in
 * their worker's thread. */
void rig_on_plan(struct rig *r, void (*fn)(void *arg, const struct tt_plan *plan), void *arg);
/* As after SIGTERM.  False: it did not end within 10 s; then its memory is lost, and the process
 * had better end. */
bool rig_stop(struct rig *r);
/* Comes to rest: nothing is being done or due, and the controller's stores hold what the API server
 * has.  What is due within `ahead_ms` is jumped to.  A controller that was killed (rig_kill_at) is
 * at rest, too.  False: that did not happen within 60 s of real time (the log says why). */
bool rig_settle(struct rig *r, int64_t ahead_ms);
/* The same; false as soon as `over` says so, which is asked again and again. */
bool rig_settle_unless(struct rig *r, int64_t ahead_ms, bool (*over)(void *arg), void *arg);
/* Moves the fake clock. */
void rig_advance(struct rig *r, int64_t ms);
struct clock *rig_clock(struct rig *r);
struct app *rig_app(struct rig *r); /* NULL: none runs */
/* The log of this rig's controllers so far; in the rig's arena. */
const char *rig_log(struct rig *r);
/* The files that a command line needs: "kubeconfig", "gce.conf"; in the rig's arena. */
const char *rig_file(struct rig *r, const char *name);

/* ---- dying ----------------------------------------------------------------------------------- */
enum rig_when {
    RIG_BEFORE = 0, /* the call does not happen */
    RIG_AFTER,      /* it happens, its answer is never seen */
};
/* As if the process were killed around its `nth` call from now (1 is the next one; Kubernetes,
 * cloud and metadata alike): from then on nothing of it reaches the simulator.  rig_stop() buries
 * it, and the next rig_start() is heard again.  While it is dead, rig_kube() is
 * not heard either. */
void rig_kill_at(struct rig *r, int64_t nth, enum rig_when when);
bool rig_is_dead(struct rig *r);

/* ---- the simulator --------------------------------------------------------------------------- */
/* Runs fn in the simulator's thread and waits for it. */
void rig_in_sim(struct rig *r, void (*fn)(struct sim *s, void *arg), void *arg);
const char *rig_url(struct rig *r);

/* A call to the Kubernetes API (PATCH: a merge patch) or to /sim/…; the status, 0 when there was no
 * answer.  *ret_answer is a new reference, NULL when it is no JSON; may be NULL. */
int rig_kube(struct rig *r, const char *method, const char *path, const char *body,
             struct json_object **ret_answer);
/* The object at that path, or NULL; arena-owned. */
struct json_object *rig_get(struct rig *r, const char *path);
/* Adds a fault (as POST /sim/faults), and removes it (0: all).  ERR_INVALID. */
int rig_fault(struct rig *r, const char *fault, int64_t *ret_id, struct err *err) _warn_unused_;
void rig_fault_remove(struct rig *r, int64_t id);

/* Calls so far, since the last reset, of an API ("gce", "kubernetes", "metadata"); `op` is a glob
 * such as "compute.*.insert".  The rig's own calls to /sim/… do not count, its calls
 * to Kubernetes do. */
int64_t rig_calls(struct rig *r, const char *api, const char *op);
/* Calls that change the cloud: everything but get, list, aggregatedList and waits. */
int64_t rig_mutations(struct rig *r);
/* Number of writes of Services: create, update, patch, delete, of the main and the status
 * resource. */
int64_t rig_service_writes(struct rig *r);
/* All counts, as GET /sim/calls gives them; arena-owned. */
struct json_object *rig_counts(struct rig *r);
void rig_counts_reset(struct rig *r);

/* The world as it is now, as GET /sim/state gives it; arena-owned. */
struct json_object *rig_world(struct rig *r);
/* Its Services alone, which costs a fraction of that: a list; arena-owned. */
struct json_object *rig_services(struct rig *r);
/* Replaces it (PUT /sim/state). */
int rig_load(struct rig *r, struct json_object *world, struct err *err) _warn_unused_;

/* A JSON file below TRIMTAB_TEST_DATA; arena-owned. */
int rig_read_data(struct arena *a, const char *name, struct json_object **ret,
                  struct err *err) _warn_unused_;

#endif
