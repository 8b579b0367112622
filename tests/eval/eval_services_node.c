/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services_node.c: the functions services.* of trimtab-eval about what a node's kube-proxy
 * sees and does: names, probabilities, service ports, endpoints, lists, traces. */
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/node/endpoints.h"
#include "common/services/node/names.h"
#include "common/services/trace/trace.h"
#include "tests/eval/eval_services.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

/* ---- names ----------------------------------------------------------------------------------- */

/* A service port by name, and perhaps an endpoint. */
struct named_port {
    const char *ns;
    const char *name;
    const char *port;
    const char *proto;
    const char *endpoint; /* NULL when absent */
};

static struct named_port read_named_port(struct arena *a, struct json_object *in)
{
    return (struct named_port){.ns = str_nonnull(json_str(in, "namespace")),
                               .name = str_nonnull(json_str(in, "name")),
                               .port = str_nonnull(json_str(in, "port")),
                               .proto = str_lower(a, str_nonnull(json_str(in, "protocol"))),
                               .endpoint = json_str(in, "endpoint")};
}

RUN(iptables_names)
{
    struct named_port p = read_named_port(a, in);
    struct ks_iptables_names names = ks_iptables_names(a, p.ns, p.name, p.port, p.proto);
    (void)err;
    *ret = json_object_new_object();
    json_add_str(*ret, "display", names.display);
    json_add_str(*ret, "svc", names.svc);
    json_add_str(*ret, "svl", names.svl);
    json_add_str(*ret, "fw", names.fw);
    json_add_str(*ret, "ext", names.ext);
    if (p.endpoint != NULL) {
        json_add_str(*ret, "sep", ks_iptables_sep(a, names.display, p.proto, p.endpoint));
    }
    return ERR_OK;
}

RUN(nftables_names)
{
    struct named_port p = read_named_port(a, in);
    struct ks_nftables_names names = ks_nftables_names(a, p.ns, p.name, p.port, p.proto);
    (void)err;
    *ret = json_object_new_object();
    json_add_str(*ret, "service", names.service);
    json_add_str(*ret, "local", names.local);
    json_add_str(*ret, "external", names.external);
    json_add_str(*ret, "firewall", names.firewall);
    if (p.endpoint != NULL) {
        json_add_str(*ret, "endpoint",
                     ks_nftables_endpoint(a, p.ns, p.name, p.port, p.proto, p.endpoint));
        json_add_str(*ret, "affinity",
                     ks_nftables_affinity(a, p.ns, p.name, p.port, p.proto, p.endpoint));
    }
    return ERR_OK;
}

RUN(probability)
{
    int64_t n = json_int(in, "n", 0);
    if (n < 1) {
        return err_set(err, ERR_INVALID, "n: want a number from 1");
    }
    *ret = json_object_new_string(ks_probability(a, (size_t)n));
    return ERR_OK;
}

RUN(probability_saved)
{
    const char *saved = ks_probability_saved(a, str_nonnull(json_str(in, "written")));
    if (saved == NULL) {
        return err_set(err, ERR_INVALID, "written: want a number from 0 to 1");
    }
    *ret = json_object_new_string(saved);
    return ERR_OK;
}

/* ---- service ports and their endpoints ------------------------------------------------------- */

/* "namespace/name", port name and protocol of an answer's item, and the sort key of a
 * list of them. */
static struct json_object *port_item(struct arena *a, const char *ns, const char *name,
                                     const char *port_name, const char *protocol)
{
    struct json_object *item = json_object_new_object();
    json_add_str(item, "service", arena_printf(a, "%s/%s", ns, name));
    json_add_str(item, "port_name", port_name);
    json_add_str(item, "protocol", protocol);
    return item;
}

static int compare_items(const void *a, const void *b)
{
    struct json_object *x = *(struct json_object *const *)a;
    struct json_object *y = *(struct json_object *const *)b;
    int order = strcmp(json_str(x, "service"), json_str(y, "service"));
    order = order != 0 ? order : strcmp(json_str(x, "port_name"), json_str(y, "port_name"));
    return order != 0 ? order : strcmp(json_str(x, "protocol"), json_str(y, "protocol"));
}

static struct json_object *ips_json(const struct ip_addr *ips, size_t n)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        char text[IP_TEXT_MAX];
        ip_format(&ips[i], text);
        json_push_str(array, text);
    }
    return array;
}

static struct json_object *nets_json(const struct ip_net *nets, size_t n)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        char text[IP_TEXT_MAX];
        ip_net_format(&nets[i], text);
        json_push_str(array, text);
    }
    return array;
}

