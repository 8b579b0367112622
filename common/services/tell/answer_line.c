/* SPDX-License-Identifier: Apache-2.0 */
/* answer_line.c: the sentences of an answer: its first line, the reasons, the next
 * step; see answer.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/services/tell/answer_parts.h"

/* A reason, and the step that follows from it. */
struct words {
    const char *because;
    const char *next;
};

static void because(struct ks_making *m, const char *text)
{
    struct ks_answer *x = m->x;
    for (size_t i = 0; i < x->n_because; i++) {
        if (str_eq(x->because[i], text)) {
            return;
        }
    }
    if (x->n_because == m->cap_because) {
        m->cap_because = m->cap_because == 0 ? 8 : 2 * m->cap_because;
        const char **more = ARENA_ARRAY(m->a, const char *, m->cap_because);
        if (x->n_because > 0) {
            memcpy(more, x->because, x->n_because * sizeof(*more));
        }
        x->because = more;
    }
    x->because[x->n_because++] = text;
}

static const char *kubectl_get(const struct ks_making *m)
{
    const struct ks_service *s = m->hit.service;
    return arena_printf(m->a, "kubectl -n %s get endpointslices -l kubernetes.io/service-name=%s",
                        s->meta.ns, s->meta.name);
}

static struct words no_local(const struct ks_making *m, const struct ks_way *way)
{
    bool cluster_ip = m->hit.at == KS_AT_CLUSTER_IP;
    const char *policy = cluster_ip ? "internalTrafficPolicy" : "externalTrafficPolicy";
    struct words w;
    w.because = arena_printf(m->a, "%s is Local, and no pod of the Service is on %s", policy,
                             way->node->meta.name);
    if (cluster_ip) {
        w.next = arena_printf(m->a,
                              "run a pod of it on each node (a DaemonSet), or set "
                              "internalTrafficPolicy: Cluster; %s shows where they are",
                              kubectl_get(m));
    } else if (m->hit.at == KS_AT_INGRESS) {
        w.next = arena_printf(m->a,
                              "see that the load balancer's health check asks port %d, which "
                              "answers 503 there, so that it sends nothing to this node; or set "
                              "externalTrafficPolicy: Cluster, at the price of the client's "
                              "address",
                              (int)m->hit.service->health_check_node_port);
    } else {
        w.next = arena_printf(m->a,
                              "send to a node that has a pod (%s), or set "
                              "externalTrafficPolicy: Cluster",
                              kubectl_get(m));
    }
    return w;
}

static const char *ports_text(struct arena *a, const struct ks_service *s)
{
    const char **parts = ARENA_ARRAY(a, const char *, s->n_ports);
    for (size_t i = 0; i < s->n_ports; i++) {
        parts[i] = arena_printf(a, "%d/%s", (int)s->ports[i].port, s->ports[i].protocol);
    }
    return str_join(a, parts, s->n_ports, ", ");
}

static struct words wrong_port(const struct ks_making *m)
{
    const struct ks_service *s = m->hit.service;
    const char *ports = ports_text(m->a, s);
    return (struct words){
        arena_printf(m->a, "%s has the address, but not the port; its ports: %s", m->x->service,
                     ports),
        arena_printf(m->a, "connect to one of %s, or add the port to the Service", ports)};
}

/* Two ports with one name and protocol, as only an object that the API server did not
 * check can have them. */
static struct words replaced_port(const struct ks_making *m)
{
    return (struct words){
        arena_printf(m->a,
                     "%s has another port with the name \"%s\" and protocol %s behind this one, "
                     "and kube-proxy takes the last of them",
                     m->x->service, m->hit.port->name, m->hit.port->protocol),
        "give each port a name of its own"};
}

static struct words source_ranges(const struct ks_making *m)
{
    const struct ks_service *s = m->hit.service;
    return (struct words){
        arena_printf(m->a, "%s is not in spec.loadBalancerSourceRanges (%s)", m->x->client,
                     str_join(m->a, s->source_ranges, s->n_source_ranges, ", ")),
        "add the client's range to spec.loadBalancerSourceRanges, if it is to come in"};
}

