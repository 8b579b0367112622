/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services_slices.c: pods and EndpointSlices, of the functions services.* of trimtab-eval. */
#include "common/services/slices/pod.h"
#include "common/services/slices/slices.h"
#include "tests/eval/eval_services_objects.h"

#include <stdlib.h>

#include "common/base/str.h"

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

const struct eval_fn eval_services_slices[] = {
    {"services.pod_endpoint", pod_endpoint},
    {"services.slices", slices},
    {"services.slices_packing", slices_packing},
    {NULL, NULL},
};
