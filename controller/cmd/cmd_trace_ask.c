/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_trace_ask.c: the questions of `trimtab trace`; see the header.  Pure. */
#include <string.h>

#include "controller/cmd/cmd_trace.h"

/* The port behind the last ':'; 0 for none. */
static int32_t port_of(const char *text)
{
    uint64_t n = 0;
    return str_to_u64(text, &n) && n > 0 && n <= 65535 ? (int32_t)n : 0;
}

static bool is_host_name(const char *s)
{
    for (const char *p = s; *p != '\0'; p++) {
        bool good = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                    (*p >= '0' && *p <= '9') || *p == '-' || *p == '.';
        if (!good) {
            return false;
        }
    }
    return *s != '\0';
}

int cmd_trace_parse_to(struct arena *a, const char *text, struct cmd_target *ret, struct err *err)
{
    struct cmd_target t = {0};
    const char *colon = strrchr(text, ':');
    struct ip_addr bare;
    size_t n = colon == NULL ? 0 : (size_t)(colon - text);
    bool is_bare = text[0] == '[' && text[strlen(text) - 1] == ']';
    if (ip_parse_sloppy(text, &bare) || colon == NULL || is_bare) {
        return err_set(err, ERR_INVALID,
                       "--to=%s: the port is missing: want ADDRESS:PORT (IPv6: [ADDRESS]:PORT)",
                       text);
    }
    bool bracket = n > 2 && text[0] == '[' && text[n - 1] == ']';
    const char *address = bracket ? arena_strndup(a, text + 1, n - 2) : arena_strndup(a, text, n);
    t.port = port_of(colon + 1);
    if (t.port == 0) {
        return err_set(err, ERR_INVALID, "--to=%s: \"%s\" is not a port from 1 to 65535", text,
                       colon + 1);
    }
    if (ip_parse_sloppy(address, &t.ip)) {
        if (bracket != (t.ip.len == 16)) {
            return err_set(err, ERR_INVALID,
                           "--to=%s: an IPv6 address stands in brackets, an IPv4 "
                           "address does not",
                           text);
        }
    } else if (!bracket && is_host_name(address)) {
        t.host = address;
    } else {
        return err_set(err, ERR_INVALID, "--to=%s: \"%s\" is neither an address nor a host name",
                       text, address);
    }
    *ret = t;
    return ERR_OK;
}

int cmd_trace_parse_protocol(struct arena *a, const char *text, const char **ret, struct err *err)
{
    static const char *const all[] = {"TCP", "UDP", "SCTP"};
    const char *upper = str_upper(a, str_or(text, "TCP"));
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (str_eq(upper, all[i])) {
            *ret = all[i];
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID, "--protocol=%s: allowed: TCP, UDP, SCTP", text);
}

int cmd_trace_mode(const struct cmd_inside *in, enum ks_mode *ret, const char **ret_source,
                   struct err *err)
{
    const char *word = in->s->args.mode;
    if (word != NULL) {
        *ret_source = "--mode";
        return ks_mode_parse(word, ret)
                   ? ERR_OK
                   : err_set(err, ERR_INVALID, "--mode=%s: allowed: iptables, ipvs, nftables",
                             word);
    }
    *ret = in->proxy.mode;
    if (*in->proxy.source == '\0') {
        *ret_source = arena_printf(in->s->a, "assumed: %s ConfigMap kube-system/kube-proxy in %s",
                                   in->proxy_is_broken ? "no readable" : "no", in->source);
    } else {
        *ret_source = *in->proxy.mode_text != '\0'
                          ? in->proxy.source
                          : arena_printf(in->s->a, "%s, which names no mode", in->proxy.source);
    }
    return ERR_OK;
}

int cmd_trace_node(const struct cmd_inside *in, const char *name, const struct ks_node **ret,
                   struct err *err)
{
    const struct ks_cluster *c = &in->cluster;
    if (*name == '\0') {
        return err_set(err, ERR_INVALID,
                       "the name of the node is empty: want --node=NAME, or --from=node/NAME");
    }
    *ret = ks_cluster_node(c, name);
    if (*ret != NULL) {
        return ERR_OK;
    }
    const char **names = ARENA_ARRAY(in->s->a, const char *, c->n_nodes);
    for (size_t i = 0; i < c->n_nodes; i++) {
        names[i] = c->nodes[i]->meta.name;
    }
    return err_set(err, ERR_NOT_FOUND, "there is no node %s in %s%s", name, in->source,
                   str_near_hint(in->s->a, name, names, c->n_nodes));
}

/* ---- the destination ------------------------------------------------------------------------- */

/* A Service by its name in the cluster's DNS: NAME, NAME.NAMESPACE, NAME.NAMESPACE.svc…; NULL if
 * there is none. */
