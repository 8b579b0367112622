/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ops_refusals.h: what a refused write says to the Service's owner.
 *
 * Some refusals are the user's to fix: an address or ports that another rule has, a network tier
 * that does not fit, a range, an organisation's constraint, a VM in two load-balanced groups.  They
 * become INVALID, or IN_USE where another has the address or the ports, in the words that people
 * already watch for; everything else stays as the cloud said it.
 * Source: gce-l4.md §4.14, §8.4, §11.19.  Pure; private to gce_ops.c and its tests. */
#ifndef TRIMTAB_GCE_OPS_REFUSALS_H
#define TRIMTAB_GCE_OPS_REFUSALS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"

#include <stdbool.h>

/* A VM would be in two load-balanced instance groups. */
bool gce_refusal_is_one_group(const struct err *err);
/* Another rule has the address, or one of the ports at it. */
bool gce_refusal_is_taken(const struct err *err);
/* `body` is what was sent, or NULL.  Changes code and message where the refusal is the user's;
 * returns whether it is. */
bool gce_refusal_explain(struct arena *a, struct json_object *body, struct err *err);

#endif
