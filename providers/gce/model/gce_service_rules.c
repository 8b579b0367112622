/* SPDX-License-Identifier: Apache-2.0 */
/* gce_service_rules.c: see gce_service_rules.h.  Annotation values are compared as they are: no
 * trimming, no case. */
#include "providers/gce/model/gce_service_rules.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/findings.h"
#include "common/lb/service_rules.h"
#include "common/net/url_build.h"

#include <stdlib.h>
#include <string.h>

static bool ann_is(const struct tt_service *s, const char *key, const char *value)
{
    return str_eq(svc_annotation(s, key), value);
}

/* The deprecated key counts only where the new one is absent, even if that is empty. */
const char *gce_svc_type_key(const struct tt_service *s)
{
    bool old =
        svc_annotation(s, GCE_ANN_TYPE) == NULL && svc_annotation(s, GCE_ANN_TYPE_OLD) != NULL;
    return old ? GCE_ANN_TYPE_OLD : GCE_ANN_TYPE;
}

const char *gce_svc_type_text(const struct tt_service *s)
{
    return svc_annotation(s, gce_svc_type_key(s));
}

bool gce_type_says_internal(const char *text)
{
    return str_eq(text, "Internal") || str_eq(text, "internal");
}

static bool annotation_says_internal(const struct tt_service *s)
{
    return gce_type_says_internal(gce_svc_type_text(s));
}

const char *gce_svc_type_slip(struct arena *a, const struct tt_service *s)
{
    static const char *const words[] = {"internal", "external"};
    const char *text = gce_svc_type_text(s);
    if (s->lb_class != NULL || text == NULL || annotation_says_internal(s)) {
        return NULL;
    }
    const char *word = str_lower(a, str_trim(a, text));
    return str_eq(str_nearest(word, words, ARRAY_LEN(words)), words[0]) ? "Internal" : NULL;
}

bool gce_svc_has_balancer(const struct tt_service *s)
{
    static const char *const marks[] = {GCE_FINALIZER_NETLB_V1, GCE_FINALIZER_NETLB_V2,
                                        GCE_FINALIZER_NETLB_V3, GCE_FINALIZER_ILB_V1,
                                        GCE_FINALIZER_ILB_V2};
    bool has = lb_service_stands(s);
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        has = has || svc_has_finalizer(s, marks[i]);
    }
    return has;
}

bool gce_svc_public_by_slip(const struct tt_service *s)
{
    bool internal =
        svc_has_finalizer(s, GCE_FINALIZER_ILB_V1) || svc_has_finalizer(s, GCE_FINALIZER_ILB_V2);
    bool external = svc_has_finalizer(s, GCE_FINALIZER_NETLB_V1) ||
                    svc_has_finalizer(s, GCE_FINALIZER_NETLB_V2) ||
                    svc_has_finalizer(s, GCE_FINALIZER_NETLB_V3);
    return gce_svc_has_balancer(s) && (external || !internal);
}

int gce_svc_type_check(struct arena *a, const struct tt_service *s, bool lenient, struct err *err)
{
    if (lenient || gce_svc_public_by_slip(s) || gce_svc_type_slip(a, s) == NULL) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "annotation %s: \"%.100s\" is not understood and would make the "
                   "Service public; \"Internal\" was probably meant (want Internal or External; "
                   "--lenient-load-balancer-type reads anything else as External)",
                   gce_svc_type_key(s), gce_svc_type_text(s));
}

enum gce_scheme gce_svc_scheme(const struct tt_service *s)
{
    if (str_eq(s->lb_class, GCE_CLASS_INTERNAL_LEGACY)) {
        return GCE_INTERNAL;
    }
    if (str_eq(s->lb_class, GCE_CLASS_EXTERNAL_LEGACY)) {
        return GCE_EXTERNAL;
    }
    return annotation_says_internal(s) ? GCE_INTERNAL : GCE_EXTERNAL;
}

bool gce_svc_class_conflicts(const struct tt_service *s)
{
    return str_eq(s->lb_class, GCE_CLASS_EXTERNAL_LEGACY) && ann_is(s, GCE_ANN_TYPE, "Internal");
}

