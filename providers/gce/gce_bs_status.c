/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_status.c: status, annotations and events of a Service with a backend service, after
 * success and failure (gce_flow.h).
 *
 * Address, annotations, conditions and finalizers go through the results of the call; objects
 * beside the Service (ServiceNetworkEndpointGroup) are written before, because the Service is not
 * done without them.  Kinds of ingress-gce have its annotations and its events; the internal kind
 * on instance groups those of cloud-provider-gcp.  A sync that changed nothing says nothing.
 * Source: gce-l4.md §4.10, §4.11, §6.1, §7.7; gce-cloud-provider.md §6.4. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/cache/gce_svcneg.h"
#include "providers/gce/gce_flow.h"
#include "providers/gce/model/gce_network_rules.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

/* ---- results --------------------------------------------------------------------------------- */

static void set_ingress(struct lb_sync *s, struct lb_item *item, const struct gce_bs_item *b)
{
    struct tt_ingress all[2];
    uint32_t n = 0;
    if (b->d.v4.wanted && !str_is_empty(b->outcome.ip_v4)) {
        all[n++] = (struct tt_ingress){.ip = b->outcome.ip_v4};
    }
    if (b->d.v6.wanted && !str_is_empty(b->outcome.ip_v6)) {
        all[n++] = (struct tt_ingress){.ip = b->outcome.ip_v6};
    }
    s->host->result_ingress(item->in->result, all, n);
}

void gce_bs_flow_annotate(struct lb_sync *s, struct lb_item *item, const char *key,
                          const char *value)
{
    if (!str_eq(svc_annotation(item->in->service, key), value)) {
        s->host->result_annotation(item->in->result, key, value);
    }
}

/* A firewall that upstream opened to all clients of a family, and that we would not make: while it
 * is left alone, so is the annotation that names it (docs/deviations.md). */
static bool is_left_alone(const struct gce_bs_item *b, const struct tt_kv *annotation)
{
    return b->d.warn_family_dropped && b->in.adopts && !b->facts.repair_adopted &&
           annotation->value == NULL &&
           str_has_prefix(annotation->key, GCE_ANN_STATUS_PREFIX "firewall-rule");
}

/* §4.11: ours of the list are replaced, the user's stay. */
static void set_l4_annotations(struct lb_sync *s, struct lb_item *item, const struct gce_bs_item *b)
{
    for (size_t i = 0; i < b->d.n_annotations; i++) {
        if (!is_left_alone(b, &b->d.annotations[i])) {
            gce_bs_flow_annotate(s, item, b->d.annotations[i].key, b->d.annotations[i].value);
        }
    }
}

static void set_legacy_annotations(struct lb_sync *s, struct lb_item *item,
                                   const struct gce_bs_item *b)
{
    const struct gce_provider *p = gce_provider_of(s);
    if (p->options.lb_annotations) {
        gce_bs_flow_annotate(s, item, GCE_ANN_BACKEND, b->d.service.name);
        gce_bs_flow_annotate(s, item, GCE_ANN_TARGET_POOL, NULL);
    }
}

static const char *families(const struct gce_bs_item *b)
{
    if (b->d.v4.wanted && b->d.v6.wanted) {
        return "IPv4 IPv6";
    }
    return b->d.v6.wanted ? "IPv6" : "IPv4";
}

static void tell_synced(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b)
{
    bool internal = gce_kind_is_internal(b->in.kind);
    if (b->changed) {
        s->host->event(s->host->ctx, item->in->service, TT_EVENT_NORMAL,
                       "SyncLoadBalancerSuccessful",
                       arena_printf(s->a, "Successfully ensured %s %s load balancer resources",
                                    families(b), internal ? "internal" : "External"));
    }
}

/* §4.12: a config that is wrong never fails a sync; the condition and an event say why it
 * has no effect. */
static void tell_log(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b,
                     const char *failure)
{
    struct tt_condition condition;
    const char *message = NULL;
    const char *reason = gce_log_event(s->a, item->in->service, &b->log, &message);
    if (gce_log_condition(item->in->service, &b->log, failure, &condition)) {
        s->host->result_condition(item->in->result, &condition);
    }
    if (reason != NULL) {
        gce_flow_event_once(s, item, TT_EVENT_WARNING, reason, message);
    }
}

static void warn(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b)
{
    if (b->d.warn_family_dropped && b->changed) {
        gce_flow_event_once(s, item, TT_EVENT_WARNING, "SourceRangesOfOneFamily",
                            "The source ranges hold none of one of the Service's IP families: over "
                            "that family no client is allowed.");
    }
}

