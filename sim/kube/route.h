/* SPDX-License-Identifier: Apache-2.0 */
/* route.h: which resource and verb a call means.  See route.c. */
#ifndef TRIMTAB_SIM_KUBE_ROUTE_H
#define TRIMTAB_SIM_KUBE_ROUTE_H

#include "sim/kube/kube.h"

/* Fills kind, namespace, name, subresource and verb of `r` from its call. */
void kube_route(struct kube_request *r);
/* "get", "list" … as in RBAC. */
const char *kube_verb_name(enum kube_verb verb);
/* sim_module.name_call and .claims. */
void kube_name_call(void *state, struct sim_call *call);
bool kube_claims(const void *state, const char *method, const char *path);

/* A boolean parameter; NULL is off. */
bool kube_flag_is_on(const char *v);

#endif
