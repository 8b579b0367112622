/* SPDX-License-Identifier: Apache-2.0 */
/* stand.h: the service controller without its surroundings: real stores, queue, syncer and client,
 * a fake clock, a fake provider, and an API server that only writes down what it is asked (and
 * answers as told).
 *
 * A test puts objects into the stores as a reflector would, calls stand_run(), and reads the
 * provider's calls, the patches and the events.  One thread drives it all. */
#ifndef TRIMTAB_TESTS_CONTROLLER_STAND_H
#define TRIMTAB_TESTS_CONTROLLER_STAND_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/sync/node_fanout.h"
#include "controller/sync/sync.h"
#include "controller/sync/watch.h"
#include "tests/support/fake_provider.h"
#include "tests/support/test_server.h"

#define STAND_REQUESTS_MAX 512
#define STAND_PATIENCE_MS  180000 /* real time; it bounds a hang only */

/* Waits, in real time, until nothing of the queue is due or being processed; ends the program if
 * that never comes. */
void stand_wait_idle(struct queue *q);

#define STAND_F "service.kubernetes.io/load-balancer-cleanup"

struct stand_request {
    char method[8];
    char path[200];
    char content_type[64];
    char body[2048];
    /* the resourceVersion that stood in the body, which has it no more; "" none */
    char version[32];
};
/* The next request with this method whose path contains `path` gets `status`, with
 * a Status body. */
struct stand_refusal {
    char method[8];
    char path[100];
    int status;
    char reason[40];
    char message[100];
};

struct stand {
    struct arena *a;
    struct clock *clock;
    struct fake_provider *provider;
    struct fence fence;
    struct cancel *cancel;
    struct metrics *metrics;
    struct kube_config kube;
    struct test_server *server;
    struct kube_client *client;
    struct kube_events *events;
    struct tt_host_ctx *host;
    struct syncer syncer;
    struct watch watch;
    long version; /* of the last object */
    struct mutex lock;
    struct stand_request requests[STAND_REQUESTS_MAX];
    size_t n_requests;
    const char *(*get)(const char *target);     /* what a GET is answered with; NULL: {} */
    const char *(*patched)(const char *target); /* the same for a PATCH */
    struct stand_refusal refusals[8];
    size_t n_refusals;
    const char *forbidden; /* no body may hold this text; NULL: all may be written */
    int patches_in_call;   /* of Services, when the provider said that one serves; the test's */
    int32_t published;     /* the host's answer then; the test's */
};

/* Without objects; lists count as complete. */
struct stand *stand_new(uint32_t capabilities);
void stand_free(struct stand *r);
/* With node-0, and a provider that serves at `ip` with plans of so many operations; *flags gets
 * those of each ensure. */
struct stand *stand_noting(const char *ip, uint32_t capabilities, uint32_t operations,
                           uint32_t *flags);
/* After changing r->provider->desc (batches, classes, finalizers). */
void stand_describe(struct stand *r);

/* Puts demo/NAME into the store.  `spec`, `meta`, `status` are JSON members without braces ("\"a\":
 * 1, …"); NULL: none.  The UID is uid-NAME unless meta has one. */
void stand_service(struct stand *r, const char *name, const char *spec, const char *meta,
                   const char *status);
void stand_service_gone(struct stand *r, const char *name);
/* A node with providerID cloud/NAME unless spec says otherwise. */
void stand_node(struct stand *r, const char *name, const char *spec, const char *meta);
/* The same, with its Ready condition ("True", "False", "Unknown"). */
void stand_node_ready(struct stand *r, const char *name, const char *ready);
void stand_node_gone(struct stand *r, const char *name);
void stand_slice(struct stand *r, const char *name, const char *service, const char *endpoints);

/* Puts demo/NAME into the queue, whatever the handlers think. */
void stand_add(struct stand *r, const char *name, uint32_t reasons);
/* Puts demo/web into the store as stand_service() does, and syncs it as one that was edited. */
void stand_sync(struct stand *r, const char *spec, const char *meta, const char *status);
/* Deals with everything that is due now; returns how many batches that were. */
int stand_run(struct stand *r);
/* Moves the clock, then stand_run(). */
int stand_advance(struct stand *r, int64_t ms);
/* The pass that follows node changes, then stand_run(). */
int stand_nodes_changed(struct stand *r);

void stand_refuse(struct stand *r, const char *method, const char *path, int status,
                  const char *reason, const char *message);
/* How many requests with that method were sent to the API server; NULL: all. */
size_t stand_requests(struct stand *r, const char *method);
/* How many PATCHes of Services were sent; the nth one's body (""). */
size_t stand_patches(struct stand *r);
const char *stand_patch(struct stand *r, size_t nth);
/* The whole nth one; NULL when there is none.  Valid as long as the stand. */
const struct stand_request *stand_patch_request(struct stand *r, size_t nth);
/* "Normal EnsuringLoadBalancer Ensuring load balancer\n…", in order.  Ends the recorder:
 * call it last. */
const char *stand_events(struct stand *r);
/* The provider's calls as text; in the stand's arena. */
const char *stand_story(struct stand *r);

/* Pieces of specs. */
#define STAND_LB                                                                                   \
    "\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}]"
#define STAND_CLUSTER_IP "\"type\":\"ClusterIP\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]"
#define STAND_WITH_F     "\"finalizers\":[\"" STAND_F "\"]"
#define STAND_DELETING   "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\""
/* Our mark (common/lb/mark_rules.h) with this text, in annotations. */
#define STAND_MARK(text)                                                                           \
    "\"trimtab.io/carried-out-by\":\"fake " text "\",\"trimtab.io/carried-out\":\"" text "\""
#define STAND_STATUS(ip) "\"loadBalancer\":{\"ingress\":[{\"ip\":\"" ip "\",\"ipMode\":\"VIP\"}]}"

#endif