static struct words not_captured(const struct ks_making *m)
{
    const struct ks_service *s = m->hit.service;
    const char *at = arena_printf(m->a, "kubectl -n %s get service %s", s->meta.ns, s->meta.name);
    if (m->x->proxied) {
        return (struct words){
            "the load balancer keeps the address for itself (a host name, or ipMode Proxy), and "
            "the Service has no node port to which it could send",
            arena_printf(m->a,
                         "set allocateLoadBalancerNodePorts: true, or use a load balancer "
                         "that sends to pods; %s -o yaml",
                         at)};
    }
    return (struct words){"kube-proxy does not take this address: it goes to the load balancer",
                          arena_printf(m->a, "trace the load balancer's address; %s", at)};
}

static struct words no_service(const struct ks_making *m)
{
    const struct ks_question *q = m->q;
    if (q->dest.len != 0 && ks_cluster_node_at(m->cluster, &q->dest) != NULL) {
        return (struct words){
            arena_printf(m->a, "no Service has the node port %d/%s", (int)q->port, q->protocol),
            "kubectl get services -A lists the node ports; without one, a "
            "process of the node must listen there"};
    }
    return (struct words){arena_printf(m->a, "no Service has %s",
                                       q->host != NULL ? "this host name" : "this address"),
                          "kubectl get services -A -o wide lists the addresses; has the load "
                          "balancer been deleted, or the Service been made anew?"};
}

/* Behind the reason of a packet that the node's own process sends. */
#define LEAVES                                                                                     \
    "; mode iptables refuses only what enters or passes the node, so the packet of its own "       \
    "process leaves it, towards the address"

/* Why a node does not deliver, in the words of this Service. */
static struct words words_of(struct ks_making *m, const struct ks_way *way)
{
    const struct ks_service *s = m->hit.service;
    struct ks_why why = {0};
    if (s == NULL) {
        return no_service(m);
    }
    why = ks_why_not_proxied(m->a, s, m->family);
    if (why.because != NULL) {
        return (struct words){arena_printf(m->a, "%s: %s", m->x->service, why.because), why.next};
    }
    if (m->x->proxied && (m->hit.port == NULL || m->hit.port->node_port == 0)) {
        return m->hit.port == NULL ? wrong_port(m) : not_captured(m);
    }
    switch (way->reason) {
    case KS_R_NO_ENDPOINTS:
        why =
            ks_why_no_endpoints(m->a, m->cluster, s, m->hit.port == NULL ? NULL : m->hit.port->name,
                                m->q->protocol, m->family);
        return (struct words){arena_printf(m->a, "%s has no endpoints: %s%s", m->x->port,
                                           why.because, way->leaves ? LEAVES : ""),
                              why.next};
    case KS_R_NO_LOCAL_ENDPOINTS:
        return no_local(m, way);
    case KS_R_IPVS_NO_LOCAL:
        return (struct words){
            arena_printf(m->a,
                         "externalTrafficPolicy is Local, and no pod of the Service is on %s; IPVS "
                         "sends to a pod elsewhere all the same, whose answer does not come back",
                         way->node->meta.name),
            no_local(m, way).next};
    case KS_R_SOURCE_RANGES:
        return source_ranges(m);
    case KS_R_NOT_CAPTURED:
        return not_captured(m);
    case KS_R_NODE_PORT_ELSEWHERE:
        return (struct words){
            ks_reason_text(way->reason),
            "use an address that nodePortAddresses of kube-proxy takes (mode nftables: the node's "
            "first one unless it says otherwise)"};
    default:
        break;
    }
    if (m->hit.port == NULL && m->hit.at != KS_AT_HEALTH_PORT) {
        return wrong_port(m);
    }
    if (m->hit.port != NULL && way->reason == KS_R_WRONG_PORT) {
        return replaced_port(m);
    }
    return (struct words){ks_reason_text(way->reason), NULL};
}

/* ---- the first line -------------------------------------------------------------------------- */

