/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h: a rig on which things go wrong: edits that are repeated until heard, controllers that
 * are started again.
 *
 * What an operator's cluster does around a controller: a user tries an edit again, a kubelet starts
 * a process that died or could not start, refusals that last end after a while.  Errors
 * go to stage.err. */
#ifndef TRIMTAB_TESTS_FAULT_STAGE_H
#define TRIMTAB_TESTS_FAULT_STAGE_H

#include "tests/fault/flows.h"
#include "tests/fault/probe.h"
#include "tests/fault/reached.h"
#include "tests/fault/site.h"

#define STAGE_HEALED_MS 90000 /* of the fake clock: so long a refusal lasts that lasts */
#define STAGE_SHOWN_MS  10000 /* of the fake clock: so far behind are answers at most */

/* Where everything of the simulated Azure is. */
#define STAGE_AZURE_GROUP                                                                          \
    "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft."

struct stage {
    struct arena *a;
    struct names *names;
    struct rig *rig;
    struct probe *probe;
    struct err *err;
    const char *cloud; /* of a rig without a world; NULL: Google's */
    /* of Azure; NULL: Google, or a recorded world with a configuration of its own */
    const struct site *site;
    int nodes;            /* of a rig without a world; 0: six */
    int64_t start_ms;     /* so long it takes until another controller runs after one has ended */
    uint64_t seed;        /* of ids that the cloud gives; 0: the usual one */
    bool cloudlike;       /* the cloud takes its time, by the fake clock (--latency cloud) */
    bool both_families;   /* the cluster has IPv4 and IPv6 */
    const char *config;   /* members of the cloud-config beside the site's; NULL: none */
    const char *settings; /* of the simulated AWS ("sim.aws" of a world), JSON; NULL: none */
    const struct fault_kind *kind; /* the fault of this run; NULL: none, or faults of others */
    int64_t began_ms;              /* by the fake clock: when it could strike first */
    int64_t until_ms;              /* of stage_live() */
    struct reached *reached;       /* of stage_watch(); NULL: who reaches what is not checked */
};

struct stage stage_new(struct err *err);
/* Ends the rig, if there is one. */
void stage_done(struct stage *s);
/* A fresh rig with that world (NULL: six nodes) and flags for the controller (NULL: none). */
int stage_open(struct stage *s, struct json_object *world, const char *const *flags) _warn_unused_;
int stage_close(struct stage *s) _warn_unused_;
/* Checks reachability after each call from now on (reached.h); before a controller is started. */
void stage_watch(struct stage *s);
/* At rest: what serves and is still asked for did so all the time.  ERR_CONFLICT. */
int stage_check_reached(struct stage *s) _warn_unused_;
/* Puts the settings, which must be there, into a world. */
void stage_set(const struct stage *s, struct json_object *world);

/* Starts the controller, again and again if need be. */
int stage_start(struct stage *s) _warn_unused_;
/* Ends the controller, dead or alive, and all faults, and starts the next one. */
int stage_restart(struct stage *s) _warn_unused_;
/* Comes to rest; a controller that dies on the way is replaced. */
int stage_settle(struct stage *s, int64_t ahead_ms) _warn_unused_;
/* Lets it run for so long at most, at rest or not; a controller that dies is replaced. */
int stage_live(struct stage *s, int64_t ms) _warn_unused_;
/* An edit. */
int stage_step(struct stage *s, const struct step *step) _warn_unused_;

/* The uid of a Service in namespace "default"; "" when there is none. */
const char *stage_uid(struct stage *s, const char *name);

/* Nothing is left to do: an edit that means nothing, then a restart,
 * change nothing. ERR_CONFLICT. */
int stage_check_second_plan(struct stage *s) _warn_unused_;
/* No part logged a fault of its own.  ERR_BUG. */
int stage_check_log(struct stage *s) _warn_unused_;

#endif
