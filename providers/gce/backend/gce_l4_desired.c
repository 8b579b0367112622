/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_desired.c: what a balancer of ingress-gce's kinds should be: its input checked, its
 * backend service and health check; rules and firewalls are in gce_l4_rules_desired.c and
 * gce_l4_firewalls_desired.c.
 *
 * Whatever is the user's to fix is found here, before the first write; upstream finds some of it
 * only when the cloud refuses, with half of the balancer made (Appendix C row 2, A9).
 * Source: gce-l4.md §4.1–4.6, §5.1–5.8, §10.  Part of gce_bs.h.  Pure. */
#include "providers/gce/backend/gce_bs_desired_parts.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/backend/gce_l4_address_rules.h"
#include "providers/gce/model/gce_service_rules.h"
#include "providers/gce/model/gce_shared_ip_rules.h"

#define INTERVAL_SHARED_S 8
#define INTERVAL_LOCAL_S  3
#define UNHEALTHY_SHARED  3
#define UNHEALTHY_LOCAL   2
#define DRAINING_TCP_S    30
#define SPILLOVER_OFF     "ZONAL_AFFINITY_DISABLED"
#define SPILLOVER_ON      "ZONAL_AFFINITY_SPILL_CROSS_ZONE"
#define TRACK_PER_SESSION "PER_SESSION"

struct gce_hc gce_l4_hc_make(struct arena *a, const struct gce_bs_check_wish *w)
{
    const struct gce_l4_description about = {
        .service = w->shared ? "" : w->key,
        .version = "ga",
        .text = w->shared ? gce_l4_shared_text(a, w->internal ? "ILB" : "XLB") : "",
    };
    return (struct gce_hc){
        .name = w->name,
        .description = gce_l4_describe(a, &about),
        .type = "HTTP",
        .path = w->path,
        .link = "",
        .port = w->port,
        .interval_s = w->shared ? INTERVAL_SHARED_S : INTERVAL_LOCAL_S,
        .timeout_s = 1,
        .healthy = 1,
        .unhealthy = w->shared ? UNHEALTHY_SHARED : UNHEALTHY_LOCAL,
        .has_http = true,
    };
}

/* ---- input ----------------------------------------------------------------------------------- */

static int check_ranges(struct gce_l4_wish *w, struct err *err)
{
    struct str_set unused;
    int rc = gce_l4_source_ranges(w->a, w->s, &w->ranges, err);
    /* Our deviation for all balancers: IPv4 ranges in IPv6 clothes that mean something else
     * (docs/deviations.md). */
    return rc != ERR_OK ? rc : svc_source_ranges(w->a, w->s, &unused, err);
}

/* §5.1 step 5: addresses of the user's own IPv6 ranges. */
static int check_collection(struct gce_l4_wish *w, struct err *err)
{
    const char *collection = str_nonnull(svc_annotation(w->s, GCE_ANN_IP_COLLECTION));
    w->collection = "";
    if (w->internal || !w->f->flags.byo_ipv6 || *collection == '\0') {
        return ERR_OK;
    }
    if (*gce_l4_subnet(w->s, false) != '\0') {
        return err_set(err, ERR_INVALID, "annotations %s and %s cannot be used together",
                       GCE_ANN_IP_COLLECTION, GCE_ANN_SUBNET_NEW);
    }
    if (w->want_v4) {
        return err_set(err, ERR_INVALID, "annotation %s: the Service must have IPv6 only",
                       GCE_ANN_IP_COLLECTION);
    }
    w->collection = collection;
    return ERR_OK;
}

/* The cloud says so with the forwarding rule alone, which is made last and for which the
 * former one goes. */
static int check_side(const struct gce_l4_wish *w, struct err *err)
{
    const struct gce_bs_user_address *v4 = &w->in->user_v4;
    const struct gce_bs_user_address *v6 = &w->in->user_v6;
    int rc = w->want_v4 ? gce_address_check_side(v4->ip, v4->type, w->internal, err) : ERR_OK;
    return rc == ERR_OK && w->want_v6 ? gce_address_check_side(v6->ip, v6->type, w->internal, err)
                                      : rc;
}

