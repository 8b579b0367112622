/* SPDX-License-Identifier: Apache-2.0 */
/* azure_sides.c: see azure_sides.h.  Pure. */
#include "providers/azure/azure_sides.h"
#include "providers/azure/lb/azure_frontend_rules.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_node_rules.h"
#include "providers/azure/model/azure_text.h"
#include "providers/azure/nsg/azure_nsg_doc.h"

#include "common/base/str.h"
#include "common/lb/findings.h"

#define INTERNAL "azure-load-balancer-internal"
#define CREATE   "azure-pls-create"

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

bool azure_sides_has_pip(struct azure_sync *y, const struct azure_service *s)
{
    _cleanup_(arena_freep) struct arena *passing = arena_new();
    struct azure_pips mine =
        azure_pips_about(passing, &y->pips, s->key, s->lb_ip, s->pip_name, AZURE_FAMILIES);
    bool owns = false;
    for (size_t i = 0; i < mine.n && !owns; i++) {
        owns = azure_pip_owner(passing, &y->p->naming, s, mine.items[i]).owns;
    }
    return owns;
}

bool azure_sides_moves(struct azure_sync *y, const struct azure_item *it)
{
    const struct tt_service *before = it->item->in->previous;
    if (before != NULL &&
        azure_service_read(y->s->a, &y->p->naming, before)->internal != it->service->internal) {
        return true;
    }
    return azure_leaves_told(y, it) ||
           (it->service->internal && azure_sides_has_pip(y, it->service));
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

/* Does this process know that the annotation was edited since its last sync? */
static bool is_edited(const struct azure_item *it, const char *name)
{
    const struct tt_service *before = it->item->in->previous;
    return before != NULL &&
           !str_eq(azure_annotation(before, name), azure_annotation(it->service->in, name));
}

static void tell(struct azure_sync *y, const struct azure_item *it, const char *value)
{
    lb_finding(
        y->s, it->item, "InvalidAnnotation", AZURE_ANNOTATION_PREFIX INTERNAL,
        "annotation " AZURE_ANNOTATION_PREFIX INTERNAL
        ": \"%s\": the load balancer stays external, as the Go controller has left it; write "
        "\"true\" for an internal one",
        lb_finding_value(y->s->a, value));
}

/* ---- private links --------------------------------------------------------------------------- */

/* A probe of the health check's node port, which upstream makes where it does not see the
 * annotation, stands. */
static bool has_node_probe(struct azure_sync *y, const struct azure_service *s)
{
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *o;
        AZURE_EACH (o, azure_array(y->lbs.items[i], "probes")) {
            if (azure_has_prefix(azure_doc_name(o), s->base) &&
                azure_prop_int(o, "port", 0) == s->in->health_check_node_port) {
                return true;
            }
        }
    }
    return false;
}

/* Upstream takes blanks off " true " for the link, and not for its probes. */
static const struct azure_service *with_probes_as_they_stand(struct azure_sync *y,
                                                             const struct azure_item *it)
{
    const struct azure_service *s = it->service;
    const char *value = azure_annotation(s->in, CREATE);
    if (!s->pls_create || !s->pls_proxy_protocol || !s->local || azure_text_true(value) ||
        is_edited(it, CREATE) || !has_node_probe(y, s)) {
        return s;
    }
    struct azure_service *copy = arena_memdup(y->s->life, s, sizeof(*s));
    copy->pls_unprobed = true;
    return copy;
}

/* ---- the side -------------------------------------------------------------------------------- */

void azure_sides_settle(struct azure_sync *y)
{
    if (y->p->repair_adopted) {
        return;
    }
    for (size_t i = 0; i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (azure_item_takes_part(it) && it->want) {
            it->service = with_probes_as_they_stand(y, it);
        }
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

/* ---- lists of ranges ------------------------------------------------------------------------- */

static const char *const lists[] = {"azure-allowed-ip-ranges", "load-balancer-source-ranges"};

/* The list that is given and blank; NULL: none is. */
static const char *blank_list(struct arena *a, const struct azure_service *s)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const char *value = azure_annotation(s->in, lists[i]);
        if (value != NULL && *str_trim_unicode(a, value) == '\0') {
            return lists[i];
        }
    }
    return NULL;
}

