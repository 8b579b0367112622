/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_resource_rules.c: what metrics call the resource that an operation failed on: label
 * gce_resource (gce-l4.md §4.14), by collection and name.  Pure. */
#include "providers/gce/gce_l4_metrics.h"

#include "common/base/str.h"

static const char *firewall(const struct gce_l4_names *n, const char *name)
{
    const struct {
        const char *name;
        const char *resource;
    } rows[] = {
        {n->firewall, "firewall-rule"},
        {n->firewall_v6, "firewall-rule-ipv6"},
        {n->deny, "firewall-rule-deny"},
        {n->deny_v6, "firewall-rule-deny-ipv6"},
        {n->local_check_firewall, "firewall-rule-for-hc"},
        {n->shared_check_firewall, "firewall-rule-for-hc"},
        {n->local_check_firewall_v6, "service.kubernetes.io/firewall-rule-for-hc-ipv6"},
        {n->shared_check_firewall_v6, "service.kubernetes.io/firewall-rule-for-hc-ipv6"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].name, name)) {
            return rows[i].resource;
        }
    }
    return "firewall-rule";
}

static bool is_v6_rule(const struct gce_l4_names *n, const char *name)
{
    return str_eq(name, n->legacy_v6) || str_eq(name, n->rule_tcp_v6) ||
           str_eq(name, n->rule_udp_v6) || str_eq(name, n->rule_l3_v6);
}

const char *gce_l4_resource_label(const struct gce_l4_names *n, enum gce_collection c,
                                  const char *name)
{
    switch (c) {
    case GCE_RULES:
        return is_v6_rule(n, name) ? "forwarding-rule-ipv6" : "forwarding-rule";
    case GCE_BACKENDS:
        return "backend-service";
    case GCE_FIREWALLS:
        return firewall(n, name);
    case GCE_HCS:
    case GCE_REGION_HCS:
        return "healthcheck";
    case GCE_ADDRESSES:
        return "address";
    case GCE_NEGS: /* ours: upstream's controllers do not wait for these */
        return "network-endpoint-group";
    case GCE_GROUPS:
        return "instance-group";
    default:
        return "";
    }
}
