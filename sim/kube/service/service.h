/* SPDX-License-Identifier: Apache-2.0 */
/* service.h: the parts of the rules for Services: service_default.c, service_alloc.c,
 * service_families.c, service_validate.c, service_update.c.  Words of the API: "needs" say which
 * fields a type of Service has. */
#ifndef TRIMTAB_SIM_KUBE_SERVICE_H
#define TRIMTAB_SIM_KUBE_SERVICE_H

#include "sim/kube/kube.h"
#include "sim/kube/rules/rules.h"

/* The spec of an object; made when absent. */
struct json_object *service_spec(struct json_object *service);
const char *service_type(struct json_object *service);
bool service_is_type(struct json_object *service, const char *type);
bool service_needs_cluster_ip(struct json_object *service);
bool service_needs_node_port(struct json_object *service);
bool service_needs_health_check_port(struct json_object *service);
bool service_needs_external_policy(struct json_object *service);
bool service_is_headless(struct json_object *service);

void service_set_defaults(struct kube_change *c);
struct json_object *service_begin(struct kube_change *c);
void service_prepare(struct kube_change *c);
void service_validate(const struct kube_change *c, struct kube_causes *causes);

/* Settles ipFamilies, ipFamilyPolicy and how many addresses there are to be. */
struct json_object *service_settle_families(struct kube_change *c);
/* clusterIP and clusterIPs say the same. */
void service_sync_cluster_ips(struct kube_change *c);
/* Restores server-assigned values that the client omitted. */
void service_keep_allocated(struct kube_change *c);
/* The fields around clusterIPs and ipFamilies. */
void service_validate_cluster_ips(struct json_object *service, struct kube_causes *causes);
void service_validate_families_update(const struct kube_change *c, struct kube_causes *causes);
void service_validate_status(struct json_object *service, struct kube_causes *causes);
void service_validate_ports(struct json_object *service, struct kube_causes *causes);

#endif
