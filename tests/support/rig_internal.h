/* SPDX-License-Identifier: Apache-2.0 */
/* rig_internal.h: what the parts of the rig share.  Private to tests/support/rig*.c. */
#ifndef TRIMTAB_TESTS_RIG_INTERNAL_H
#define TRIMTAB_TESTS_RIG_INTERNAL_H

#include "tests/support/rig.h"

#include "common/base/str.h"

#include <pthread.h>

struct event_base;
struct rig_cloud;
struct http;
struct plugin;
struct tt_plan;

struct rig {
    struct arena *a;
    const char *dir; /* for files; removed at the end */
    int log_fd;
    /* the simulator; `sim` belongs to its thread while that runs */
    struct event_base *base;
    struct sim *sim;
    const char *url;
    const struct rig_cloud *cloud;
    pthread_t thread;
    bool sim_runs;
    struct http *http;     /* the test's own connections */
    int64_t kill_fault[2]; /* faults of rig_kill_at(); 0: none */
    /* the controller */
    struct clock *fake; /* NULL: it runs by the real one */
    struct rng *rng;
    char **flags;
    size_t n_flags;
    struct plugin *plugin;
    struct options *options;
    struct app *app;
    uint64_t starts;
    void (*on_plan)(void *arg, const struct tt_plan *plan); /* may be NULL */
    void *on_plan_arg;
};

/* "KEY VERSION" of every Service and Node of the API server, and of every EndpointSlice with
 * `slices`, in the order of a store's snapshot. */
void rig_versions(struct rig *r, bool slices, struct str_buf *text);
/* Makes the controller, which does not run yet. */
int rig_prepare(struct rig *r, struct err *err) _warn_unused_;
/* The dead controller is gone: calls are heard again. */
void rig_bury(struct rig *r);

#endif
