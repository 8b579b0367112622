/* SPDX-License-Identifier: Apache-2.0 */
/* legacy.c: the Endpoints of a Service with a selector; see legacy.h.  Canonical form: repack.c. */
#include "tests/upstream/legacy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/services/slices/pod.h"
#include "common/services/slices/port_lists.h"
#include "common/services/slices/repack.h"
#include "common/services/slices/slices_internal.h"

/* A pod that has an address, with its ports. */
struct member {
    struct ks_subset_address at;
    const struct port_list *ports;
    const char *name;
    bool ready;
};

/* ---- pods ------------------------------------------------------------------------------------ */

static bool is_ipv6(const char *text)
{
    struct ip_addr ip;
    return ip_parse_sloppy(text, &ip) && ip.len == 16;
}

/* The family of a Service's Endpoints, for this pod. */
static bool wants_ipv6(const struct ks_service *service, const struct ks_pod *pod)
{
    if (service->n_ip_families > 0) {
        return str_eq(service->ip_families[0], "IPv6");
    }
    return is_ipv6(ks_service_is_headless(service) ? pod->pod_ip : service->cluster_ip);
}

/* The pod's address of the family, in canonical form; NULL when it has none. */
static const char *address_of(struct arena *a, const struct ks_pod *pod, bool v6)
{
    for (size_t i = 0; i < pod->n_pod_ips; i++) {
        struct ip_addr ip;
        char text[IP_TEXT_MAX];
        if (ip_parse_sloppy(pod->pod_ips[i], &ip) && (ip.len == 16) == v6) {
            ip_format(&ip, text);
            return arena_strdup(a, text);
        }
    }
    return NULL;
}

static bool is_member(const struct ks_service *service, const struct ks_pod *pod)
{
    return str_eq(pod->meta.ns, service->meta.ns) &&
           ks_service_selects(service, pod->meta.labels, pod->meta.n_labels) &&
           ks_pod_counts(pod, service->publish_not_ready);
}

static struct ks_subset_address subset_address(struct arena *a, const struct ks_service *service,
                                               const struct ks_pod *pod, const char *ip)
{
    struct ks_ref *ref = ARENA_NEW(a, struct ks_ref);
    *ref = (struct ks_ref){.kind = "Pod",
                           .ns = pod->meta.ns,
                           .name = pod->meta.name,
                           .uid = pod->meta.uid,
                           .resource_version = ""};
    return (struct ks_subset_address){.ip = ip,
                                      .hostname = str_nonnull(ks_pod_hostname(service, pod)),
                                      .node_name = pod->node_name,
                                      .ref = ref};
}

static struct member *members_of(struct arena *a, const struct ks_service *service,
                                 const struct ks_pod *const *pods, size_t n_pods, size_t *ret_n)
{
    struct member *members = ARENA_ARRAY(a, struct member, n_pods);
    struct port_lists lists = port_lists_open(a, service);
    for (size_t i = 0; i < n_pods; i++) {
        const char *ip = is_member(service, pods[i])
                             ? address_of(a, pods[i], wants_ipv6(service, pods[i]))
                             : NULL;
        if (ip != NULL) {
            members[(*ret_n)++] =
                (struct member){.at = subset_address(a, service, pods[i], ip),
                                .ports = port_lists_of(&lists, pods[i]),
                                .name = pods[i]->meta.name,
                                .ready = pods[i]->ready || service->publish_not_ready};
        }
    }
    port_lists_close(&lists);
    return members;
}

/* ---- subsets --------------------------------------------------------------------------------- */

static int by_ports(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    int order = a->ports == b->ports ? 0 : strcmp(a->ports->key, b->ports->key);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static const struct ks_subset_port *subset_ports(struct arena *a, const struct port_list *list)
{
    struct ks_subset_port *ports = ARENA_ARRAY(a, struct ks_subset_port, list->n);
    for (size_t i = 0; i < list->n; i++) {
        ports[i] = (struct ks_subset_port){.name = list->ports[i].name,
                                           .protocol = list->ports[i].protocol,
                                           .app_protocol = list->ports[i].app_protocol,
                                           .port = list->ports[i].port};
    }
    return ports;
}

/* A subset of members with equal ports. */
static struct ks_subset subset_of(struct arena *a, const struct member *members, size_t n)
{
    struct ks_subset_address *ready = ARENA_ARRAY(a, struct ks_subset_address, n);
    struct ks_subset_address *not_ready = ARENA_ARRAY(a, struct ks_subset_address, n);
    struct ks_subset s = {.ready = ready,
                          .not_ready = not_ready,
                          .ports = subset_ports(a, members[0].ports),
                          .n_ports = members[0].ports->n};
    for (size_t i = 0; i < n; i++) {
        if (members[i].ready) {
            ready[s.n_ready++] = members[i].at;
        } else {
            not_ready[s.n_not_ready++] = members[i].at;
        }
    }
    return s;
}

/* Subsets before they are repacked.  Pods without any of the Service's ports are in none, unless
 * the Service is headless and has no ports at all. */
static const struct ks_subset *subsets_of(struct arena *a, const struct ks_service *service,
                                          struct member *members, size_t n, size_t *ret_n)
{
    struct ks_subset *subsets = ARENA_ARRAY(a, struct ks_subset, n);
    bool portless = service->n_ports == 0 && str_eq(service->cluster_ip, "None");
    qsort(members, n, sizeof(*members), by_ports);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && str_eq(members[to].ports->key, members[from].ports->key);) {
            to++;
        }
        if (portless || members[from].ports->n > 0) {
            subsets[(*ret_n)++] = subset_of(a, &members[from], to - from);
        }
    }
    return subsets;
}

