/* SPDX-License-Identifier: Apache-2.0 */
/* gce_names.c: see gce_names.h.  Everything is printed into the arena; nothing is looked up. */
#include "providers/gce/model/gce_names.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_former_address.h"

char *gce_names_service_description(struct arena *a, const char *name)
{
    return arena_printf(a, "{\"kubernetes.io/service-name\":\"%s\"}", name);
}

char *gce_names_firewall_description(struct arena *a, const char *ns, const char *name,
                                     const char *ip)
{
    return arena_printf(a,
                        "{\"kubernetes.io/service-name\":\"%s/%s\", "
                        "\"kubernetes.io/service-ip\":\"%s\"}",
                        ns, name, ip);
}

void gce_names_make(struct arena *a, const struct tt_service *s, const char *cluster_id,
                    struct gce_names *ret)
{
    const char *ns_name = arena_printf(a, "%s/%s", str_nonnull(s->ns), str_nonnull(s->name));
    const char *lb = svc_default_lb_name(a, str_nonnull(s->uid));
    const char *node = arena_printf(a, "k8s-%s-node", cluster_id);
    *ret = (struct gce_names){
        .lb = lb,
        .former_address = gce_former_address_name(a, lb, false),
        .description = gce_names_service_description(a, ns_name),
        .firewall = arena_printf(a, "k8s-fw-%s", lb),
        .deny_firewall = arena_printf(a, "k8s-fw-%s-deny", lb),
        .node_check = node,
        .node_check_description = gce_names_service_description(a, node),
        .node_check_firewall = arena_printf(a, "%s-http-hc", node),
        .node_check_firewall_description =
            arena_printf(a, "{\"kubernetes.io/cluster-id\":\"%s\"}", cluster_id),
        .local_check = lb,
        .local_check_description = gce_names_service_description(a, lb),
        .local_check_firewall = arena_printf(a, "k8s-%s-http-hc", lb),
    };
}