/* The end of a connection that is not delivered, behind the reason. */
static const char *ends(enum ks_outcome outcome)
{
    switch (outcome) {
    case KS_REJECTED:
        return "; the client is refused at once";
    case KS_DROPPED:
        return "; the client gets no answer and waits";
    case KS_UNREACHABLE:
    case KS_DELIVERED:
        break;
    }
    return "";
}

static const char *source_words(const struct ks_making *m)
{
    bool mixed = false;
    for (size_t i = 1; i < m->x->n_shares; i++) {
        mixed |= m->x->shares[i].source != m->x->shares[0].source;
    }
    if (mixed) {
        return "most see the client's address, the pod that is the client itself a node's";
    }
    switch (m->x->shares[0].source) {
    case KS_SOURCE_NODE:
        return "the source address becomes the node's";
    case KS_SOURCE_DIRECTOR:
        return "the source address becomes that of the node which chose the pod";
    case KS_SOURCE_BALANCER:
        return "the source address is the load balancer's";
    case KS_SOURCE_KEPT:
        break;
    }
    return "the source address is kept";
}

/* How many nodes have the pods. */
static size_t count_nodes(const struct ks_answer *x)
{
    struct map *nodes = map_new(NULL);
    for (size_t i = 0; i < x->n_shares; i++) {
        map_set(nodes, x->shares[i].node, NULL);
    }
    size_t n = map_size(nodes);
    map_free(nodes);
    return n;
}

static const char *yes_line(struct ks_making *m)
{
    const struct ks_answer *x = m->x;
    if (x->n_shares == 0) {
        return arena_printf(m->a, "Yes: %s reaches %s, where kube-proxy itself answers (%s)",
                            x->client, x->target, str_or(x->kind, "no Service"));
    }
    size_t nodes = count_nodes(x);
    return arena_printf(m->a, "Yes: %s reaches %s at %s: %s%s%s; %s", x->client, x->port, x->target,
                        str_count(m->a, x->n_shares, "pod"), nodes == 0 ? "" : " on ",
                        nodes == 0 ? "" : str_count(m->a, nodes, "node"), source_words(m));
}

static const char *partly_line(struct ks_making *m, const char *reason)
{
    const struct ks_answer *x = m->x;
    size_t good = 0;
    size_t counted = 0;
    for (size_t i = 0; i < x->n_ways; i++) {
        counted += x->ways[i].weight > 0;
        good += x->ways[i].weight > 0 && x->ways[i].outcome == KS_DELIVERED;
    }
    return arena_printf(m->a,
                        "In part: %s reaches %s at %s by %zu of %zu nodes; by the others not: %s%s",
                        x->client, x->port, x->target, good, counted, reason, ends(x->outcome));
}

static void first_line(struct ks_making *m, const char *reason)
{
    struct ks_answer *x = m->x;
    if (x->outcome == KS_DELIVERED) {
        x->line = yes_line(m);
    } else if (x->partly) {
        x->line = partly_line(m, reason);
    } else {
        x->line = arena_printf(m->a, "No: %s does not reach %s%s%s: %s%s", x->client,
                               str_nonnull(x->port), x->port == NULL ? "" : " at ", x->target,
                               reason, ends(x->outcome));
    }
}

/* ---- the reasons of delivery ----------------------------------------------------------------- */

static void say_topology(struct ks_making *m, const struct ks_way *way)
{
    if (way->topology == KS_TOPOLOGY_ZONE) {
        because(m, "topology: each node uses the pods that are hinted for its zone");
    } else if (way->topology == KS_TOPOLOGY_NODE) {
        because(m, "topology: a node uses the pods that are hinted for it");
    }
}

static void say_way(struct ks_making *m, const struct ks_way *way)
{
    const struct ks_service *s = m->hit.service;
    if (way->outcome != KS_DELIVERED || s == NULL) {
        return;
    }
    because(m, ks_reason_text(way->reason));
    if (m->hit.at == KS_AT_CLUSTER_IP && m->q->client_node == NULL && !m->q->from_node) {
        because(m, "cluster IPs are for clients inside: from outside only where the network routes "
                   "them to a node");
    }
    if (m->range != NULL) {
        because(m, arena_printf(m->a,
                                "only clients in spec.loadBalancerSourceRanges are let in: one "
                                "in %s was taken (--from asks for another)",
                                m->range));
    }
    say_topology(m, way);
    if (way->fell_back) {
        because(m, "only terminating pods are left: they serve until they end, and the health "
                   "check fails already");
    }
    if (way->hairpin) {
        because(m, "the client is one of the pods: when it meets itself, its address becomes the "
                   "node's");
    }
    if (str_eq(s->session_affinity, "ClientIP")) {
        because(m, arena_printf(m->a,
                                "sessionAffinity ClientIP: later connections from the same "
                                "address go to the same pod for %d s, node by node",
                                (int)s->affinity_s));
    }
}