static const struct ks_service *service_named(const struct cmd_inside *in, const char *host)
{
    size_t n = 0;
    const struct cmd_session *s = in->s;
    char **parts = str_split(s->a, host, '.', &n);
    const char *own = s->config != NULL ? str_or(s->config->ns, "default") : "default";
    if (n == 0 || (n > 2 && !str_eq(parts[2], "svc"))) {
        return NULL;
    }
    return ks_cluster_service(&in->cluster, n > 1 ? parts[1] : str_or(s->args.ns, own), parts[0]);
}

static bool is_balancer_name(const struct ks_cluster *c, const char *host)
{
    for (size_t i = 0; i < c->n_services; i++) {
        for (size_t k = 0; k < c->services[i]->n_ingress; k++) {
            if (str_eq_nocase(c->services[i]->ingress[k].hostname, host)) {
                return true;
            }
        }
    }
    return false;
}

int cmd_trace_resolve(const struct cmd_inside *in, const struct ip_addr *client,
                      struct cmd_target *to, struct err *err)
{
    const struct ks_cluster *c = &in->cluster;
    enum ks_family family = client->len != 0 ? ks_family_of(client) : KS_IPV4;
    enum ks_family other = family == KS_IPV4 ? KS_IPV6 : KS_IPV4;
    if (to->host == NULL || is_balancer_name(c, to->host)) {
        return ERR_OK;
    }
    const struct ks_node *node = ks_cluster_node(c, to->host);
    const struct ks_service *s = node == NULL ? service_named(in, to->host) : NULL;
    bool found = node != NULL && (ks_node_address(node, family, &to->ip) ||
                                  (client->len == 0 && ks_node_address(node, other, &to->ip)));
    if (s != NULL) {
        found = ip_parse_sloppy(str_nonnull(s->cluster_ip), &to->ip);
        for (size_t i = 0; i < s->n_cluster_ips; i++) {
            struct ip_addr ip;
            if (client->len != 0 && ip_parse_sloppy(s->cluster_ips[i], &ip) &&
                ks_family_of(&ip) == family) {
                to->ip = ip;
            }
        }
    }
    if ((node != NULL || s != NULL) && !found) {
        return err_set(err, ERR_INVALID, "--to=%s: %s %s has no %s", in->s->args.to,
                       node != NULL ? "node" : "Service", to->host,
                       node != NULL ? "address of the client's family" : "cluster IP");
    }
    to->host = found ? NULL : to->host;
    return ERR_OK;
}

/* ---- the client ------------------------------------------------------------------------------ */

/* The node of the pod that has the address, by Pods and by slices; "" when it is not known, NULL
 * for no such pod. */
static const char *pod_node_at(const struct ks_cluster *c, const struct ip_addr *ip)
{
    for (size_t i = 0; i < c->n_pods; i++) {
        struct ip_addr at;
        if (ip_parse_sloppy(c->pods[i]->pod_ip, &at) && ip_eq(&at, ip)) {
            return c->pods[i]->node_name;
        }
    }
    for (size_t i = 0; i < c->n_slices; i++) {
        for (size_t k = 0; k < c->slices[i]->n_endpoints; k++) {
            const struct ks_slice_endpoint *e = &c->slices[i]->endpoints[k];
            struct ip_addr at;
            if (e->n_addresses > 0 && ip_parse_sloppy(e->addresses[0], &at) && ip_eq(&at, ip)) {
                return str_nonnull(e->node_name);
            }
        }
    }
    return NULL;
}

/* The node whose pod range holds the address; NULL for none. */
static const struct ks_node *node_by_range(const struct ks_cluster *c, const struct ip_addr *ip)
{
    for (size_t i = 0; i < c->n_nodes; i++) {
        for (size_t k = 0; k < c->nodes[i]->n_pod_cidrs; k++) {
            struct ip_net net;
            if (ip_net_parse_sloppy(c->nodes[i]->pod_cidrs[k], &net) && ip_net_contains(&net, ip)) {
                return c->nodes[i];
            }
        }
    }
    return NULL;
}

/* An address: of a node, of a pod, or from outside. */
static void client_at(const struct cmd_inside *in, struct ks_question *q)
{
    const struct ks_cluster *c = &in->cluster;
    const struct ks_node *node = ks_cluster_node_at(c, &q->source);
    if (node != NULL) {
        q->client_node = node;
        q->from_node = true;
        q->from = arena_printf(in->s->a, "%s (node %s)", q->from, node->meta.name);
        return;
    }
    const char *name = pod_node_at(c, &q->source);
    node = str_is_empty(name) ? node_by_range(c, &q->source) : ks_cluster_node(c, name);
    if (node != NULL) {
        q->client_node = node;
        q->from = arena_printf(in->s->a, "%s (pod on %s)", q->from, node->meta.name);
    }
}

