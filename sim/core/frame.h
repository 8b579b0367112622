/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h: what the parts of the simulator's frame know of each other.
 *
 * Private to sim/core.  frame.c owns `struct sim` and the way of a call: arrive, name, count,
 * fault, hook, module, answer, log.  The parts (timers, counts, faults, call log, worlds, control
 * calls, batches, TLS) are small objects that hang on it.  Modules see sim.h only.  One thread:
 * that of the event loop. */
#ifndef TRIMTAB_SIM_CORE_FRAME_H
#define TRIMTAB_SIM_CORE_FRAME_H

#include "sim/sim.h"

#include <stdatomic.h>
#include <stdio.h>

struct sim_timers;
struct sim_faults;

struct sim_counts {
    struct map *by_module; /* name → struct map of op → int64_t* */
    _Atomic int64_t total; /* of all modules since the start; never reset */
};

/* A module with its state. */
struct sim_slot {
    const struct sim_module *module;
    void *state;
};

#define SIM_MODULES_MAX 8
#define SIM_BODY_MAX    (512UL * 1024 * 1024)

struct sim {
    /* identity and surroundings */
    struct event_base *base; /* borrowed */
    struct arena *arena;     /* life of the simulator: copies of the configuration */
    struct sim_config cfg;
    struct clock *clock;    /* borrowed */
    struct rng *rng;        /* owned; seeded by cfg.seed */
    struct map *loaded_ids; /* owned; identifiers of loaded worlds, without values (ids.c) */
    struct http_server *server;
    char *url;    /* arena */
    char *ca_pem; /* arena; NULL without TLS */
    /* parts, owned */
    struct sim_timers *timers;
    struct sim_counts *counts;
    struct sim_faults *faults;
    FILE *traffic_log; /* NULL: none */
    FILE *kube_log;
    /* modules */
    struct sim_slot slots[SIM_MODULES_MAX];
    size_t n_slots;
    /* members of the world that no module owns: they are kept as they came */
    struct json_object *rest;
    int next_node; /* number of the next node that POST /sim/nodes makes */
    /* Tests set these two (tests/support/sim_hook.h).  Called for every call of an API before
     * faults see it (`after` false; a fault that the hook adds may hit this very call) and right
     * after its effect, before the answer is sent (`after` true). */
    void (*hook)(void *arg, const struct sim_call *call, bool after);
    void *hook_arg;
};

/* modules.c: the table of built-in modules, NULL-terminated. */
extern const struct sim_module *const sim_modules[];

/* frame.c */
/* Takes a call from "arrived" to the module: names, counts, applies faults.  `call` has
 * its request parts. */
void sim_frame_dispatch(struct sim_call *call);
/* Fills method, path, params and module of a call from a target like "/compute/v1/…?x=y"; false:
 * malformed query. */
bool sim_frame_set_target(struct sim_call *call, const char *method, const char *target);
/* Tells the module (call->gone) that the client has left. */
void sim_frame_call_gone(struct sim_call *call);
/* Answers a call in its module's form of an error. */
void sim_frame_answer_error(struct sim_call *call, int status, const char *reason,
                            const char *message);

/* ids.c */
/* Remembers the identifiers in a world that is loaded: no new one is equal. */
void sim_ids_note(struct sim *s, struct json_object *world);

/* timers.c */
struct sim_timers *sim_timers_new(struct sim *s);
void sim_timers_free(struct sim_timers *t);

/* counts.c: calls by module and operation */
struct sim_counts *sim_counts_new(void);
void sim_counts_free(struct sim_counts *c);
void sim_counts_add(struct sim_counts *c, const char *module, const char *op);
void sim_counts_clear(struct sim_counts *c);
/* {"gce": {op: n}}; every module of `s` is there; new reference. */
struct json_object *sim_counts_json(const struct sim_counts *c, const struct sim *s);

/* call_log.c */
FILE *sim_call_log_open(const char *path, struct err *err);
void sim_call_log_write(struct sim_call *call, int status, struct json_object *response);

/* faults.c */
enum fault_action {
    FAULT_NONE = 0,
    FAULT_REFUSE,
    FAULT_LOSE,
    FAULT_DELAY,
    FAULT_HANG,
    FAULT_CLOSE,
    FAULT_THROTTLE,
    FAULT_FAIL,
    FAULT_WATCH_CUT,
    FAULT_WATCH_EXPIRE,
    FAULT_WATCH_SILENCE,
};
struct fault {
    int64_t id;
    enum fault_action action;
    struct json_object *spec;             /* as it was given; owned */
    const char *api, *op, *method, *path; /* borrowed from spec; NULL: any */
    int64_t from, count;                  /* count 0: until removed */
    int64_t seen, hits;
    int status;
    int64_t retry_after_s, ms;
    struct fault *next;
};
struct sim_faults *sim_faults_new(struct sim *s);
void sim_faults_free(struct sim_faults *f);
int sim_faults_add(struct sim_faults *f, struct json_object *spec, int64_t *ret_id,
                   struct err *err);
void sim_faults_remove(struct sim_faults *f, int64_t id);
bool sim_faults_has(const struct sim_faults *f, int64_t id);
struct json_object *sim_faults_json(const struct sim_faults *f);
/* The fault that befalls this call, or NULL.  Every matching fault has seen the call. */
struct fault *sim_faults_match(struct sim_faults *f, const struct sim_call *call);
/* After a watch was opened: applies watch faults that are still in force. */
void sim_faults_after_watch(struct sim_faults *f);

/* world.c: sim_dump(), sim_load() */
int sim_world_start(struct sim *s, struct err *err); /* nodes and Services of the configuration */

/* nodes.c */
/* Properties of new nodes; the rest is for Google only. */
struct sim_nodes_wish {
    int count;
    bool ipv6;              /* machines with both families */
    const char *zone;       /* NULL: zones go round */
    const char *subnetwork; /* name; NULL: the cluster's own */
};
int sim_nodes_add(struct sim *s, const struct sim_nodes_wish *wish, struct json_object *ret_names,
                  struct err *err);
int sim_nodes_remove(struct sim *s, const char *name, struct err *err);
/* "node-3" is the machine with that number wherever the cloud names its machines itself;
 * arena or borrowed. */
const char *sim_nodes_name(struct sim *s, struct arena *a, const char *name);

/* control.c: /sim/… */
bool sim_control_claims(const char *path);
void sim_control_handle(struct sim_call *call);

/* batch.c: several Compute calls in one multipart request */
bool sim_batch_claims(const char *path);
void sim_batch_handle(struct sim_call *call);
/* An inner call was answered. */
void sim_batch_take_answer(struct sim_call *call, int status, const char *text);

/* tls.c: a throw-away certificate authority and a server certificate for loopback; texts in `a`. */
int sim_tls_make(struct arena *a, char **ret_ca_pem, char **ret_cert_pem, char **ret_key_pem,
                 struct err *err);

#endif
