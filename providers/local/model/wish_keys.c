/* SPDX-License-Identifier: Apache-2.0 */
/* wish_keys.c: the annotations under which wishes stand, one row for each wish, and how values
 * of other programs read in own words.
 *
 * All keys of a wish are checked, the own one first; they must agree.  Pure. */
#include "providers/local/model/wish_internal.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/service_rules.h"
#include "providers/local/model/config_internal.h"

#include <inttypes.h>
#include <stdarg.h>

#define METALLB     "metallb.io/"
#define METALLB_OLD "metallb.universe.tf/"
#define KUBE_VIP    "kube-vip.io/"
#define PURELB      "purelb.io/"
#define CILIUM      "lbipam.cilium.io/"
#define CILIUM_OLD  "io.cilium/"
#define LOXILB      "loxilb.io/"
#define AWS_DRAIN   "service.beta.kubernetes.io/aws-load-balancer-connection-draining-timeout"

/* Gives a foreign value in own words; *ret NULL: it asks for nothing. */
typedef int translate_fn(struct arena *a, const char *key, const char *value, const char **ret,
                         struct err *err);
/* One form for all texts that mean the same. */
typedef const char *canonical_fn(struct arena *a, const char *value);

struct foreign {
    const char *key;
    translate_fn *translate; /* NULL: as it stands */
};
struct wish_row {
    const char *own;
    canonical_fn *canonical; /* NULL: the text itself */
    struct foreign others[8];
};

/* ---- values of other programs ---------------------------------------------------------------- */

static int from_kube_vip(struct arena *a, const char *key, const char *value, const char **ret,
                         struct err *err)
{
    size_t n;
    const char **items = local_list_split(a, value, &n);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(items[i], "0.0.0.0")) {
            return err_set(err, ERR_INVALID,
                           "annotation %s: 0.0.0.0 asks kube-vip for DHCP; trimtab has none", key);
        }
    }
    *ret = value;
    return ERR_OK;
}

static int from_lbmode(struct arena *a, const char *key, const char *value, const char **ret,
                       struct err *err)
{
    static const char *const words[][2] = {{"default", "nft"},
                                           {"onearm", "ipvs-fullnat"},
                                           {"fullnat", "ipvs-fullnat"},
                                           {"dsr", "ipvs-dr"}};
    (void)a;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eq(words[i][0], value)) {
            *ret = words[i][1];
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID,
                   "annotation %s: no mode corresponds to \"%.100s\" (to default, onearm, fullnat "
                   "and dsr one does)",
                   key, value);
}

static int from_pod_network(struct arena *a, const char *key, const char *value, const char **ret,
                            struct err *err)
{
    (void)a;
    (void)key;
    (void)err;
    *ret = str_eq(value, "yes") ? "pod" : NULL;
    return ERR_OK;
}

static int from_seconds(struct arena *a, const char *key, const char *value, const char **ret,
                        struct err *err)
{
    uint64_t seconds;
    if (!str_to_u64(value, &seconds) || seconds > LOCAL_DRAIN_MS_MAX / 1000) {
        return err_set(err, ERR_INVALID,
                       "annotation %s: \"%.100s\" is not a number of seconds (0 to 86400)", key,
                       value);
    }
    *ret = arena_printf(a, "%" PRIu64 "s", seconds);
    return ERR_OK;
}

static int from_interface(struct arena *a, const char *key, const char *value, const char **ret,
                          struct err *err)
{
    (void)a;
    (void)key;
    (void)err;
    *ret = str_eq(value, "auto") ? NULL : value;
    return ERR_OK;
}

static int from_ignore(struct arena *a, const char *key, const char *value, const char **ret,
                       struct err *err)
{
    (void)a;
    (void)key;
    (void)err;
    *ret = str_eq(value, "true") ? value : NULL;
    return ERR_OK;
}

/* ---- texts that mean the same ---------------------------------------------------------------- */

const char **local_list_split(struct arena *a, const char *text, size_t *ret_n)
{
    char **items = str_split(a, text, ',', ret_n);
    const char **trimmed = ARENA_ARRAY(a, const char *, *ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        trimmed[i] = str_trim(a, items[i]);
    }
    return trimmed;
}

static const char *canonical_addresses(struct arena *a, const char *value)
{
    size_t n;
    const char **items = local_list_split(a, value, &n);
    for (size_t i = 0; i < n; i++) {
        struct ip_addr addr;
        char text[IP_TEXT_MAX];
        if (ip_parse(items[i], &addr)) {
            ip_format(&addr, text);
            items[i] = arena_strdup(a, text);
        }
    }
    struct str_set set = str_set_make(a, items, n);
    return str_set_text(a, &set, ",");
}

