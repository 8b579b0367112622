/* SPDX-License-Identifier: Apache-2.0 */
/* source_ranges.c: which addresses may use a load balancer.
 *
 * Reads spec.loadBalancerSourceRanges or, when that is empty, the annotation; gives a sorted set of
 * masked networks.  The error texts are upstream's, because people search for them and events
 * repeat them.
 * Source: controller.md §2.6, rows 114–128 of §6.7; the deviation is §9.2 row 2
 * (docs/deviations.md).  Part of service_rules.h.  Pure; thread-safe. */
#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"

/* Reads `n` ranges.  On failure *ret_bad is the item that is at fault (trimmed). */
static bool read_ranges(struct arena *a, const char *const *items, size_t n, struct str_set *ret,
                        const char **ret_bad)
{
    const char **texts = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *item = str_trim_unicode(a, items[i]);
        struct ip_net net;
        *ret_bad = item;
        if (!ip_net_parse_sloppy(item, &net)) {
            return false;
        }
        /* "::ffff:10.0.0.0/90" is no IPv4 range any more, and "/96" silently becomes all of IPv4:
         * what upstream makes of either is not what its author means. */
        if (net.was_mapped && (net.addr.len != 4 || net.prefix == 0)) {
            return false;
        }
        char text[IP_TEXT_MAX];
        ip_net_format(&net, text);
        texts[i] = arena_strdup(a, text);
    }
    *ret = str_set_make(a, texts, n);
    return true;
}

static int ranges_of_field(struct arena *a, const struct tt_service *s, struct str_set *ret,
                           struct err *err)
{
    const char *bad = NULL;
    if (read_ranges(a, s->source_ranges, s->n_source_ranges, ret, &bad)) {
        return ERR_OK;
    }
    return err_set(
        err, ERR_INVALID,
        "service.Spec.LoadBalancerSourceRanges: [%s] is not valid. Expecting a list of IP "
        "ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: %s",
        str_join(a, s->source_ranges, s->n_source_ranges, " "), bad);
}

static int ranges_of_annotation(struct arena *a, const char *value, struct str_set *ret,
                                struct err *err)
{
    const char *text = str_or(str_trim_unicode(a, str_nonnull(value)), "0.0.0.0/0");
    size_t n;
    char **items = str_split(a, text, ',', &n);
    const char *bad = NULL;
    if (read_ranges(a, (const char *const *)items, n, ret, &bad)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "%s: %s is not valid. Expecting a comma-separated list of source IP ranges. For "
                   "example, 10.0.0.0/24,192.168.2.0/24",
                   LB_SOURCE_RANGES_ANNOTATION, text);
}

int svc_source_ranges(struct arena *a, const struct tt_service *s, struct str_set *ret,
                      struct err *err)
{
    if (s->n_source_ranges > 0) { /* the annotation is not even looked at then */
        return ranges_of_field(a, s, ret, err);
    }
    return ranges_of_annotation(a, svc_annotation(s, LB_SOURCE_RANGES_ANNOTATION), ret, err);
}

bool svc_ranges_allow_all(const struct str_set *ranges)
{
    return str_set_has(ranges, "0.0.0.0/0");
}
