/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c: which Services kube-proxy sees in a family, and what it knows of each of their ports;
 * see ports.h.
 *
 * Addresses are read as Kubernetes reads them (leading zeros are decimal).  Items of the other
 * family, and items that do not parse, are left out, as kube-proxy does with a line in its log. */
#include "common/services/node/ports.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/node/names.h"

#define LABEL_PROXY        "service.kubernetes.io/service-proxy-name"
#define AFFINITY_DEFAULT_S 10800 /* what the API server fills in */

static bool is_of_family(const struct ip_addr *ip, enum ks_family family)
{
    return ip->len == (family == KS_IPV6 ? 16 : 4);
}

/* ---- the Service ----------------------------------------------------------------------------- */

/* The cluster IP of the family, as written; "" for none. */
static const char *cluster_ip_text(const struct ks_service *s, enum ks_family family)
{
    const char *wanted = family == KS_IPV6 ? "IPv6" : "IPv4";
    if (s->n_ip_families == 0) {
        return s->cluster_ip;
    }
    for (size_t i = 0; i < s->n_ip_families; i++) {
        if (str_eq(s->ip_families[i], wanted)) {
            return i < s->n_cluster_ips ? s->cluster_ips[i] : "";
        }
    }
    return "";
}

/* False when the Service does not exist for a proxy of this family. */
static bool find_cluster_ip(const struct ks_service *s, enum ks_family family, struct ip_addr *ret)
{
    if (str_is_empty(s->cluster_ip) || str_eq(s->cluster_ip, "None") ||
        str_eq(s->type, "ExternalName") ||
        ks_kv(s->meta.labels, s->meta.n_labels, LABEL_PROXY) != NULL) {
        return false;
    }
    return ip_parse_sloppy(cluster_ip_text(s, family), ret) && is_of_family(ret, family);
}

static const struct ip_addr *external_ips(struct arena *a, const struct ks_service *s,
                                          enum ks_family family, size_t *ret_n)
{
    struct ip_addr *ips = ARENA_ARRAY(a, struct ip_addr, s->n_external_ips);
    size_t n = 0;
    for (size_t i = 0; i < s->n_external_ips; i++) {
        if (ip_parse_sloppy(s->external_ips[i], &ips[n]) && is_of_family(&ips[n], family)) {
            n++;
        }
    }
    *ret_n = n;
    return ips;
}

/* Addresses of load balancers that the node takes itself: not those with ipMode Proxy. */
static const struct ip_addr *lb_vips(struct arena *a, const struct ks_service *s,
                                     enum ks_family family, size_t *ret_n)
{
    struct ip_addr *ips = ARENA_ARRAY(a, struct ip_addr, s->n_ingress);
    size_t n = 0;
    for (size_t i = 0; i < s->n_ingress; i++) {
        const struct ks_ingress *in = &s->ingress[i];
        if ((*in->ip_mode == '\0' || str_eq(in->ip_mode, "VIP")) &&
            ip_parse_sloppy(in->ip, &ips[n]) && is_of_family(&ips[n], family)) {
            n++;
        }
    }
    *ret_n = n;
    return ips;
}

/* The ranges of this family.  A range of length 0 empties the list, which lets all in; so does, as
 * upstream has it, a list whose ranges are all of the other family. */
static const struct ip_net *source_ranges(struct arena *a, const struct ks_service *s,
                                          enum ks_family family, size_t *ret_n)
{
    struct ip_net *nets = ARENA_ARRAY(a, struct ip_net, s->n_source_ranges);
    size_t n = 0;
    bool all = false;
    for (size_t i = 0; i < s->n_source_ranges; i++) {
        const char *text = str_trim_unicode(a, s->source_ranges[i]);
        if (ip_net_parse_sloppy(text, &nets[n]) && is_of_family(&nets[n].addr, family)) {
            all = all || nets[n].prefix == 0;
            n++;
        }
    }
    *ret_n = all ? 0 : n;
    return nets;
}

/* Fills the members that all ports of a Service share.  False when the Service does not
 * exist in this family. */
static bool common_of(struct arena *a, const struct ks_service *s, enum ks_family family,
                      struct ks_port *ret)
{
    struct ks_port p = {.service = s, .ns = s->meta.ns, .name = s->meta.name};
    if (!find_cluster_ip(s, family, &p.cluster_ip)) {
        return false;
    }
    bool is_balanced = str_eq(s->type, "LoadBalancer");
    bool is_accessible = is_balanced || str_eq(s->type, "NodePort") || s->n_external_ips > 0;
    p.external_local = is_accessible && str_eq(s->external_policy, "Local");
    p.internal_local = str_eq(s->internal_policy, "Local");
    if (str_eq(s->session_affinity, "ClientIP")) {
        p.affinity_s = s->affinity_s > 0 ? s->affinity_s : AFFINITY_DEFAULT_S;
    }
    p.external_ips = external_ips(a, s, family, &p.n_external_ips);
    p.lb_vips = lb_vips(a, s, family, &p.n_lb_vips);
    p.source_ranges = source_ranges(a, s, family, &p.n_source_ranges);
    p.health_check_node_port = is_balanced && p.external_local ? s->health_check_node_port : 0;
    *ret = p;
    return true;
}

/* ---- its ports ------------------------------------------------------------------------------- */

static int compare_ports(const void *a, const void *b)
{
    const struct ks_service_port *x = *(const struct ks_service_port *const *)a;
    const struct ks_service_port *y = *(const struct ks_service_port *const *)b;
    int order = strcmp(x->name, y->name);
    order = order != 0 ? order : strcmp(x->protocol, y->protocol);
    return order != 0 ? order : (x > y) - (x < y); /* of equal ones the last comes last */
}

static void complete(struct arena *a, const struct ks_service_port *from, struct ks_port *p)
{
    p->port_name = from->name;
    p->protocol = from->protocol;
    p->proto = str_lower(a, from->protocol);
    p->display = ks_display_name(a, p->ns, p->name, p->port_name);
    p->port = from->port;
    p->node_port = from->node_port;
    p->externally_accessible = p->node_port != 0 || p->n_lb_vips > 0 || p->n_external_ips > 0;
    p->uses_cluster = !p->internal_local || p->externally_accessible;
    p->uses_local = p->internal_local || (p->external_local && p->externally_accessible);
}

struct ks_port *ks_service_ports(struct arena *a, const struct ks_service *service,
                                 enum ks_family family, size_t *ret_n)
{
    struct ks_port common;
    *ret_n = 0;
    if (service->n_ports == 0 || !common_of(a, service, family, &common)) {
        return NULL;
    }
    const struct ks_service_port **sorted =
        ARENA_ARRAY(a, const struct ks_service_port *, service->n_ports);
    for (size_t i = 0; i < service->n_ports; i++) {
        sorted[i] = &service->ports[i];
    }
    qsort(sorted, service->n_ports, sizeof(*sorted), compare_ports);
    struct ks_port *ports = ARENA_ARRAY(a, struct ks_port, service->n_ports);
    size_t n = 0;
    for (size_t i = 0; i < service->n_ports; i++) {
        bool again = n > 0 && str_eq(ports[n - 1].port_name, sorted[i]->name) &&
                     str_eq(ports[n - 1].protocol, sorted[i]->protocol);
        n -= again ? 1 : 0;
        ports[n] = common;
        complete(a, sorted[i], &ports[n++]);
    }
    *ret_n = n;
    return ports;
}
