/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_others.c: what of other Services' load balancers matters to this one
 * (gce_target_pool_others.h).
 *
 * The health check of policy Cluster and the firewall that lets it in are shared.  A plan that
 * takes them away, or raises the firewall's priority, must know that no other Service is hurt:
 * from the Services themselves, and from the cloud by name, because a list may be incomplete.
 * Decides nothing: the plan does.  Runs in the thread of the sync. */
#include "providers/gce/gce_target_pool_others.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#define WAVE_MAX 32 /* reads at a time */

/* One of the Services whose target pool we keep. */
static bool is_ours(const struct gce_provider *p, const struct tt_service *s)
{
    static const char *const classes[] = {GCE_CLASS_EXTERNAL_LEGACY, GCE_CLASS_INTERNAL_LEGACY};
    return svc_wants_lb_of(s, classes, ARRAY_LEN(classes)) && gce_svc_scheme(s) == GCE_EXTERNAL &&
           gce_svc_target_pool_is_ours(s, NULL, p->options.rbs_default);
}

/* ---- the shared health check ----------------------------------------------------------------- */

bool gce_tp_others_want_node_check(const struct gce_provider *p, const struct tt_call *call,
                                   const struct tt_service *self)
{
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    p->cloud.host->services(p->cloud.host->ctx, call, &all, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct tt_service *s = all[i];
        int32_t port;
        if (!str_eq(s->uid, self->uid) && s->deleted_us == 0 &&
            (svc_is_unreadable(s) || (svc_health_check(s, &port) == NULL && is_ours(p, s)))) {
            return true;
        }
    }
    return false;
}

bool gce_tp_check_stands(const struct gce_cloud *cloud, struct arena *a, const struct gce_names *n)
{
    return gce_snapshot_get(cloud->snapshot, GCE_KEY(GCE_CHECKS, n->node_check), GCE_SNAPSHOT_ANY,
                            a, NULL) == GCE_PRESENT &&
           gce_snapshot_get(cloud->snapshot, GCE_KEY(GCE_FIREWALLS, n->node_check_firewall),
                            GCE_SNAPSHOT_ANY, a, NULL) == GCE_PRESENT;
}

/* ---- deny firewalls -------------------------------------------------------------------------- */

/* The shared firewall stands above deny rules and would come down among them. */
static bool would_leave_deny(const struct gce_tp_item *t)
{
    return !t->desired.local && !t->desired.want_deny && t->o.has_node_firewall == GCE_PRESENT &&
           t->o.node_firewall.priority < t->desired.check_firewall.priority;
}

/* Reads them; *ret becomes true when one of them stands. */
static int read_wave(struct gce_slots *w, struct lb_sync *s, bool *ret, struct err *err)
{
    int rc = gce_slots_look(w, s, err);
    for (size_t i = 0; i < w->n; i++) {
        *ret = *ret || w->items[i].known == GCE_PRESENT;
    }
    gce_slots_init(w, s->a);
    w->from_cloud = true;
    return rc;
}

static int read_all(struct lb_sync *s, const struct gce_tp_item *t, bool *ret, struct err *err)
{
    const struct gce_provider *p = gce_provider_of(s);
    const struct tt_service *const *all = NULL;
    struct gce_slots w;
    uint32_t n = 0;
    int rc = ERR_OK;
    gce_slots_init(&w, s->a);
    w.from_cloud = true;
    p->cloud.host->services(p->cloud.host->ctx, s->call, &all, &n);
    for (uint32_t i = 0; i < n && !*ret && rc == ERR_OK; i++) {
        struct gce_names names;
        bool may = svc_is_unreadable(all[i]) || is_ours(p, all[i]);
        if (str_eq(all[i]->uid, t->in.service->uid) || !may) {
            continue;
        }
        gce_names_make(s->a, all[i], t->in.cluster_id, &names);
        gce_slots_add(&w, true, GCE_FIREWALLS, NULL, names.deny_firewall);
        rc = w.n == WAVE_MAX ? read_wave(&w, s, ret, err) : ERR_OK;
    }
    return *ret || rc != ERR_OK ? rc : read_wave(&w, s, ret, err);
}

int gce_tp_others_have_deny(struct lb_sync *s, const struct gce_tp_item *t, bool *ret,
                            struct err *err)
{
    const struct gce_provider *p = gce_provider_of(s);
    *ret = gce_snapshot_has_deny(p->cloud.snapshot, t->names.deny_firewall);
    if (*ret || p->cloud.offline || !s->observed_fresh || !would_leave_deny(t)) {
        return ERR_OK;
    }
    int rc = read_all(s, t, ret, err);
    if (*ret) {
        err_clear(err); /* one that stands is enough to know */
    }
    return *ret ? ERR_OK : rc;
}
