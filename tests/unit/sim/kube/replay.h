/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h: comparing our answers with recorded ones although each server chose its own uids,
 * versions, times, addresses and ports. */
#ifndef TRIMTAB_TESTS_SIM_KUBE_REPLAY_H
#define TRIMTAB_TESTS_SIM_KUBE_REPLAY_H

#include "tests/unit/sim/kube/kube_fixture.h"

struct replay {
    struct kf *f;
    struct arena *a;
    struct json_object *seen; /* object: "uid=recorded" → ours (text) */
};

/* The exchange of that number from tests/data/kube-1.36. */
struct json_object *replay_load(struct arena *a, int number, const char **ret_name);
/* A copy in which everything that servers choose is a word for it. */
struct json_object *replay_normal(struct arena *a, struct json_object *o);
/* Remembers the pairs of chosen values of two answers. */
void replay_learn(struct replay *r, struct json_object *recorded, struct json_object *ours);
/* The request as we must send it: target and body with our values. */
const char *replay_target(struct replay *r, struct json_object *request);
const char *replay_body(struct replay *r, struct json_object *request);
const char *replay_headers(struct replay *r, struct json_object *request);

#endif
