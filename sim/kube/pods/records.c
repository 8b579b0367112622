/* SPDX-License-Identifier: Apache-2.0 */
/* records.c: what is kept of Pods, Services and Nodes.  Pure: reads trees, keeps copies. */
#include "sim/kube/pods/parts.h"

#include "common/base/ip.h"
#include "sim/kube/rules/rules.h"

#include <ctype.h>
#include <string.h>

struct space *space_new(void)
{
    struct space *s = xcalloc(1, sizeof(*s));
    s->pods = map_new(pod_free);
    s->services = map_new(svc_free);
    return s;
}

void space_free(void *space)
{
    struct space *s = space;
    if (s) {
        map_free(s->pods);
        map_free(s->services);
        free(s);
    }
}

/* --- pods ------------------------------------------------------------------------------------- */
static struct json_object *shared(struct json_object *o)
{
    return o ? json_copy(o) : NULL;
}

/* The condition of that type, or NULL. */
static struct json_object *condition_of(struct json_object *tree, const char *type)
{
    struct json_object *list = json_path(tree, "status.conditions");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *c = json_object_array_get_idx(list, i);
        if (str_eq(json_str(c, "type"), type)) {
            return c;
        }
    }
    return NULL;
}

static void push_ip(struct json_object *ips, const char *text)
{
    struct ip_addr ip;
    char out[IP_TEXT_MAX];
    if (ip_parse_sloppy(str_nonnull(text), &ip)) {
        ip_format(&ip, out);
        json_push_str(ips, out);
    }
}

static struct json_object *read_ips(struct json_object *tree)
{
    struct json_object *ips = json_object_new_array();
    struct json_object *list = json_path(tree, "status.podIPs");
    for (size_t i = 0; i < json_len(list); i++) {
        push_ip(ips, json_str(json_object_array_get_idx(list, i), "ip"));
    }
    if (json_len(list) == 0) {
        push_ip(ips, json_str(json_member(tree, "status"), "podIP"));
    }
    return ips;
}

static void add_ports(struct json_object *out, struct json_object *containers, bool sidecars_only)
{
    for (size_t i = 0; i < json_len(containers); i++) {
        struct json_object *c = json_object_array_get_idx(containers, i);
        struct json_object *ports = json_member(c, "ports");
        if (sidecars_only && !str_eq(json_str(c, "restartPolicy"), "Always")) {
            continue;
        }
        for (size_t k = 0; k < json_len(ports); k++) {
            struct json_object *p = json_object_array_get_idx(ports, k);
            if (str_is_empty(json_str(p, "name"))) {
                continue;
            }
            struct json_object *one = json_object_new_object();
            json_add_str(one, "name", json_str(p, "name"));
            json_add_str(one, "protocol", str_or(json_str(p, "protocol"), "TCP"));
            json_add_int(one, "port", json_int(p, "containerPort", 0));
            json_object_array_add(out, one);
        }
    }
}

struct pod *pod_read(struct json_object *tree)
{
    struct pod *pod = xcalloc(1, sizeof(*pod));
    struct json_object *meta = json_member(tree, "metadata");
    struct json_object *spec = json_member(tree, "spec");
    struct json_object *ready = condition_of(tree, "Ready");
    const char *phase = json_str(json_member(tree, "status"), "phase");
    const char *deleted = json_str(meta, "deletionTimestamp");
    pod->name = xstrdup(str_nonnull(json_str(meta, "name")));
    pod->uid = xstrdup(str_nonnull(json_str(meta, "uid")));
    pod->node = xstrdup(str_nonnull(json_str(spec, "nodeName")));
    pod->hostname = xstrdup(str_nonnull(json_str(spec, "hostname")));
    pod->subdomain = xstrdup(str_nonnull(json_str(spec, "subdomain")));
    pod->ready_since = xstrdup(str_nonnull(json_str(ready, "lastTransitionTime")));
    pod->labels = shared(json_member(meta, "labels"));
    pod->ips = read_ips(tree);
    pod->ports = json_object_new_array();
    add_ports(pod->ports, json_member(spec, "containers"), false);
    add_ports(pod->ports, json_member(spec, "initContainers"), true);
    pod->ready = str_eq(json_str(ready, "status"), "True");
    pod->finished = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
    pod->host_network = json_bool(spec, "hostNetwork", false);
    pod->terminating = !str_is_empty(deleted);
    if (pod->terminating && !time_parse_rfc3339(deleted, &pod->end_us)) {
        pod->end_us = 0;
    }
    return pod;
}

