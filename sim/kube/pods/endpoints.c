/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints.c: from a pod to its endpoint and its ports, and what makes two endpoints
 * the same. Pure. */
#include "sim/kube/pods/parts.h"

#include "common/base/strset.h"
#include "sim/kube/rules/rules.h"

#include <string.h>

/* --- one endpoint ----------------------------------------------------------------------------- */
static struct json_object *addresses_of(const struct pod *pod, bool v6)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(pod->ips); i++) {
        const char *ip = kube_item(pod->ips, i);
        if ((strchr(ip, ':') != NULL) == v6) {
            json_push_str(out, ip);
        }
    }
    return out;
}

static struct json_object *conditions_of(const struct slice_job *j, const struct pod *pod)
{
    struct json_object *o = json_object_new_object();
    json_add_bool(o, "ready", j->publishes_unready || (pod->ready && !pod->terminating));
    json_add_bool(o, "serving", pod->ready);
    json_add_bool(o, "terminating", pod->terminating);
    return o;
}

struct json_object *endpoint_make(struct slice_job *j, const struct pod *pod, bool v6)
{
    const struct pod_node *node = *pod->node ? map_get(j->p->nodes, pod->node) : NULL;
    struct json_object *addresses = addresses_of(pod, v6);
    bool is_placed = node || !*pod->node || j->publishes_unready;
    if (json_len(addresses) == 0 || !is_placed) {
        json_object_put(addresses);
        return NULL;
    }
    struct json_object *e = json_object_new_object();
    struct json_object *target = json_object_new_object();
    json_add_str(target, "kind", "Pod");
    json_add_str(target, "namespace", j->ns);
    json_add_str(target, "name", pod->name);
    json_add_str(target, "uid", pod->uid);
    json_add(e, "addresses", addresses);
    json_add(e, "conditions", conditions_of(j, pod));
    if (*pod->hostname && str_eq(pod->subdomain, j->name)) {
        json_add_str(e, "hostname", pod->hostname);
    }
    json_add(e, "targetRef", target);
    json_add_str(e, "nodeName", *pod->node ? pod->node : NULL);
    json_add_str(e, "zone", node && *node->zone ? node->zone : NULL);
    return e;
}

bool endpoint_is_ready(struct json_object *endpoint)
{
    return json_bool(json_member(endpoint, "conditions"), "ready", false);
}

static const char *sorted_addresses(struct arena *a, struct json_object *endpoint)
{
    struct json_object *list = json_member(endpoint, "addresses");
    size_t n = json_len(list);
    if (n == 1) {
        return kube_item(list, 0);
    }
    const char **items = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        items[i] = kube_item(list, i);
    }
    struct str_set set = str_set_make(a, items, n);
    return str_set_text(a, &set, ",");
}

const char *endpoint_identity(struct arena *a, struct json_object *endpoint)
{
    struct json_object *target = json_member(endpoint, "targetRef");
    return arena_printf(a, "%s|%s|%s/%s", sorted_addresses(a, endpoint),
                        str_nonnull(json_str(endpoint, "hostname")),
                        str_nonnull(json_str(target, "namespace")),
                        str_nonnull(json_str(target, "name")));
}

/* An absent condition is not a false one. */
static char condition_letter(struct json_object *endpoint, const char *name)
{
    struct json_object *v = json_member(json_member(endpoint, "conditions"), name);
    return v ? (json_object_get_boolean(v) ? 't' : 'f') : '-';
}

const char *endpoint_content(struct arena *a, struct json_object *endpoint)
{
    struct json_object *target = json_member(endpoint, "targetRef");
    return arena_printf(
        a, "%c%c%c|%s|%s|%s|%s|%s", condition_letter(endpoint, "ready"),
        condition_letter(endpoint, "serving"), condition_letter(endpoint, "terminating"),
        str_nonnull(json_str(endpoint, "nodeName")), str_nonnull(json_str(endpoint, "zone")),
        str_nonnull(json_str(target, "kind")), str_nonnull(json_str(target, "uid")),
        str_nonnull(json_str(target, "fieldPath")));
}

/* --- ports ------------------------------------------------------------------------------------ */
/* The number behind a targetPort, or 0 when the pod has no such port. */
static int64_t resolve_port(const struct pod *pod, struct json_object *port, const char *protocol)
{
    struct json_object *target = json_member(port, "targetPort");
    if (json_object_is_type(target, json_type_int)) {
        return json_object_get_int64(target);
    }
    const char *name = target ? json_object_get_string(target) : "";
    for (size_t i = 0; i < json_len(pod->ports); i++) {
        struct json_object *p = json_object_array_get_idx(pod->ports, i);
        if (str_eq(json_str(p, "name"), name) && str_eq(json_str(p, "protocol"), protocol)) {
            return json_int(p, "port", 0);
        }
    }
    return 0;
}

struct json_object *endpoint_ports(struct slice_job *j, const struct pod *pod)
{
    struct json_object *out = json_object_new_array();
    struct json_object *ports = json_path(j->service, "spec.ports");
    for (size_t i = 0; i < json_len(ports); i++) {
        struct json_object *port = json_object_array_get_idx(ports, i);
        const char *protocol = str_or(json_str(port, "protocol"), "TCP");
        int64_t number = resolve_port(pod, port, protocol);
        if (number == 0) {
            continue;
        }
        struct json_object *one = json_object_new_object();
        json_add_str(one, "name", str_nonnull(json_str(port, "name")));
        json_add_str(one, "protocol", protocol);
        json_add_int(one, "port", number);
        json_add_str(one, "appProtocol", json_str(port, "appProtocol"));
        json_object_array_add(out, one);
    }
    return out;
}

const char *ports_key(struct arena *a, struct json_object *ports)
{
    size_t n = json_len(ports);
    const char **items = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *p = json_object_array_get_idx(ports, i);
        items[i] =
            arena_printf(a, "%s|%s|%lld|%s", str_nonnull(json_str(p, "name")),
                         str_nonnull(json_str(p, "protocol")), (long long)json_int(p, "port", 0),
                         str_nonnull(json_str(p, "appProtocol")));
    }
    struct str_set set = str_set_make(a, items, n);
    return str_set_text(a, &set, ";");
}
