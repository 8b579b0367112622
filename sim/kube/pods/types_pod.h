/* SPDX-License-Identifier: Apache-2.0 */
/* types_pod.h: the shapes of Pods, of the templates that make them, and of label selectors (see
 * sim/kube/types.h).  Constant data. */
#ifndef TRIMTAB_SIM_KUBE_PODS_TYPES_POD_H
#define TRIMTAB_SIM_KUBE_PODS_TYPES_POD_H

#include "sim/kube/types.h"

extern const struct kube_type kube_type_pod;
extern const struct kube_type kube_type_pod_template;
extern const struct kube_type kube_type_label_selector;

#endif
