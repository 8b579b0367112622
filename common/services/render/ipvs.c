/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs.c: virtual servers of kube-proxy's IPVS mode, the addresses of kube-ipvs0, and everything as
 * text.
 *
 * The sets are ipvs_sets.c's, the iptables rules ipvs_rules.c's. */
#include "common/services/render/ipvs.h"

#include <string.h>

/* --- virtual servers -------------------------------------------------------------------------- */

static int cmp_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The endpoints of a destination, as sorted text.  With policy Local and no local endpoint
 * kube-proxy takes the whole cluster's in this mode. */
static const char *const *real_servers(struct ipvs *v, const struct ks_port *p, bool local,
                                       size_t *ret_n)
{
    struct ks_list list = {0};
    if (local && p->uses_local && p->local.n > 0) {
        list = p->local;
    } else if (p->uses_cluster) {
        list = p->cluster;
    }
    const char **texts = ARENA_ARRAY(v->arena, const char *, list.n);
    for (size_t i = 0; i < list.n; i++) {
        texts[i] = list.items[i]->text;
    }
    if (list.n > 0) {
        qsort(texts, list.n, sizeof(texts[0]), cmp_texts);
    }
    *ret_n = list.n;
    return texts;
}

static void add_server(struct ipvs *v, const struct ks_port *p, const struct ip_addr *address,
                       int32_t port, bool local)
{
    if (v->n_servers == v->cap_servers) {
        v->cap_servers = v->cap_servers == 0 ? 16 : 2 * v->cap_servers;
        struct ks_virtual_server *more =
            ARENA_ARRAY(v->arena, struct ks_virtual_server, v->cap_servers);
        if (v->n_servers > 0) {
            memcpy(more, v->servers, v->n_servers * sizeof(*more));
        }
        v->servers = more;
    }
    struct ks_virtual_server *s = &v->servers[v->n_servers++];
    *s = (struct ks_virtual_server){
        .address = *address,
        .port = port,
        .protocol = p->protocol,
        .scheduler = str_or(v->world->config.scheduler, "rr"),
        .persistent_s = p->affinity_s,
    };
    s->mh_port = str_eq(s->scheduler, "mh");
    s->real = real_servers(v, p, local, &s->n_real);
}

/* An external IP or a VIP: bound unless another device of the node has it. */
static void add_outside(struct ipvs *v, const struct ks_port *p, const struct ip_addr *ip)
{
    char text[IP_TEXT_MAX];
    ip_format(ip, text);
    add_server(v, p, ip, p->port, p->external_local);
    if (!str_set_has(&v->own_addresses, text)) {
        ipvs_bind(v, ip);
    }
}

static void add_port(struct ipvs *v, const struct ks_port *p)
{
    add_server(v, p, &p->cluster_ip, p->port, p->internal_local);
    ipvs_bind(v, &p->cluster_ip);
    for (size_t i = 0; i < p->n_external_ips; i++) {
        add_outside(v, p, &p->external_ips[i]);
    }
    for (size_t i = 0; i < p->n_lb_vips; i++) {
        add_outside(v, p, &p->lb_vips[i]);
    }
    for (size_t i = 0; i < v->n_node_addresses && p->node_port != 0; i++) {
        add_server(v, p, &v->node_addresses[i], p->node_port, p->external_local);
    }
    ipvs_sets_port(v, p);
}

static int cmp_addresses(const struct ip_addr *a, const struct ip_addr *b)
{
    char x[IP_TEXT_MAX];
    char y[IP_TEXT_MAX];
    ip_format(a, x);
    ip_format(b, y);
    return strcmp(x, y);
}

/* By address as text, port, protocol. */
static int cmp_servers(const struct ks_virtual_server *a, const struct ks_virtual_server *b)
{
    int c = ip_eq(&a->address, &b->address) ? 0 : cmp_addresses(&a->address, &b->address);
    if (c == 0) {
        c = (a->port > b->port) - (a->port < b->port);
    }
    return c != 0 ? c : strcmp(a->protocol, b->protocol);
}

static int cmp_places(const void *a, const void *b)
{
    const struct ks_virtual_server *x = *(const struct ks_virtual_server *const *)a;
    const struct ks_virtual_server *y = *(const struct ks_virtual_server *const *)b;
    int c = cmp_servers(x, y);
    return c != 0 ? c : (x > y) - (x < y);
}

/* Sorts the servers.  Where two service ports want the same one, the first port's stays. */
static void sort_servers(struct ipvs *v)
{
    const struct ks_virtual_server **sorted =
        ARENA_ARRAY(v->arena, const struct ks_virtual_server *, v->n_servers);
    struct ks_virtual_server *out = ARENA_ARRAY(v->arena, struct ks_virtual_server, v->n_servers);
    size_t n = 0;
    for (size_t i = 0; i < v->n_servers; i++) {
        sorted[i] = &v->servers[i];
    }
    if (v->n_servers > 0) {
        qsort(sorted, v->n_servers, sizeof(sorted[0]), cmp_places);
    }
    for (size_t i = 0; i < v->n_servers; i++) {
        if (i == 0 || cmp_servers(sorted[i - 1], sorted[i]) != 0) {
            out[n++] = *sorted[i];
        }
    }
    v->servers = out;
    v->n_servers = n;
}