/* ---- truncation ------------------------------------------------------------------------------ */

/* Cuts one list in proportion; *space is what still fits. */
static void cut(size_t *size, size_t total, size_t max, size_t *space)
{
    size_t share = (size_t)ceil((double)*size / (double)total * (double)max);
    *size = share < *space ? share : *space;
    *space -= *size;
}

bool ks_legacy_truncate(struct ks_subset_size *sizes, size_t n)
{
    size_t ready = 0, not_ready = 0;
    for (size_t i = 0; i < n; i++) {
        ready += sizes[i].ready;
        not_ready += sizes[i].not_ready;
    }
    if (ready + not_ready <= KS_ENDPOINTS_MAX) {
        return false;
    }
    bool cut_ready = ready > KS_ENDPOINTS_MAX;
    size_t max = cut_ready ? KS_ENDPOINTS_MAX : KS_ENDPOINTS_MAX - ready;
    size_t space = max;
    for (size_t i = 0; i < n; i++) {
        if (cut_ready) {
            cut(&sizes[i].ready, ready, max, &space);
            sizes[i].not_ready = 0;
        } else {
            cut(&sizes[i].not_ready, not_ready, max, &space);
        }
    }
    return true;
}

static bool cut_subsets(struct arena *a, struct ks_subset *subsets, size_t n)
{
    struct ks_subset_size *sizes = ARENA_ARRAY(a, struct ks_subset_size, n);
    for (size_t i = 0; i < n; i++) {
        sizes[i] = (struct ks_subset_size){subsets[i].n_ready, subsets[i].n_not_ready};
    }
    bool truncated = ks_legacy_truncate(sizes, n);
    for (size_t i = 0; i < n; i++) {
        subsets[i].n_ready = sizes[i].ready;
        subsets[i].n_not_ready = sizes[i].not_ready;
    }
    return truncated;
}

/* ---- the object ------------------------------------------------------------------------------ */

static struct kv_map labels_of(struct arena *a, const struct ks_service *service)
{
    struct kv_map labels = kv_map_copy(a, service->meta.labels, service->meta.n_labels, 2);
    kv_map_remove(&labels, KS_LABEL_HEADLESS);
    if (ks_service_is_headless(service)) {
        kv_map_set(&labels, KS_LABEL_HEADLESS, "");
    }
    kv_map_set(&labels, "endpoints.kubernetes.io/managed-by", "endpoint-controller");
    return labels;
}

const struct ks_endpoints *ks_legacy_endpoints(struct arena *a, const struct ks_service *service,
                                               const struct ks_pod *const *pods, size_t n_pods)
{
    if (!service->has_selector || str_eq(service->type, "ExternalName")) {
        return NULL;
    }
    size_t n_members = 0, n_subsets = 0, n = 0;
    struct member *members = members_of(a, service, pods, n_pods, &n_members);
    const struct ks_subset *raw = subsets_of(a, service, members, n_members, &n_subsets);
    const struct ks_subset *packed = subsets_repack(a, raw, n_subsets, true, &n);
    struct ks_subset *subsets =
        n == 0 ? NULL : arena_memdup(a, packed, n * sizeof(*packed)); /* to be cut */
    const struct kv_map labels = labels_of(a, service);
    struct ks_endpoints *e = ARENA_NEW(a, struct ks_endpoints);
    *e = (struct ks_endpoints){.meta = {.ns = service->meta.ns,
                                        .name = service->meta.name,
                                        .generate_name = "",
                                        .uid = "",
                                        .resource_version = "",
                                        .labels = labels.items,
                                        .n_labels = labels.n,
                                        .has_labels = true},
                               .subsets = subsets,
                               .n_subsets = n};
    if (n > 0 && cut_subsets(a, subsets, n)) {
        struct kv_map annotations = kv_map_copy(a, NULL, 0, 1);
        kv_map_set(&annotations, "endpoints.kubernetes.io/over-capacity", "truncated");
        e->meta.annotations = annotations.items;
        e->meta.n_annotations = annotations.n;
        e->meta.has_annotations = true;
    }
    return e;
}