static struct json_object *service_port_json(struct arena *a, const struct ks_port *p)
{
    char cluster_ip[IP_TEXT_MAX];
    ip_format(&p->cluster_ip, cluster_ip);
    struct json_object *item = port_item(a, p->ns, p->name, p->port_name, p->protocol);
    json_add_str(item, "cluster_ip", cluster_ip);
    json_add_int(item, "port", p->port);
    json_add_int(item, "node_port", p->node_port);
    json_add_int(item, "affinity_s", p->affinity_s);
    json_add(item, "external_ips", ips_json(p->external_ips, p->n_external_ips));
    json_add(item, "lb_vips", ips_json(p->lb_vips, p->n_lb_vips));
    json_add(item, "source_ranges", nets_json(p->source_ranges, p->n_source_ranges));
    json_add_int(item, "health_check_node_port", p->health_check_node_port);
    json_add_bool(item, "external_local", p->external_local);
    json_add_bool(item, "internal_local", p->internal_local);
    json_add_bool(item, "externally_accessible", p->externally_accessible);
    json_add_bool(item, "uses_cluster", p->uses_cluster);
    json_add_bool(item, "uses_local", p->uses_local);
    return item;
}

RUN(service_ports)
{
    const struct ks_world *w;
    int code = eval_world(a, in, &w, err);
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_array();
    for (size_t i = 0; i < w->n_ports; i++) {
        json_object_array_add(*ret, service_port_json(a, &w->ports[i]));
    }
    json_object_array_sort(*ret, compare_items);
    return ERR_OK;
}

static struct json_object *endpoint_json(const struct ks_endpoint *e)
{
    struct json_object *item = json_object_new_object();
    json_add_str(item, "address", e->text);
    json_add_bool(item, "local", e->local);
    json_add_bool(item, "ready", e->ready);
    json_add_bool(item, "serving", e->serving);
    json_add_bool(item, "terminating", e->terminating);
    json_add(item, "zones", json_strs(e->zone_hints, e->n_zone_hints));
    json_add(item, "nodes", json_strs(e->node_hints, e->n_node_hints));
    return item;
}

/* Adds the groups of one Service to an answer. */
static void add_groups(struct arena *a, const struct ks_slice *first,
                       const struct ks_service_endpoints *of, enum ks_family family,
                       struct json_object *ports, struct json_object *ready)
{
    const char *ns = first->meta.ns;
    const char *name = ks_slice_service(first, family);
    for (size_t g = 0; g < of->n_groups; g++) {
        const struct ks_endpoint_group *group = &of->groups[g];
        struct json_object *item = port_item(a, ns, name, group->port_name, group->protocol);
        struct json_object *endpoints = json_object_new_array();
        for (size_t i = 0; i < group->n; i++) {
            json_object_array_add(endpoints, endpoint_json(&group->items[i]));
        }
        json_add(item, "endpoints", endpoints);
        json_object_array_add(ports, item);
    }
    if (of->local_ready > 0) {
        json_add_int(ready, arena_printf(a, "%s/%s", ns, name), (int64_t)of->local_ready);
    }
}

static bool same_service(const struct ks_slice *a, const struct ks_slice *b, enum ks_family family)
{
    return str_eq(a->meta.ns, b->meta.ns) &&
           str_eq(ks_slice_service(a, family), ks_slice_service(b, family));
}

