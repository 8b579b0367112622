/* SPDX-License-Identifier: Apache-2.0 */
/* azure_links_first.c: Services that have nothing yet and ask for a private link service: one whose
 * link cannot be made gets nothing, before the first write.
 *
 * The link comes last.  A name that is taken, a subnet that does not exist, a setting that is
 * impossible would leave frontend, balancer and public IP, which serve no client, at each try.  A
 * Service that is served is carried out as far as it can be, and its link is refused at the end. */
#include "providers/azure/azure_links.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/lb/azure_frontend_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pls/azure_pls_rules.h"
#include "providers/azure/sync/azure_observe.h"

#include "common/lb/mark_rules.h"

static bool has_own_frontend(struct azure_sync *y, const struct azure_service *s)
{
    bool has = false;
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct azure_elements mine = azure_sync_frontends(y, s, y->lbs.items[i]);
        for (size_t k = 0; k < mine.n; k++) {
            has = has || azure_sync_owner(y, s, mine.items[k]).primary;
        }
    }
    return has;
}

/* Nothing of its own stands, so nothing of it is to be made if its link cannot be. */
static bool is_first(struct azure_sync *y, const struct azure_item *it)
{
    return azure_links_has(y, it) && it->service->pls_create &&
           it->item->in->verb == TT_VERB_ENSURE && it->service->in->n_ingress == 0 &&
           !mark_has_addresses(it->service->in, AZURE_PROVIDER) &&
           !has_own_frontend(y, it->service) && !has_own_frontend(y, it->flip);
}

int azure_links_observe_first(struct azure_sync *y, struct err *err)
{
    bool fresh = y->s->observed_fresh;
    bool some = false;
    for (size_t i = 0; i < y->s->n_items; i++) {
        if (is_first(y, &y->items[i])) {
            azure_links_need(y, &y->items[i]);
            some = true;
        }
    }
    if (!some) {
        return ERR_OK;
    }
    int rc = azure_see(y, err);
    for (size_t i = 0; rc == ERR_OK && i < y->s->n_items; i++) {
        if (is_first(y, &y->items[i])) {
            azure_links_need(y, &y->items[i]);
        }
    }
    rc = rc == ERR_OK && !azure_seen_all_links(y) ? azure_see(y, err) : rc;
    y->s->observed_fresh = y->s->observed_fresh && fresh;
    return rc;
}

/* Another Service's frontend that the Service will share, or NULL. */
static struct json_object *shared_frontend(struct azure_sync *y, const struct azure_item *it,
                                           enum azure_family f)
{
    struct json_object *lb = azure_sync_lb(y, it->target);
    struct json_object *o;
    AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
        struct azure_ownership own = azure_sync_owner(y, it->service, o);
        if (own.owns && azure_frontend_family(it->service, o, &own) == f) {
            return o;
        }
    }
    return NULL;
}

static int check_first(struct azure_linking *l, struct azure_item *it, enum azure_family f)
{
    struct azure_sync *y = l->y;
    bool wanted = false;
    int rc = azure_pls_wants(it->service, f, &wanted, &it->item->err);
    if (rc != ERR_OK || !wanted) {
        return rc;
    }
    struct json_object *o = shared_frontend(y, it, f);
    const char *name = azure_frontend_name(y->s->a, it->service->in, f);
    const char *id =
        o != NULL ? azure_doc_id(o) : azure_frontend_id(y->s->a, &y->p->naming, it->target, name);
    return azure_linking_decide(l, it, id, o != NULL ? azure_links_on(y, o) : NULL, &it->item->err);
}

void azure_links_check_first(struct azure_sync *y, struct lb_plan *plan)
{
    struct azure_linking l = azure_linking_new(y, plan);
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        int rc = is_first(y, it) ? ERR_OK : ERR_NOT_FOUND;
        for (int f = 0; rc == ERR_OK && f < AZURE_FAMILIES; f++) {
            rc = it->service->has_family[f] ? check_first(&l, it, (enum azure_family)f) : ERR_OK;
        }
    }
    azure_linking_done(&l);
}