int gce_svc_ranges_v4(struct arena *a, const struct tt_service *s, struct str_set *ret,
                      struct err *err)
{
    struct str_set all;
    int rc = svc_source_ranges(a, s, &all, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char **v4 = ARENA_ARRAY(a, const char *, all.n);
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (strchr(all.items[i], ':') == NULL) {
            v4[n++] = all.items[i];
        }
    }
    if (n == 0) {
        return err_set(err, ERR_INVALID,
                       "no source range is of IPv4: no client could reach this load balancer, "
                       "which has an IPv4 address");
    }
    *ret = str_set_make(a, v4, n);
    return ERR_OK;
}

bool gce_svc_shares_backend_service(const struct tt_service *s)
{
    bool asked = ann_is(s, GCE_ANN_SHARE, "true") || ann_is(s, GCE_ANN_SHARE_OLD, "true");
    return asked && !svc_only_local_traffic(s);
}

bool gce_svc_wants_global_access(const struct tt_service *s)
{
    return ann_is(s, GCE_ANN_GLOBAL_ACCESS, "true");
}

const char *gce_svc_subnet(const struct tt_service *s)
{
    const char *name = svc_annotation(s, GCE_ANN_SUBNET);
    return url_segment_fault(name) == NULL ? name : ""; /* an impossible name counts as absent */
}

bool gce_svc_tier_is_set(const struct tt_service *s)
{
    return svc_annotation(s, GCE_ANN_TIER) != NULL;
}

int gce_svc_tier(const struct tt_service *s, const char **ret, struct err *err)
{
    const char *v = svc_annotation(s, GCE_ANN_TIER);
    if (v == NULL || str_eq(v, "Premium")) {
        *ret = "Premium";
        return ERR_OK;
    }
    if (str_eq(v, "Standard")) {
        *ret = "Standard";
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "unsupported network tier: \"%s\"; allowed in annotation %s: Premium, Standard",
                   v, GCE_ANN_TIER);
}

const char *gce_tier_wire(const char *tier)
{
    return str_eq(tier, "Standard") ? "STANDARD" : "PREMIUM";
}

const char *gce_tier_from_wire(const char *wire)
{
    if (str_is_empty(wire) || str_eq(wire, "PREMIUM")) {
        return "Premium";
    }
    return str_eq(wire, "STANDARD") ? "Standard" : NULL;
}

bool gce_svc_target_pool_is_ours(const struct tt_service *s, const struct gce_rule *rule,
                                 bool rbs_default)
{
    if (s->lb_class != NULL) {
        return str_eq(s->lb_class, GCE_CLASS_EXTERNAL_LEGACY);
    }
    if (svc_has_finalizer(s, GCE_FINALIZER_NETLB_V1)) {
        return true;
    }
    bool rbs = ann_is(s, GCE_ANN_RBS, "enabled") || svc_has_finalizer(s, GCE_FINALIZER_NETLB_V2) ||
               svc_has_finalizer(s, GCE_FINALIZER_NETLB_V3) ||
               (rule != NULL && !str_is_empty(rule->backend_service));
    return !rbs && !rbs_default;
}

const char *gce_svc_foreign_finalizer(const struct tt_service *s)
{
    static const char *const foreign[] = {GCE_FINALIZER_NETLB_V2, GCE_FINALIZER_NETLB_V3,
                                          GCE_FINALIZER_ILB_V1, GCE_FINALIZER_ILB_V2};
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        if (svc_has_finalizer(s, foreign[i])) {
            return foreign[i];
        }
    }
    return NULL;
}

/* ---- ports ----------------------------------------------------------------------------------- */

bool gce_svc_protocols_are_mixed(const struct tt_service *s)
{
    for (uint32_t i = 1; i < s->n_ports; i++) {
        if (!str_eq(s->ports[i].protocol, s->ports[0].protocol)) {
            return true;
        }
    }
    return false;
}

bool gce_svc_has_ports_condition(const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_conditions; i++) {
        if (str_eq(s->conditions[i].type, GCE_CONDITION_PORTS)) {
            return str_eq(s->conditions[i].status, "True");
        }
    }
    return false;
}

const char *gce_svc_protocol(const struct tt_service *s)
{
    return s->n_ports == 0 ? "TCP" : str_or(s->ports[0].protocol, "TCP");
}

