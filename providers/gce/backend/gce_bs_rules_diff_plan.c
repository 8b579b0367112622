/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_rules_diff_plan.c: what differs between two forwarding rules, in words and as fields of a
 * plan.
 *
 * Only for people: whether rules differ is decided in gce_bs_diff.c, as upstream
 * decides it. Pure. */
#include "providers/gce/backend/gce_bs_ensure_plan.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_links.h"

static const char *ports_text(struct arena *a, const struct gce_rule *r)
{
    if (r->all_ports) {
        return "all";
    }
    return r->ports.n > 0 ? str_join(a, r->ports.items, r->ports.n, ",")
                          : str_nonnull(r->port_range);
}

static bool same_link(const char *x, const char *y)
{
    return str_eq(str_nonnull(x), str_nonnull(y)) ||
           (!str_is_empty(x) && !str_is_empty(y) && gce_link_same(x, y));
}

static bool ports_differ(const struct gce_rule *is, const struct gce_rule *want)
{
    bool differ = is->all_ports != want->all_ports || is->ports.n != want->ports.n ||
                  !str_eq(str_nonnull(is->port_range), str_nonnull(want->port_range));
    for (size_t i = 0; !differ && i < is->ports.n; i++) {
        differ = !str_eq(is->ports.items[i], want->ports.items[i]);
    }
    return differ;
}

const char *bs_rule_because(const struct gce_rule *is, const struct gce_rule *want)
{
    const struct {
        bool differs;
        const char *because;
    } rows[] = {
        {!str_eq_nocase(is->protocol, want->protocol), "spec.ports changed"},
        {ports_differ(is, want), "spec.ports changed"},
        {!same_link(is->subnetwork, want->subnetwork) && !str_is_empty(want->subnetwork),
         "the subnetwork changed, and with it the address"},
        {!str_is_empty(want->ip) && !str_eq(is->ip, want->ip), "another address is asked for"},
        {!same_link(is->backend_service, want->backend_service),
         "it refers to another backend service"},
        {is->global_access != want->global_access, "global access changed"},
        {!str_is_empty(want->tier) && !str_eq(is->tier, want->tier), "the network tier changed"},
        {!str_eq(str_nonnull(is->ip_collection), str_nonnull(want->ip_collection)),
         "the collection of addresses changed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].differs) {
            return rows[i].because;
        }
    }
    return "it is not as it should be";
}

void bs_rule_fields(struct lb_diff *diff, const struct gce_rule *is, const struct gce_rule *want,
                    struct lb_value ip)
{
    struct arena *a = diff->a;
    if (is == NULL) {
        (void)lb_diff_value(diff, "IPAddress", NULL, ip);
        return;
    }
    if (ip.text != NULL || ip.op >= 0) {
        const char *old = gce_l4_ip_without_prefix(a, is->ip);
        const char *new_ip = ip.text == NULL ? NULL : gce_l4_ip_without_prefix(a, ip.text);
        (void)lb_diff_value(diff, "IPAddress", old, new_ip == NULL ? ip : LB_VALUE(new_ip));
    }
    (void)lb_diff_text(diff, "IPProtocol", is->protocol, want->protocol);
    (void)lb_diff_text(diff, "ports", ports_text(a, is), ports_text(a, want));
    (void)lb_diff_text(diff, "allowGlobalAccess", is->global_access ? "true" : "false",
                       want->global_access ? "true" : "false");
    if (!str_is_empty(want->tier)) {
        (void)lb_diff_text(diff, "networkTier", is->tier, want->tier);
    }
    (void)lb_diff_text(diff, "loadBalancingScheme", is->scheme, want->scheme);
    if (!same_link(is->subnetwork, want->subnetwork) && !str_is_empty(want->subnetwork)) {
        (void)lb_diff_text(diff, "subnetwork", gce_link_last(str_nonnull(is->subnetwork)),
                           gce_link_last(want->subnetwork));
    }
    if (!same_link(is->backend_service, want->backend_service)) {
        (void)lb_diff_text(diff, "backendService", gce_link_last(str_nonnull(is->backend_service)),
                           gce_link_last(want->backend_service));
    }
}

const char *bs_rule_summary(struct arena *a, const struct gce_rule *r)
{
    return arena_printf(a, "%s %s → backend service", r->protocol, ports_text(a, r));
}
