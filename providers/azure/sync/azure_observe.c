/* SPDX-License-Identifier: Apache-2.0 */
/* azure_observe.c: reads what a stage needs, and sorts what the lists say (azure_observe.h). */
#include "providers/azure/sync/azure_observe.h"
#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/pip/azure_pip_index.h"
#include "providers/azure/sync/azure_predict.h"

#include <string.h>

/* Zones of regions change once in years; upstream asks every half hour. */
#define ZONES_AGE_MS 1800000
#define ANY_AGE_MS   INT64_MAX
#define REFUSED_MS   60000 /* until a list that this identity may not read is asked for again */

/* The views lie in the memory of the last turn, which is gone: a stage that does not look has none
 * (its plan may still ask for them). */
static void forget_views(struct azure_sync *y)
{
    y->claims = NULL;
    y->indexes = NULL;
    y->lbs = y->old = (struct azure_lbs){0};
    y->pips = (struct azure_pips){0};
    y->nsg = NULL;
    y->placement.lbs = y->lbs;
    y->placement.pips = y->pips;
}

/* A resource that was read by name because a list lacked it counts as long as the list.  What
 * another stage has read stays in sight as the snapshot has it by now. */
void azure_need_nothing(struct azure_sync *y)
{
    forget_views(y);
    y->stage_is_new = true;
    for (size_t i = 0; i < y->n_seen; i++) {
        struct azure_seen *seen = &y->seen[i];
        seen->needed = seen->one && (seen->kind == AZURE_LBS || seen->kind == AZURE_PIPS);
        if (seen->array != NULL) {
            seen->array =
                azure_snapshot_list(y->p->snapshot, seen->kind, seen->scope, ANY_AGE_MS, y->s->a);
        }
    }
}

static struct azure_seen *find(const struct azure_sync *y, enum azure_kind k, const char *scope)
{
    for (size_t i = 0; i < y->n_seen; i++) {
        if (y->seen[i].kind == k && azure_id_eq(y->seen[i].scope, scope)) {
            return (struct azure_seen *)(uintptr_t)&y->seen[i];
        }
    }
    return NULL;
}

static void need(struct azure_sync *y, enum azure_kind k, const char *scope, bool one)
{
    struct azure_seen *seen = find(y, k, scope);
    if (seen == NULL && y->n_seen == y->cap_seen) {
        y->cap_seen = y->cap_seen * 2 + 16;
        struct azure_seen *more = ARENA_ARRAY(y->s->life, struct azure_seen, y->cap_seen);
        if (y->n_seen > 0) {
            memcpy(more, y->seen, y->n_seen * sizeof(*more));
        }
        y->seen = more;
    }
    if (seen == NULL) {
        seen = &y->seen[y->n_seen++];
        *seen =
            (struct azure_seen){.kind = k, .scope = arena_strdup(y->s->life, scope), .one = one};
    }
    seen->needed = true;
}

void azure_need(struct azure_sync *y, enum azure_kind k, const char *scope)
{
    need(y, k, scope, k == AZURE_NSGS || k == AZURE_SUBNETS || k == AZURE_PROVIDERS);
}

void azure_need_one(struct azure_sync *y, enum azure_kind k, const char *id)
{
    need(y, k, id, true);
}

bool azure_need_all_links(struct azure_sync *y)
{
    bool may = clock_now_ms(y->s->clock) >= y->p->links_refused_until_ms;
    if (may) {
        azure_need(y, AZURE_PLSS, azure_arm_everywhere(y->s->a, &y->p->arm, AZURE_PLSS));
    }
    return may;
}

bool azure_seen_all_links(const struct azure_sync *y)
{
    return azure_seen_list(y, AZURE_PLSS, azure_arm_everywhere(y->s->a, &y->p->arm, AZURE_PLSS)) !=
           NULL;
}

bool azure_need_again(struct azure_sync *y, enum azure_kind k, const char *scope)
{
    struct azure_seen *seen = find(y, k, scope);
    if (seen == NULL || !seen->needed || seen->read || seen->array == NULL || y->p->offline) {
        return false;
    }
    azure_snapshot_forget(y->p->snapshot, k, scope);
    seen->array = NULL;
    return true;
}

struct json_object *azure_seen_list(const struct azure_sync *y, enum azure_kind k,
                                    const char *scope)
{
    const struct azure_seen *seen = find(y, k, scope);
    return seen != NULL ? seen->array : NULL;
}

