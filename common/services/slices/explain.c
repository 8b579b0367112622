/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: which pods are behind a Service, and why the others are not; see explain.h. */
#include "common/services/slices/explain.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/services/slices/pod.h"

enum ks_pod_role ks_pod_role(struct arena *a, const struct ks_service *service,
                             enum ks_family family, const struct ks_pod *pod, bool node_known)
{
    if (!str_eq(pod->meta.ns, service->meta.ns) ||
        !ks_service_selects(service, pod->meta.labels, pod->meta.n_labels)) {
        return KS_POD_OTHER;
    }
    if (!ks_pod_counts(pod, true)) {
        bool finished = str_eq(pod->phase, "Succeeded") || str_eq(pod->phase, "Failed");
        return finished ? KS_POD_FINISHED : KS_POD_NO_ADDRESS;
    }
    const struct ks_slice_endpoint e = ks_pod_endpoint(a, service, pod, NULL, family);
    size_t n_ports = 0;
    if (e.n_addresses == 0) {
        return KS_POD_OTHER_FAMILY;
    }
    if (!node_known && !service->publish_not_ready) {
        return KS_POD_NODE_UNKNOWN;
    }
    (void)ks_pod_ports(a, service, pod, &n_ports);
    if (n_ports == 0 && service->n_ports > 0) {
        return KS_POD_NO_PORT;
    }
    if (e.ready == KS_TRUE) {
        return KS_POD_SERVING;
    }
    if (e.terminating == KS_TRUE) {
        return e.serving == KS_TRUE ? KS_POD_DRAINING : KS_POD_GONE;
    }
    return KS_POD_NOT_READY;
}

/* The deeds of the pods of a role: of one, of several. */
struct phrase {
    const char *one;
    const char *more;
};
static const struct phrase phrases[KS_POD_MAX] = {
    [KS_POD_FINISHED] = {"has finished", "have finished"},
    [KS_POD_NO_ADDRESS] = {"has no address yet", "have no address yet"},
    [KS_POD_OTHER_FAMILY] = {"has no address of this family", "have no address of this family"},
    [KS_POD_NODE_UNKNOWN] = {"is on an unknown node", "are on unknown nodes"},
    [KS_POD_NO_PORT] = {"has no port of the name that the Service asks for",
                        "have no port of the name that the Service asks for"},
    [KS_POD_NOT_READY] = {"is not ready", "are not ready"},
    [KS_POD_GONE] = {"is being deleted and no longer serves",
                     "are being deleted and no longer serve"},
    [KS_POD_DRAINING] = {"is being deleted and still serves", "are being deleted and still serve"},
    [KS_POD_SERVING] = {"gets traffic", "get traffic"},
};

/* "2 pods get traffic; 1 pod is not ready (web-2)", the roles with traffic first. */
static const char *sentence_of(struct arena *a, const struct ks_service *service,
                               const struct ks_pods_report *r)
{
    struct str_buf b = STR_BUF_INIT;
    for (int role = KS_POD_MAX - 1; role > KS_POD_OTHER; role--) {
        size_t n = r->counts[role];
        if (n == 0) {
            continue;
        }
        str_appendf(&b, "%s%s %s", b.len > 0 ? "; " : "", str_count(a, n, "pod"),
                    n == 1 ? phrases[role].one : phrases[role].more);
        if (role != KS_POD_SERVING) {
            str_appendf(&b, " (%s%s)", r->first[role], n > 1 ? ", …" : "");
        }
    }
    if (b.len == 0) {
        str_append(&b, service->has_selector ? "the selector matches no pod"
                                             : "the Service has no selector, so no pod is behind "
                                               "it by itself");
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

struct ks_pods_report ks_pods_explain(struct arena *a, const struct ks_service *service,
                                      enum ks_family family, const struct ks_pod *const *pods,
                                      size_t n_pods, const struct ks_node *const *nodes,
                                      size_t n_nodes)
{
    struct ks_pods_report r = {.sentence = ""};
    const char **names = ARENA_ARRAY(a, const char *, n_nodes);
    for (size_t i = 0; i < n_nodes; i++) {
        names[i] = nodes[i]->meta.name;
    }
    qsort(names, n_nodes, sizeof(*names), by_text);
    for (size_t i = 0; i < n_pods; i++) {
        const struct ks_pod *pod = pods[i];
        bool known = n_nodes > 0 &&
                     bsearch(&pod->node_name, names, n_nodes, sizeof(*names), by_text) != NULL;
        enum ks_pod_role role = ks_pod_role(a, service, family, pod, known);
        r.counts[role]++;
        if (r.first[role] == NULL || strcmp(pod->meta.name, r.first[role]) < 0) {
            r.first[role] = pod->meta.name;
        }
    }
    r.sentence = sentence_of(a, service, &r);
    return r;
}
