/* SPDX-License-Identifier: Apache-2.0 */
/* deploy.h: the kinds of deployment manifests: their shapes (types_deploy.c) and their rules.
 * Constant data. */
#ifndef TRIMTAB_SIM_KUBE_DEPLOY_DEPLOY_H
#define TRIMTAB_SIM_KUBE_DEPLOY_DEPLOY_H

#include "sim/kube/kinds.h"

extern const struct kube_type kube_type_deployment;
extern const struct kube_type kube_type_daemon_set;
extern const struct kube_type kube_type_role;
extern const struct kube_type kube_type_cluster_role;
extern const struct kube_type kube_type_role_binding;
extern const struct kube_type kube_type_cluster_role_binding;
extern const struct kube_type kube_type_network_policy;
extern const struct kube_type kube_type_disruption_budget;
extern const struct kube_type kube_type_ingress;
/* All that a body in protobuf tells of a CustomResourceDefinition: all but its schemas, which
 * decide nothing here. */
extern const struct kube_type kube_type_crd_wire;

extern const struct kube_column kube_columns_deployment[];

extern const struct kube_rules kube_rules_deployment;
extern const struct kube_rules kube_rules_daemon_set;
extern const struct kube_rules kube_rules_role;
extern const struct kube_rules kube_rules_binding;
extern const struct kube_rules kube_rules_network_policy;
extern const struct kube_rules kube_rules_disruption_budget;

#endif
