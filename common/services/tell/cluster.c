/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c: sorts and finds objects of a cluster; see the header. */
#include "common/services/tell/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

static int cmp_meta(const struct ks_meta *x, const struct ks_meta *y)
{
    int c = strcmp(x->ns, y->ns);
    return c != 0 ? c : strcmp(x->name, y->name);
}

static int cmp_service(const void *x, const void *y)
{
    return cmp_meta(&(*(const struct ks_service *const *)x)->meta,
                    &(*(const struct ks_service *const *)y)->meta);
}

static int cmp_node(const void *x, const void *y)
{
    return strcmp((*(const struct ks_node *const *)x)->meta.name,
                  (*(const struct ks_node *const *)y)->meta.name);
}

static int cmp_pod(const void *x, const void *y)
{
    return cmp_meta(&(*(const struct ks_pod *const *)x)->meta,
                    &(*(const struct ks_pod *const *)y)->meta);
}

const char *ks_slice_owner(const struct ks_slice *slice)
{
    const char *name =
        ks_kv(slice->meta.labels, slice->meta.n_labels, "kubernetes.io/service-name");
    return str_is_empty(name) ? NULL : name;
}

static int cmp_slice_place(const struct ks_slice *slice, const char *ns, const char *service)
{
    int c = strcmp(slice->meta.ns, ns);
    return c != 0 ? c : strcmp(str_nonnull(ks_slice_owner(slice)), service);
}

static int cmp_slice(const void *x, const void *y)
{
    const struct ks_slice *a = *(const struct ks_slice *const *)x;
    const struct ks_slice *b = *(const struct ks_slice *const *)y;
    int c = cmp_slice_place(a, b->meta.ns, str_nonnull(ks_slice_owner(b)));
    return c != 0 ? c : strcmp(a->meta.name, b->meta.name);
}

static void sort(void *items, size_t n, int (*cmp)(const void *, const void *))
{
    if (n > 1) {
        qsort(items, n, sizeof(void *), cmp);
    }
}

void ks_cluster_sort(struct arena *a, struct ks_cluster *c)
{
    sort((void *)c->services, c->n_services, cmp_service);
    sort((void *)c->slices, c->n_slices, cmp_slice);
    sort((void *)c->nodes, c->n_nodes, cmp_node);
    sort((void *)c->pods, c->n_pods, cmp_pod);
    ks_cluster_find_places(a, c);
}

const struct ks_service *ks_cluster_service(const struct ks_cluster *c, const char *ns,
                                            const char *name)
{
    const struct ks_service key = {.meta = {.ns = ns, .name = name}};
    const struct ks_service *at = &key;
    const struct ks_service *const *found =
        c->n_services == 0
            ? NULL
            : bsearch(&at, c->services, c->n_services, sizeof(*c->services), cmp_service);
    return found == NULL ? NULL : *found;
}

const struct ks_node *ks_cluster_node(const struct ks_cluster *c, const char *name)
{
    const struct ks_node key = {.meta = {.name = name}};
    const struct ks_node *at = &key;
    const struct ks_node *const *found =
        c->n_nodes == 0 ? NULL : bsearch(&at, c->nodes, c->n_nodes, sizeof(*c->nodes), cmp_node);
    return found == NULL ? NULL : *found;
}

const struct ks_pod *ks_cluster_pod(const struct ks_cluster *c, const char *ns, const char *name)
{
    const struct ks_pod key = {.meta = {.ns = ns, .name = name}};
    const struct ks_pod *at = &key;
    const struct ks_pod *const *found =
        c->n_pods == 0 ? NULL : bsearch(&at, c->pods, c->n_pods, sizeof(*c->pods), cmp_pod);
    return found == NULL ? NULL : *found;
}

const struct ks_slice *const *ks_cluster_slices(const struct ks_cluster *c, const char *ns,
                                                const char *name, size_t *ret_n)
{
    size_t low = 0;
    size_t high = c->n_slices;
    while (low < high) { /* the first that is not before the Service's */
        size_t mid = low + (high - low) / 2;
        if (cmp_slice_place(c->slices[mid], ns, name) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    size_t end = low;
    while (end < c->n_slices && cmp_slice_place(c->slices[end], ns, name) == 0) {
        end++;
    }
    *ret_n = end - low;
    return c->slices == NULL ? NULL : c->slices + low;
}

bool ks_is_rule_word(const char *text)
{
    for (const char *s = text; *s != '\0'; s++) {
        if (*s <= ' ' || *s > '~' || strchr("\"'`\\{};", *s) != NULL) {
            return false;
        }
    }
    return true;
}

enum ks_family ks_family_of(const struct ip_addr *ip)
{
    return ip->len == 16 ? KS_IPV6 : KS_IPV4;
}

bool ks_node_address(const struct ks_node *node, enum ks_family family, struct ip_addr *ret)
{
    for (size_t i = 0; i < node->n_addresses; i++) {
        struct ip_addr ip;
        if (ip_parse_sloppy(node->addresses[i], &ip) && ks_family_of(&ip) == family) {
            *ret = ip;
            return true;
        }
    }
    return false;
}
