/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_diff.c: is a resource of a balancer with a backend service as it should be?
 *
 * Upstream has two sets of comparisons, ingress-gce's (gce_l4_…) and cloud-provider-gcp's
 * (gce_ilb_…), and each kind is compared as its own controller does: what that would leave alone we
 * leave alone.  Where upstream compares links as text we compare the resources that they name.
 * Part of gce_bs.h.
 * Source: gce-l4.md §4.3, §4.6–4.8; gce-cloud-provider.md §5.5, §5.6, §5.8; vectors V87–V114,
 * V125–V169, F7–F9, H1–H5.  Pure. */
#include "providers/gce/backend/gce_bs.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/gce/model/gce_firewall_diff.h"
#include "providers/gce/model/gce_links.h"

#include <math.h>
#include <string.h>

/* Nothing, or the same resource in whatever spelling. */
static bool same_place(const char *x, const char *y)
{
    return str_eq(str_nonnull(x), str_nonnull(y)) ||
           (!str_is_empty(x) && !str_is_empty(y) && gce_link_same(x, y));
}

bool gce_links_same(const struct gce_strs *x, const struct gce_strs *y)
{
    if (x->n != y->n) {
        return false;
    }
    for (size_t side = 0; side < 2; side++) {
        const struct gce_strs *from = side == 0 ? x : y;
        const struct gce_strs *in = side == 0 ? y : x;
        for (size_t i = 0; i < from->n; i++) {
            size_t k = 0;
            while (k < in->n && !same_place(from->items[i], in->items[k])) {
                k++;
            }
            if (k == in->n) {
                return false;
            }
        }
    }
    return true;
}

/* ---- forwarding rules ------------------------------------------------------------------------ */

/* The backend services of both, as resources; an error when one is no link (Appendix C row 6). */
static int same_backend(struct arena *a, const struct gce_rule *is, const struct gce_rule *want,
                        bool *ret, struct err *err)
{
    struct gce_link x;
    struct gce_link y;
    int rc = gce_link_parse(a, str_nonnull(is->backend_service), &x, err);
    if (rc == ERR_OK) {
        rc = gce_link_parse(a, str_nonnull(want->backend_service), &y, err);
    }
    if (rc == ERR_OK) {
        *ret = gce_link_same(is->backend_service, want->backend_service);
    }
    return rc;
}

/* Sets of ports, and the range.  `discrete`: a rule with a range is not made again for discrete
 * ports that span the same range (§5.2). */
static bool same_ports(struct arena *a, const struct gce_rule *is, const struct gce_rule *want,
                       bool discrete)
{
    if (discrete && !str_is_empty(is->port_range) && want->ports.n > 0) {
        return is->ports.n == 0 && str_eq(is->port_range, gce_l4_range_of(a, &want->ports));
    }
    struct str_set x = gce_strs_set(a, &is->ports);
    struct str_set y = gce_strs_set(a, &want->ports);
    return str_set_eq(&x, &y) && str_eq(str_nonnull(is->port_range), str_nonnull(want->port_range));
}

