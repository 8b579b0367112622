/* SPDX-License-Identifier: Apache-2.0 */
/* azure_links_former.c: private link services of former frontends.
 *
 * A frontend that the Service has left serves until the status tells the new address
 * (docs/adr/0092), and its link with it: taken away earlier, it would be lost when the balancer's
 * write is refused.  It is a stage of its own, because it changes the balancer's etag. */
#include "providers/azure/azure_lb_edits.h"
#include "providers/azure/azure_links.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pls/azure_pls_rules.h"
#include "providers/azure/sync/azure_observe.h"

/* Each frontend of the Service that goes in the stage "release". */
static bool visit_former(struct azure_sync *y, const struct azure_item *it,
                         struct azure_doomed_list *list)
{
    bool some = false;
    for (size_t i = 0; azure_links_has(y, it) && it->service->internal && i < y->lbs.n; i++) {
        struct json_object *lb = y->lbs.items[i];
        struct json_object *o;
        AZURE_EACH (o, azure_lb_is_internal(azure_doc_name(lb))
                           ? azure_array(lb, "frontendIPConfigurations")
                           : NULL) {
            bool goes = azure_lb_former_goes(y, it->service, lb, o);
            struct json_object *pls = goes && list != NULL ? azure_links_on(y, o) : NULL;
            some = some || goes;
            if (pls != NULL && azure_pls_is_ours(pls, y->p->naming.cluster, it->service->key)) {
                azure_links_doom(y, list, pls, it, "its frontend goes");
            }
        }
    }
    return some;
}

int azure_observe_sever(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    bool some = false;
    azure_need_nothing(y);
    for (size_t i = 0; i < s->n_items; i++) {
        some = some || (azure_links_has(y, &y->items[i]) && y->items[i].service->internal);
    }
    if (!some) {
        return ERR_OK;
    }
    some = false;
    azure_need_lists(y);
    int rc = azure_see(y, err);
    for (size_t i = 0; rc == ERR_OK && i < s->n_items; i++) {
        if (visit_former(y, &y->items[i], NULL)) {
            azure_links_look(y, &y->items[i], true);
            some = true;
        }
    }
    return rc == ERR_OK && some ? azure_see(y, err) : rc;
}

int azure_plan_sever(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_doomed_list list = azure_links_doomed_new(y, plan);
    (void)err;
    for (size_t i = 0; i < s->n_items; i++) {
        (void)visit_former(y, &y->items[i], &list);
    }
    azure_links_emit_doomed(y, &list);
    return ERR_OK;
}
