/* SPDX-License-Identifier: Apache-2.0 */
/* bs_scene.h: one Service with a backend service and its cloud, for tests of plans: the model of
 * the golden cases, and how operations are found in a plan. */
#ifndef TRIMTAB_TESTS_GCE_BS_SCENE_H
#define TRIMTAB_TESTS_GCE_BS_SCENE_H

#include "tests/golden/gce_bs_sync.h"
#include "tests/unit/gce/pure.h"

#include "providers/gce/ops/gce_ops.h"
#include "tests/support/unit.h"

#define SCENE_BACKEND "k8s2-7kpbhpki-demo-web-14fkcv9i"
#define SCENE_KINDS   4
extern const char *const scene_kinds[SCENE_KINDS];

struct scene {
    struct arena *a;
    struct gce_model model;
    struct str_buf broken;
    struct gce_bs_sync sync;
};
/* A Service demo/web of TCP port 80; `facts` as in a golden case. */
void scene_begin(struct scene *s, struct arena *a, const char *facts);
void scene_begin_kind(struct scene *s, struct arena *a, const char *kind);
/* Fails when the model was asked for what no cloud does. */
void scene_end(struct scene *s);
void scene_plan(struct scene *s);
void scene_carry_out(struct scene *s);
/* Plans and carries out. */
void scene_settle(struct scene *s);
void scene_set_port(struct scene *s, int port);
void scene_set_fact(struct scene *s, const char *name, const char *json);

/* NULL for what is kept. */
const struct gce_op *scene_arg(const struct lb_op *op);
/* The first such operation; `suffix` of its name ("" any).  -1: there is none. */
int scene_find(const struct scene *s, enum gce_collection c, enum gce_verb verb,
               const char *suffix);
/* The same; fails when there is none. */
const struct lb_op *scene_op(const struct scene *s, enum gce_collection c, enum gce_verb verb,
                             const char *suffix);
const struct lb_op *scene_traffic_firewall(const struct scene *s, enum gce_verb verb);
/* Of the plan: `then` waits for `first`. */
void scene_assert_before(const struct scene *s, const struct lb_op *first,
                         const struct lb_op *then);

#endif
