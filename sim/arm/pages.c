/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c: lists in pages; nextLink leads to the next one.
 *
 * Its token names the last item that was given, under a mark that a client does not make up by
 * chance: what is deleted or made between two pages hides no other item and shows none twice.  For
 * this the items of a list in pages come in the order of their IDs.
 * Source: docs/spec/azure.md §3.3. */
#include "sim/arm/arm.h"

#include <stdlib.h>
#include <strings.h>

#define PAGE_ITEMS 1000
#define TOKEN_MARK "sim-page-"

struct item {
    const char *name;
    struct json_object *json;
};

/* The name of an item, by which it differs from the others of its list. */
static const char *name_of(struct json_object *item)
{
    const char *id = json_str(item, "id");
    id = id ? id : json_str(item, "namespace");
    return id ? id : str_nonnull(json_str(item, "name"));
}

static int compare(const void *x, const void *y)
{
    return strcasecmp(((const struct item *)x)->name, ((const struct item *)y)->name);
}

/* Those of the items after the one of that name (NULL: all) that fit a page; the name of the last
 * one, or NULL when none is left after it. */
static struct json_object *page_of(struct arm_request *q, struct json_object *items, size_t size,
                                   const char *after, const char **ret_last)
{
    struct json_object *page = json_object_new_array();
    size_t n = json_len(items);
    struct item *all = ARENA_ARRAY(q->a, struct item, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *json = json_object_array_get_idx(items, i);
        all[i] = (struct item){.name = name_of(json), .json = json};
    }
    if (after || n > size) {
        qsort(all, n, sizeof(*all), compare);
    }
    *ret_last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (after && strcasecmp(all[i].name, after) <= 0) {
            continue;
        }
        if (json_len(page) == size) {
            return page;
        }
        json_object_array_add(page, json_object_get(all[i].json));
        *ret_last = arena_strdup(q->a, all[i].name);
    }
    *ret_last = NULL;
    return page;
}

static const char *next_link(struct arm_request *q, const char *last)
{
    struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%s%s", sim_url(q->arm->sim), q->call->path);
    for (size_t i = 0; i < q->call->n_params; i++) {
        const struct url_param *p = &q->call->params[i];
        if (!str_eq_nocase(p->name, "$skiptoken")) {
            url_append_param(&b, p->name, p->value);
        }
    }
    url_append_param(&b, "$skiptoken", arena_printf(q->a, TOKEN_MARK "%s", last));
    const char *link = arena_strdup(q->a, str_buf_text(&b));
    str_buf_done(&b);
    return link;
}

bool arm_answer_page(struct arm_request *q, struct json_object *items)
{
    int64_t size = json_int(q->arm->settings, "page_size", PAGE_ITEMS);
    const char *token = arm_param(q, "$skiptoken");
    const char *last;
    if (token && !str_has_prefix(token, TOKEN_MARK)) {
        json_object_put(items);
        return arm_refuse(q, 400, "InvalidParameter", "The $skipToken '%s' is invalid.", token);
    }
    const char *after = token ? token + sizeof(TOKEN_MARK) - 1 : NULL;
    struct json_object *page = page_of(q, items, size > 0 ? (size_t)size : 1, after, &last);
    q->answer = json_object_new_object();
    json_add(q->answer, "value", page);
    if (last) {
        json_add_str(q->answer, "nextLink", next_link(q, last));
    }
    json_object_put(items);
    return true;
}
