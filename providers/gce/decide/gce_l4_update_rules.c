/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_update_rules.c: which changes of a Service matter to a balancer with a backend service.
 *
 * Our own patches come back as updates; what is only in annotations that controllers write is not
 * worth a sync (gce-l4.md §7.2; upstream's external controller has not that rule,
 * docs/deviations.md).  Part of gce_l4_rules.h.  Pure. */
#include "providers/gce/model/gce_l4_rules.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/decide/gce_decide.h"

#include <string.h>

static bool is_status_key(const char *key)
{
    return str_eq(key, GCE_ANN_NEG_STATUS) || str_has_prefix(key, "service.kubernetes.io");
}

/* Every annotation of `x` but those of controllers is in `y`, with the same value. */
static bool annotations_within(const struct tt_service *x, const struct tt_service *y)
{
    for (uint32_t i = 0; i < x->n_annotations; i++) {
        const struct tt_kv *kv = &x->annotations[i];
        if (!is_status_key(kv->key) && !str_eq(svc_annotation(y, kv->key), kv->value)) {
            return false;
        }
    }
    return true;
}

bool gce_l4_only_status_annotations_changed(const struct tt_service *old_svc,
                                            const struct tt_service *cur)
{
    return annotations_within(old_svc, cur) && annotations_within(cur, old_svc);
}

static bool texts_differ(const char *const *x, uint32_t n_x, const char *const *y, uint32_t n_y)
{
    if (n_x != n_y) {
        return true;
    }
    for (uint32_t i = 0; i < n_x; i++) {
        if (!str_eq(x[i], y[i])) {
            return true;
        }
    }
    return false;
}

/* V189, V190: in order, and all but appProtocol. */
static bool ports_differ(const struct tt_service *x, const struct tt_service *y)
{
    if (x->n_ports != y->n_ports) {
        return true;
    }
    for (uint32_t i = 0; i < x->n_ports; i++) {
        const struct tt_port *p = &x->ports[i];
        const struct tt_port *q = &y->ports[i];
        if (!str_eq(str_nonnull(p->name), str_nonnull(q->name)) ||
            !str_eq(str_nonnull(p->protocol), str_nonnull(q->protocol)) || p->port != q->port ||
            p->node_port != q->node_port || p->target_port != q->target_port ||
            !str_eq(p->target_name, q->target_name)) {
            return true;
        }
    }
    return false;
}

/* Common checks of both kinds. */
static bool spec_differs(const struct tt_service *x, const struct tt_service *y, bool dual_stack)
{
    return x->has_source_ranges != y->has_source_ranges ||
           texts_differ(x->source_ranges, x->n_source_ranges, y->source_ranges,
                        y->n_source_ranges) ||
           ports_differ(x, y) ||
           !str_eq(str_nonnull(x->session_affinity), str_nonnull(y->session_affinity)) ||
           x->affinity_timeout_s != y->affinity_timeout_s ||
           !str_eq(str_nonnull(x->lb_ip), str_nonnull(y->lb_ip)) ||
           texts_differ(x->external_ips, x->n_external_ips, y->external_ips, y->n_external_ips) ||
           !gce_l4_only_status_annotations_changed(x, y) ||
           !str_eq(str_nonnull(x->external_traffic_policy),
                   str_nonnull(y->external_traffic_policy)) ||
           x->health_check_node_port != y->health_check_node_port ||
           (dual_stack &&
            texts_differ(x->ip_families, x->n_ip_families, y->ip_families, y->n_ip_families));
}

bool gce_l4_ilb_needs_update(const struct tt_service *old_svc, const struct tt_service *cur,
                             bool dual_stack)
{
    bool wanted = gce_l4_wants_ilb(old_svc);
    if (wanted != gce_l4_wants_ilb(cur)) {
        return true;
    }
    return wanted && (spec_differs(old_svc, cur, dual_stack) ||
                      !str_eq(str_nonnull(old_svc->uid), str_nonnull(cur->uid)) ||
                      !str_eq(old_svc->traffic_distribution, cur->traffic_distribution));
}

bool gce_l4_netlb_needs_update(const struct tt_service *old_svc, const struct tt_service *cur,
                               bool dual_stack)
{
    bool wanted = gce_l4_wants_netlb(old_svc);
    if (wanted != gce_l4_wants_netlb(cur)) {
        return true;
    }
    return wanted && spec_differs(old_svc, cur, dual_stack);
}

bool gce_l4_is_resync(const struct gce_l4_seen *seen, const char *current)
{
    if (!seen->succeeded || str_is_empty(seen->processed)) {
        return false;
    }
    return str_eq(current, seen->processed) ||
           (str_eq(current, seen->ignored) && str_eq(seen->seen, seen->processed));
}

static bool holds(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], name)) {
            return true;
        }
    }
    return false;
}

bool gce_l4_finalizer_lost(const char *const *old_names, size_t n_old, const char *const *names,
                           size_t n, const char *finalizer, bool deleting)
{
    return !deleting && holds(old_names, n_old, finalizer) && !holds(names, n, finalizer);
}