static int min_max_range(struct arena *a, const struct tt_service *s, const char **ret,
                         struct err *err)
{
    if (s->n_ports == 0) {
        return err_set(err, ERR_INVALID, "no ports specified for GCE load balancer");
    }
    int32_t low = s->ports[0].port;
    int32_t high = low;
    for (uint32_t i = 1; i < s->n_ports; i++) {
        int32_t p = s->ports[i].port;
        low = p < low ? p : low;
        high = p > high ? p : high;
    }
    *ret = arena_printf(a, "%d-%d", low, high);
    return ERR_OK;
}

static int check_protocol(const char *protocol, struct err *err)
{
    if (str_eq(protocol, "TCP") || str_eq(protocol, "UDP")) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, "invalid protocol %s, only TCP and UDP are supported",
                   protocol);
}

int gce_svc_port_range(struct arena *a, const struct tt_service *s, const char **ret_protocol,
                       const char **ret_range, struct err *err)
{
    if (gce_svc_protocols_are_mixed(s)) {
        return err_set(err, ERR_INVALID, "mixed protocol is not supported for LoadBalancer");
    }
    const char *protocol = gce_svc_protocol(s);
    int rc = check_protocol(protocol, err);
    if (rc == ERR_OK) {
        rc = min_max_range(a, s, ret_range, err);
    }
    if (rc == ERR_OK) {
        *ret_protocol = protocol;
    }
    return rc;
}

static int compare_ports(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x;
    int32_t b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

struct gce_strs gce_port_ranges(struct arena *a, const int32_t *ports, size_t n)
{
    if (n == 0) {
        return (struct gce_strs){0};
    }
    int32_t *sorted = arena_memdup(a, ports, n * sizeof(*ports));
    qsort(sorted, n, sizeof(*sorted), compare_ports);
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, n)};
    for (size_t i = 0; i < n;) {
        int32_t first = sorted[i];
        int32_t last = first;
        while (i < n && sorted[i] <= last + 1) {
            last = sorted[i++];
        }
        out.items[out.n++] =
            first == last ? arena_printf(a, "%d", first) : arena_printf(a, "%d-%d", first, last);
    }
    return out;
}

struct gce_strs gce_svc_port_ranges(struct arena *a, const struct tt_service *s)
{
    int32_t *ports = ARENA_ARRAY(a, int32_t, s->n_ports);
    for (uint32_t i = 0; i < s->n_ports; i++) {
        ports[i] = s->ports[i].port;
    }
    return gce_port_ranges(a, ports, s->n_ports);
}

struct gce_strs gce_svc_ports_plain(struct arena *a, const struct tt_service *s)
{
    struct gce_strs out = {.items = ARENA_ARRAY(a, const char *, s->n_ports), .n = s->n_ports};
    for (uint32_t i = 0; i < s->n_ports; i++) {
        out.items[i] = arena_printf(a, "%d", s->ports[i].port);
    }
    return out;
}

/* ---- pool and rule --------------------------------------------------------------------------- */

const char *gce_svc_affinity(const struct tt_service *s)
{
    return str_eq(s->session_affinity, "ClientIP") ? "CLIENT_IP" : "NONE";
}

bool gce_pool_affinity_differs(const struct gce_pool *pool, const char *wanted)
{
    return !str_is_empty(pool->affinity) && !str_eq(pool->affinity, wanted);
}

int gce_rule_needs_update(struct arena *a, const struct tt_service *s, const struct gce_rule *rule,
                          struct gce_rule_need *ret, struct err *err)
{
    if (rule == NULL) {
        *ret = (struct gce_rule_need){.needs_update = true, .ip = ""};
        return ERR_OK;
    }
    struct gce_rule_need need = {.exists = true, .ip = rule->ip};
    if (!str_is_empty(s->lb_ip) && !str_eq(s->lb_ip, rule->ip)) {
        need.needs_update = true;
        need.because = "spec.loadBalancerIP changed";
        *ret = need;
        return ERR_OK;
    }
    const char *range = NULL;
    int rc = check_protocol(gce_svc_protocol(s), err);
    if (rc == ERR_OK) {
        rc = min_max_range(a, s, &range, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    if (!str_eq(range, rule->port_range)) {
        need.because = "spec.ports changed";
    } else if (!str_eq(gce_svc_protocol(s), rule->protocol)) {
        need.because = "the protocol in spec.ports changed";
    }
    need.needs_update = need.because != NULL;
    *ret = need;
    return ERR_OK;
}