void gce_bs_flow_clear_annotations(struct lb_sync *s, struct lb_item *item)
{
    /* Keys of §4.11. */
    static const char *const keys[] = {GCE_ANN_NEG_STATUS,
                                       GCE_ANN_STATUS_PREFIX "backend-service",
                                       GCE_ANN_STATUS_PREFIX "tcp-forwarding-rule",
                                       GCE_ANN_STATUS_PREFIX "udp-forwarding-rule",
                                       GCE_ANN_STATUS_PREFIX "l3-forwarding-rule",
                                       GCE_ANN_STATUS_PREFIX "tcp-forwarding-rule-ipv6",
                                       GCE_ANN_STATUS_PREFIX "udp-forwarding-rule-ipv6",
                                       GCE_ANN_STATUS_PREFIX "l3-forwarding-rule-ipv6",
                                       GCE_ANN_STATUS_PREFIX "healthcheck",
                                       GCE_ANN_STATUS_PREFIX "firewall-rule",
                                       GCE_ANN_STATUS_PREFIX "firewall-rule-ipv6",
                                       GCE_ANN_STATUS_PREFIX "firewall-rule-deny",
                                       GCE_ANN_STATUS_PREFIX "firewall-rule-deny-ipv6",
                                       GCE_ANN_STATUS_PREFIX "firewall-rule-for-hc",
                                       GCE_ANN_STATUS_PREFIX "firewall-rule-for-hc-ipv6"};
    static const struct tt_condition gone = {.type = GCE_LOG_CONDITION};
    s->host->result_condition(item->in->result, &gone); /* A23 */
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) { /* also those that this view does not have yet */
        s->host->result_annotation(item->in->result, keys[i], NULL);
    }
}

/* gce-l4.md §6.1: what the controllers wrote on the Service goes with the balancer;
 * its condition, too (A23). */
static void clear(struct lb_sync *s, struct lb_item *item)
{
    static const struct tt_condition gone = {.type = GCE_LOG_CONDITION};
    s->host->result_condition(item->in->result, &gone);
    s->host->result_ingress(item->in->result, NULL, 0);
    gce_bs_flow_clear_annotations(s, item);
    s->host->event(s->host->ctx, item->in->service, TT_EVENT_NORMAL, "DeletedLoadBalancer",
                   "Deleted load balancer");
}

void gce_bs_flow_look_again(struct lb_sync *s, struct lb_item *item, int64_t at_most_ms)
{
    const struct gce_provider *p = gce_provider_of(s);
    int64_t period_ms = p->options.periods.sync_ms;
    int64_t tenth_ms = (at_most_ms > 0 && at_most_ms < period_ms ? at_most_ms : period_ms) / 10;
    if (TT_HAS(s->host, result_again) && tenth_ms > 0) {
        int64_t later_ms = (int64_t)rng_below(p->cloud.rng, (uint64_t)(2 * tenth_ms + 1));
        s->host->result_again(item->in->result, 9 * tenth_ms + later_ms);
    }
}

static void set_neg_status(struct lb_sync *s, struct lb_item *item, const struct gce_bs_item *b)
{
    const char *text = gce_kind_has_negs(b->in.kind)
                           ? gce_neg_status_text(s->a, b->neg_name, &b->members.zones)
                           : NULL;
    if (b->in.kind != GCE_KIND_ILB_GROUPS) {
        gce_bs_flow_annotate(s, item, GCE_ANN_NEG_STATUS, text);
    }
}

void gce_bs_flow_serves(struct lb_sync *s, struct lb_item *item, const struct gce_bs_item *b)
{
    set_neg_status(s, item, b);
    set_ingress(s, item, b);
    if (b->in.kind == GCE_KIND_ILB_GROUPS) {
        set_legacy_annotations(s, item, b);
    } else {
        set_l4_annotations(s, item, b);
    }
}

void gce_bs_flow_status(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b)
{
    bool legacy = b->in.kind == GCE_KIND_ILB_GROUPS;
    if (!gce_kind_has_service(b->in.kind)) {
        gce_negs_only_status(s, item, b);
        return;
    }
    if (b->in.verb == TT_VERB_DELETE) {
        if (!legacy) {
            clear(s, item);
        }
        return;
    }
    if (b->in.verb != TT_VERB_ENSURE) {
        set_neg_status(s, item, b);
        return;
    }
    gce_bs_flow_serves(s, item, b);
    if (legacy) {
        gce_flow_ports_are_fine(s, item);
        return;
    }
    tell_log(s, item, b, NULL);
    warn(s, item, b);
    tell_synced(s, item, b);
    gce_bs_flow_look_again(s, item, 0);
}

