/* SPDX-License-Identifier: Apache-2.0 */
/* azure_probe_rules.h: which health probe a port of a Service gets.
 *
 * In this order: the node's own health check port (externalTrafficPolicy: Local), the cluster's
 * shared probe, and a probe of the port itself, made of the annotations of the port, appProtocol,
 * and the annotations of the Service.
 * Source: docs/spec/azure.md 6.6; 18 rows 6 and 11 for what is refused here and
 * accepted upstream. Pure. */
#ifndef TRIMTAB_AZURE_PROBE_RULES_H
#define TRIMTAB_AZURE_PROBE_RULES_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "providers/azure/model/azure_service.h"

#define AZURE_SHARED_PROBE "cluster-service-shared-health-probe"

/* Values common to all ports of one family. */
struct azure_probe_ask {
    const struct azure_naming *naming;
    const struct azure_service *service;
    enum azure_family family;
    struct json_object *node; /* the node-endpoint or shared probe, or NULL; azure_probe_node() */
    bool shared;              /* `node` is the shared one */
};
/* The probe that Services of the mode have in common, as the configuration wants it. */
struct json_object *azure_probe_shared(struct arena *a, const struct azure_config *c);
/* Fills `node` and `shared`.  ERR_INVALID names the annotation. */
int azure_probe_node(struct arena *a, struct azure_probe_ask *ask, struct err *err) _warn_unused_;
/* *ret NULL: none.  `name` is the rule's.  ERR_INVALID names the annotation. */
int azure_probe_of_port(struct arena *a, const struct azure_probe_ask *ask,
                        const struct tt_port *port, const char *name, struct json_object **ret,
                        struct err *err) _warn_unused_;
/* Equal in everything that is ours (6.6). */
bool azure_probe_equal(struct json_object *x, struct json_object *y);

#endif
