/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h: the service controller without its surroundings: real stores, queue, syncer and client, a fake clock, a fake
 * provider, and an API server that only writes down what it is asked (and answers as told).
 *
 * A test puts objects into the stores as a reflector would, calls rig_run(), and reads the provider's calls, the
 * patches and the events.  One thread drives it all. */
#ifndef TRIMTAB_TESTS_CONTROLLER_RIG_H
#define TRIMTAB_TESTS_CONTROLLER_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "controller/node_fanout.h"
#include "controller/sync.h"
#include "controller/watch.h"
#include "tests/support/fake_provider.h"
#include "tests/support/test_server.h"

#define RIG_REQUESTS_MAX 512

#define RIG_F "service.kubernetes.io/load-balancer-cleanup"

struct rig_request {
    char method[8];
    char path[200];
    char content_type[64];
    char body[2048];
};
/* The next request with this method whose path contains `path` gets `status`, with a Status body. */
struct rig_refusal {
    char method[8];
    char path[100];
    int status;
    char reason[40];
    char message[100];
};

struct rig {
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
    struct rig_request requests[RIG_REQUESTS_MAX];
    size_t n_requests;
    struct rig_refusal refusals[8];
    size_t n_refusals;
};

/* Without objects; lists count as complete. */
struct rig *rig_new(uint32_t capabilities);
void rig_free(struct rig *r);
/* After changing r->provider->desc (batches, classes, finalizers). */
void rig_describe(struct rig *r);

/* Puts demo/NAME into the store.  `spec`, `meta`, `status` are JSON members without braces ("\"a\": 1, …"); NULL: none.
 * The UID is uid-NAME unless meta has one. */
void rig_service(struct rig *r, const char *name, const char *spec, const char *meta,
                 const char *status);
void rig_service_gone(struct rig *r, const char *name);
/* A node with providerID cloud/NAME unless spec says otherwise. */
void rig_node(struct rig *r, const char *name, const char *spec, const char *meta);
void rig_node_gone(struct rig *r, const char *name);
void rig_slice(struct rig *r, const char *name, const char *service, const char *endpoints);

/* Puts demo/NAME into the queue, whatever the handlers think. */
void rig_add(struct rig *r, const char *name, uint32_t reasons);
/* Deals with everything that is due now; returns how many batches that were. */
int rig_run(struct rig *r);
/* Moves the clock, then rig_run(). */
int rig_advance(struct rig *r, int64_t ms);
/* The pass that follows node changes, then rig_run(). */
int rig_nodes_changed(struct rig *r);

void rig_refuse(struct rig *r, const char *method, const char *path, int status, const char *reason,
                const char *message);
/* How many PATCHes of Services were sent; the nth one's body (""). */
size_t rig_patches(struct rig *r);
const char *rig_patch(struct rig *r, size_t nth);
/* The whole nth one; NULL when there is none.  Valid as long as the rig. */
const struct rig_request *rig_patch_request(struct rig *r, size_t nth);
/* "Normal EnsuringLoadBalancer Ensuring load balancer\n…", in order.  Ends the recorder: call it last. */
const char *rig_events(struct rig *r);
/* The provider's calls as text; in the rig's arena. */
const char *rig_story(struct rig *r);

/* Pieces of specs. */
#define RIG_LB                                                                                     \
    "\"type\":\"LoadBalancer\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\",\"nodePort\":30080}]"
#define RIG_CLUSTER_IP "\"type\":\"ClusterIP\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]"
#define RIG_WITH_F     "\"finalizers\":[\"" RIG_F "\"]"
#define RIG_DELETING   "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\""
#define RIG_STATUS(ip) "\"loadBalancer\":{\"ingress\":[{\"ip\":\"" ip "\",\"ipMode\":\"VIP\"}]}"

#endif