RUN(endpoints)
{
    struct ks_node_config config;
    const struct ks_slice *const *slices;
    size_t n, n_seen;
    int code = eval_node_config(a, in, &config, err);
    code = code != ERR_OK ? code : eval_ks_slices(a, in, "slices", &slices, &n, err);
    if (code != ERR_OK) {
        return code;
    }
    const struct ks_slice **seen = ks_slices_sorted(a, config.family, slices, n, &n_seen);
    struct json_object *ports = json_object_new_array();
    struct json_object *ready = json_object_new_object();
    for (size_t i = 0, end; i < n_seen; i = end) {
        end = i + 1;
        while (end < n_seen && same_service(seen[i], seen[end], config.family)) {
            end++;
        }
        struct ks_service_endpoints of =
            ks_service_endpoints(a, &config, seen + i, end - i, KS_ENDPOINTS_MAX);
        add_groups(a, seen[i], &of, config.family, ports, ready);
    }
    json_object_array_sort(ports, compare_items);
    *ret = json_object_new_object();
    json_add(*ret, "ports", ports);
    json_add(*ret, "local_ready", ready);
    return ERR_OK;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The texts of a list in order, or null. */
static struct json_object *list_json(struct ks_list list, bool is_null)
{
    struct json_object *array = is_null ? NULL : json_object_new_array();
    for (size_t i = 0; i < list.n && !is_null; i++) {
        json_push_str(array, list.items[i]->text);
    }
    return array;
}

RUN(categorize)
{
    static const char *const modes[] = {"", "PreferSameZone", "PreferSameNode"};
    const struct ks_world *w;
    int code = eval_world(a, in, &w, err);
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_array();
    for (size_t i = 0; i < w->n_ports; i++) {
        const struct ks_port *p = &w->ports[i];
        bool no_cluster = !p->uses_cluster || p->n_endpoints == 0;
        bool no_local = p->local.n == 0;
        bool unites = p->uses_cluster && p->uses_local && p->n_endpoints > 0 &&
                      (p->topology != KS_TOPOLOGY_NONE || p->local_fell_back);
        struct json_object *item = port_item(a, p->ns, p->name, p->port_name, p->protocol);
        json_add_str(item, "topology", modes[p->topology]);
        json_object_object_add(item, "cluster", list_json(p->cluster, no_cluster));
        json_object_object_add(item, "local", list_json(p->local, no_local));
        json_object_object_add(
            item, "reachable",
            list_json(p->reachable, !unites && (p->uses_cluster ? no_cluster : no_local)));
        json_add_bool(item, "has_any", p->has_any);
        json_object_array_add(*ret, item);
    }
    json_object_array_sort(*ret, compare_items);
    return ERR_OK;
}

/* ---- traces ---------------------------------------------------------------------------------- */

static int read_packet(struct arena *a, struct json_object *o, struct ks_packet *ret,
                       struct err *err)
{
    struct ks_packet p = {.port = (int32_t)json_int(o, "port", 0),
                          .protocol = str_upper(a, str_nonnull(json_str(o, "protocol")))};
    if (!ip_parse_sloppy(str_nonnull(json_str(o, "source")), &p.source) ||
        !ip_parse_sloppy(str_nonnull(json_str(o, "dest")), &p.dest)) {
        return err_set(err, ERR_INVALID, "packet: want two addresses");
    }
    *ret = p;
    return ERR_OK;
}

/* Upstream's tracer of nftables rules asks for a hair-pin with the first endpoint only. */
static bool first_is_masqueraded(const struct ks_trace *t, const struct ks_packet *p)
{
    return t->masquerade_every ||
           (t->list.n > 0 && t->list.items[0]->local && ip_eq(&t->list.items[0]->ip, &p->source));
}

static struct json_object *outputs_json(const struct ks_trace *t, enum ks_mode mode)
{
    struct json_object *outputs = list_json(t->list, false);
    if (t->verdict == KS_DROP) {
        json_push_str(outputs, "DROP");
    } else if (t->verdict == KS_REJECT) {
        json_push_str(outputs, "REJECT");
    } else if (t->verdict == KS_ACCEPT && mode != KS_NFTABLES) {
        json_push_str(outputs, "ACCEPT"); /* nftables has no rule for these ports */
    }
    return outputs;
}

static int trace(struct arena *a, struct json_object *in, enum ks_mode mode,
                 struct json_object **ret, struct err *err)
{
    const struct ks_world *w;
    struct ks_packet p;
    int code = eval_world(a, in, &w, err);
    code = code != ERR_OK ? code : read_packet(a, json_member(in, "packet"), &p, err);
    if (code != ERR_OK) {
        return code;
    }
    struct ks_trace t = ks_trace_packet(a, ks_plan_make(a, w), mode, &p);
    *ret = json_object_new_object();
    json_add(*ret, "outputs", outputs_json(&t, mode));
    json_add_bool(*ret, "masquerade",
                  mode == KS_NFTABLES ? first_is_masqueraded(&t, &p) : t.masquerade);
    if (mode == KS_IPVS) {
        json_add_bool(*ret, "every", t.masquerade_every);
        json_add_bool(*ret, "loses_answer", t.loses_answer);
    }
    return ERR_OK;
}

RUN(iptables_trace)
{
    return trace(a, in, KS_IPTABLES, ret, err);
}

RUN(nftables_trace)
{
    return trace(a, in, KS_NFTABLES, ret, err);
}

/* In the same form, with "every" (all endpoints get a masqueraded packet) and "loses_answer".
 * Upstream has no tracer of this mode, so there are no samples: it is for tests that hold traces
 * against rendered rules and against a kernel. */
RUN(ipvs_trace)
{
    return trace(a, in, KS_IPVS, ret, err);
}

const struct eval_fn eval_services_node[] = {
    {"services.iptables_names", iptables_names},
    {"services.nftables_names", nftables_names},
    {"services.probability", probability},
    {"services.probability_saved", probability_saved},
    {"services.service_ports", service_ports},
    {"services.endpoints", endpoints},
    {"services.categorize", categorize},
    {"services.iptables_trace", iptables_trace},
    {"services.nftables_trace", nftables_trace},
    {"services.ipvs_trace", ipvs_trace},
    {NULL, NULL},
};
