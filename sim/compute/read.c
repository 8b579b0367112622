/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: get, list and aggregated list, with filter, order and pages.
 *
 * Lists are in order of name, or newest first.  A page token names the last item that was given
 * out, so that pages do not shift when something else is made or deleted in between.
 * Source: gce-cloud-provider.md §3.3, §16; compute v1 "list". */
#include "sim/compute/compute.h"

#include <string.h>

#define PAGE_DEFAULT 500
#define FILTER_MAX   4096

/* --- get -------------------------------------------------------------------------------------- */

static struct json_object *project_json(struct request *q)
{
    const char *path = arena_printf(q->a, "projects/%s", q->project);
    struct resource *kept = ce_store_get(q->c, path);
    if (kept) {
        return json_copy(kept->body);
    }
    struct json_object *o = json_object_new_object();
    json_add_str(o, "kind", "compute#project");
    json_add_str(o, "id", COMPUTE_PROJECT_NUMBER);
    json_add_str(o, "name", q->project);
    json_add_str(o, "creationTimestamp", "2026-01-01T00:00:00.000-08:00");
    json_add_str(o, "selfLink", ce_link_full(q->a, path));
    json_add_str(o, "defaultNetworkTier", ce_default_tier(q->c));
    json_add_str(o, "defaultServiceAccount",
                 COMPUTE_PROJECT_NUMBER "-compute@developer.gserviceaccount.com");
    json_add(o, "quotas", ce_quota_json(q->c, q->project, NULL));
    return o;
}

/* A resource as a get or a list shows it: a region with its quotas; new reference. */
static struct json_object *shown(struct request *q, const struct resource *res)
{
    if (!str_eq(q->collection, "regions") || json_member(res->body, "quotas")) {
        return json_object_get(res->body);
    }
    struct json_object *o = json_copy(res->body);
    json_add(o, "quotas", ce_quota_json(q->c, q->project, ce_path_name(res->path)));
    return o;
}

bool ce_read_get(struct request *q, struct json_object **ret)
{
    if (str_eq(q->collection, "projects")) {
        *ret = project_json(q);
        return true;
    }
    const char *path = arena_printf(q->a, "%s/%s", q->folder, q->name);
    struct resource *res = ce_store_get(q->c, path);
    if (!res) {
        return ce_refuse_not_found(&q->refusal, q->a, path);
    }
    *ret = shown(q, res);
    return true;
}

/* --- the items of a list ---------------------------------------------------------------------- */

struct list_query {
    struct filter *filter; /* NULL: all */
    bool newest_first;
    size_t max;
    const char *after_path; /* from the page token; NULL: from the start */
    uint64_t before_seq;    /* the same for newest first */
};

static bool read_token(struct request *q, const char *token, struct list_query *lq)
{
    unsigned char *text = NULL;
    size_t n = 0;
    uint64_t seq = 0;
    if (!str_base64_decode(q->a, token, true, &text, &n) || n < 2) {
        return ce_refuse_invalid(&q->refusal, q->a, "pageToken", token,
                                 "The page token is invalid.");
    }
    char *s = arena_strndup(q->a, (const char *)text, n);
    if (s[0] == 'n' && !lq->newest_first) {
        lq->after_path = s + 1;
        return true;
    }
    if (s[0] == 's' && lq->newest_first && str_to_u64(s + 1, &seq)) {
        lq->before_seq = seq;
        return true;
    }
    return ce_refuse_invalid(&q->refusal, q->a, "pageToken", token, "The page token is invalid.");
}

static bool read_max(struct request *q, size_t *ret)
{
    const char *text = sim_call_param(q->call, "maxResults");
    int64_t max = PAGE_DEFAULT;
    if (text && (!str_to_i64(text, &max) || max < 0 || max > PAGE_DEFAULT)) {
        return ce_refuse_invalid(&q->refusal, q->a, "maxResults", text,
                                 "Acceptable values are 0 to 500, inclusive.");
    }
    *ret = max == 0 ? PAGE_DEFAULT : (size_t)max;
    return true;
}