int gce_l4_rule_compare(struct arena *a, const struct gce_rule *is, const struct gce_rule *want,
                        bool discrete, struct gce_rule_change *ret, struct err *err)
{
    bool backend = false;
    int rc = same_backend(a, is, want, &backend, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct {
        bool same;
        const char *member;
    } remakes[] = {
        {str_eq(str_nonnull(is->ip), str_nonnull(want->ip)), "IPAddress"},
        {str_eq_nocase(str_nonnull(is->protocol), str_nonnull(want->protocol)), "IPProtocol"},
        {str_eq(str_nonnull(is->scheme), str_nonnull(want->scheme)), "loadBalancingScheme"},
        {same_ports(a, is, want, discrete), "ports"},
        {backend, "backendService"},
        {is->all_ports == want->all_ports, "allPorts"},
        {same_place(is->subnetwork, want->subnetwork), "subnetwork"},
        {same_place(is->network, want->network), "network"},
    };
    for (size_t i = 0; i < ARRAY_LEN(remakes); i++) {
        if (!remakes[i].same) {
            *ret = (struct gce_rule_change){.because = remakes[i].member};
            return ERR_OK;
        }
    }
    bool access = is->global_access == want->global_access;
    bool tier = str_eq(str_nonnull(is->tier), str_nonnull(want->tier));
    *ret = (struct gce_rule_change){
        .equal = access && tier,
        .patch = !access || !tier,
        .wanted = {.id = is->id,
                   .name = is->name,
                   .global_access = want->global_access,
                   .tier = tier ? "" : want->tier},
        .because = !access ? "allowGlobalAccess"
                   : !tier ? "networkTier"
                           : NULL,
    };
    return ERR_OK;
}

int gce_l4_rule_equal_v6(struct arena *a, const struct gce_rule *is, const struct gce_rule *want,
                         bool discrete, bool *ret, struct err *err)
{
    bool backend = false;
    int rc = same_backend(a, is, want, &backend, err);
    if (rc == ERR_OK) {
        *ret = backend && str_eq_nocase(str_nonnull(is->protocol), str_nonnull(want->protocol)) &&
               str_eq(str_nonnull(is->scheme), str_nonnull(want->scheme)) &&
               same_ports(a, is, want, discrete) && is->all_ports == want->all_ports &&
               is->global_access == want->global_access &&
               same_place(is->subnetwork, want->subnetwork) &&
               same_place(is->ip_collection, want->ip_collection) &&
               str_eq(str_nonnull(is->tier), str_nonnull(want->tier));
    }
    return rc;
}

bool gce_ilb_rule_equal(struct arena *a, const struct gce_rule *is, const struct gce_rule *want)
{
    bool backend = false;
    struct gce_link none;
    if (same_backend(a, is, want, &backend, NULL) != ERR_OK) {
        /* An invalid value counts as none: two of them are equal. */
        backend = gce_link_parse(a, str_nonnull(is->backend_service), &none, NULL) != ERR_OK &&
                  gce_link_parse(a, str_nonnull(want->backend_service), &none, NULL) != ERR_OK;
    }
    return backend &&
           (str_is_empty(is->ip) || str_is_empty(want->ip) || str_eq(is->ip, want->ip)) &&
           str_eq(str_nonnull(is->protocol), str_nonnull(want->protocol)) &&
           str_eq(str_nonnull(is->scheme), str_nonnull(want->scheme)) &&
           gce_strs_same(a, &is->ports, &want->ports) && is->all_ports == want->all_ports &&
           is->global_access == want->global_access &&
           (str_is_empty(want->subnetwork) || same_place(is->subnetwork, want->subnetwork));
}

/* ---- backend service ------------------------------------------------------------------------- */

static bool same_tracking(const struct gce_bservice *is, const struct gce_bservice *want)
{
    return is->has_tracking == want->has_tracking && is->strong == want->strong &&
           is->idle_s == want->idle_s &&
           str_eq(str_nonnull(is->tracking_mode), str_nonnull(want->tracking_mode));
}

#define LOG_RATE_EPSILON 1e-7

static bool same_log(struct arena *a, const struct gce_bservice *is,
                     const struct gce_bservice *want)
{
    static const char none[] = "EXCLUDE_ALL_OPTIONAL"; /* what no mode means */
    struct str_set x = gce_strs_set(a, &is->log_fields);
    struct str_set y = gce_strs_set(a, &want->log_fields);
    /* Absent means off, as upstream has it; the other way round is a log that the Service asks
     * to be taken away. */
    bool both = is->has_log == want->has_log || (want->has_log && !want->log_enable);
    return both && is->log_enable == want->log_enable &&
           fabs(is->log_rate - want->log_rate) < LOG_RATE_EPSILON &&
           str_eq(str_or(is->log_mode, none), str_or(want->log_mode, none)) && str_set_eq(&x, &y);
}

/* Without a policy it is off. */
static bool same_zonal(const struct gce_bservice *is, const struct gce_bservice *want)
{
    static const char off[] = "ZONAL_AFFINITY_DISABLED";
    return is->spillover_ratio == want->spillover_ratio &&
           str_eq(is->has_zonal ? str_nonnull(is->spillover) : off,
                  want->has_zonal ? str_nonnull(want->spillover) : off);
}

bool gce_l4_bservice_equal(struct arena *a, const struct gce_bservice *is,
                           const struct gce_bservice *want, struct gce_bservice_compare *how)
{
    const struct {
        bool same;
        const char *member;
    } members[] = {
        {str_eq(str_nonnull(is->protocol), str_nonnull(want->protocol)), "protocol"},
        {gce_l4_description_same(a, is->description, want->description), "description"},
        {str_eq(str_nonnull(is->affinity), str_nonnull(want->affinity)), "sessionAffinity"},
        {str_eq(str_nonnull(is->scheme), str_nonnull(want->scheme)), "loadBalancingScheme"},
        {same_place(is->network, want->network), "network"},
        {gce_links_same(&is->checks, &want->checks), "healthChecks"},
        {!how->strong || same_tracking(is, want), "connectionTrackingPolicy"},
        {!how->log_managed || same_log(a, is, want), "logConfig"},
        {same_zonal(is, want), "networkPassThroughLbTrafficPolicy"},
        {gce_locality_same(is->locality, want->locality), "localityLbPolicy"},
    };
    how->because = NULL;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (!members[i].same) {
            how->because = members[i].member;
            return false;
        }
    }
    return true;
}