static int check_tier(struct gce_l4_wish *w, struct err *err)
{
    bool set;
    w->tier = gce_l4_tier(w->s, &set);
    if (w->internal) {
        return ERR_OK;
    }
    if (w->want_v6 && str_eq(w->tier, "STANDARD")) {
        return err_set(err, ERR_INVALID,
                       "Network tier Standard is not supported for IPv6 load balancers");
    }
    return w->want_v4 ? gce_l4_user_address_check(&w->in->user_v4, w->tier, err) : ERR_OK;
}

/* A9: upstream serves only the first port's protocol over IPv6 then, and says nothing. */
static int check_mixed_v6(const struct gce_l4_wish *w, struct err *err)
{
    if (!w->internal && w->want_v6 && w->ports.mixed && !w->f->flags.l3_default) {
        return err_set(err, ERR_INVALID,
                       "TCP and UDP ports in one external Service with IPv6 need L3 forwarding "
                       "rules, which are not enabled here");
    }
    return ERR_OK;
}

static int read_wish(struct gce_l4_wish *w, struct err *err)
{
    const struct gce_l4_flags *flags = &w->f->flags;
    const struct tt_service *s = w->s;
    w->internal = gce_kind_is_internal(w->in->kind);
    w->negs = gce_kind_has_negs(w->in->kind);
    w->mixed_on = w->internal ? flags->mixed_ilb : flags->mixed_netlb;
    w->dual_on = w->internal ? flags->dual_stack_ilb : flags->dual_stack_netlb;
    w->want_v4 = gce_l4_wants_v4(s, w->dual_on);
    w->want_v6 = gce_l4_wants_v6(s, w->dual_on);
    w->local = svc_only_local_traffic(s);
    w->subnet = gce_bs_subnetwork(w->a, w->f, w->in->subnetwork, gce_l4_subnet(s, w->internal));
    gce_l4_ports_of(w->a, s, w->mixed_on, &w->ports);
    int rc = gce_l4_ports_check(s, w->mixed_on, err);
    if (rc == ERR_OK) {
        rc = check_ranges(w, err);
    }
    if (rc == ERR_OK) {
        rc = check_side(w, err);
    }
    if (rc == ERR_OK) {
        rc = check_tier(w, err);
    }
    if (rc == ERR_OK) {
        rc = check_mixed_v6(w, err);
    }
    if (rc == ERR_OK) {
        rc = check_collection(w, err);
    }
    if (rc == ERR_OK && !w->internal) {
        rc = gce_l4_strong_affinity(s, flags->strong_affinity, &w->strong, err);
    }
    return rc;
}

/* ---- backend service ------------------------------------------------------------------------- */

static void set_log(const struct gce_l4_log *log, struct gce_bservice *b)
{
    b->has_log = true;
    b->log_enable = log->enable;
    b->log_rate = log->enable ? log->rate : 0;
    b->log_mode = str_nonnull(log->mode);
    b->log_fields = log->fields;
}

