/* SPDX-License-Identifier: Apache-2.0 */
/* rules_pod.h: the rules and the columns of Pods. */
#ifndef TRIMTAB_SIM_KUBE_PODS_RULES_POD_H
#define TRIMTAB_SIM_KUBE_PODS_RULES_POD_H

#include "sim/kube/kinds.h"

extern const struct kube_rules kube_rules_pod;
extern const struct kube_column kube_columns_pod[];

/* Fills in the defaults of a list of containers, and validates it; `at` is its path. */
void kube_default_pod_spec(struct json_object *spec);
void kube_validate_pod_spec(struct json_object *spec, const char *at, struct kube_causes *causes);

#endif