/* Addresses that a deny rule of ours closes to all clients. */
static struct str_set denied(struct azure_sync *y)
{
    struct azure_nsg group;
    struct str_set all = {0};
    if (azure_nsg_read(y->s->a, azure_array(y->nsg, "securityRules"), &group, NULL) != ERR_OK) {
        return all;
    }
    for (int f = 0; f < AZURE_FAMILIES; f++) {
        const struct azure_nsg_rule *r =
            azure_nsg_find(&group, azure_nsg_deny_name((enum azure_family)f));
        all = r != NULL ? str_set_union(y->s->a, &all, &r->now.destinations) : all;
    }
    return all;
}

static bool is_denied(struct azure_sync *y, const struct azure_service *s,
                      const struct str_set *addresses)
{
    struct azure_texts own = azure_addresses_of(y, s);
    for (size_t i = 0; i < own.n; i++) {
        if (str_set_has(addresses, own.items[i])) {
            return true;
        }
    }
    const struct tt_batch *batch = y->s->batch;
    for (uint32_t i = 0; s->disable_floating_ip && own.n > 0 && i < batch->n_nodes; i++) {
        for (int f = 0; f < AZURE_FAMILIES; f++) {
            const char *ip = azure_node_internal_ip(batch->nodes[i], (enum azure_family)f);
            if (ip[0] != '\0' && str_set_has(addresses, ip)) {
                return true;
            }
        }
    }
    return false;
}

/* The Service as upstream reads it, to which a blank list is one wrong item: it denies all. */
static const struct azure_service *as_denied(struct azure_sync *y, const struct azure_service *s,
                                             const struct str_set *addresses)
{
    const char *list = blank_list(y->s->a, s);
    return list != NULL && is_denied(y, s, addresses)
               ? azure_service_with(y->s->life, &y->p->naming, s, list, ",")
               : s;
}

static void tell_denied(struct azure_sync *y, const struct azure_item *it)
{
    const char *list = blank_list(y->s->a, it->service);
    lb_finding(y->s, it->item, "InvalidAllowedIPRanges",
               arena_printf(y->s->a, AZURE_ANNOTATION_PREFIX "%s", list),
               "annotation " AZURE_ANNOTATION_PREFIX
               "%s is blank: no client is let in, as the Go controller has left it; remove it to "
               "let all clients in",
               list);
}

/* The item of the batch that wants the Service, or NULL. */
static const struct azure_item *item_of(const struct azure_sync *y, const char *key)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (it->service != NULL && it->want && str_eq(it->item->key, key)) {
            return it;
        }
    }
    return NULL;
}

static bool has_edited_list(const struct azure_item *it)
{
    return it != NULL && (is_edited(it, lists[0]) || is_edited(it, lists[1]));
}

void azure_sides_settle_ranges(struct azure_sync *y)
{
    struct str_set addresses = {0};
    if (!y->p->repair_adopted && y->nsg != NULL) {
        addresses = denied(y);
    }
    for (size_t i = 0; addresses.n > 0 && i < y->s->n_items; i++) {
        struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it) || !it->want || has_edited_list(it)) {
            continue;
        }
        const struct azure_service *stands = as_denied(y, it->service, &addresses);
        if (stands != it->service) {
            tell_denied(y, it);
            it->service = stands;
        }
    }
    const struct azure_service **services = NULL;
    for (size_t i = 0; addresses.n > 0 && i < y->n_services; i++) {
        const struct azure_service *s = y->services[i];
        bool blank = blank_list(y->s->a, s) != NULL && !has_edited_list(item_of(y, s->key));
        const struct azure_service *stands = blank ? as_denied(y, s, &addresses) : s;
        if (stands != s && services == NULL) {
            services = arena_memdup(y->s->life, y->services, y->n_services * sizeof(s));
        }
        if (stands != s) {
            services[i] = stands;
        }
    }
    y->services = services != NULL ? services : y->services;
}
