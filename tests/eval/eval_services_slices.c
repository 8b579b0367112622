/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services_slices.c: pods, EndpointSlices, their mirrors and Endpoints, of the functions
 * services.* of trimtab-eval. */
#include "common/services/slices/mirror.h"
#include "common/services/slices/pod.h"
#include "common/services/slices/slices.h"
#include "tests/eval/eval_services_objects.h"
#include "tests/upstream/legacy.h"

#include <stdlib.h>

#include "common/base/str.h"
#include "tests/upstream/endpoints.h"
#include "tests/upstream/pod_change.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

/* ---- pods ------------------------------------------------------------------------------------ */

static int read_family(struct json_object *in, enum ks_family *ret, struct err *err)
{
    const char *text = json_str(in, "family");
    if (!str_eq(text, "IPv4") && !str_eq(text, "IPv6")) {
        return err_set(err, ERR_INVALID, "family: want IPv4 or IPv6");
    }
    *ret = str_eq(text, "IPv4") ? KS_IPV4 : KS_IPV6;
    return ERR_OK;
}

RUN(pod_endpoint)
{
    const struct ks_service *service;
    const struct ks_pod *pod;
    const struct ks_node *node = NULL;
    enum ks_family family = KS_IPV4;
    int code = eval_sl_service(a, in, "service", &service, err);
    if (code == ERR_OK) {
        code = ks_pod_decode(a, json_member(in, "pod"), "pod", &pod, err);
    }
    if (code == ERR_OK && json_member(in, "node") != NULL) {
        code = ks_node_decode(a, json_member(in, "node"), "node", &node, err);
    }
    if (code == ERR_OK) {
        code = read_family(in, &family, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    const struct ks_slice_endpoint e = ks_pod_endpoint(a, service, pod, node, family);
    size_t n = 0;
    const struct ks_slice_port *ports = ks_pod_ports(a, service, pod, &n);
    *ret = json_object_new_object();
    json_add_bool(*ret, "included", ks_pod_counts(pod, true));
    json_add(*ret, "ports", eval_sl_slice_ports(ports, n));
    json_add(*ret, "endpoint", eval_sl_endpoint(&e));
    return ERR_OK;
}

static struct json_object *labels_of(const struct json_kv *labels, size_t n, bool has)
{
    return has ? eval_sl_map(labels, n) : NULL;
}

RUN(pod_change)
{
    const struct ks_pod *before = NULL, *after = NULL;
    struct json_object *old_pod = json_member(in, "old"), *new_pod = json_member(in, "new");
    int code = ERR_OK;
    if (old_pod != NULL) {
        code = ks_pod_decode(a, old_pod, "old", &before, err);
    }
    if (code == ERR_OK && new_pod != NULL) {
        code = ks_pod_decode(a, new_pod, "new", &after, err);
    }
    struct ks_pod_change c;
    if (code != ERR_OK || !ks_pod_changed(before, after, &c)) {
        return code;
    }
    *ret = json_object_new_object();
    json_add(*ret, "labels", labels_of(c.labels, c.n_labels, c.has_labels));
    json_add_bool(*ret, "pod_changed", c.pod_changed);
    if (c.has_old_labels) {
        json_add(*ret, "old_labels", labels_of(c.old_labels, c.n_old_labels, true));
    }
    return ERR_OK;
}

static const struct json_field change_fields[] = {
    {.name = "namespace", .type = JSON_T_STR, .offset = offsetof(struct ks_pod_change, ns)},
    {.name = "labels",
     .type = JSON_T_MAP,
     .offset = offsetof(struct ks_pod_change, labels),
     .count_offset = offsetof(struct ks_pod_change, n_labels),
     .has_offset = offsetof(struct ks_pod_change, has_labels)},
    {.name = "old_labels",
     .type = JSON_T_MAP,
     .offset = offsetof(struct ks_pod_change, old_labels),
     .count_offset = offsetof(struct ks_pod_change, n_old_labels),
     .has_offset = offsetof(struct ks_pod_change, has_old_labels)},
    {.name = "pod_changed",
     .type = JSON_T_BOOL,
     .offset = offsetof(struct ks_pod_change, pod_changed)},
    {0},
};

RUN(services_of_pod)
{
    const struct ks_service *const *services;
    size_t n = 0;
    struct ks_pod_change c = {.ns = ""};
    int code = eval_sl_services(a, in, "services", &services, &n, err);
    if (code == ERR_OK) {
        code = json_decode(a, json_member(in, "key"), change_fields, &c, JSON_SKIP_UNKNOWN, "key",
                           err);
    }
    if (code != ERR_OK) {
        return code;
    }
    const struct ks_service *const *list = ks_pod_change_services(a, &c, services, n, &n);
    *ret = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        json_push_str(*ret, arena_printf(a, "%s/%s", list[i]->meta.ns, list[i]->meta.name));
    }
    eval_sl_sorted(a, *ret);
    return ERR_OK;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static int run_pass(struct arena *a, struct json_object *in, struct ks_slice_pass *ret,
                    struct err *err)
{
    struct ks_slice_input input = {.trigger_time = json_str(in, "trigger_time")};
    int64_t max = json_int(in, "max", 0);
    int code = max < 0 || max > 1000
                   ? err_set(err, ERR_INVALID, "max: want a number from 0 to 1000")
                   : eval_sl_service(a, in, "service", &input.service, err);
    if (code == ERR_OK) {
        code = eval_sl_pods(a, in, "pods", &input.pods, &input.n_pods, err);
    }
    if (code == ERR_OK) {
        code = eval_sl_nodes(a, in, "nodes", &input.nodes, &input.n_nodes, err);
    }
    if (code == ERR_OK) {
        code = eval_sl_slices(a, in, "slices", &input.slices, &input.n_slices, err);
    }
    if (code == ERR_OK) {
        input.max_endpoints = (size_t)max;
        *ret = ks_slices_pass(a, &input);
    }
    return code;
}

static struct json_object *show_slices(struct arena *a, const struct ks_slice *slices, size_t n)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(list, eval_sl_slice(a, &slices[i]));
    }
    return eval_sl_sorted(a, list);
}

