/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_names.h: what ingress-gce's L4 controllers call the pieces of one load balancer.
 *
 * Byte for byte upstream's, with the collision of long names that it has (gce-l4.md §2.5 N27):
 * these names and descriptions are how resources are found again, by us and by the Go
 * controllers.  Source: gce-l4.md §2, §8.1; vectors N1–N32.  Pure; strings live in the arena. */
#ifndef TRIMTAB_GCE_L4_NAMES_H
#define TRIMTAB_GCE_L4_NAMES_H

#include "common/base/arena.h"

#include <stdbool.h>

/* §2.2: identifies the cluster in all L4 names: a hash of the UID of namespace kube-system. */
char *gce_l4_cluster_hash(struct arena *a, const char *kube_system_uid);

struct gce_l4_names {
    const char *cluster;   /* gce_l4_cluster_hash() */
    const char *backend;   /* backend service = NEG = IPv4 traffic firewall = local health check */
    const char *legacy;    /* "a<uid>": external rule, its address */
    const char *legacy_v6; /* with "-ipv6" */
    /* forwarding rules by protocol; internal ones and those of mixed external Services */
    const char *rule_tcp;
    const char *rule_udp;
    const char *rule_l3;
    const char *rule_tcp_v6;
    const char *rule_udp_v6;
    const char *rule_l3_v6;
    const char *firewall; /* = backend */
    const char *firewall_v6;
    const char *deny;
    const char *deny_v6;
    const char *local_check; /* = backend */
    const char *local_check_firewall;
    const char *local_check_firewall_v6;
    const char *shared_check;
    const char *shared_check_firewall;
    const char *shared_check_firewall_v6;
};
void gce_l4_names_make(struct arena *a, const char *kube_system_uid, const char *ns,
                       const char *name, const char *service_uid, struct gce_l4_names *ret);
/* "k8s-ig--<cluster uid>" with ingress-gce's cut for overlong ids (§8.1). */
char *gce_l4_group_name(struct arena *a, const char *cluster_uid);

/* §2.6. */
struct gce_l4_description {
    const char *service; /* "ns/name"; "" for what is shared */
    const char *version; /* "ga"; "" = left out */
    const char *ip;      /* "" = left out */
    const char *text;    /* resource-description; "" = left out */
};
char *gce_l4_describe(struct arena *a, const struct gce_l4_description *d);
/* False when the text is no such description. */
bool gce_l4_description_parse(struct arena *a, const char *text, struct gce_l4_description *ret);
/* "This resource is shared by all L4 <kind> Services using …"; kind "ILB", "XLB" or "". */
char *gce_l4_shared_text(struct arena *a, const char *kind);
/* {"kubernetes.io/service-name":"ns/name"}: of held addresses. */
char *gce_l4_address_description(struct arena *a, const char *key);
/* `is` says what `want` says, or the same with an API version that has more: then it stays. */
bool gce_l4_description_same(struct arena *a, const char *is, const char *want);

#endif