static const char *next_when_delivered(struct ks_making *m)
{
    const struct ks_answer *x = m->x;
    bool only_terminating = x->n_shares > 0;
    for (size_t i = 0; i < x->n_shares; i++) {
        only_terminating &= x->shares[i].terminating;
    }
    if (only_terminating) {
        return arena_printf(m->a, "no pod is ready: %s", kubectl_get(m));
    }
    if (m->hit.at == KS_AT_INGRESS && m->q->client_node == NULL) {
        return "if it fails all the same: the load balancer or the cloud's firewall (trimtab "
               "explain), or the pod itself";
    }
    return "if it fails all the same: the pod itself, a NetworkPolicy, or another firewall";
}

/* Why no node gets anything from the load balancer; because NULL: some do, or none has a
 * part in this. */
static struct words no_node(const struct ks_making *m)
{
    const struct ks_answer *x = m->x;
    if (x->n_ways == 0) {
        return (struct words){"no node is known that could take the packet",
                              "give the Nodes of the cluster, too: kubectl get nodes -o json"};
    }
    if (x->weighed == KS_WEIGHED_LEFT_OUT) {
        return (struct words){
            arena_printf(m->a, "the load balancer leaves out every node (%s: %s)",
                         x->ways[0].node->meta.name, x->ways[0].left_out),
            arena_printf(m->a, "trimtab explain %s says why each node is left out", x->service)};
    }
    if (x->weighed == KS_WEIGHED_CLOSED) {
        return (struct words){"no node passes the load balancer's health check, since none has a "
                              "ready pod, and this kind of load balancer then sends to no node",
                              kubectl_get(m)};
    }
    return (struct words){0};
}

/* Nodes get traffic though none is healthy. */
static void say_fails_open(struct ks_making *m)
{
    const struct ks_answer *x = m->x;
    bool known = x->balancer != NULL && x->balancer->balance.all_down == KS_ALL_DOWN_OPEN;
    if (x->weighed == KS_WEIGHED_OPEN && m->hit.at == KS_AT_INGRESS) {
        because(m, known ? "no node passes the load balancer's health check: it sends to all of "
                           "them then (it fails open)"
                         : "no node passes the load balancer's health check: it is taken to send "
                           "to all of them then, as most load balancers do");
    }
}

void ks_answer_sentences(struct ks_making *m)
{
    struct ks_answer *x = m->x;
    const char *reason = "";
    for (size_t i = 0; i < x->n_ways; i++) {
        const struct ks_way *way = &x->ways[i];
        if (way->weight > 0 && way->outcome != KS_DELIVERED && *reason == '\0') {
            const struct words w = words_of(m, way);
            reason = w.because;
            x->next = w.next;
        }
    }
    const struct words none = no_node(m);
    if (none.because != NULL) {
        reason = none.because;
        x->next = none.next;
    }
    first_line(m, reason);
    if (x->outcome != KS_DELIVERED) {
        because(m, reason);
    }
    say_fails_open(m);
    if (m->rival != NULL) {
        because(m,
                arena_printf(m->a,
                             "%s/%s has the same address and port: it is left to chance which of "
                             "the two a node sends to",
                             m->rival->meta.ns, m->rival->meta.name));
    }
    for (size_t i = 0; i < x->n_ways; i++) {
        if (x->ways[i].weight > 0) {
            say_way(m, &x->ways[i]);
        }
    }
    if (x->outcome == KS_DELIVERED) {
        x->next = next_when_delivered(m);
    }
}