static bool read_filter(struct request *q, struct filter **ret)
{
    const char *text = sim_call_param(q->call, "filter");
    struct err err = ERR_INIT;
    if (str_is_empty(text)) {
        return true;
    }
    if (strlen(text) > FILTER_MAX) {
        return ce_refuse_invalid(&q->refusal, q->a, "filter", "…", "The filter is too long.");
    }
    if (ce_filter_parse(q->a, text, ret, &err)) {
        return ce_refuse_invalid(
            &q->refusal, q->a, "filter", text,
            arena_printf(q->a, "Invalid list filter expression: %s.", err.message));
    }
    return true;
}

static bool read_query(struct request *q, struct list_query *lq)
{
    const char *order = sim_call_param(q->call, "orderBy");
    const char *token = sim_call_param(q->call, "pageToken");
    lq->newest_first = str_eq(order, "creationTimestamp desc");
    lq->before_seq = UINT64_MAX;
    if (!str_is_empty(order) && !lq->newest_first && !str_eq(order, "name")) {
        return ce_refuse_invalid(&q->refusal, q->a, "orderBy", order,
                                 "Only 'name' and 'creationTimestamp desc' are supported.");
    }
    return read_max(q, &lq->max) && read_filter(q, &lq->filter) &&
           (str_is_empty(token) || read_token(q, token, lq));
}

struct items {
    struct resource **at;
    size_t n, cap;
    struct arena *a;
    const struct list_query *lq;
    const char *prefix; /* "projects/p/" */
};

static bool collect(struct resource *res, void *arg)
{
    struct items *it = arg;
    const struct list_query *lq = it->lq;
    if (!str_has_prefix(res->path, it->prefix) ||
        (lq->after_path && strcmp(res->path, lq->after_path) <= 0) || res->seq >= lq->before_seq ||
        (lq->filter && !ce_filter_matches(it->a, lq->filter, res->body))) {
        return true;
    }
    if (it->n == it->cap) {
        it->cap = it->cap ? it->cap * 2 : 64;
        it->at = xrealloc(it->at, it->cap * sizeof(*it->at));
    }
    it->at[it->n++] = res;
    return true;
}

static bool collect_item(const char *name, void *value, void *arg)
{
    (void)name;
    return collect(value, arg);
}

static int newest_first(const void *x, const void *y)
{
    const struct resource *a = *(struct resource *const *)x, *b = *(struct resource *const *)y;
    return a->seq < b->seq ? 1 : a->seq > b->seq ? -1 : 0;
}

/* Orders and cuts; adds nextPageToken to `list` when something is left. */
static void cut_page(struct items *it, struct json_object *list)
{
    if (it->lq->newest_first && it->n > 1) {
        qsort(it->at, it->n, sizeof(*it->at), newest_first);
    }
    if (it->n <= it->lq->max) {
        return;
    }
    it->n = it->lq->max;
    const struct resource *last = it->at[it->n - 1];
    char *text = it->lq->newest_first ? arena_printf(it->a, "s%llu", (unsigned long long)last->seq)
                                      : arena_printf(it->a, "n%s", last->path);
    json_add_str(list, "nextPageToken", str_base64_encode(it->a, text, strlen(text), true));
}

static struct json_object *list_head(struct request *q, const char *kind)
{
    struct json_object *list = json_object_new_object();
    json_add_str(list, "kind", kind);
    json_add_str(list, "id", q->folder);
    json_add_str(list, "selfLink", ce_link_full(q->a, q->folder));
    return list;
}

bool ce_read_list(struct request *q, struct json_object **ret)
{
    struct list_query lq = {0};
    if (!read_query(q, &lq)) {
        return false;
    }
    struct items it = {.a = q->a, .lq = &lq, .prefix = ""};
    const struct folder *f = ce_store_folder(q->c, q->folder);
    if (f) {
        map_each(f->items, collect_item, &it);
    }
    struct json_object *list = list_head(q, q->col->list_kind);
    cut_page(&it, list);
    if (it.n > 0) {
        struct json_object *array = json_object_new_array();
        for (size_t i = 0; i < it.n; i++) {
            json_object_array_add(array, shown(q, it.at[i]));
        }
        json_add(list, "items", array);
    }
    free(it.at);
    *ret = list;
    return true;
}

