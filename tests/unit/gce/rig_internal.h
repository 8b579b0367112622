/* SPDX-License-Identifier: Apache-2.0 */
/* rig_internal.h: the rig's state, shared by rig.c (host), rig_metrics.c, rig_cluster.c (Services,
 * Nodes, calls) and rig_cloud.c (simulator).  Private to them. */
#ifndef TRIMTAB_TESTS_GCE_RIG_INTERNAL_H
#define TRIMTAB_TESTS_GCE_RIG_INTERNAL_H

#include "tests/unit/gce/rig.h"

#include "common/net/http.h"
#include "sim/sim.h"

#include <event2/event.h>
#include <pthread.h>

#define RIG_MAX_SERVICES 64
#define RIG_MAX_NODES    3000

struct rig {
    struct arena *a;
    struct mutex lock; /* events, calls, counts, death */
    /* the simulator */
    pthread_t thread;
    struct event_base *base;
    struct sim *sim;
    struct sim_config sim_cfg;
    bool gke_classes;
    struct http *http; /* the test's own */
    const char *url;
    const char *token;
    const char *project;       /* of the simulated cloud */
    struct json_object *cloud; /* last state that was asked for */
    /* the provider */
    struct tt_host host;
    void *provider;
    const char *config;
    const struct tt_kv *flags;
    size_t n_flags;
    /* the cluster */
    struct json_object *trees[RIG_MAX_SERVICES]; /* of Services, by index */
    const struct tt_service *services[RIG_MAX_SERVICES];
    const struct tt_slice *slices[RIG_MAX_SERVICES]; /* by index; NULL: none */
    size_t n_services;
    const struct tt_node *nodes[RIG_MAX_NODES];
    size_t n_nodes;
    int next_node;
    const char *configmap;
    struct map *objects; /* path → json, of rig_object() */
    unsigned waiting;
    uint32_t reasons;
    const struct tt_service *previous[RIG_MAX_SERVICES]; /* by index; NULL: never synced */
    struct tt_result result;
    int32_t unwritten; /* rig_unwritten() */
    /* what happened */
    const char *events[RIG_TEXTS];
    unsigned n_events;
    struct map *calls;
    struct map *metrics; /* series → double */
    /* what was said of a metric that is not as the table says; NULL: none */
    const char *metric_fault;
    const char *plan_text;
    const char *findings; /* of the last plan */
    unsigned mutations;   /* asked for by may_mutate */
    /* death */
    enum rig_death death;
    unsigned death_at;
    unsigned cloud_mutations; /* seen by the simulator since rig_die_at() */
    unsigned cloud_death_at;
    bool dead;
    bool parallel; /* several syncs run: the cluster's objects stand still */
};
void rig_fill_host(struct rig *r);
void rig_fill_metrics(struct rig *r); /* rig_metrics.c */
void rig_add_finalizer(struct rig *r, const char *service, const char *finalizer);
void rig_add_node_object(struct rig *r, const char *name, const char *provider_id,
                         const char *zone);
void rig_open(struct rig *r);

#endif