/* The node's addresses that take node ports: in this mode without link-local ones unless
 * a range names them. */
static void find_node_addresses(struct ipvs *v)
{
    const struct ks_node_config *config = &v->world->config;
    bool everywhere = ks_node_ports_everywhere(config);
    size_t n = 0;
    const struct ip_addr *all = ks_node_port_addresses(v->arena, config, &n);
    struct ip_addr *taken = ARENA_ARRAY(v->arena, struct ip_addr, n);
    for (size_t i = 0; i < n; i++) {
        bool link_local =
            all[i].len == 16 && all[i].bytes[0] == 0xfe && (all[i].bytes[1] & 0xc0) == 0x80;
        if (!everywhere || !link_local) {
            taken[v->n_node_addresses++] = all[i];
        }
    }
    v->node_addresses = taken;
}

static void find_own_addresses(struct ipvs *v)
{
    const struct ks_node_config *config = &v->world->config;
    const char **texts = ARENA_ARRAY(v->arena, const char *, config->n_addresses);
    size_t n = 0;
    for (size_t i = 0; i < config->n_addresses; i++) {
        struct ip_addr ip;
        if (ip_parse_sloppy(config->addresses[i], &ip)) {
            texts[n++] = ks_ip_text(v->arena, &ip);
        }
    }
    v->own_addresses = str_set_make(v->arena, texts, n);
}

struct ks_ipvs ks_render_ipvs(struct arena *a, const struct ks_world *w)
{
    struct ipvs v = {
        .arena = a, .world = w, .sets = ks_groups_make(a), .out_filter = ks_groups_make(a)};
    ks_group_new(&v.out_filter, "KUBE-IPVS-OUT-FILTER", NULL);
    ipvs_sets_make(&v);
    find_node_addresses(&v);
    find_own_addresses(&v);
    for (size_t i = 0; i < w->n_ports; i++) {
        add_port(&v, &w->ports[i]);
    }
    sort_servers(&v);
    ks_groups_finish(&v.out_filter);
    const struct ks_ipset *sets = ipvs_sets_finish(&v);
    return (struct ks_ipvs){
        .sets = sets,
        .n_sets = SET_MAX,
        .servers = v.servers,
        .n_servers = v.n_servers,
        .bound = sets[SET_IPVS_IPS].entries,
        .n_bound = sets[SET_IPVS_IPS].n_entries,
        .tables = ipvs_rules(&v, sets),
    };
}

/* --- text ------------------------------------------------------------------------------------- */

static void append_sets(struct str_buf *b, const struct ks_ipvs *v)
{
    str_append(b, "# ipset\n");
    for (size_t i = 0; i < v->n_sets; i++) {
        const struct ks_ipset *s = &v->sets[i];
        if (s->family == NULL) {
            str_appendf(b, "create %s %s range 0-65535\n", s->name, s->type);
        } else {
            str_appendf(b, "create %s %s family %s hashsize 1024 maxelem 65536\n", s->name, s->type,
                        s->family);
        }
        for (size_t e = 0; e < s->n_entries; e++) {
            str_appendf(b, "add %s %s\n", s->name, s->entries[e]);
        }
    }
}

/* " -t ip:port" with the flag of the protocol. */
static void append_service(struct str_buf *b, const struct ks_virtual_server *s)
{
    char ip[IP_TEXT_MAX];
    ip_format(&s->address, ip);
    const char *flag = str_eq(s->protocol, "UDP")    ? "-u"
                       : str_eq(s->protocol, "SCTP") ? "--sctp-service"
                                                     : "-t";
    str_appendf(b, s->address.len == 16 ? " %s [%s]:%d" : " %s %s:%d", flag, ip, (int)s->port);
}

static void append_servers(struct str_buf *b, const struct ks_ipvs *v)
{
    str_append(b, "# ipvsadm\n");
    for (size_t i = 0; i < v->n_servers; i++) {
        const struct ks_virtual_server *s = &v->servers[i];
        str_append(b, "-A");
        append_service(b, s);
        str_appendf(b, " -s %s", s->scheduler);
        if (s->persistent_s != 0) {
            str_appendf(b, " -p %d", (int)s->persistent_s);
        }
        str_append(b, s->mh_port ? " -b mh-port\n" : "\n");
        for (size_t r = 0; r < s->n_real; r++) {
            str_append(b, "-a");
            append_service(b, s);
            str_appendf(b, " -r %s -m -w 1\n", s->real[r]);
        }
    }
}

void ks_ipvs_text(struct str_buf *b, const struct ks_ipvs *v)
{
    append_sets(b, v);
    append_servers(b, v);
    str_append(b, "# ip addr, device kube-ipvs0\n");
    for (size_t i = 0; i < v->n_bound; i++) {
        bool six = strchr(v->bound[i], ':') != NULL;
        str_appendf(b, "inet%s %s/%d\n", six ? "6" : "", v->bound[i], six ? 128 : 32);
    }
    str_append(b, "# iptables-restore\n");
    ks_iptables_text(b, &v->tables);
}