static const char *canonical_ranges(struct arena *a, const char *value)
{
    size_t n;
    const char **items = local_list_split(a, value, &n);
    for (size_t i = 0; i < n; i++) {
        struct ip_net net;
        char text[IP_TEXT_MAX];
        if (ip_net_parse_sloppy(items[i], &net)) {
            ip_net_format(&net, text);
            items[i] = arena_strdup(a, text);
        }
    }
    struct str_set set = str_set_make(a, items, n);
    return str_set_text(a, &set, ",");
}

static const char *canonical_list(struct arena *a, const char *value)
{
    size_t n;
    const char **items = local_list_split(a, value, &n);
    struct str_set set = str_set_make(a, items, n);
    return str_set_text(a, &set, ",");
}

static const char *canonical_duration(struct arena *a, const char *value)
{
    int64_t ms;
    return local_duration_parse(value, &ms) ? arena_printf(a, "%" PRId64, ms) : value;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct wish_row rows[] = {
    [LOCAL_WISH_POOL] = {LOCAL_PREFIX "pool",
                         NULL,
                         {{METALLB "address-pool", NULL},
                          {METALLB_OLD "address-pool", NULL},
                          {PURELB "service-group", NULL}}},
    [LOCAL_WISH_ADDRESSES] = {LOCAL_PREFIX "addresses",
                              canonical_addresses,
                              {{METALLB "loadBalancerIPs", NULL},
                               {METALLB_OLD "loadBalancerIPs", NULL},
                               {KUBE_VIP "loadbalancerIPs", from_kube_vip},
                               {CILIUM "ips", NULL},
                               {CILIUM_OLD "lb-ipam-ips", NULL},
                               {PURELB "addresses", NULL},
                               {LOXILB "staticIP", NULL}}},
    [LOCAL_WISH_SHARE] = {LOCAL_PREFIX "share",
                          NULL,
                          {{METALLB "allow-shared-ip", NULL},
                           {METALLB_OLD "allow-shared-ip", NULL},
                           {CILIUM "sharing-key", NULL},
                           {CILIUM_OLD "lb-ipam-sharing-key", NULL},
                           {PURELB "allow-shared-ip", NULL}}},
    [LOCAL_WISH_MODE] = {LOCAL_PREFIX "mode", NULL, {{LOXILB "lbmode", from_lbmode}}},
    [LOCAL_WISH_SCHEDULER] = {LOCAL_PREFIX "scheduler", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_TARGETS] = {LOCAL_PREFIX "targets",
                            NULL,
                            {{LOXILB "usepodnetwork", from_pod_network}}},
    [LOCAL_WISH_SNAT] = {LOCAL_PREFIX "snat", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_DRAIN_TIMEOUT] = {LOCAL_PREFIX "drain-timeout",
                                  canonical_duration,
                                  {{AWS_DRAIN, from_seconds}}},
    [LOCAL_WISH_HEALTH_CHECK] = {LOCAL_PREFIX "health-check", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_HEALTH_PATH] = {LOCAL_PREFIX "health-check-path", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_HEALTH_PORT] = {LOCAL_PREFIX "health-check-port", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_HEALTH_INTERVAL] = {LOCAL_PREFIX "health-check-interval", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_HEALTH_TIMEOUT] = {LOCAL_PREFIX "health-check-timeout", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_HEALTH_FALL] = {LOCAL_PREFIX "health-check-fall", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_HEALTH_RISE] = {LOCAL_PREFIX "health-check-rise", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_SORRY] = {LOCAL_PREFIX "sorry", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_SOURCE_RANGES] = {LOCAL_PREFIX "source-ranges",
                                  canonical_ranges,
                                  {{LB_SOURCE_RANGES_ANNOTATION, NULL}}},
    [LOCAL_WISH_INTERFACES] = {LOCAL_PREFIX "interfaces",
                               canonical_list,
                               {{KUBE_VIP "serviceInterface", from_interface}}},
    [LOCAL_WISH_UDP_ONE_PACKET] = {LOCAL_PREFIX "udp-one-packet", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_MOVE] = {LOCAL_PREFIX "move", NULL, {{NULL, NULL}}},
    [LOCAL_WISH_IGNORE] = {LOCAL_PREFIX "ignore", NULL, {{KUBE_VIP "ignore", from_ignore}}},
};

bool local_wish_names_targets(const struct tt_service *s)
{
    return svc_annotation(s, LOCAL_PREFIX "targets") != NULL ||
           svc_annotation(s, LOXILB "usepodnetwork") != NULL;
}

const char *const local_wish_annotations[] = {
    LOCAL_PREFIX "*",
    METALLB "address-pool",
    METALLB_OLD "address-pool",
    PURELB "service-group",
    METALLB "loadBalancerIPs",
    METALLB_OLD "loadBalancerIPs",
    KUBE_VIP "loadbalancerIPs",
    CILIUM "ips",
    CILIUM_OLD "lb-ipam-ips",
    PURELB "addresses",
    LOXILB "staticIP",
    METALLB "allow-shared-ip",
    METALLB_OLD "allow-shared-ip",
    CILIUM "sharing-key",
    CILIUM_OLD "lb-ipam-sharing-key",
    PURELB "allow-shared-ip",
    LOXILB "lbmode",
    LOXILB "usepodnetwork",
    AWS_DRAIN,
    LB_SOURCE_RANGES_ANNOTATION,
    KUBE_VIP "serviceInterface",
    KUBE_VIP "ignore",
    NULL,
};

static const char *const prefixes[] = {LOCAL_PREFIX, NULL};
static const char *const known[] = {
    LOCAL_PREFIX "pool",
    LOCAL_PREFIX "addresses",
    LOCAL_PREFIX "share",
    LOCAL_PREFIX "mode",
    LOCAL_PREFIX "scheduler",
    LOCAL_PREFIX "targets",
    LOCAL_PREFIX "snat",
    LOCAL_PREFIX "drain-timeout",
    LOCAL_PREFIX "health-check",
    LOCAL_PREFIX "health-check-path",
    LOCAL_PREFIX "health-check-port",
    LOCAL_PREFIX "health-check-interval",
    LOCAL_PREFIX "health-check-timeout",
    LOCAL_PREFIX "health-check-fall",
    LOCAL_PREFIX "health-check-rise",
    LOCAL_PREFIX "sorry",
    LOCAL_PREFIX "source-ranges",
    LOCAL_PREFIX "interfaces",
    LOCAL_PREFIX "udp-one-packet",
    LOCAL_PREFIX "move",
    LOCAL_PREFIX "ignore",
    LOCAL_POOL_GIVEN,
    NULL,
};
static const char *const others[] = {NULL};
const struct lb_annotation_keys local_annotation_keys = {prefixes, known, others};

/* ---- looking under all keys ------------------------------------------------------------------ */

int local_wish_refuse(struct err *err, const struct local_found *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = err_vset(err, ERR_INVALID, fmt, ap);
    va_end(ap);
    if (str_eq(f->key, LOCAL_KEY_LB_IP)) {
        (void)err_prefix(err, "%s", f->key);
    } else {
        (void)err_prefix(err, "annotation %s", f->key);
    }
    return rc;
}

/* Takes the value over, or compares it with the one that was found before. */
static int agree(struct arena *a, const struct wish_row *row, struct local_found *found,
                 const struct local_found *next, struct err *err)
{
    if (found->key == NULL) {
        *found = *next;
        return ERR_OK;
    }
    const char *x = row->canonical != NULL ? row->canonical(a, found->value) : found->value;
    const char *y = row->canonical != NULL ? row->canonical(a, next->value) : next->value;
    if (str_eq(x, y)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "annotation%s %s (%.100s) and %s (%.100s) say different things",
                   str_eq(next->key, LOCAL_KEY_LB_IP) ? "" : "s", found->key, found->value,
                   next->key, next->value);
}

int local_wish_find(struct arena *a, const struct tt_service *s, enum local_wish_key which,
                    struct local_found *ret, struct err *err)
{
    const struct wish_row *row = &rows[which];
    struct local_found found = {NULL, NULL, false};
    const char *value = svc_annotation(s, row->own);
    if (value != NULL && !str_is_empty(value = str_trim(a, value))) {
        found = (struct local_found){row->own, value, true};
    }
    for (size_t i = 0; i < ARRAY_LEN(row->others) && row->others[i].key != NULL; i++) {
        const struct foreign *o = &row->others[i];
        struct local_found next = {o->key, NULL, false};
        value = svc_annotation(s, o->key);
        if (value == NULL || str_is_empty(value = str_trim(a, value))) {
            continue;
        }
        next.value = value;
        int rc = o->translate == NULL ? ERR_OK : o->translate(a, o->key, value, &next.value, err);
        if (rc == ERR_OK && next.value != NULL) {
            rc = agree(a, row, &found, &next, err);
        }
        if (rc != ERR_OK) {
            return rc;
        }
    }
    if (which == LOCAL_WISH_ADDRESSES && !str_is_empty(s->lb_ip)) {
        const struct local_found next = {LOCAL_KEY_LB_IP, str_trim(a, s->lb_ip), false};
        int rc = agree(a, row, &found, &next, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    *ret = found;
    return ERR_OK;
}
