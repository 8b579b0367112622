/* SPDX-License-Identifier: Apache-2.0 */
/* pod_change.c: Services that a change of a pod concerns; see pod_change.h. */
#include "tests/upstream/pod_change.h"

#include "common/base/str.h"
#include "common/services/slices/pod.h"

static bool same_labels(const struct ks_meta *x, const struct ks_meta *y)
{
    if (x->n_labels != y->n_labels || x->has_labels != y->has_labels) {
        return false;
    }
    for (size_t i = 0; i < x->n_labels; i++) {
        if (!str_eq(x->labels[i].key, y->labels[i].key) ||
            !str_eq(x->labels[i].value, y->labels[i].value)) {
            return false;
        }
    }
    return true;
}

static bool same_addresses(const struct ks_pod *x, const struct ks_pod *y)
{
    if (x->n_pod_ips != y->n_pod_ips) {
        return false;
    }
    for (size_t i = 0; i < x->n_pod_ips; i++) {
        if (!str_eq(x->pod_ips[i], y->pod_ips[i])) {
            return false;
        }
    }
    return true;
}

static struct ks_pod_change change_of(const struct ks_pod *pod)
{
    const struct ks_meta *m = &pod->meta;
    return (struct ks_pod_change){
        .ns = m->ns, .labels = m->labels, .n_labels = m->n_labels, .has_labels = m->has_labels};
}

bool ks_pod_changed(const struct ks_pod *before, const struct ks_pod *after,
                    struct ks_pod_change *ret)
{
    if (before == NULL || after == NULL) {
        if (before != after) {
            *ret = change_of(after != NULL ? after : before);
        }
        return before != after;
    }
    if (str_eq(before->meta.resource_version, after->meta.resource_version)) {
        return false;
    }
    bool pod = !str_eq(before->meta.deletion_timestamp, after->meta.deletion_timestamp) ||
               before->ready != after->ready || !same_addresses(before, after);
    bool labels = !same_labels(&before->meta, &after->meta) ||
                  !str_eq(before->hostname, after->hostname) ||
                  !str_eq(before->subdomain, after->subdomain);
    if (!pod && !labels) {
        return false;
    }
    *ret = change_of(after);
    if (labels) {
        ret->old_labels = before->meta.labels;
        ret->n_old_labels = before->meta.n_labels;
        ret->has_old_labels = before->meta.has_labels;
        ret->pod_changed = pod;
    }
    return true;
}

static bool concerns(const struct ks_pod_change *c, const struct ks_service *s)
{
    if (!str_eq(s->meta.ns, c->ns)) {
        return false;
    }
    bool now = ks_service_selects(s, c->labels, c->n_labels);
    if (!c->has_old_labels) {
        return now;
    }
    bool before = ks_service_selects(s, c->old_labels, c->n_old_labels);
    return c->pod_changed ? now || before : now != before;
}

const struct ks_service *const *ks_pod_change_services(struct arena *a,
                                                       const struct ks_pod_change *change,
                                                       const struct ks_service *const *services,
                                                       size_t n, size_t *ret_n)
{
    const struct ks_service **list = ARENA_ARRAY(a, const struct ks_service *, n);
    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (concerns(change, services[i])) {
            list[(*ret_n)++] = services[i];
        }
    }
    return list;
}