bool gce_ilb_bservice_members_equal(struct arena *a, const struct gce_bservice *is,
                                    const struct gce_bservice *want, const char **ret_because)
{
    (void)a;
    const struct {
        bool same;
        const char *member;
    } members[] = {
        {str_eq(str_nonnull(is->protocol), str_nonnull(want->protocol)), "protocol"},
        {str_eq(str_nonnull(is->description), str_nonnull(want->description)), "description"},
        {str_eq(str_nonnull(is->affinity), str_nonnull(want->affinity)), "sessionAffinity"},
        {str_eq(str_nonnull(is->scheme), str_nonnull(want->scheme)), "loadBalancingScheme"},
        {gce_links_same(&is->checks, &want->checks), "healthChecks"},
    };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (!members[i].same) {
            if (ret_because != NULL) {
                *ret_because = members[i].member;
            }
            return false;
        }
    }
    return true;
}

/* ---- health check ---------------------------------------------------------------------------- */

bool gce_hc_needs_update(const struct gce_hc *is, const struct gce_hc *want,
                         const char **ret_because)
{
    const struct {
        bool fine;
        const char *member;
    } members[] = {
        {is->has_http, "httpHealthCheck"},
        {is->port == want->port, "port"},
        {str_eq(str_nonnull(is->path), str_nonnull(want->path)), "requestPath"},
        {str_eq(str_nonnull(is->description), str_nonnull(want->description)), "description"},
        {is->interval_s >= want->interval_s, "checkIntervalSec"},
        {is->timeout_s >= want->timeout_s, "timeoutSec"},
        {is->healthy >= want->healthy, "healthyThreshold"},
        {is->unhealthy >= want->unhealthy, "unhealthyThreshold"},
    };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (!members[i].fine) {
            if (ret_because != NULL) {
                *ret_because = members[i].member;
            }
            return true;
        }
    }
    return false;
}

static int32_t larger(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

struct gce_hc gce_hc_merge(const struct gce_hc *is, const struct gce_hc *want)
{
    struct gce_hc c = *want;
    c.interval_s = larger(is->interval_s, want->interval_s);
    c.timeout_s = larger(is->timeout_s, want->timeout_s);
    c.healthy = larger(is->healthy, want->healthy);
    c.unhealthy = larger(is->unhealthy, want->unhealthy);
    return c;
}

/* ---- firewalls ------------------------------------------------------------------------------- */

/* IPv6 addresses and ranges in one spelling; everything else as it is. */
static struct str_set canonical(struct arena *a, const struct gce_strs *ranges)
{
    const char **out = ARENA_ARRAY(a, const char *, ranges->n);
    for (size_t i = 0; i < ranges->n; i++) {
        struct ip_net net;
        struct ip_addr ip;
        char text[IP_TEXT_MAX];
        out[i] = ranges->items[i];
        if (strchr(out[i], ':') == NULL) {
            continue;
        }
        if (ip_net_parse(out[i], &net)) {
            ip_net_format(&net, text);
            out[i] = arena_strdup(a, text);
        } else if (ip_parse(out[i], &ip)) {
            ip_format(&ip, text);
            out[i] = arena_strdup(a, text);
        }
    }
    return str_set_make(a, out, ranges->n);
}

static bool same_ranges(struct arena *a, const struct gce_strs *x, const struct gce_strs *y)
{
    struct str_set sx = canonical(a, x);
    struct str_set sy = canonical(a, y);
    return str_set_eq(&sx, &sy);
}

int gce_l4_firewall_equal(struct arena *a, const struct gce_firewall *x,
                          const struct gce_firewall *y, bool shared, bool *ret, struct err *err)
{
    struct str_set tags_x = gce_strs_set(a, &x->tags);
    struct str_set tags_y = gce_strs_set(a, &y->tags);
    bool same = same_ranges(a, &x->destinations, &y->destinations) &&
                same_ranges(a, &x->sources, &y->sources) && str_set_eq(&tags_x, &tags_y) &&
                (shared || str_eq(str_nonnull(x->description), str_nonnull(y->description))) &&
                x->priority == y->priority;
    *ret = same;
    return same ? gce_firewall_traffic_equal(a, x, y, ret, err) : ERR_OK;
}

bool gce_ilb_firewall_equal(struct arena *a, const struct gce_firewall *want,
                            const struct gce_firewall *is)
{
    if (is->allowed.n != 1 || want->allowed.n != 1) {
        return false;
    }
    const struct gce_allow *x = &want->allowed.items[0];
    const struct gce_allow *y = &is->allowed.items[0];
    return str_eq(str_nonnull(want->description), str_nonnull(is->description)) &&
           str_eq(x->protocol, y->protocol) && gce_strs_same(a, &x->ports, &y->ports) &&
           gce_strs_same(a, &want->sources, &is->sources) &&
           gce_strs_same(a, &want->destinations, &is->destinations) &&
           gce_strs_same(a, &want->tags, &is->tags);
}

bool gce_firewall_network_differs(const struct gce_firewall *is, const struct gce_firewall *want)
{
    return !str_is_empty(is->network) && !str_is_empty(want->network) &&
           !same_place(is->network, want->network);
}
