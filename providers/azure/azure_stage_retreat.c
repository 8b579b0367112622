/* SPDX-License-Identifier: Apache-2.0 */
/* azure_stage_retreat.c: see azure_retreat.h.
 *
 * The Service counts as one that leaves the addresses where its traffic was to go.  All that any
 * load balancing rule sends stays let in, its own rules' too, and so does what any other Service
 * asks for. */
#include "providers/azure/azure_retreat.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/azure_additional_rules.h"
#include "providers/azure/azure_first.h"
#include "providers/azure/azure_standing.h"
#include "providers/azure/azure_told.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_node_rules.h"
#include "providers/azure/nsg/azure_nsg_desired.h"
#include "providers/azure/nsg/azure_nsg_plan.h"
#include "providers/azure/sync/azure_emit.h"
#include "providers/azure/sync/azure_observe.h"

struct retreat {
    struct azure_sync *y;
    struct azure_nsg_input in;
    struct azure_nsg_member *members;
    struct azure_nsg_change *changes;
    struct azure_owners owners;
};

/* ---- what stays ------------------------------------------------------------------------------ */

struct azure_texts azure_assigned(struct azure_sync *y, const char *key)
{
    const char *text = map_get(y->p->assigned, key);
    struct azure_texts t = {0};
    if (!str_is_empty(text)) {
        t.items = (const char *const *)str_split(y->s->a, text, ' ', &t.n);
    }
    /* A sync notes what it has given (azure_remember()); a plan has it from its own documents. */
    for (size_t i = 0; y->s->planning && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (str_eq(it->item->key, key) && it->want && azure_item_takes_part(it)) {
            struct azure_texts given = azure_addresses_of(y, it->service);
            return azure_texts_joined(y->s->a, &t, &given);
        }
    }
    return t;
}

static bool is_leaving(const struct azure_sync *y, const struct azure_service *s)
{
    bool leaves = false;
    for (size_t i = 0; i < y->s->n_items && !leaves; i++) {
        const struct azure_item *it = &y->items[i];
        leaves = it->service != NULL && it->item->retreats && azure_service_is(it->service, s);
    }
    return leaves;
}

static void gather_members(struct retreat *r)
{
    struct azure_sync *y = r->y;
    size_t most = y->n_services + 1;
    for (size_t i = 0; i < y->lbs.n; i++) {
        most += json_len(azure_array(y->lbs.items[i], "loadBalancingRules"));
    }
    r->members = ARENA_ARRAY(y->s->a, struct azure_nsg_member, most);
    for (size_t i = 0; i < y->n_services; i++) {
        if (!is_leaving(y, y->services[i])) {
            r->members[r->in.n_members++] = (struct azure_nsg_member){
                .access = azure_additional_access(y, y->services[i]),
                .assigned = azure_assigned(y, y->services[i]->key),
            };
        }
    }
    for (size_t i = 0; i < y->lbs.n; i++) {
        struct json_object *rule;
        AZURE_EACH (rule, azure_array(y->lbs.items[i], "loadBalancingRules")) {
            r->members[r->in.n_members++] = azure_standing_rule(y, y->lbs.items[i], rule);
        }
    }
    r->in.members = r->members;
}

static void gather_nodes(struct retreat *r)
{
    const struct tt_batch *batch = r->y->s->batch;
    size_t most = 1;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        most += batch->nodes[i]->n_addresses;
    }
    const char **ips = ARENA_ARRAY(r->y->s->a, const char *, most);
    size_t n = 0;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        size_t k = 0;
        const char **of_node = azure_node_internal_ips(r->y->s->a, batch->nodes[i], &k);
        for (size_t j = 0; azure_node_is_managed(batch->nodes[i]) && j < k; j++) {
            ips[n++] = of_node[j];
        }
    }
    r->in.node_ips = (struct azure_texts){.items = ips, .n = n};
}

/* ---- what goes ------------------------------------------------------------------------------- */

