/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h: which cluster addresses and node ports are in use, and which are free.
 *
 * Ranges: 10.0.0.0/16 and fd00:1::/108, node ports 30000–32767.  The set follows the stored
 * Services (the store reports every change to it), so a failed write needs no rollback: choosing
 * does not reserve.  Choices are random by the simulator's seed. */
#ifndef TRIMTAB_SIM_KUBE_ALLOC_H
#define TRIMTAB_SIM_KUBE_ALLOC_H

#include "common/base/arena.h"
#include "common/base/clock.h"

#include <json-c/json.h>
#include <stdbool.h>

#define KUBE_NODE_PORT_MIN 30000
#define KUBE_NODE_PORT_MAX 32767

struct kube_alloc;

struct kube_alloc *kube_alloc_new(struct rng *rng);
void kube_alloc_free(struct kube_alloc *al);
void kube_alloc_clear(struct kube_alloc *al);
/* A stored Service changed from `was` to `now` (either may be NULL). */
void kube_alloc_follow(struct kube_alloc *al, struct json_object *was, struct json_object *now);

bool kube_alloc_port_is_free(const struct kube_alloc *al, int port);
/* 0 when none is left. */
int kube_alloc_choose_port(struct kube_alloc *al);
bool kube_alloc_ip_is_free(const struct kube_alloc *al, const char *ip);
/* Is it inside the family's range? */
bool kube_alloc_ip_in_range(const char *ip, bool v6);
const char *kube_alloc_range(bool v6);
/* NULL when none is left. */
char *kube_alloc_choose_ip(struct kube_alloc *al, struct arena *a, bool v6);

#endif