void pod_free(void *arg)
{
    struct pod *pod = arg;
    if (pod) {
        free(pod->name);
        free(pod->uid);
        free(pod->node);
        free(pod->hostname);
        free(pod->subdomain);
        free(pod->ready_since);
        json_object_put(pod->labels);
        json_object_put(pod->ips);
        json_object_put(pod->ports);
        free(pod);
    }
}

/* --- Services --------------------------------------------------------------------------------- */
struct svc *svc_read(struct json_object *tree)
{
    struct svc *s = xcalloc(1, sizeof(*s));
    struct json_object *selector = json_path(tree, "spec.selector");
    bool counts = json_object_is_type(selector, json_type_object) &&
                  !str_eq(json_str(json_member(tree, "spec"), "type"), "ExternalName");
    s->selector = counts ? json_copy(selector) : NULL;
    s->members = map_new(NULL);
    return s;
}

void svc_free(void *arg)
{
    struct svc *s = arg;
    if (s) {
        json_object_put(s->selector);
        map_free(s->members);
        map_free(s->hinted_per_zone[0]);
        map_free(s->hinted_per_zone[1]);
        free(s);
    }
}

bool selector_takes(struct json_object *selector, struct json_object *labels)
{
    if (!json_object_is_type(selector, json_type_object)) {
        return false; /* worlds may hold anything */
    }
    json_object_object_foreach(selector, key, value)
    {
        const char *has = json_str(labels, key);
        if (!has || !str_eq(has, json_object_get_string(value))) {
            return false;
        }
    }
    return true;
}

/* --- nodes ------------------------------------------------------------------------------------ */
int64_t quantity_milli(const char *text)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1}, {"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}};
    char *end = NULL;
    long double n =
        text && (isdigit((unsigned char)*text) || *text == '.') ? strtold(text, &end) : 0;
    for (size_t i = 0; end && i < ARRAY_LEN(units); i++) {
        if (str_eq(end, units[i].suffix)) {
            long double milli = n * (long double)units[i].factor * 1000;
            int64_t whole = milli < 1e15L ? (int64_t)milli : 0;
            /* Rounded up, but not because a tenth has no exact binary form. */
            return whole + (milli - (long double)whole > 1e-6L ? 1 : 0);
        }
    }
    return 0;
}

struct pod_node *pod_node_read(struct json_object *tree)
{
    struct pod_node *n = xcalloc(1, sizeof(*n));
    struct json_object *labels = json_path(tree, "metadata.labels");
    struct json_object *spec = json_member(tree, "spec");
    struct json_object *addresses = json_path(tree, "status.addresses");
    struct json_object *cpu = json_path(tree, "status.allocatable.cpu");
    n->zone = xstrdup(str_nonnull(json_str(labels, PODS_ZONE)));
    n->cidrs = shared(json_member(spec, "podCIDRs"));
    n->taints = shared(json_member(spec, "taints"));
    n->cpu_milli = cpu ? quantity_milli(json_object_get_string(cpu)) : 0;
    n->ready = str_eq(json_str(condition_of(tree, "Ready"), "status"), "True");
    n->cordoned = json_bool(spec, "unschedulable", false);
    n->is_control_plane = json_member(labels, "node-role.kubernetes.io/control-plane") ||
                          json_member(labels, "node-role.kubernetes.io/master");
    n->addresses = json_object_new_array();
    for (size_t i = 0; i < json_len(addresses); i++) {
        struct json_object *one = json_object_array_get_idx(addresses, i);
        if (str_eq(json_str(one, "type"), "InternalIP")) {
            push_ip(n->addresses, json_str(one, "address"));
        }
    }
    return n;
}

void pod_node_free(void *arg)
{
    struct pod_node *n = arg;
    if (n) {
        free(n->zone);
        json_object_put(n->cidrs);
        json_object_put(n->addresses);
        json_object_put(n->taints);
        free(n);
    }
}
