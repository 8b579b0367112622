/* SPDX-License-Identifier: Apache-2.0 */
/* serving.h: all that the process serves on its HTTPS port, put together: who may ask, pages,
 * checks, status.
 *
 *     serving_new(&args, &s, &err);      binds the port, and serves; nothing with --secure-port=0:
 *                                        then *ret stays NULL
 *     … election, apps: serving_controller_started(s) …
 *     serving_election_ends(s);          before the election goes
 *     serving_free(s);
 *
 * One per process, from before the election until after it: standbys answer, too, and a reload of
 * the app does not close the port.  What it shows of the app it asks for by `look`.  All functions
 * take NULL.
 * Source: controller.md §3.4 (7, 12), 3.5. */
#ifndef TRIMTAB_CONTROLLER_SERVING_H
#define TRIMTAB_CONTROLLER_SERVING_H

#include "common/base/attr.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "controller/metrics/metrics.h"
#include "controller/options/options.h"
#include "controller/process/election.h"
#include "controller/status/status.h"

struct serving;

struct serving_args {
    const struct options *options; /* validated; must live longer, as all below */
    struct metrics *metrics;
    struct identity *identity; /* as what it asks who callers are, unless flags name other files */
    struct election *election; /* NULL: none; else serving_election_ends() before it goes */
    const char *provider;      /* its name */
    struct clock *clock;       /* NULL: the real one */
    struct rng *rng;           /* NULL: the kernel's */
    /* Fills Services, queue, batches, `running` and `leader` as they are now; all in `a`.  From the
     * server's thread; quick. */
    void (*look)(void *arg, struct arena *a, struct status_view *ret);
    /* The check "workers" of /livez (health.h); NULL if there is none.  Likewise. */
    bool (*check_workers)(void *arg, char *why, size_t n);
    void *arg;
};

/* Blocks for one request to the API server at most.  Errors as access_new()'s and serve_new()'s: a
 * port in use, a file that cannot be read, a right that is missing. */
int serving_new(const struct serving_args *args, struct serving **ret,
                struct err *err) _warn_unused_;
/* Closes the port and all connections. */
void serving_free(struct serving *s);

/* The check "service-lb-controller" is there from now on.  Any thread; again is fine. */
void serving_controller_started(struct serving *s);
/* The check "leaderElection" goes. */
void serving_election_ends(struct serving *s);
/* Reads the certificates' files now instead of within a minute.  Any thread. */
void serving_reload(struct serving *s);

#endif