static void gather_changes(struct retreat *r)
{
    struct azure_sync *y = r->y;
    r->changes = ARENA_ARRAY(y->s->a, struct azure_nsg_change, y->s->n_items + 1);
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (it->service == NULL || !it->item->retreats || !lb_item_is_active(it->item)) {
            continue;
        }
        struct azure_access *access = ARENA_NEW(y->s->a, struct azure_access);
        *access = *azure_access_read(y->s->a, it->service);
        access->additional = (struct azure_texts){0};
        r->changes[r->in.n_changes++] = (struct azure_nsg_change){
            .access = access,
            .lb_ips = azure_admitted(y, it),
            .backend_ips = r->in.node_ips,
            .retreats = true,
        };
        azure_owners_add(y->s->a, &r->owners, it->item->key);
    }
    r->in.changes = r->changes;
}

/* ---- the stage ------------------------------------------------------------------------------- */

/* The same wish has been shut again after a refusal: it stays let in now, or each retry would open
 * and shut the group. */
static bool is_tried_again(struct azure_sync *y, const struct azure_item *it)
{
    const uint64_t wish = azure_first_wish(it);
    const uint64_t *was = map_get(y->p->retreated, it->item->key);
    if (was != NULL && *was == wish) {
        return true;
    }
    uint64_t *kept = xcalloc(1, sizeof(*kept));
    *kept = wish;
    map_set(y->p->retreated, it->item->key, kept);
    return false;
}

/* A refusal stays until something is changed; after anything else the next try is soon, and
 * needs what was let in. */
bool azure_retreats(struct lb_sync *s, struct lb_item *item)
{
    struct azure_sync *y = s->data;
    if (y == NULL || y->items == NULL || item->in->verb != TT_VERB_ENSURE) {
        return false;
    }
    const struct azure_item *it = &y->items[item - s->items];
    bool refused = item->err.code == ERR_INVALID || item->err.code == ERR_QUOTA ||
                   item->err.code == ERR_FORBIDDEN || item->err.code == ERR_IN_USE ||
                   item->err.code == ERR_NOT_FOUND ||
                   (item->err.code == ERR_TRANSIENT && item->err.http_status / 100 == 4);
    return refused && it->service != NULL && map_has(y->p->redirected, item->key) &&
           !is_tried_again(y, it);
}

static int observe_retreat(struct lb_sync *s, struct err *err)
{
    struct azure_sync *y = azure_sync_of(s);
    azure_need_nothing(y);
    azure_need_security(y);
    return azure_see(y, err);
}

static void emit(struct retreat *r, struct lb_plan *plan, const struct azure_nsg_result *result)
{
    struct azure_sync *y = r->y;
    struct json_object *doc = azure_copy(y->s->a, y->nsg);
    json_add(azure_props_make(doc), "securityRules", json_copy(result->rules));
    const struct azure_emit op = {
        .kind = AZURE_NSGS,
        .id = azure_doc_id(y->nsg),
        .was = y->nsg,
        .doc = doc,
        .why = "the edit that needed it was refused",
        .summary = arena_printf(y->s->a, "%s %s", str_count(y->s->a, result->n_diff, "rule"),
                                result->n_diff == 1 ? "differs" : "differ"),
        .owners = &r->owners,
        .shared = true,
    };
    (void)azure_emit(y, plan, &op);
}

static int plan_retreat(struct lb_sync *s, struct lb_plan *plan, struct err *err)
{
    struct retreat r = {.y = azure_sync_of(s)};
    struct azure_nsg_result result;
    if (r.y->nsg == NULL) {
        return ERR_OK;
    }
    gather_nodes(&r);
    gather_changes(&r);
    gather_members(&r);
    r.in.rules = azure_array(r.y->nsg, "securityRules");
    if (r.in.rules == NULL || r.in.n_changes == 0) {
        return ERR_OK;
    }
    int rc = azure_nsg_plan(s->a, &r.in, &result, err);
    if (rc == ERR_OK && result.changed && result.n_diff > 0) {
        emit(&r, plan, &result);
    }
    return rc;
}

const struct lb_stage azure_retreat = {"retreat", NULL, observe_retreat, plan_retreat};