bool azure_seen_no_group(const struct azure_sync *y, enum azure_kind k, const char *scope)
{
    const struct azure_seen *seen = find(y, k, scope);
    return seen != NULL && seen->no_group;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_known(struct azure_sync *y, struct azure_seen *seen)
{
    int64_t age = azure_arm_age_ms(&y->p->arm, seen->kind);
    if (seen->kind == AZURE_PROVIDERS) {
        age = ZONES_AGE_MS;
    } else if (seen->read || y->p->offline) {
        age = ANY_AGE_MS;
    } else if (y->s->fresh || age == 0) {
        return false;
    }
    seen->array = azure_snapshot_list(y->p->snapshot, seen->kind, seen->scope, age, y->s->a);
    if (seen->array == NULL && y->p->offline) {
        seen->array = azure_own(y->s->a, json_object_new_array());
    }
    seen->known = seen->known || seen->array != NULL;
    return seen->array != NULL;
}

/* A list that was read counts, whatever became of earlier writes. */
static void note_read(struct azure_sync *y, struct azure_seen *seen)
{
    seen->read = true;
    seen->known = true;
    y->unsure[seen->kind] = false;
    y->unsure[AZURE_POOLS] = y->unsure[AZURE_POOLS] && seen->kind != AZURE_LBS;
}

static int take(struct azure_sync *y, struct azure_seen *seen, const struct azure_read *r,
                struct err *err)
{
    y->s->reads += r->call.requests;
    if (r->job.err.code != ERR_OK && r->job.err.code != ERR_NOT_FOUND) {
        return err_copy(err, &r->job.err);
    }
    /* A resource group that does not exist holds nothing. */
    struct json_object *array = r->call.answer;
    seen->no_group = r->job.err.code == ERR_NOT_FOUND && !seen->one &&
                     str_eq(r->job.err.reason, "ResourceGroupNotFound");
    if (seen->one || r->job.err.code == ERR_NOT_FOUND) {
        array = azure_own(y->s->a, json_object_new_array());
        if (r->job.err.code == ERR_OK) {
            (void)json_object_array_add(array, json_object_get(r->call.answer));
        }
    }
    if (seen->kind == AZURE_PIPS && !seen->one) {
        array = azure_written_correct(y->p->written, y->s->a, seen->scope, array);
    }
    azure_snapshot_put_list(y->p->snapshot, seen->kind, seen->scope, array);
    seen->array = array;
    note_read(y, seen);
    return ERR_OK;
}

/* Azure says whether a machine runs on request only. */
static const char *query_of(const struct azure_sync *y, const struct azure_seen *seen)
{
    bool instance = seen->kind == AZURE_VMSS_VMS && !y->p->config.vmss_vm_without_instance_view;
    return instance ? "$expand=instanceView" : NULL;
}

static const char *pip_scope(struct azure_sync *y, const char *group)
{
    return azure_arm_collection(y->s->a, &y->p->arm, AZURE_PIPS, group);
}

static const char *subnet_scope(struct azure_sync *y, const struct azure_service *s)
{
    const char *name = s->subnet != NULL ? s->subnet : y->p->config.subnet_name;
    return azure_subnet_id(y->s->a, &y->p->naming, name);
}

static const char *link_subnet_scope(struct azure_sync *y, const struct azure_service *s)
{
    const char *name = s->pls_subnet != NULL ? s->pls_subnet : y->p->config.subnet_name;
    return azure_subnet_id(y->s->a, &y->p->naming, name);
}

static bool asks_for(struct azure_sync *y, const struct azure_item *it, const struct azure_seen *x)
{
    const struct azure_service *s = it->service;
    if (!azure_item_takes_part(it)) {
        return false;
    }
    return (x->kind == AZURE_PIPS && azure_id_eq(pip_scope(y, s->pip_group), x->scope)) ||
           (x->kind == AZURE_SUBNETS && it->want && s->internal &&
            azure_id_eq(subnet_scope(y, s), x->scope)) ||
           (x->kind == AZURE_SUBNETS && it->want && s->pls_create &&
            azure_id_eq(link_subnet_scope(y, s), x->scope));
}

/* A Service that goes and names a group that its controller may not read: it has nothing there, or
 * a frontend would say so. */
static bool is_passed_over(const struct azure_item *it, const struct azure_seen *x)
{
    return !it->want && x->kind == AZURE_PIPS && !x->one && !x->stays &&
           x->err.code == ERR_FORBIDDEN;
}

/* A resource group or subnet that only annotations name: who names one that cannot be
 * read fails alone. */
static bool concerns_some(struct azure_sync *y, const struct azure_seen *x)
{
    bool some = false;
    bool everybodys = x->kind == AZURE_PIPS && !x->one &&
                      azure_id_eq(pip_scope(y, y->p->config.resource_group), x->scope);
    for (size_t i = 0; !everybodys && i < y->s->n_items; i++) {
        if (!asks_for(y, &y->items[i], x)) {
            continue;
        }
        some = true;
        if (!is_passed_over(&y->items[i], x)) {
            (void)err_copy(&y->items[i].item->err, &x->err);
        }
    }
    return some;
}

/* The one failure of reading that upstream tells of (4.5). */
static void tell(struct azure_sync *y, const struct azure_seen *x)
{
    const struct tt_host *host = y->p->host;
    for (size_t i = 0; x->kind == AZURE_LBS && !y->s->planning && i < y->s->n_items; i++) {
        if (azure_item_takes_part(&y->items[i])) {
            host->event(host->ctx, y->items[i].service->in, TT_EVENT_WARNING, "ListLoadBalancers",
                        x->err.message);
        }
    }
}

/* The identity may read groups alone. */
static bool is_dispensable(struct azure_sync *y, struct azure_seen *x)
{
    bool is = x->kind == AZURE_PLSS && x->err.code == ERR_FORBIDDEN &&
              azure_id_eq(x->scope, azure_arm_everywhere(y->s->a, &y->p->arm, AZURE_PLSS));
    if (is) {
        y->p->links_refused_until_ms = clock_now_ms(y->s->clock) + REFUSED_MS;
        y->p->links_refused++;
        x->needed = false;
    }
    return is;
}

static int read_missing(struct azure_sync *y, struct azure_seen *const *missing, size_t n,
                        struct err *err)
{
    struct azure_read *reads = ARENA_ARRAY(y->s->a, struct azure_read, n);
    struct http_job **jobs = ARENA_ARRAY(y->s->a, struct http_job *, n);
    for (size_t i = 0; i < n; i++) {
        const struct azure_call_spec spec = {
            .kind = missing[i]->kind,
            .verb = missing[i]->one ? AZURE_GET : AZURE_LIST,
            .id = missing[i]->scope,
            .query = query_of(y, missing[i]),
        };
        azure_read_init(&reads[i], &y->p->arm, y->s->call, y->s->a, &spec);
        reads[i].job.cancel = y->s->cancel;
        jobs[i] = &reads[i].job;
    }
    http_run(y->s->http, jobs, n);
    int rc = ERR_OK;
    for (size_t i = 0; i < n; i++) {
        missing[i]->err = (struct err)ERR_INIT;
        if (take(y, missing[i], &reads[i], &missing[i]->err) != ERR_OK &&
            !is_dispensable(y, missing[i])) {
            tell(y, missing[i]);
            if (!concerns_some(y, missing[i]) && rc == ERR_OK) {
                rc = err_copy(err, &missing[i]->err);
            }
        }
    }
    return rc;
}

/* ---- what the lists say ---------------------------------------------------------------------- */

/* Lists come first, so what was asked for by its name is there twice when the list has it, too.
 * The one by its name is right where a list lags behind.  False: no list has it. */
static bool replace(struct json_object **items, size_t n, struct json_object *o)
{
    for (size_t i = 0; i < n; i++) {
        if (azure_id_eq(azure_doc_id(items[i]), azure_doc_id(o))) {
            items[i] = o;
            return true;
        }
    }
    return false;
}

static void collect_from(struct azure_sync *y, enum azure_kind k, struct json_object *const *arrays,
                         struct json_object ***ret, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < y->n_seen; i++) {
        n += y->seen[i].kind == k ? json_len(arrays[i]) : 0;
    }
    *ret = ARENA_ARRAY(y->s->a, struct json_object *, n + 1);
    *ret_n = 0;
    for (size_t i = 0; i < y->n_seen; i++) {
        const struct azure_seen *seen = &y->seen[i];
        struct json_object *o;
        AZURE_EACH (o, seen->kind == k ? arrays[i] : NULL) {
            if (!seen->one || !replace(*ret, *ret_n, o)) {
                (*ret)[(*ret_n)++] = o;
            }
        }
    }
}

