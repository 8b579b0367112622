/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_legacy.c: see azure_nsg_legacy.h. */
#include "providers/azure/nsg/azure_nsg_legacy.h"

#include <string.h>

#include "common/base/str.h"

#define SHARED "shared"

/* "-TCP-80-…" */
static bool is_tail(const char *s)
{
    static const char *const protocols[] = {"-TCP-", "-UDP-", "-SCTP-"};
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
        size_t n = strlen(protocols[i]);
        if (strncasecmp(s, protocols[i], n) == 0) {
            size_t digits = strspn(s + n, "0123456789");
            return digits > 0 && s[n + digits] == '-' && s[n + digits + 1] != '\0';
        }
    }
    return false;
}

static bool is_named(const struct azure_nsg_rule *r, const char *prefix)
{
    size_t n = strlen(prefix);
    return n > 0 && strncasecmp(r->name, prefix, n) == 0 && is_tail(r->name + n);
}

/* Those releases took the same priorities as today's. */
static bool is_in_range(const struct azure_nsg_rule *r)
{
    return r->json != NULL && r->now.priority >= AZURE_NSG_PRIORITY_MIN &&
           r->now.priority <= AZURE_NSG_PRIORITY_MAX && str_eq_nocase(r->now.direction, "Inbound");
}

bool azure_nsg_has_shared_legacy(const struct azure_nsg *g)
{
    for (size_t i = 0; i < g->n; i++) {
        if (is_in_range(g->rules[i]) && is_named(g->rules[i], SHARED)) {
            return true;
        }
    }
    return false;
}

void azure_nsg_drop_legacy(struct azure_nsg *g, const struct azure_access *access,
                           const struct str_set *addresses)
{
    struct str_set owner = str_set_make(g->a, &access->service->key, 1);
    for (size_t i = 0; i < g->n; i++) {
        struct azure_nsg_rule *r = g->rules[i];
        if (!is_in_range(r)) {
            continue;
        }
        bool hit = is_named(r, access->service->base);
        if (!hit && is_named(r, SHARED)) {
            struct str_set left = str_set_minus(g->a, &r->now.destinations, addresses);
            hit = left.n < r->now.destinations.n;
            r->now.destinations = left;
            r->dropped = r->dropped || (hit && left.n == 0 && r->now.destination_groups.n == 0);
        } else if (hit) {
            r->dropped = true;
        }
        r->owners = hit ? str_set_union(g->a, &r->owners, &owner) : r->owners;
    }
}
