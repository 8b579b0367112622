/* SPDX-License-Identifier: Apache-2.0 */
/* gce_gauges_rules.c: what a Service counts as, and in which series (gce_gauges.h).
 *
 * Tables: the parts of the bits, the gauges with their labels, the features.  Two programs call a
 * gauge number_of_l4_netlbs: cloud-provider-gcp counts target pools by status and deny_firewall,
 * ingress-gce backend services by feature.  Both are set, each with its own labels and the other's
 * empty, which Prometheus takes for absent.  Pure. */
#include "providers/gce/gce_gauges.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/gce/model/gce_network_rules.h"
#include "providers/gce/model/gce_service_rules.h"

/* ---- bits ------------------------------------------------------------------------------------ */

static const struct {
    uint8_t shift;
    uint8_t width;
} fields[GCE_GAUGE_FIELDS] = {
    [GCE_GAUGE_KIND] = {0, 3},           [GCE_GAUGE_STATUS] = {3, 2},
    [GCE_GAUGE_STRONG] = {5, 1},         [GCE_GAUGE_WEIGHTED] = {6, 1},
    [GCE_GAUGE_ZONAL] = {7, 1},          [GCE_GAUGE_PROTOCOL] = {8, 2},
    [GCE_GAUGE_LOGGING] = {10, 1},       [GCE_GAUGE_DENY] = {11, 3},
    [GCE_GAUGE_GLOBAL_ACCESS] = {14, 1}, [GCE_GAUGE_SUBNET] = {15, 1},
    [GCE_GAUGE_PREMIUM] = {16, 1},       [GCE_GAUGE_MANAGED_IP] = {17, 1},
    [GCE_GAUGE_FAMILIES] = {18, 3},      [GCE_GAUGE_POLICY] = {21, 2},
    [GCE_GAUGE_MULTINET] = {23, 1},
};

static uint32_t mask_of(enum gce_gauge_field f)
{
    return ((1u << fields[f].width) - 1) << fields[f].shift;
}

unsigned gce_gauge_get(uint32_t bits, enum gce_gauge_field f)
{
    return (bits & mask_of(f)) >> fields[f].shift;
}