static void collect(struct azure_sync *y, enum azure_kind k, struct json_object ***ret,
                    size_t *ret_n)
{
    struct json_object **arrays = ARENA_ARRAY(y->s->a, struct json_object *, y->n_seen + 1);
    for (size_t i = 0; i < y->n_seen; i++) {
        arrays[i] = y->seen[i].array;
    }
    collect_from(y, k, arrays, ret, ret_n);
}

bool azure_last_seen(struct azure_sync *y, enum azure_kind k, struct json_object *const **ret,
                     size_t *ret_n)
{
    struct json_object **arrays = ARENA_ARRAY(y->s->a, struct json_object *, y->n_seen + 1);
    struct json_object **items = NULL;
    bool known = false;
    for (size_t i = 0; i < y->n_seen; i++) {
        const struct azure_seen *seen = &y->seen[i];
        if (seen->kind == k && seen->known) {
            arrays[i] = azure_snapshot_last(y->p->snapshot, k, seen->scope, y->s->a);
            known = true;
        }
    }
    collect_from(y, k, arrays, &items, ret_n);
    *ret = items;
    return known && !y->unsure[k];
}

/* The zones of the configured region, as the resource provider's document tells them (1.6). */
static void collect_zones(struct azure_sync *y)
{
    struct json_object **docs;
    size_t n;
    collect(y, AZURE_PROVIDERS, &docs, &n);
    struct json_object *type, *mapping, *zone;
    AZURE_EACH (type, json_member(n > 0 ? docs[0] : NULL, "resourceTypes")) {
        if (!azure_eq(str_nonnull(json_str(type, "resourceType")), "virtualMachines")) {
            continue;
        }
        AZURE_EACH (mapping, json_member(type, "zoneMappings")) {
            const char *region = str_nonnull(json_str(mapping, "location"));
            if (!azure_eq(str_replace(y->s->a, region, " ", ""), y->p->config.location)) {
                continue;
            }
            struct json_object *zones = json_member(mapping, "zones");
            const char **items = ARENA_ARRAY(y->s->life, const char *, json_len(zones) + 1);
            y->n_zones = 0;
            AZURE_EACH (zone, zones) {
                items[y->n_zones++] = arena_strdup(y->s->life, json_object_get_string(zone));
            }
            y->zones = items;
        }
    }
}

