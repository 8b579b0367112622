/* SPDX-License-Identifier: Apache-2.0 */
/* cloud_kit.h: one sync's view of the provider, for tests of what lies below a flow: slots are
 * checked, single operations are carried out, both against the simulator. */
#ifndef TRIMTAB_TESTS_GCE_CLOUD_KIT_H
#define TRIMTAB_TESTS_GCE_CLOUD_KIT_H

#include "tests/unit/gce/rig.h"

#include "common/lb/exec.h"
#include "providers/gce/gce_provider.h"
#include "providers/gce/ops/gce_ops.h"

#include <string.h>

#define KIT_REGION  "regions/us-central1/"
#define KIT_ZONE    "us-central1-a"
#define KIT_PROJECT "projects/trimtab-sim/"

struct kit {
    struct rig *r;
    struct gce_provider *p;
    struct arena *a;
    struct tt_call call;
    struct http *http;
    struct cancel *cancel;
    struct lb_sync s;
};

static inline bool kit_may_mutate(void *arg)
{
    (void)arg;
    return true;
}

static inline int kit_setup(void **state)
{
    struct kit *k = xcalloc(1, sizeof(*k));
    k->r = rig_start(NULL);
    k->p = rig_provider(k->r);
    k->a = arena_new();
    k->call = (struct tt_call){.size = sizeof(k->call)};
    k->http = http_pool_get(k->p->cloud.http);
    k->cancel = cancel_new(NULL);
    http_bind(k->http, k->cancel, kit_may_mutate, NULL, NULL);
    k->s = (struct lb_sync){
        .a = k->a,
        .life = k->a,
        .provider = &k->p->cloud,
        .host = k->p->cloud.host,
        .call = &k->call,
        .http = k->http,
        .clock = k->p->cloud.clock,
        .rng = k->p->cloud.rng,
        .cancel = k->cancel,
    };
    struct err err = ERR_INIT;
    if (gce_auth_ready(k->p->cloud.auth, k->http, k->cancel, &err) != ERR_OK) {
        fail_msg("token: %s", err.message);
    }
    *state = k;
    return 0;
}

static inline int kit_teardown(void **state)
{
    struct kit *k = *state;
    http_bind(k->http, NULL, NULL, NULL, NULL);
    http_pool_put(k->p->cloud.http, k->http);
    cancel_free(k->cancel);
    arena_free(k->a);
    rig_stop(k->r);
    free(k);
    return 0;
}

#define KIT_TEST(fn) cmocka_unit_test_setup_teardown(fn, kit_setup, kit_teardown)

static inline struct json_object *kit_json(struct kit *k, const char *text)
{
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    if (json_parse_arena(k->a, text, strlen(text), NULL, &o, &err) != ERR_OK) {
        fail_msg("%s: %s", err.message, text);
    }
    return o;
}

/* How one operation ended. */
struct kit_end {
    unsigned outcome;
    struct err err;
};

static inline void kit_on_done(void *arg, const struct lb_op *op, int index, unsigned outcome,
                               const struct err *err, int64_t took_ms)
{
    struct kit_end *ends = arg;
    (void)op;
    (void)took_ms;
    ends[index] = (struct kit_end){.outcome = outcome, .err = *err};
}

/* Carries out operations one after the other; returns how each ended. */
static inline struct kit_end *kit_run(struct kit *k, const struct gce_op *ops, size_t n,
                                      unsigned tolerate)
{
    struct lb_plan plan;
    struct lb_exec_result res;
    struct err err = ERR_INIT;
    struct kit_end *ends = ARENA_ARRAY(k->a, struct kit_end, n);
    struct gce_op *own = arena_memdup(k->a, ops, n * sizeof(*ops));
    lb_plan_init(&plan, k->a);
    for (size_t i = 0; i < n; i++) {
        own[i].call = &k->call; /* requests are counted by what is reported of a call */
        const struct lb_op op = LB_OP(.verb = ops[i].verb == GCE_INSERT   ? LB_CREATE
                                              : ops[i].verb == GCE_DELETE ? LB_DELETE
                                                                          : LB_CHANGE,
                                      .kind = gce_collection_word(ops[i].c), .name = ops[i].name,
                                      .why = "test because it must", .tolerate = tolerate,
                                      .type = gce_op_type_of(ops[i].verb), .arg = &own[i],
                                      .calls = gce_op_calls(&ops[i]));
        (void)lb_plan_add(&plan, "default/web", &op);
    }
    if (lb_plan_seal(&plan, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    const struct lb_exec_config cfg = {.a = k->a,
                                       .http = k->http,
                                       .clock = k->p->cloud.clock,
                                       .rng = k->p->cloud.rng,
                                       .cancel = k->cancel,
                                       .provider = &k->p->cloud,
                                       .on_done = kit_on_done,
                                       .arg = ends};
    int rc = lb_exec_run(&plan, &cfg, &res, &err);
    assert_int_equal(rc, err.code);
    return ends;
}

static inline struct err kit_run_one(struct kit *k, const struct gce_op *op)
{
    return kit_run(k, op, 1, 0)[0].err;
}

static inline void kit_make(struct kit *k, const char *collection, const char *body)
{
    rig_cloud_call(k->r, "POST", collection, body);
}

#define KIT_HC(name)                                                                               \
    ("{\"name\":\"" name                                                                           \
     "\",\"type\":\"HTTP\",\"httpHealthCheck\":{\"port\":10256,\"requestPath\":\"/healthz\"}}")
#define KIT_BS(name, hc)                                                                           \
    ("{\"name\":\"" name                                                                           \
     "\",\"protocol\":\"TCP\",\"loadBalancingScheme\":\"INTERNAL\",\"timeoutSec\":30,"             \
     "\"healthChecks\":[\"" KIT_PROJECT "global/healthChecks/" hc "\"]}")
#define KIT_RULE(name, bs)                                                                         \
    ("{\"name\":\"" name                                                                           \
     "\",\"IPProtocol\":\"TCP\",\"ports\":[\"80\"],\"loadBalancingScheme\":\"INTERNAL\","          \
     "\"network\":\"" KIT_PROJECT "global/networks/default\",\"subnetwork\":\"" KIT_PROJECT        \
     "regions/us-central1/subnetworks/default\",\"backendService\":\"" KIT_PROJECT                 \
     "regions/us-central1/backendServices/" bs "\"}")
#define KIT_NEG(name)                                                                              \
    ("{\"name\":\"" name "\",\"networkEndpointType\":\"GCE_VM_IP\",\"network\":\"" KIT_PROJECT     \
     "global/networks/default\",\"subnetwork\":\"" KIT_PROJECT                                     \
     "regions/us-central1/subnetworks/default\"}")

#endif