void gce_bs_flow_failed(struct lb_sync *s, const struct lb_item *item, const struct gce_bs_item *b)
{
    bool deletes = item->in->verb == TT_VERB_DELETE;
    const char *reason = deletes                            ? "DeleteLoadBalancerFailed"
                         : gce_kind_is_internal(b->in.kind) ? "SyncLoadBalancerFailed"
                                                            : "SyncExternalLoadBalancerFailed";
    if (item->err.code == ERR_CANCELLED || item->settled) {
        return;
    }
    if (gce_item_of(item)->decision.kind == GCE_KIND_NEGS_ONLY) {
        gce_negs_only_failed(s, item);
        return;
    }
    if (!deletes && b->has_desired) {
        tell_log(s, item, b, item->err.message);
    }
    s->host->event(s->host->ctx, item->in->service, TT_EVENT_WARNING, reason,
                   arena_printf(s->a, "Error %s load balancer: %s",
                                deletes ? "deleting" : "syncing", item->err.message));
}

/* ---- objects --------------------------------------------------------------------------------- */

/* The NEGs of the Service as the cloud has them: what was just made is read for its id. */
static int look_at_negs(struct lb_sync *s, struct gce_bs_item *b, struct gce_slots *slots,
                        struct err *err)
{
    gce_slots_init(slots, s->a);
    for (size_t i = 0; i < b->negs.n; i++) {
        gce_slots_add(slots, true, GCE_NEGS, b->negs.items[i].zone, b->negs.items[i].name);
    }
    s->fresh = false;
    return gce_slots_look(slots, s, err);
}

static int ensure_svcneg(struct lb_sync *s, struct gce_bs_item *b, struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    const struct gce_svcneg_call k = {.host = s->host, .call = s->call};
    struct gce_neg *negs = ARENA_ARRAY(s->a, struct gce_neg, b->negs.n);
    struct gce_slots slots;
    size_t n = 0;
    if (look_at_negs(s, b, &slots, err) != ERR_OK) {
        return err->code;
    }
    for (size_t i = 0; i < b->negs.n; i++) {
        const struct gce_neg *one =
            gce_slots_neg(&slots, b->negs.items[i].zone, b->negs.items[i].name);
        if (one != NULL) {
            negs[n] = *one;
            negs[n++].zone = b->negs.items[i].zone;
        }
    }
    const struct gce_svcneg_wish wish = {
        .service = b->in.service,
        .name = b->neg_name,
        .negs = negs,
        .n_negs = n,
        .phase = GCE_SVCNEG_SYNCED,
        .with_states = b->facts.flags.multi_subnet,
        .zones = b->members.zones,
    };
    return gce_svcneg_ensure(p->svcneg, &k, &wish, err);
}

/* Only members were moved: the object names NEGs, not members. */
static bool same_negs(const struct gce_bs_item *b)
{
    return b->in.verb == TT_VERB_UPDATE && b->negs.first_op < 0;
}

/* A Service has an object while it has NEGs, also when what it is now says that it has groups:
 * those of another network were made while --enable-multi-networking was on. */
static bool has_object(const struct lb_sync *s, const struct gce_bs_item *b)
{
    bool negs = gce_bs_has_negs(s, b);
    bool other = b->in.verb == TT_VERB_DELETE && !b->negs_stay &&
                 b->in.kind != GCE_KIND_NEGS_ONLY && gce_network_of_service(b->in.service) != NULL;
    for (size_t i = 0; !negs && other && i < b->negs.n; i++) {
        negs = b->negs.items[i].seen != NULL;
    }
    return negs && !str_is_empty(b->neg_name);
}

int gce_bs_flow_objects(struct lb_sync *s, struct lb_item *item, struct gce_bs_item *b,
                        struct err *err)
{
    struct gce_provider *p = gce_provider_of(s);
    const struct gce_svcneg_call k = {.host = s->host, .call = s->call};
    int rc = ERR_OK;
    (void)item;
    if (has_object(s, b) && !same_negs(b)) {
        rc = b->in.verb == TT_VERB_DELETE
                 ? gce_svcneg_delete(p->svcneg, &k, b->in.service->ns, b->neg_name, err)
                 : ensure_svcneg(s, b, err);
    }
    if (rc == ERR_OK && b->in.kind == GCE_KIND_NEGS_ONLY && b->in.verb == TT_VERB_ENSURE) {
        gce_negs_only_look(s, b);
    }
    return rc;
}