static int client_pod(const struct cmd_inside *in, struct ks_question *q, struct err *err)
{
    const struct ks_cluster *c = &in->cluster;
    const char *ns = "";
    const char *name = cmd_inside_client_pod(in, &ns);
    const char *address = NULL;
    const char *node = NULL;
    const struct ks_pod *pod = ks_cluster_pod(c, ns, name);
    if (pod != NULL) {
        address = pod->pod_ip;
        node = pod->node_name;
    }
    for (size_t i = 0; i < c->n_slices && pod == NULL; i++) { /* Pods are seldom at hand */
        for (size_t k = 0; k < c->slices[i]->n_endpoints; k++) {
            const struct ks_slice_endpoint *e = &c->slices[i]->endpoints[k];
            if (e->ref != NULL && e->n_addresses > 0 && str_eq(e->ref->name, name) &&
                str_eq(str_or(e->ref->ns, c->slices[i]->meta.ns), ns)) {
                address = e->addresses[0];
                node = e->node_name;
            }
        }
    }
    if (str_is_empty(address) || !ip_parse_sloppy(address, &q->source)) {
        return err_set(err, ERR_NOT_FOUND, "--from=pod/%s/%s: no such pod with an address in %s%s",
                       ns, name, in->source,
                       in->s->client != NULL ? ""
                                             : "; Pods are looked for there and in its "
                                               "EndpointSlices: give its address");
    }
    q->client_node = str_is_empty(node) ? NULL : ks_cluster_node(c, node);
    q->from = arena_printf(in->s->a, "pod %s/%s", ns, name);
    return ERR_OK;
}

int cmd_trace_client(const struct cmd_inside *in, struct ks_question *q, struct err *err)
{
    const struct cmd_args *args = &in->s->args;
    const char *from = str_nonnull(args->from);
    int code = ERR_OK;
    q->from = from;
    if (str_has_prefix(from, "node/")) {
        code = cmd_trace_node(in, from + strlen("node/"), &q->client_node, err);
        q->from_node = true;
        q->from = arena_printf(in->s->a, "node %s", from + strlen("node/"));
    } else if (str_has_prefix(from, "pod/")) {
        code = client_pod(in, q, err);
    } else if (*from != '\0' && !ip_parse_sloppy(from, &q->source)) {
        return err_set(err, ERR_INVALID,
                       "--from=%s: want an address, node/NAME or pod/NAMESPACE/NAME", from);
    } else if (*from != '\0') {
        client_at(in, q);
    }
    if (code == ERR_OK && args->node != NULL) {
        code = cmd_trace_node(in, args->node, &q->node, err);
    }
    if (code == ERR_OK && args->all_nodes) {
        q->any_node = true;
    }
    return code;
}

/* ---- a whole Service ------------------------------------------------------------------------- */

struct asking {
    struct arena *a;
    const struct ks_question *base;
    struct ks_question *items;
    size_t n;
    size_t cap;
};

static struct ks_question *ask(struct asking *k, const struct ks_service_port *port)
{
    k->items = cmd_grow(k->a, k->items, k->n, &k->cap, sizeof(*k->items));
    struct ks_question *q = &k->items[k->n++];
    *q = *k->base;
    q->port = port->port;
    q->protocol = port->protocol;
    return q;
}

/* Does the client have an address of the other family? */
static bool other_family(const struct ks_question *q)
{
    return q->source.len != 0 && q->dest.len != 0 && q->source.len != q->dest.len;
}

static void ask_address(struct asking *k, const struct ks_service *s, const char *text, bool inside)
{
    struct ip_addr ip;
    if (str_is_empty(text) || !ip_parse_sloppy(text, &ip)) {
        return;
    }
    for (size_t i = 0; i < s->n_ports; i++) {
        struct ks_question *q = ask(k, &s->ports[i]);
        q->dest = ip;
        if (inside && *q->from == '\0') { /* cluster IPs are for clients inside */
            q->from = "a process of each node";
            q->from_node = true;
        }
        k->n -= other_family(q);
    }
}

struct ks_question *cmd_trace_questions(struct arena *a, const struct ks_service *s,
                                        const struct ks_question *base, size_t *ret_n)
{
    struct asking k = {.a = a, .base = base};
    for (size_t i = 0; i < s->n_ingress; i++) {
        ask_address(&k, s, s->ingress[i].ip, false);
        bool named = *s->ingress[i].ip == '\0' && *s->ingress[i].hostname != '\0';
        for (size_t p = 0; named && p < s->n_ports; p++) {
            ask(&k, &s->ports[p])->host = s->ingress[i].hostname;
        }
    }
    for (size_t i = 0; i < s->n_external_ips; i++) {
        ask_address(&k, s, s->external_ips[i], false);
    }
    for (size_t p = 0; p < s->n_ports; p++) {
        if (s->ports[p].node_port != 0) {
            struct ks_question *q = ask(&k, &s->ports[p]);
            q->each_node = true;
            q->port = s->ports[p].node_port;
        }
    }
    for (size_t i = 0; i < s->n_cluster_ips; i++) {
        ask_address(&k, s, s->cluster_ips[i], true);
    }
    if (s->n_cluster_ips == 0) {
        ask_address(&k, s, s->cluster_ip, true);
    }
    *ret_n = k.n;
    return k.items;
}