RUN(slices)
{
    struct ks_slice_pass p;
    int code = run_pass(a, in, &p, err);
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_object();
    json_add(*ret, "create", show_slices(a, p.create, p.n_create));
    json_add(*ret, "update", show_slices(a, p.update, p.n_update));
    json_add(*ret, "delete", eval_sl_sorted(a, json_strs(p.remove, p.n_remove)));
    json_add(*ret, "events", eval_sl_sorted(a, eval_sl_events(p.events, p.n_events)));
    json_add_bool(*ret, "error", p.node_unknown);
    return ERR_OK;
}

static int by_size(const void *x, const void *y)
{
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    return a < b ? -1 : a > b;
}

static struct json_object *sizes_of(struct arena *a, const struct ks_slice *slices, size_t n)
{
    size_t *sizes = ARENA_ARRAY(a, size_t, n);
    for (size_t i = 0; i < n; i++) {
        sizes[i] = slices[i].n_endpoints;
    }
    qsort(sizes, n, sizeof(*sizes), by_size);
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(list, json_object_new_int64((int64_t)sizes[i]));
    }
    return list;
}

RUN(slices_packing)
{
    struct ks_slice_pass p;
    int code = run_pass(a, in, &p, err);
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_object();
    json_add(*ret, "create", sizes_of(a, p.create, p.n_create));
    json_add(*ret, "update", sizes_of(a, p.update, p.n_update));
    json_add(*ret, "delete", eval_sl_sorted(a, json_strs(p.remove, p.n_remove)));
    return ERR_OK;
}

/* ---- mirrors and Endpoints ------------------------------------------------------------------- */