/* --- aggregated ------------------------------------------------------------------------------- */

static struct json_object *no_results(struct arena *a, const char *scope)
{
    struct json_object *datum = json_object_new_object();
    json_add_str(datum, "key", "scope");
    json_add_str(datum, "value", scope);
    struct json_object *data = json_object_new_array();
    json_object_array_add(data, datum);
    struct json_object *warning = json_object_new_object();
    json_add_str(warning, "code", "NO_RESULTS_ON_PAGE");
    json_add_str(warning, "message",
                 arena_printf(a, "There are no results for scope '%s' on this page.", scope));
    json_add(warning, "data", data);
    struct json_object *o = json_object_new_object();
    json_add(o, "warning", warning);
    return o;
}

/* Adds an empty entry for each region or zone of the project. */
static void add_scopes(struct request *q, struct json_object *items, const char *places)
{
    const struct folder *f =
        ce_store_folder(q->c, arena_printf(q->a, "projects/%s/%s", q->project, places));
    size_t n = 0;
    const char **names = f ? map_keys(f->items, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        const char *scope = arena_printf(q->a, "%s/%s", places, names[i]);
        json_add(items, scope, no_results(q->a, scope));
    }
    free(names);
}

bool ce_read_aggregated(struct request *q, struct json_object **ret)
{
    struct list_query lq = {0};
    if (!read_query(q, &lq)) {
        return false;
    }
    if (!q->col) {
        return ce_refuse(&q->refusal, q->a, 501, "notImplemented", "%s is not simulated",
                         q->op->id);
    }
    struct items it = {
        .a = q->a, .lq = &lq, .prefix = arena_printf(q->a, "projects/%s/", q->project)};
    ce_store_each(q->c, q->collection, collect, &it);
    struct json_object *list = list_head(q, q->col->aggregated_kind);
    cut_page(&it, list);
    struct json_object *items = json_object_new_object();
    if (q->col->scope != SCOPE_ZONE) {
        json_add(items, "global", no_results(q->a, "global"));
        add_scopes(q, items, "regions");
    } else {
        add_scopes(q, items, "zones");
    }
    for (size_t i = 0; i < it.n; i++) {
        const char *scope = ce_path_scope(q->a, it.at[i]->path);
        struct json_object *entry = json_member(items, scope);
        struct json_object *array = json_member(entry, q->collection);
        if (!array) {
            entry = json_object_new_object();
            array = json_object_new_array();
            json_add(entry, q->collection, array);
            json_add(items, scope, entry);
        }
        json_object_array_add(array, json_object_get(it.at[i]->body));
    }
    free(it.at);
    json_add(list, "items", items);
    *ret = list;
    return true;
}

/* --- pages of other lists --------------------------------------------------------------------- */

bool ce_read_page(struct request *q, struct json_object *items, struct json_object *list)
{
    struct filter *filter = NULL;
    size_t max = 0;
    uint64_t start = 0;
    unsigned char *text = NULL;
    size_t text_len = 0;
    const char *token = sim_call_param(q->call, "pageToken");
    if (!read_max(q, &max) || !read_filter(q, &filter)) {
        json_object_put(items);
        return false;
    }
    if (!str_is_empty(token) &&
        (!str_base64_decode(q->a, token, true, &text, &text_len) ||
         !str_to_u64(arena_strndup(q->a, (const char *)text, text_len), &start))) {
        json_object_put(items);
        return ce_refuse_invalid(&q->refusal, q->a, "pageToken", token,
                                 "The page token is invalid.");
    }
    struct json_object *page = json_object_new_array();
    for (size_t i = (size_t)start; i < json_len(items); i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        if (filter && !ce_filter_matches(q->a, filter, item)) {
            continue;
        }
        if (json_len(page) == max) {
            char *next = arena_printf(q->a, "%zu", i);
            json_add_str(list, "nextPageToken", str_base64_encode(q->a, next, strlen(next), true));
            break;
        }
        json_object_array_add(page, json_object_get(item));
    }
    json_object_put(items);
    if (json_len(page) > 0) {
        json_add(list, "items", page);
    } else {
        json_object_put(page);
    }
    return true;
}
