/* SPDX-License-Identifier: Apache-2.0 */
/* gce_exchange_rules.c: see gce_exchange_rules.h. */
#include "providers/gce/model/gce_exchange_rules.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_shared_ip_rules.h"

#define DISCRETE_MAX 5 /* more ports than that are asked for as all (gce-l4.md §4.7) */

static void add_protocol(struct arena *a, const struct tt_service *svc, const char *protocol,
                         bool range, struct gce_party *ret)
{
    const char **ports = ARENA_ARRAY(a, const char *, svc->n_ports);
    int32_t low = INT32_MAX;
    int32_t high = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < svc->n_ports; i++) {
        const struct tt_port *p = &svc->ports[i];
        if (str_eq_nocase(str_or(p->protocol, "TCP"), protocol)) {
            ports[n++] = arena_printf(a, "%d", p->port);
            low = p->port < low ? p->port : low;
            high = p->port > high ? p->port : high;
        }
    }
    if (n == 0) {
        return;
    }
    struct gce_rule *r = &ret->wants[ret->n_wants++];
    *r = (struct gce_rule){.ip = ret->ip, .protocol = protocol};
    if (range) {
        r->port_range = arena_printf(a, "%d-%d", low, high);
    } else if (n > DISCRETE_MAX) {
        r->all_ports = true;
    } else {
        r->ports = (struct gce_strs){.items = ports, .n = n};
    }
}

void gce_party_init(struct arena *a, const struct tt_service *svc, const char *ip, bool range,
                    struct gce_party *ret)
{
    *ret = (struct gce_party){.ip = str_nonnull(ip)};
    add_protocol(a, svc, "TCP", range, ret);
    add_protocol(a, svc, "UDP", range, ret);
}

bool gce_party_asks_for(const struct gce_party *p, const struct gce_rule *r)
{
    for (size_t i = 0; i < p->n_wants; i++) {
        if (*p->ip != '\0' && str_eq(p->ip, r->ip) && gce_rules_overlap(&p->wants[i], r)) {
            return true;
        }
    }
    return false;
}

static bool asks_for_any(const struct gce_party *p, const struct gce_party *of)
{
    for (size_t i = 0; i < of->n_has; i++) {
        if (gce_party_asks_for(p, of->has[i])) {
            return true;
        }
    }
    return false;
}

bool gce_parties_exchange(const struct gce_party *one, const struct gce_party *other)
{
    for (size_t i = 0; i < other->n_wants; i++) {
        if (gce_party_asks_for(one, &other->wants[i])) {
            return false; /* only one of them can have it */
        }
    }
    return asks_for_any(one, other) && asks_for_any(other, one);
}