RUN(mirror)
{
    static const struct ks_service without_selector;
    struct ks_mirror_input input = {.service = &without_selector};
    int64_t max = json_int(in, "max", 0);
    int code = max < 0 || max > 1000
                   ? err_set(err, ERR_INVALID, "max: want a number from 0 to 1000")
                   : ks_endpoints_decode(a, json_member(in, "endpoints"), "endpoints",
                                         &input.endpoints, err);
    if (code == ERR_OK) {
        code = eval_sl_slices(a, in, "slices", &input.slices, &input.n_slices, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    input.max_endpoints = (size_t)max;
    const struct ks_mirror_pass p = ks_mirror_pass(a, &input);
    *ret = json_object_new_object();
    json_add_bool(*ret, "mirrored", p.off == KS_MIRROR_FINE);
    if (p.off == KS_MIRROR_FINE) {
        json_add(*ret, "create", show_slices(a, p.create, p.n_create));
        json_add(*ret, "update", show_slices(a, p.update, p.n_update));
        json_add(*ret, "delete", eval_sl_sorted(a, json_strs(p.remove, p.n_remove)));
        json_add(*ret, "events", eval_sl_sorted(a, eval_sl_events(p.events, p.n_events)));
    }
    return ERR_OK;
}

static void add_addresses(struct json_object *o, const char *name,
                          const struct ks_subset_address *list, size_t n)
{
    if (n == 0) {
        return;
    }
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *at = json_object_new_object();
        json_add_str(at, "ip", list[i].ip);
        json_add_str(at, "hostname", *list[i].hostname == '\0' ? NULL : list[i].hostname);
        json_add_str(at, "nodeName", list[i].node_name);
        if (list[i].ref != NULL) {
            json_add(at, "targetRef", eval_sl_ref(list[i].ref));
        }
        json_object_array_add(array, at);
    }
    json_add(o, name, array);
}

static struct json_object *show_subset(struct arena *a, const struct ks_subset *s)
{
    struct json_object *o = json_object_new_object();
    add_addresses(o, "addresses", s->ready, s->n_ready);
    add_addresses(o, "notReadyAddresses", s->not_ready, s->n_not_ready);
    struct json_object *ports = json_object_new_array();
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct ks_subset_port *p = &s->ports[i];
        struct json_object *port = json_object_new_object();
        json_add_str(port, "name", *p->name == '\0' ? NULL : p->name);
        json_add_int(port, "port", p->port);
        json_add_str(port, "protocol", p->protocol);
        json_add_str(port, "appProtocol", p->app_protocol);
        json_object_array_add(ports, port);
    }
    eval_sl_sorted(a, ports);
    if (s->n_ports > 0) {
        json_add(o, "ports", ports);
    } else {
        json_object_put(ports);
    }
    return o;
}

RUN(legacy_endpoints)
{
    const struct ks_service *service;
    const struct ks_pod *const *pods;
    size_t n = 0;
    int code = eval_sl_service(a, in, "service", &service, err);
    if (code == ERR_OK) {
        code = eval_sl_pods(a, in, "pods", &pods, &n, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    const struct ks_endpoints *e = ks_legacy_endpoints(a, service, pods, n);
    if (e == NULL) {
        return ERR_OK;
    }
    *ret = json_object_new_object();
    json_add_str(*ret, "name", e->meta.name);
    json_add(*ret, "labels", eval_sl_map(e->meta.labels, e->meta.n_labels));
    if (e->meta.n_annotations > 0) {
        json_add(*ret, "annotations", eval_sl_map(e->meta.annotations, e->meta.n_annotations));
    }
    struct json_object *subsets = json_object_new_array();
    for (size_t i = 0; i < e->n_subsets; i++) {
        json_object_array_add(subsets, show_subset(a, &e->subsets[i]));
    }
    json_add(*ret, "subsets", eval_sl_sorted(a, subsets));
    return ERR_OK;
}

/* One size of [ready, not ready]. */
static int read_size(struct json_object *pair, size_t i, size_t *ret, struct err *err)
{
    struct json_object *v = json_len(pair) == 2 ? json_object_array_get_idx(pair, i) : NULL;
    int64_t n = json_object_get_int64(v);
    if (!json_object_is_type(v, json_type_int) || n < 0 || n > INT32_MAX) {
        return err_set(err, ERR_INVALID, "subsets: want lists of two sizes");
    }
    *ret = (size_t)n;
    return ERR_OK;
}

RUN(legacy_truncate)
{
    struct json_object *list = json_member(in, "subsets");
    size_t n = json_len(list);
    struct ks_subset_size *sizes = ARENA_ARRAY(a, struct ks_subset_size, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *pair = json_object_array_get_idx(list, i);
        int code = read_size(pair, 0, &sizes[i].ready, err);
        code = code != ERR_OK ? code : read_size(pair, 1, &sizes[i].not_ready, err);
        if (code != ERR_OK) {
            return code;
        }
    }
    *ret = json_object_new_object();
    json_add_bool(*ret, "truncated", ks_legacy_truncate(sizes, n));
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct json_object *pair = json_object_new_array();
        json_object_array_add(pair, json_object_new_int64((int64_t)sizes[i].ready));
        json_object_array_add(pair, json_object_new_int64((int64_t)sizes[i].not_ready));
        json_object_array_add(out, pair);
    }
    json_add(*ret, "subsets", out);
    return ERR_OK;
}

const struct eval_fn eval_services_slices[] = {
    {"services.pod_endpoint", pod_endpoint},
    {"services.pod_change", pod_change},
    {"services.services_of_pod", services_of_pod},
    {"services.slices", slices},
    {"services.slices_packing", slices_packing},
    {"services.mirror", mirror},
    {"services.legacy_endpoints", legacy_endpoints},
    {"services.legacy_truncate", legacy_truncate},
    {NULL, NULL},
};
