/* SPDX-License-Identifier: Apache-2.0 */
/* azure_sides.c: see azure_sides.h.  Pure. */
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_doc.h"
#include "providers/azure/azure_frontend_rules.h"

#include "common/base/str.h"

#define INTERNAL "azure-load-balancer-internal"

bool azure_sides_stands(struct azure_sync *y, const struct azure_service *s)
{
    for (size_t i = 0; i < y->lbs.n; i++) {
        if (azure_lb_is_internal(azure_doc_name(y->lbs.items[i])) != s->internal) {
            continue;
        }
        struct azure_elements mine = azure_sync_frontends(y, s, y->lbs.items[i]);
        for (size_t k = 0; k < mine.n; k++) {
            if (azure_sync_owner(y, s, mine.items[k]).owns) {
                return true;
            }
        }
    }
    return false;
}

/* Internal as we read it, and external as the Go controller does. */
static bool is_doubtful(const struct azure_service *s)
{
    return s->internal && !str_eq(azure_annotation(s->in, INTERNAL), "true");
}

/* The Service as what stands has it; NULL: as it was read. */
static const struct azure_service *as_it_stands(struct azure_sync *y, const struct azure_service *s)
{
    if (!is_doubtful(s) || azure_sides_stands(y, s)) {
        return NULL;
    }
    const struct azure_service *external = azure_service_flip(y->s->life, &y->p->naming, s);
    return azure_sides_stands(y, external) ? external : NULL;
}

static void tell(struct azure_sync *y, const struct azure_item *it, const char *value)
{
    const struct tt_host *host = y->p->host;
    if (y->s->planning || it->item->in->verb != TT_VERB_ENSURE) {
        return;
    }
    host->event(host->ctx, it->service->in, TT_EVENT_WARNING, "InvalidAnnotation",
                arena_printf(y->s->a,
                             "annotation " AZURE_ANNOTATION_PREFIX INTERNAL
                             ": \"%s\": the load balancer stays external, as the Go controller has "
                             "left it; write \"true\" for an internal one",
                             value));
}

void azure_sides_settle(struct azure_sync *y)
{
    if (y->p->repair_adopted) {
        return;
    }
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        const struct azure_service *read = it->service;
        const struct azure_service *stands =
            azure_item_takes_part(it) && it->want ? as_it_stands(y, read) : NULL;
        if (stands != NULL) {
            it->service = stands;
            it->flip = read;
            tell(y, it, azure_annotation(read->in, INTERNAL));
        }
    }
    const struct azure_service **services =
        ARENA_ARRAY(y->s->life, const struct azure_service *, y->n_services + 1);
    bool changed = false;
    for (size_t i = 0; i < y->n_services; i++) {
        const struct azure_service *stands = as_it_stands(y, y->services[i]);
        services[i] = stands != NULL ? stands : y->services[i];
        changed = changed || stands != NULL;
    }
    y->services = changed ? services : y->services;
}
