/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.h: Deployments that act: their pods, rollouts and status.
 *
 * Plays the Deployment controller of a cluster, without ReplicaSets between: a Deployment owns its
 * pods itself.  Costs nothing while there are no Deployments.  All calls come from
 * the simulator's loop. */
#ifndef TRIMTAB_SIM_KUBE_DEPLOY_ROLLOUT_H
#define TRIMTAB_SIM_KUBE_DEPLOY_ROLLOUT_H

#include "sim/kube/kube.h"

struct kube_rollouts;

struct kube_rollouts *kube_rollouts_new(struct kube_state *st);
void kube_rollouts_free(struct kube_rollouts *r); /* NULL is fine */
/* Another world begins: everything is forgotten. */
void kube_rollouts_forget(struct kube_rollouts *r);
/* A write to the store; the work is done in the next round of the loop. */
void kube_rollouts_follow(struct kube_rollouts *r, const struct kube_kind *kind,
                          const struct kube_event *ev);

/* GET, PUT and PATCH of deployments/NAME/scale. */
void kube_handle_scale(struct kube_request *r);

#endif