/* In a Standard cluster a Basic balancer is as good as gone (5.8). */
static void split_by_sku(struct azure_sync *y, struct azure_lbs lbs)
{
    struct json_object **now = ARENA_ARRAY(y->s->a, struct json_object *, lbs.n + 1);
    struct json_object **old = ARENA_ARRAY(y->s->a, struct json_object *, lbs.n + 1);
    y->lbs = (struct azure_lbs){.items = now};
    y->old = (struct azure_lbs){.items = old};
    for (size_t i = 0; i < lbs.n; i++) {
        const char *sku = json_str(json_member(lbs.items[i], "sku"), "name");
        if (y->p->config.standard_sku && azure_eq(str_nonnull(sku), "Basic")) {
            old[y->old.n++] = lbs.items[i];
        } else {
            now[y->lbs.n++] = lbs.items[i];
        }
    }
}

static void look_through(struct azure_sync *y)
{
    y->claims = NULL;
    y->indexes = NULL;
    struct json_object **items;
    size_t n;
    collect(y, AZURE_LBS, &items, &n);
    const struct azure_lbs all = {.items = items, .n = n};
    split_by_sku(y, azure_lbs_managed(y->s->a, &y->p->naming, &all, NULL));
    collect(y, AZURE_PIPS, &items, &n);
    y->pips = (struct azure_pips){
        .items = items, .n = n, .index = azure_pip_index_new(y->s->a, items, n)};
    collect(y, AZURE_NSGS, &items, &n);
    y->nsg = n > 0 ? items[0] : NULL;
    collect_zones(y);
    y->placement.naming = &y->p->naming;
    y->placement.lbs = y->lbs;
    y->placement.pips = y->pips;
}

int azure_see(struct azure_sync *y, struct err *err)
{
    struct azure_seen **missing = ARENA_ARRAY(y->s->a, struct azure_seen *, y->n_seen + 1);
    size_t n = 0;
    for (size_t i = 0; i < y->n_seen; i++) {
        if (y->seen[i].needed && !is_known(y, &y->seen[i])) {
            missing[n++] = &y->seen[i];
        }
        y->seen[i].err = (struct err)ERR_INIT;
    }
    int rc = n > 0 ? read_missing(y, missing, n, err) : ERR_OK;
    y->s->observed_fresh = true;
    for (size_t i = 0; i < y->n_seen; i++) {
        const struct azure_seen *seen = &y->seen[i];
        /* Services that need unreadable resources have left the batch. */
        bool counts = seen->needed && seen->kind != AZURE_PROVIDERS && seen->err.code == ERR_OK;
        y->s->observed_fresh = y->s->observed_fresh && (!counts || seen->read || y->p->offline);
    }
    if (rc == ERR_OK) {
        azure_predict_apply(y);
        look_through(y);
    }
    return rc;
}

/* ---- what each stage needs ------------------------------------------------------------------- */

