/* SPDX-License-Identifier: Apache-2.0 */
/* answer_find.c: which Services have a destination; see answer.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/answer_parts.h"

static bool is_address(const char *text, const struct ip_addr *ip)
{
    struct ip_addr at;
    return ip->len != 0 && !str_is_empty(text) && ip_parse_sloppy(text, &at) && ip_eq(&at, ip);
}

static bool has_address(const char *const *texts, size_t n, const struct ip_addr *ip)
{
    for (size_t i = 0; i < n; i++) {
        if (is_address(texts[i], ip)) {
            return true;
        }
    }
    return false;
}

static bool at_ingress(const struct ks_service *s, const struct ks_question *q, bool *ret_proxied)
{
    for (size_t i = 0; i < s->n_ingress; i++) {
        const struct ks_ingress *in = &s->ingress[i];
        bool by_name = q->host != NULL && str_eq_nocase(in->hostname, q->host);
        if (by_name || is_address(in->ip, &q->dest)) {
            *ret_proxied = by_name || str_eq(in->ip_mode, "Proxy");
            return true;
        }
    }
    return false;
}

static const struct ks_service_port *port_of(const struct ks_service *s,
                                             const struct ks_question *q, bool node_port)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        int32_t number = node_port ? s->ports[i].node_port : s->ports[i].port;
        if (number == q->port && number != 0 && str_eq(s->ports[i].protocol, q->protocol)) {
            return &s->ports[i];
        }
    }
    return NULL;
}

struct ks_hit ks_hit_of(const struct ks_service *s, const struct ks_question *q, bool at_node)
{
    struct ks_hit hit = {.service = s, .port = port_of(s, q, false)};
    if (at_ingress(s, q, &hit.proxied)) {
        hit.at = KS_AT_INGRESS;
    } else if (has_address(s->external_ips, s->n_external_ips, &q->dest)) {
        hit.at = KS_AT_EXTERNAL_IP;
    } else if (is_address(s->cluster_ip, &q->dest) ||
               has_address(s->cluster_ips, s->n_cluster_ips, &q->dest)) {
        hit.at = KS_AT_CLUSTER_IP;
    } else if (at_node && port_of(s, q, true) != NULL) {
        hit.at = KS_AT_NODE_PORT;
        hit.port = port_of(s, q, true);
    } else if (at_node && s->health_check_node_port == q->port && q->port != 0) {
        hit.at = KS_AT_HEALTH_PORT;
        hit.port = NULL;
    } else {
        hit.service = NULL;
        hit.port = NULL;
    }
    return hit;
}

bool ks_asks_for_pods(const struct ks_service *s)
{
    return s->health_check_node_port != 0 ||
           (str_eq(s->type, "LoadBalancer") && str_eq(s->external_policy, "Local"));
}

bool ks_is_node_address(const struct ks_cluster *cluster, const struct ip_addr *ip)
{
    return ip->len != 0 &&
           (ks_cluster_node_at(cluster, ip) != NULL || (ip->len == 4 && ip->bytes[0] == 127));
}

const struct ks_service **ks_answer_services(struct arena *a, const struct ks_cluster *cluster,
                                             const struct ks_question *q, size_t *ret_n)
{
    bool at_node = q->each_node || ks_is_node_address(cluster, &q->dest);
    const struct ks_service **found = NULL;
    size_t cap = 0;
    size_t n = 0;
    for (size_t i = 0; i < cluster->n_services; i++) {
        if (ks_hit_of(cluster->services[i], q, at_node).service == NULL) {
            continue;
        }
        if (n == cap) {
            cap = cap == 0 ? 8 : 2 * cap;
            const struct ks_service **more = ARENA_ARRAY(a, const struct ks_service *, cap);
            if (n > 0) {
                memcpy(more, found, n * sizeof(*more));
            }
            found = more;
        }
        found[n++] = cluster->services[i];
    }
    *ret_n = n;
    return found;
}