uint32_t gce_gauge_with(uint32_t bits, enum gce_gauge_field f, unsigned value)
{
    return (bits & ~mask_of(f)) | ((value << fields[f].shift) & mask_of(f));
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const yes_no[] = {"false", "true"};
static const char *const status_words[] = {"Success", "UserError", "Error", "PersistentError"};
enum protocol {
    PROTOCOL_NONE = 0,
    PROTOCOL_TCP,
    PROTOCOL_UDP,
    PROTOCOL_MIXED,
};
static const char *const protocol_words[] = {"", "TCP", "UDP", "MIXED"};
enum deny {
    DENY_NONE = 0,
    DENY_DISABLED,
    DENY_V4,
    DENY_V6,
    DENY_BOTH,
};
static const char *const deny_words[] = {"", "DISABLED", "IPv4", "IPv6", "IPv4_IPv6"};
static const char *const family_words[] = {"", "IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4"};
static const char *const policy_words[] = {"", "SingleStack", "PreferDualStack",
                                           "RequireDualStack"};
static const char *const backend_words[GCE_KIND_MAX] = {
    [GCE_KIND_NONE] = "",        [GCE_KIND_TARGET_POOL] = "",    [GCE_KIND_ILB_GROUPS] = "IG",
    [GCE_KIND_ILB_NEGS] = "NEG", [GCE_KIND_NETLB_GROUPS] = "IG", [GCE_KIND_NETLB_NEGS] = "NEG",
    [GCE_KIND_NEGS_ONLY] = "",
};

const char *gce_gauge_word(uint32_t bits, enum gce_gauge_field f)
{
    unsigned i = gce_gauge_get(bits, f);
    switch (f) {
    case GCE_GAUGE_KIND:
        return backend_words[i < GCE_KIND_MAX ? i : GCE_KIND_NONE];
    case GCE_GAUGE_STATUS:
        return status_words[i];
    case GCE_GAUGE_PROTOCOL:
        return protocol_words[i];
    case GCE_GAUGE_DENY:
        return deny_words[i < ARRAY_LEN(deny_words) ? i : 0];
    case GCE_GAUGE_FAMILIES:
        return family_words[i < ARRAY_LEN(family_words) ? i : 0];
    case GCE_GAUGE_POLICY:
        return policy_words[i];
    default:
        return yes_no[i & 1];
    }
}

/* ---- what a Service is ----------------------------------------------------------------------- */

static enum protocol protocol_of(const struct tt_service *s)
{
    unsigned seen = PROTOCOL_NONE; /* TCP and UDP together are MIXED */
    for (uint32_t i = 0; i < s->n_ports; i++) {
        seen |= str_eq(s->ports[i].protocol, "UDP")   ? PROTOCOL_UDP
                : str_eq(s->ports[i].protocol, "TCP") ? PROTOCOL_TCP
                                                      : PROTOCOL_NONE;
    }
    return (enum protocol)seen;
}

static unsigned families_of(const struct tt_service *s)
{
    bool first_v6 = s->n_ip_families > 0 && str_eq(s->ip_families[0], "IPv6");
    if (s->n_ip_families > 1) {
        return first_v6 ? 4 : 3;
    }
    return s->n_ip_families == 0 ? 0 : first_v6 ? 2 : 1;
}

static unsigned policy_of(const struct tt_service *s)
{
    for (unsigned i = 1; i < ARRAY_LEN(policy_words); i++) {
        if (str_eq(s->ip_family_policy, policy_words[i])) {
            return i;
        }
    }
    return 0;
}

static enum deny deny_of(const struct tt_service *s, enum gce_kind kind, enum gce_status status,
                         const struct gce_l4_flags *f)
{
    if (!f->deny_firewall) {
        return f->deny_cleanup ? DENY_DISABLED : DENY_NONE;
    }
    if (status != GCE_STATUS_SUCCESS) {
        return DENY_NONE;
    }
    if (kind == GCE_KIND_TARGET_POOL) {
        return DENY_V4;
    }
    bool v4 = gce_l4_wants_v4(s, f->dual_stack_netlb);
    bool v6 = gce_l4_wants_v6(s, f->dual_stack_netlb);
    return v4 && v6 ? DENY_BOTH : v6 ? DENY_V6 : DENY_V4;
}

static uint32_t internal_bits(uint32_t bits, const struct tt_service *s,
                              const struct gce_l4_flags *f)
{
    bool groups = gce_gauge_get(bits, GCE_GAUGE_KIND) == GCE_KIND_ILB_GROUPS;
    const char *subnet = groups ? gce_svc_subnet(s) : gce_l4_subnet(s, true);
    bits = gce_gauge_with(bits, GCE_GAUGE_ZONAL, gce_l4_wants_zonal_affinity(s, f));
    bits = gce_gauge_with(bits, GCE_GAUGE_GLOBAL_ACCESS, gce_svc_wants_global_access(s));
    return gce_gauge_with(bits, GCE_GAUGE_SUBNET, !str_is_empty(subnet));
}

static uint32_t external_bits(uint32_t bits, const struct tt_service *s,
                              const struct gce_l4_flags *f)
{
    bool strong = false;
    bool tier_is_set = false;
    bool own_ip = !str_is_empty(s->lb_ip) || !str_is_empty(svc_annotation(s, GCE_ANN_IP_ADDRESSES));
    if (gce_l4_strong_affinity(s, f->strong_affinity, &strong, NULL) != ERR_OK) {
        strong = false;
    }
    bits = gce_gauge_with(bits, GCE_GAUGE_STRONG, strong);
    bits = gce_gauge_with(bits, GCE_GAUGE_PREMIUM, str_eq(gce_l4_tier(s, &tier_is_set), "PREMIUM"));
    return gce_gauge_with(bits, GCE_GAUGE_MANAGED_IP, !own_ip);
}

uint32_t gce_gauge_bits(const struct tt_service *s, enum gce_kind kind, enum gce_status status,
                        bool logging, const struct gce_l4_flags *f)
{
    bool internal = gce_kind_is_internal(kind);
    bool unsupported = false;
    if (kind == GCE_KIND_NONE || kind == GCE_KIND_NEGS_ONLY) {
        return 0;
    }
    uint32_t bits = gce_gauge_with(0, GCE_GAUGE_KIND, kind);
    bits = gce_gauge_with(bits, GCE_GAUGE_STATUS, status);
    if (!internal) {
        bits = gce_gauge_with(bits, GCE_GAUGE_DENY, deny_of(s, kind, status, f));
    }
    if (kind == GCE_KIND_TARGET_POOL) {
        return bits;
    }
    bits = gce_gauge_with(
        bits, GCE_GAUGE_WEIGHTED,
        str_has_prefix(str_nonnull(gce_l4_locality(s, internal, f, &unsupported)), "WEIGHTED"));
    bits = gce_gauge_with(bits, GCE_GAUGE_PROTOCOL, protocol_of(s));
    bits = gce_gauge_with(bits, GCE_GAUGE_LOGGING, logging);
    bits = gce_gauge_with(bits, GCE_GAUGE_FAMILIES, families_of(s));
    bits = gce_gauge_with(bits, GCE_GAUGE_POLICY, policy_of(s));
    bits = gce_gauge_with(bits, GCE_GAUGE_MULTINET,
                          f->multi_network && gce_network_of_service(s) != NULL);
    return internal ? internal_bits(bits, s, f) : external_bits(bits, s, f);
}

/* ---- gauges ---------------------------------------------------------------------------------- */

struct label {
    const char *name;
    enum gce_gauge_field field; /* GCE_GAUGE_FIELDS: `fixed` is its value */
    const char *fixed;
};
#define FIXED(value) GCE_GAUGE_FIELDS, (value)
static const struct label ilb_labels[] = {
    {"status", GCE_GAUGE_STATUS, NULL},
    {"multinet", GCE_GAUGE_MULTINET, NULL},
    {"weighted_lb_pods_per_node", GCE_GAUGE_WEIGHTED, NULL},
    {"zonal_affinity", GCE_GAUGE_ZONAL, NULL},
    {"protocol", GCE_GAUGE_PROTOCOL, NULL},
    {"logging_enabled", GCE_GAUGE_LOGGING, NULL},
};
static const struct label netlb_labels[] = {
    {"status", GCE_GAUGE_STATUS, NULL},
    {"multinet", GCE_GAUGE_MULTINET, NULL},
    {"strong_session_affinity", GCE_GAUGE_STRONG, NULL},
    {"weighted_lb_pods_per_node", GCE_GAUGE_WEIGHTED, NULL},
    {"backend_type", GCE_GAUGE_KIND, NULL},
    {"protocol", GCE_GAUGE_PROTOCOL, NULL},
    {"logging_enabled", GCE_GAUGE_LOGGING, NULL},
    {"deny_firewall", GCE_GAUGE_DENY, NULL},
};
static const struct label dual_labels[] = {
    {"ip_families", GCE_GAUGE_FAMILIES, NULL},
    {"ip_family_policy", GCE_GAUGE_POLICY, NULL},
    {"status", GCE_GAUGE_STATUS, NULL},
};
static const struct label pool_labels[] = {
    {"status", GCE_GAUGE_STATUS, NULL},
    {"deny_firewall", GCE_GAUGE_DENY, NULL},
    {"feature", FIXED("")},
};

enum gauge {
    ILBS = 0,
    NETLBS,
    DUAL_ILBS,
    DUAL_NETLBS,
    POOLS,
    FEATURES, /* one series for each feature, of either metric */
};
#define LABELS(l) (l), ARRAY_LEN(l)
static const struct {
    const char *metric;
    const struct label *labels;
    size_t n_labels;
} gauges[] = {
    [ILBS] = {"l4_ilbs_count", LABELS(ilb_labels)},
    [NETLBS] = {"l4_netlbs_count", LABELS(netlb_labels)},
    [DUAL_ILBS] = {"number_of_l4_dual_stack_ilbs", LABELS(dual_labels)},
    [DUAL_NETLBS] = {"number_of_l4_dual_stack_netlbs", LABELS(dual_labels)},
    [POOLS] = {"number_of_l4_netlbs", LABELS(pool_labels)},
};

static void add_gauge(uint32_t bits, enum gauge gauge, struct gce_gauge_series *ret, size_t *n)
{
    struct gce_gauge_series *series = &ret[(*n)++];
    uint32_t mask = 0;
    *series = (struct gce_gauge_series){.metric = gauges[gauge].metric};
    for (size_t i = 0; i < gauges[gauge].n_labels; i++) {
        const struct label *l = &gauges[gauge].labels[i];
        bool fixed = l->field == GCE_GAUGE_FIELDS;
        mask |= fixed ? 0 : mask_of(l->field);
        series->labels[series->n_labels++] =
            (struct tt_kv){l->name, fixed ? l->fixed : gce_gauge_word(bits, l->field)};
    }
    series->id = (uint32_t)gauge << GCE_GAUGE_BITS | (bits & mask);
}

/* ---- features -------------------------------------------------------------------------------- */

enum feature {
    ILB_SERVICE = 0,
    ILB_GLOBAL_ACCESS,
    ILB_CUSTOM_SUBNET,
    ILB_IN_SUCCESS,
    ILB_IN_ERROR,
    ILB_IN_USER_ERROR,
    NETLB_SERVICE,
    NETLB_PREMIUM,
    NETLB_MANAGED_IP,
    NETLB_STATIC_IP,
    NETLB_IN_SUCCESS,
    NETLB_IN_ERROR,
    NETLB_IN_USER_ERROR,
};
static const char *const feature_words[] = {
    [ILB_SERVICE] = "L4ILBService",
    [ILB_GLOBAL_ACCESS] = "L4ILBGlobalAccess",
    [ILB_CUSTOM_SUBNET] = "L4ILBCustomSubnet",
    [ILB_IN_SUCCESS] = "L4ILBInSuccess",
    [ILB_IN_ERROR] = "L4ILBInError",
    [ILB_IN_USER_ERROR] = "L4ILBInUserError",
    [NETLB_SERVICE] = "L4NetLBService",
    [NETLB_PREMIUM] = "L4NetLBPremiumNetworkTier",
    [NETLB_MANAGED_IP] = "L4NetLBManagedStaticIP",
    [NETLB_STATIC_IP] = "L4NetLBStaticIP",
    [NETLB_IN_SUCCESS] = "L4NetLBInSuccess",
    [NETLB_IN_ERROR] = "L4NetLBInError",
    [NETLB_IN_USER_ERROR] = "L4NetLBInUserError",
};

static void add_feature(bool wanted, enum feature f, struct gce_gauge_series *ret, size_t *n)
{
    if (!wanted) {
        return;
    }
    bool internal = f <= ILB_IN_USER_ERROR;
    struct gce_gauge_series *series = &ret[(*n)++];
    *series = (struct gce_gauge_series){
        .id = (uint32_t)FEATURES << GCE_GAUGE_BITS | (uint32_t)f,
        .metric = internal ? "number_of_l4_ilbs" : "number_of_l4_netlbs",
        .labels = {{"feature", feature_words[f]}, {"status", ""}, {"deny_firewall", ""}},
        .n_labels = internal ? 1 : 3,
    };
}

/* One in error counts as that alone.  cloud-provider-gcp knows no errors of the user's. */
static void ilb_features(uint32_t bits, struct gce_gauge_series *ret, size_t *n)
{
    unsigned status = gce_gauge_get(bits, GCE_GAUGE_STATUS);
    bool groups = gce_gauge_get(bits, GCE_GAUGE_KIND) == GCE_KIND_ILB_GROUPS;
    bool good = status == GCE_STATUS_SUCCESS;
    bool user = status == GCE_STATUS_USER_ERROR && !groups;
    add_feature(true, ILB_SERVICE, ret, n);
    add_feature(good, ILB_IN_SUCCESS, ret, n);
    add_feature(user, ILB_IN_USER_ERROR, ret, n);
    add_feature(!good && !user, ILB_IN_ERROR, ret, n);
    add_feature(good && gce_gauge_get(bits, GCE_GAUGE_GLOBAL_ACCESS), ILB_GLOBAL_ACCESS, ret, n);
    add_feature(good && gce_gauge_get(bits, GCE_GAUGE_SUBNET), ILB_CUSTOM_SUBNET, ret, n);
}

/* An external one is in error only when the deadline is over; upstream gives L4NetLBStaticIP the
 * number of the good ones. */
static void netlb_features(uint32_t bits, struct gce_gauge_series *ret, size_t *n)
{
    unsigned status = gce_gauge_get(bits, GCE_GAUGE_STATUS);
    bool good = status == GCE_STATUS_SUCCESS;
    add_feature(true, NETLB_SERVICE, ret, n);
    add_feature(good, NETLB_IN_SUCCESS, ret, n);
    add_feature(good, NETLB_STATIC_IP, ret, n);
    add_feature(status == GCE_STATUS_USER_ERROR, NETLB_IN_USER_ERROR, ret, n);
    add_feature(status == GCE_STATUS_PERSISTENT_ERROR, NETLB_IN_ERROR, ret, n);
    add_feature(good && gce_gauge_get(bits, GCE_GAUGE_PREMIUM), NETLB_PREMIUM, ret, n);
    add_feature(good && gce_gauge_get(bits, GCE_GAUGE_MANAGED_IP), NETLB_MANAGED_IP, ret, n);
}

size_t gce_gauge_series_of(uint32_t bits, const struct gce_l4_flags *f,
                           struct gce_gauge_series ret[GCE_GAUGE_SERIES_MAX])
{
    size_t n = 0;
    switch (gce_gauge_get(bits, GCE_GAUGE_KIND)) {
    case GCE_KIND_TARGET_POOL:
        add_gauge(bits, POOLS, ret, &n);
        break;
    case GCE_KIND_ILB_GROUPS:
        ilb_features(bits, ret, &n);
        break;
    case GCE_KIND_ILB_NEGS:
        add_gauge(bits, ILBS, ret, &n);
        if (f->dual_stack_ilb) {
            add_gauge(bits, DUAL_ILBS, ret, &n);
        }
        ilb_features(bits, ret, &n);
        break;
    case GCE_KIND_NETLB_GROUPS:
    case GCE_KIND_NETLB_NEGS:
        add_gauge(bits, NETLBS, ret, &n);
        if (f->dual_stack_netlb) {
            add_gauge(bits, DUAL_NETLBS, ret, &n);
        }
        netlb_features(bits, ret, &n);
        break;
    default:
        break;
    }
    return n;
}
