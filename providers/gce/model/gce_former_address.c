/* SPDX-License-Identifier: Apache-2.0 */
/* gce_former_address.c: see gce_former_address.h. */
#include "providers/gce/model/gce_former_address.h"

#include "common/base/ip.h"
#include "common/base/str.h"

#include <string.h>

#define PREFIX_V6 96

const char *gce_former_address_name(struct arena *a, const char *lb, bool v6)
{
    return arena_printf(a, "%s-former%s", lb, v6 ? "-ipv6" : "");
}

static const char *without_prefix(struct arena *a, const char *ip)
{
    return arena_strndup(a, str_nonnull(ip), strcspn(str_nonnull(ip), "/"));
}

struct gce_address gce_former_address_of(struct arena *a, const struct gce_rule *rule,
                                         const char *name, const char *description)
{
    bool internal = str_eq(rule->scheme, "INTERNAL");
    const char *ip = without_prefix(a, rule->ip);
    return (struct gce_address){
        .name = name,
        .description = description,
        .ip = ip,
        .type = internal ? "INTERNAL" : "EXTERNAL",
        .tier = internal ? "" : rule->tier,
        .subnetwork = internal ? rule->subnetwork : "",
        .ip_collection = rule->ip_collection,
        .prefix_length = strchr(ip, ':') != NULL ? PREFIX_V6 : 0,
    };
}

bool gce_former_address_is_known(struct arena *a, const struct tt_service *s, const char *ip)
{
    struct ip_addr held;
    struct ip_addr one;
    bool parsed = ip_parse(without_prefix(a, ip), &held);
    for (uint32_t i = 0; parsed && i < s->n_ingress; i++) {
        if (s->ingress[i].ip != NULL && ip_parse(s->ingress[i].ip, &one) && ip_eq(&held, &one)) {
            return true;
        }
    }
    return false;
}
