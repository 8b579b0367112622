/* SPDX-License-Identifier: Apache-2.0 */
/* azure_owner.c: whose a frontend is, for the Services and public IPs of one sync (azure_sync.h).
 *
 * Which public IPs a Service pins does not depend on the frontend, and to find out means to go
 * through all of them.  So the answer is kept, as long as the public IPs are the same list: or a
 * thousand Services on one balancer would take a thousand times a thousand times
 * a thousand steps. */
#include "providers/azure/sync/azure_sync.h"

#define KEPT 1024 /* Services whose answer is kept; another one in the same place replaces it */

struct azure_kept_claim {
    const struct azure_service *service;
    struct json_object *const *pips; /* the list that the claim is about */
    struct azure_claim claim;
};

static const struct azure_claim *claim_of(struct azure_sync *y, const struct azure_service *s)
{
    if (y->claims == NULL) {
        y->claims = ARENA_ARRAY(y->s->a, struct azure_kept_claim, KEPT);
    }
    struct azure_kept_claim *kept = &y->claims[((uintptr_t)s >> 4) % KEPT];
    if (kept->service != s || kept->pips != y->pips.items) {
        *kept = (struct azure_kept_claim){
            .service = s,
            .pips = y->pips.items,
            .claim = azure_frontend_claim(y->s->a, s, &y->pips),
        };
    }
    return &kept->claim;
}

struct azure_ownership azure_sync_owner(struct azure_sync *y, const struct azure_service *s,
                                        struct json_object *frontend)
{
    return azure_frontend_owned_by(claim_of(y, s), frontend);
}

struct azure_lb_index *azure_sync_index(struct azure_sync *y, struct json_object *lb)
{
    if (y->indexes == NULL) {
        y->indexes = ARENA_ARRAY(y->s->a, struct azure_lb_index *, y->lbs.n + 1);
    }
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (y->lbs.items[i] == lb) {
            y->indexes[i] = y->indexes[i] != NULL ? y->indexes[i] : azure_lb_index_new(y->s->a, lb);
            return y->indexes[i];
        }
    }
    return NULL;
}

struct azure_elements azure_sync_frontends(struct azure_sync *y, const struct azure_service *s,
                                           struct json_object *lb)
{
    return azure_lb_claimed(y->s->a, azure_sync_index(y, lb), lb, claim_of(y, s));
}
