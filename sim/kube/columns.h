/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h: the columns that `kubectl get` shows, by kind. */
#ifndef TRIMTAB_SIM_KUBE_COLUMNS_H
#define TRIMTAB_SIM_KUBE_COLUMNS_H

#include "sim/kube/kinds.h"

/* The cells that all kinds have. */
const char *kube_cell_name(struct arena *a, struct json_object *o, int64_t now_s);
const char *kube_cell_age(struct arena *a, struct json_object *o, int64_t now_s);

extern const struct kube_column kube_columns_default[];
extern const struct kube_column kube_columns_service[];
extern const struct kube_column kube_columns_node[];
extern const struct kube_column kube_columns_namespace[];
extern const struct kube_column kube_columns_event[];
extern const struct kube_column kube_columns_lease[];
extern const struct kube_column kube_columns_endpoint_slice[];
extern const struct kube_column kube_columns_config_map[];
extern const struct kube_column kube_columns_secret[];

#endif
