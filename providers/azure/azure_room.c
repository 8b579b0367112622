/* SPDX-License-Identifier: Apache-2.0 */
/* azure_room.c: see azure_room.h. */
#include "providers/azure/azure_room.h"

#include "providers/azure/azure_additional_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/nsg/azure_nsg_rules.h"
#include "providers/azure/sync/azure_observe.h"

/* Fewer ranges fill no group that was not nearly full: the look is not worth a request. */
#define MANY 50

/* The ranges of which rules are made; NULL: the Service is served, or names few. */
static const struct azure_access *many_of(struct azure_sync *y, const struct azure_item *it)
{
    bool comes = azure_item_is_carried_out(it) && it->want && it->service->in->n_ingress == 0 &&
                 !it->service->disable_nsg_rule;
    if (!comes) {
        return NULL;
    }
    const struct azure_access *x = azure_additional_access(y, it->service);
    return azure_access_prefixes(y->s->a, x).n > MANY ? x : NULL;
}

void azure_room_need(struct azure_sync *y)
{
    bool some = false;
    for (size_t i = 0; !some && i < y->s->n_items; i++) {
        some = many_of(y, &y->items[i]) != NULL;
    }
    if (some) {
        azure_need_nsg(y);
    }
}

void azure_room_check(struct azure_sync *y)
{
    struct azure_nsg group = {0};
    bool read = false;
    for (size_t i = 0; y->nsg != NULL && i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        const struct azure_access *x = many_of(y, it);
        if (x == NULL) {
            continue;
        }
        read = read || azure_nsg_read(y->s->a, azure_array(y->nsg, "securityRules"), &group,
                                      NULL) == ERR_OK;
        struct err err = ERR_INIT;
        /* Other faults of its rules are reported by the stage of the group. */
        if (read && azure_nsg_try(&group, x, it->service->has_family, &err) == ERR_QUOTA) {
            (void)err_copy(&it->item->err, &err);
        }
    }
}