static void desired_service(const struct gce_l4_wish *w, struct gce_bs_desired *d)
{
    const struct gce_l4_flags *flags = &w->f->flags;
    const struct tt_service *s = w->s;
    bool zonal = w->internal && gce_l4_wants_zonal_affinity(s, flags);
    const char *where = w->internal ? "global" : gce_bs_region(w->a, w->f);
    d->strong_compared = !w->internal && flags->strong_affinity;
    d->log_managed = flags->logging && w->in->log != NULL;
    d->service = (struct gce_bservice){
        .name = w->names.backend,
        .description = gce_l4_describe(
            w->a, &(struct gce_l4_description){.service = w->in->key, .version = "ga"}),
        .protocol = w->ports.service_protocol,
        .scheme = w->internal ? "INTERNAL" : "EXTERNAL",
        .affinity = gce_l4_affinity(s),
        /* Google takes it of internal ones only. */
        .network = w->internal && w->f->network_name != NULL ? w->f->network : "",
        .locality = gce_l4_locality(s, w->internal, flags, &d->warn_weighted),
        .fingerprint = "",
        .link = "",
        .checks = gce_strs_one(w->a, gce_bs_link(w->a, w->f, where, "healthChecks", d->check.name)),
        .has_draining = true,
        .draining_s = str_eq(w->ports.service_protocol, "TCP") ? DRAINING_TCP_S : 0,
        .has_zonal = true,
        .spillover = zonal ? SPILLOVER_ON : SPILLOVER_OFF,
        .has_tracking = w->strong,
        .strong = w->strong,
        .tracking_mode = w->strong ? TRACK_PER_SESSION : "",
        .idle_s = w->strong ? s->affinity_timeout_s : 0,
        .log_mode = "",
        .owns = GCE_BS_OWNS_NETWORK | GCE_BS_OWNS_LOCALITY |
                (d->strong_compared ? GCE_BS_OWNS_TRACKING : 0u) |
                (d->log_managed ? GCE_BS_OWNS_LOG : 0u),
    };
    if (d->log_managed) {
        set_log(w->in->log, &d->service);
    }
}

static void desired_backends(const struct gce_l4_wish *w, struct gce_bs_desired *d)
{
    const char *name = w->negs ? w->names.backend : gce_l4_group_name(w->a, w->f->cluster_id);
    d->groups = gce_bs_groups(w->a, w->f, &w->in->zones,
                              w->negs ? "networkEndpointGroups" : "instanceGroups", name);
    d->mode = w->negs ? "CONNECTION" : ""; /* groups are shared with others, whose mode must fit */
    d->unlink = !w->negs;                  /* §4.9, §8.3 */
}

int gce_l4_desired_make(struct arena *a, const struct gce_bs_facts *f,
                        const struct gce_bs_input *in, struct gce_bs_desired *ret, struct err *err)
{
    struct gce_l4_wish w = {.a = a, .f = f, .in = in, .s = in->service};
    int32_t port = 0;
    if (str_is_empty(f->kube_system_uid)) {
        return err_set(err, ERR_TRANSIENT, "the UID of namespace kube-system is not known yet");
    }
    int rc = read_wish(&w, err);
    if (rc == ERR_OK) {
        rc = gce_bs_check_port(w.s, w.local, &port, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    gce_l4_names_make(a, f->kube_system_uid, str_nonnull(w.s->ns), str_nonnull(w.s->name),
                      str_nonnull(w.s->uid), &w.names);
    bool set;
    struct gce_bs_desired d = {
        .kind = in->kind,
        .ns = str_nonnull(w.s->ns),
        .name = str_nonnull(w.s->name),
        .internal = w.internal,
        .pinhole = f->flags.pinhole,
        .check_shared = !w.local,
        .check_firewall_shared = !w.local && f->network_name == NULL,
        .check_regional = !w.internal,
        .warn_options = w.internal && *w.subnet == '\0' &&
                        (gce_svc_wants_global_access(w.s) || *gce_l4_subnet(w.s, true) != '\0'),
    };
    d.warn_collection = w.internal && f->flags.byo_ipv6 &&
                        !str_is_empty(svc_annotation(w.s, GCE_ANN_IP_COLLECTION));
    (void)gce_l4_tier(w.s, &set);
    d.tier_is_set = !w.internal && set;
    d.check = gce_l4_hc_make(
        a, &(struct gce_bs_check_wish){.name = w.local ? w.names.local_check : w.names.shared_check,
                                       .key = in->key,
                                       .path = GCE_NODE_CHECK_PATH,
                                       .port = port,
                                       .shared = !w.local,
                                       .internal = w.internal});
    desired_service(&w, &d);
    desired_backends(&w, &d);
    gce_l4_desired_rules(&w, &d);
    gce_l4_desired_firewalls(&w, &d);
    gce_l4_desired_annotations(&w, &d);
    *ret = d;
    return ERR_OK;
}
