/* SPDX-License-Identifier: Apache-2.0 */
/* app_internal.h: the app's parts, for app.c (life, end) and app_start.c (beginning).
 *
 * Two cancels: `cancel` ends the work (calls, reflectors, waiting), `hard` also the client, which
 * the event writer still needs for a moment.  All but `lock`'s belongs to the thread that starts
 * and stops the app. */
#ifndef TRIMTAB_CONTROLLER_APP_INTERNAL_H
#define TRIMTAB_CONTROLLER_APP_INTERNAL_H

#include <stdatomic.h>

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/lock.h"
#include "controller/base/guard.h"
#include "controller/host/fence.h"
#include "controller/kube/client/user_agent.h"
#include "controller/kube/watch/reflector.h"
#include "controller/process/app.h"
#include "controller/process/config_watch.h"
#include "controller/process/leases.h"
#include "controller/status/metrics_live.h"
#include "controller/sync/board.h"
#include "controller/sync/node_fanout.h"
#include "controller/sync/quarantine.h"
#include "controller/sync/sync.h"
#include "controller/sync/watch.h"
#include "controller/sync/workers.h"

struct app {
    struct app_args args;
    struct arena *a; /* what lives as long as the app */
    struct cancel *cancel;
    struct cancel *hard;
    struct fence fence;
    struct metrics *metrics; /* args', or `own_metrics` */
    struct metrics *own_metrics;
    struct metrics_live live; /* begun when it runs */
    struct board *board;
    struct orphan_guard *orphan_guard;
    struct identity *own_identity;    /* NULL: args' */
    struct kube_config *kube;         /* as what the process speaks */
    struct kube_client *root;         /* asks as that whether the API server is ready */
    struct kube_client *client;       /* for Services: perhaps as a service account */
    struct kube_client *event_client; /* its rate limit is its own: events hold no status up */
    struct kube_events *events;
    struct kube_store *services;
    struct kube_store *nodes;
    struct kube_store *slices;
    struct kube_reflectors *reflectors;
    struct queue *queue;
    struct service_cache *cache;
    struct node_sets *node_sets;
    struct tt_host_ctx *host;
    struct config_texts config; /* what the provider was opened with; in `a` */
    struct config_watch *config_watch;
    struct leases *leases; /* the provider's; NULL: it needs none */
    atomic_bool reload;    /* the configuration has changed: that is why it stops */
    void *provider;
    bool provider_open;
    struct syncer syncer;
    struct watch watch;
    struct quarantine_record quarantine; /* in `a`; as it was when this process began to work */
    struct workers *workers;             /* under `lock` where another thread looks */
    char user_agent[USER_AGENT_MAX];
    char watch_agent[USER_AGENT_MAX];
    struct mutex lock;
    struct cond stopping;
    int stop_hook;
    bool running;
};

/* Closes the provider, when it is open. */
void app_close_provider(struct app *a);
/* The metric running_managed_controllers, where the service controller is what runs. */
void app_set_running(struct app *a, bool running);

#endif
