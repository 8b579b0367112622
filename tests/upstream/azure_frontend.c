/* SPDX-License-Identifier: Apache-2.0 */
/* azure_frontend.c: one frontend of one document (azure_frontend.h). */
#include "tests/upstream/azure_frontend.h"

#include "common/base/arena.h"
#include "providers/azure/lb/azure_lb_index.h"

struct azure_ownership azure_frontend_owner(struct arena *a, const struct azure_service *s,
                                            struct json_object *frontend,
                                            const struct azure_pips *pips)
{
    const struct azure_claim c = azure_frontend_claim(a, s, pips);
    return azure_frontend_owned_by(&c, frontend);
}

int azure_frontend_check_ports(const struct azure_service *s, const char *id,
                               struct json_object *lb, struct err *err)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct azure_elements rules = azure_lb_rules_at(a, NULL, lb, id);
    const struct azure_place at = {.id = id, .lb = lb, .rules = rules.items, .n_rules = rules.n};
    return azure_frontend_check_ports_at(s, &at, err);
}