struct json_object *azure_seen_subnet(struct azure_sync *y, const struct azure_service *s)
{
    struct json_object *list = azure_seen_list(y, AZURE_SUBNETS, subnet_scope(y, s));
    return json_len(list) > 0 ? json_object_array_get_idx(list, 0) : NULL;
}

/* True: it is not known yet, or could not be read and counts now. */
static bool need_group_in_use(struct azure_sync *y, const char *scope)
{
    struct azure_seen *seen = find(y, AZURE_PIPS, scope);
    bool known = seen != NULL && seen->array != NULL;
    azure_need(y, AZURE_PIPS, scope);
    find(y, AZURE_PIPS, scope)->stays = true;
    return !known;
}

bool azure_need_groups_in_use(struct azure_sync *y)
{
    bool some = false;
    for (size_t i = 0; i < y->lbs.n * y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i / y->lbs.n];
        struct json_object *lb = y->lbs.items[i % y->lbs.n];
        if (!azure_item_takes_part(it) || azure_lb_is_internal(azure_doc_name(lb))) {
            continue;
        }
        const struct azure_service *s = it->service->internal ? it->flip : it->service;
        struct azure_elements mine = azure_sync_frontends(y, s, lb);
        for (size_t k = 0; k < mine.n; k++) {
            const char *id = azure_ref(mine.items[k], "publicIPAddress");
            const char *group = id != NULL ? azure_id_group(y->s->a, id) : NULL;
            some = (group != NULL && need_group_in_use(y, pip_scope(y, group))) || some;
        }
    }
    return some;
}

/* A public IP that an edit has left in another group goes with it, also if no frontend names it any
 * more. */
static void need_former_group(struct azure_sync *y, const struct azure_item *it)
{
    const struct tt_service *before = it->item->in->previous;
    const char *group =
        before != NULL ? azure_service_read(y->s->a, &y->p->naming, before)->pip_group : NULL;
    if (group != NULL) {
        azure_need(y, AZURE_PIPS, pip_scope(y, group));
    }
}

void azure_need_lists(struct azure_sync *y)
{
    struct arena *a = y->s->a;
    const struct azure_arm *arm = &y->p->arm;
    const struct azure_config *c = &y->p->config;
    azure_need(y, AZURE_LBS, azure_arm_collection(a, arm, AZURE_LBS, c->lb_resource_group));
    azure_need(y, AZURE_PIPS, pip_scope(y, c->resource_group));
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_takes_part(it)) {
            azure_need(y, AZURE_PIPS, pip_scope(y, it->service->pip_group));
            need_former_group(y, it);
        }
    }
    for (size_t i = 0; i < y->n_seen; i++) {
        y->seen[i].needed = y->seen[i].needed || y->seen[i].stays;
    }
    for (const struct azure_clinging *link = y->clinging_links; link != NULL; link = link->next) {
        azure_need_one(y, AZURE_PLSS, link->id);
    }
    for (const struct azure_clinging *pip = y->clinging_pips; pip != NULL; pip = pip->next) {
        azure_need_one(y, AZURE_PIPS, pip->id);
    }
}

void azure_need_nsg(struct azure_sync *y)
{
    const struct azure_config *c = &y->p->config;
    azure_need(y, AZURE_NSGS,
               azure_arm_id(y->s->a, &y->p->arm, AZURE_NSGS, c->security_group_resource_group,
                            c->security_group_name));
}

void azure_need_zones(struct azure_sync *y)
{
    azure_need(y, AZURE_PROVIDERS,
               URL_RESOURCE_PATH(y->s->a, "", "subscriptions", y->p->config.network_subscription_id,
                                 "providers", "Microsoft.Compute"));
}

void azure_need_for_new(struct azure_sync *y)
{
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_item_takes_part(it) || it->item->in->verb != TT_VERB_ENSURE) {
            continue;
        }
        azure_need_zones(y);
        if (it->service->internal && it->service->in->n_ingress == 0) {
            azure_need(y, AZURE_SUBNETS, subnet_scope(y, it->service));
        }
    }
}

void azure_need_security(struct azure_sync *y)
{
    azure_need_lists(y);
    azure_need_nsg(y);
}

void azure_need_balancers(struct azure_sync *y)
{
    azure_need_lists(y);
    for (size_t i = 0; i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (azure_item_takes_part(it) && it->want && it->service->internal) {
            azure_need(y, AZURE_SUBNETS, subnet_scope(y, it->service));
        }
    }
}

int azure_observe_lists(struct azure_sync *y, struct err *err)
{
    azure_need_nothing(y);
    azure_need_lists(y);
    return azure_see(y, err);
}
