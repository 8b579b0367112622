/* SPDX-License-Identifier: Apache-2.0 */
/* answer_find.c: which Services have a destination; see answer.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/answer_parts.h"

/* By its host name a load balancer is always a proxy. */
static bool has_host(const struct ks_service *s, const char *host)
{
    for (size_t i = 0; host != NULL && i < s->n_ingress; i++) {
        if (str_eq_nocase(s->ingress[i].hostname, host)) {
            return true;
        }
    }
    return false;
}

/* By which of its addresses the Service has the destination: the outermost one. */
static enum ks_at at_address(const struct ks_cluster *c, size_t service, const struct ip_addr *dest,
                             bool *ret_proxied)
{
    static const enum ks_at ats[] = {
        [KS_PLACE_INGRESS] = KS_AT_INGRESS,
        [KS_PLACE_EXTERNAL_IP] = KS_AT_EXTERNAL_IP,
        [KS_PLACE_CLUSTER_IP] = KS_AT_CLUSTER_IP,
    };
    size_t n = 0;
    const struct ks_place *place =
        dest->len == 0 ? NULL : ks_cluster_places_of(c, dest, service, &n);
    if (place == NULL) {
        return KS_AT_NONE;
    }
    *ret_proxied = place->kind == KS_PLACE_INGRESS &&
                   str_eq(c->services[service]->ingress[place->index].ip_mode, "Proxy");
    return ats[place->kind];
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

struct ks_hit ks_hit_of(const struct ks_cluster *cluster, size_t service,
                        const struct ks_question *q, bool at_node)
{
    const struct ks_service *s = cluster->services[service];
    struct ks_hit hit = {.service = s, .port = port_of(s, q, false)};
    if (has_host(s, q->host)) {
        hit.at = KS_AT_INGRESS;
        hit.proxied = true;
        return hit;
    }
    hit.at = at_address(cluster, service, &q->dest, &hit.proxied);
    if (hit.at != KS_AT_NONE) {
        return hit;
    }
    if (at_node && port_of(s, q, true) != NULL) {
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

/* A port of a node may be any Service's, and so may a host name. */
static const size_t *find_all(struct arena *a, const struct ks_cluster *cluster,
                              const struct ks_question *q, bool at_node, size_t *ret_n)
{
    size_t *found = ARENA_ARRAY(a, size_t, cluster->n_services);
    size_t n = 0;
    for (size_t i = 0; i < cluster->n_services; i++) {
        if (ks_hit_of(cluster, i, q, at_node).service != NULL) {
            found[n++] = i;
        }
    }
    *ret_n = n;
    return found;
}

const size_t *ks_answer_found(struct arena *a, const struct ks_cluster *cluster,
                              const struct ks_question *q, size_t *ret_n)
{
    bool at_node = q->each_node || ks_is_node_address(cluster, &q->dest);
    if (at_node || q->host != NULL) {
        return find_all(a, cluster, q, at_node, ret_n);
    }
    size_t n_places = 0;
    const struct ks_place *places = ks_cluster_places(cluster, &q->dest, &n_places);
    size_t *found = ARENA_ARRAY(a, size_t, n_places);
    size_t n = 0;
    for (size_t i = 0; i < n_places; i++) {
        if (n == 0 || found[n - 1] != places[i].owner) {
            found[n++] = places[i].owner;
        }
    }
    *ret_n = n;
    return found;
}

const struct ks_service **ks_answer_services(struct arena *a, const struct ks_cluster *cluster,
                                             const struct ks_question *q, size_t *ret_n)
{
    const size_t *found = ks_answer_found(a, cluster, q, ret_n);
    const struct ks_service **services = ARENA_ARRAY(a, const struct ks_service *, *ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        services[i] = cluster->services[found[i]];
    }
    return services;
}
