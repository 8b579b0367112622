/* SPDX-License-Identifier: Apache-2.0 */
/* azure_targets.c: the balancer of each Service of a batch (azure_targets.h). */
#include "providers/azure/azure_targets.h"
#include "providers/azure/lb/azure_frontend_rules.h"
#include "providers/azure/members/azure_members.h"
#include "providers/azure/model/azure_doc.h"

#include "common/base/str.h"

/* Rules that the batch adds to a balancer. */
struct coming {
    const char *lb;
    size_t n;
};
struct targets {
    struct azure_sync *y;
    struct azure_lbs lbs; /* among which to choose */
    struct azure_vm_sets sets;
    size_t (*by_config)[2];
    struct coming *by_name;
    size_t n_by_name;
};

/* ---- what the batch adds --------------------------------------------------------------------- */

static size_t count_rules(const struct azure_naming *n, const struct azure_service *s)
{
    size_t families = (size_t)s->has_family[AZURE_IPV4] + (size_t)s->has_family[AZURE_IPV6];
    return families * (azure_service_takes_all_ports(n, s) ? 1 : s->in->n_ports);
}

static bool has_rules(struct azure_sync *y, const struct azure_service *s, struct json_object *lb)
{
    struct azure_elements some =
        azure_lb_named(y->s->a, azure_sync_index(y, lb), lb, AZURE_LB_RULES, s);
    for (size_t i = 0; i < some.n; i++) {
        if (azure_has_prefix(azure_doc_name(some.items[i]), s->base)) {
            return true;
        }
    }
    return false;
}

static void count(struct targets *t, const struct azure_item *it)
{
    const struct azure_config *c = &t->y->p->config;
    size_t n = count_rules(&t->y->p->naming, it->service);
    if (has_rules(t->y, it->service, azure_sync_lb(t->y, it->target))) {
        return; /* counted already */
    }
    for (size_t i = 0; i < c->n_lbs; i++) {
        if (azure_eq(c->lbs[i].name, azure_lb_base(t->y->s->a, it->target))) {
            t->by_config[i][it->service->internal ? 1 : 0] += n;
        }
    }
    for (size_t i = 0; i < t->n_by_name; i++) {
        if (azure_eq(t->by_name[i].lb, it->target)) {
            t->by_name[i].n += n;
            return;
        }
    }
    t->by_name[t->n_by_name++] = (struct coming){.lb = it->target, .n = n};
}

/* ---- several Standard balancers -------------------------------------------------------------- */

static void put_text(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
}

static int labels_read(struct arena *a, const char *text, size_t n, struct azure_namespace *ret,
                       struct err *err)
{
    struct json_object *o = NULL;
    int rc = json_parse_arena(a, text, n, NULL, &o, err);
    struct json_object *labels = json_path(o, "metadata.labels");
    if (rc != ERR_OK || !json_object_is_type(labels, json_type_object)) {
        return rc;
    }
    struct tt_kv *kv = ARENA_ARRAY(a, struct tt_kv, (size_t)json_object_object_length(labels) + 1);
    json_object_object_foreach(labels, key, value)
    {
        kv[ret->n_labels++] = (struct tt_kv){.key = key, .value = json_object_get_string(value)};
    }
    ret->labels = kv;
    return ERR_OK;
}

/* Each namespace is asked for once per sync. */
static int namespace_of(struct azure_sync *y, const char *name, const struct azure_namespace **ret,
                        struct err *err)
{
    for (size_t i = 0; i < y->n_namespaces; i++) {
        if (str_eq(y->namespaces[i].name, name)) {
            *ret = &y->namespaces[i];
            return ERR_OK;
        }
    }
    const struct tt_host *host = y->p->host;
    const struct tt_kube_ref ref = {.api_version = "v1", .resource = "namespaces", .name = name};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct tt_text_sink sink = {.size = sizeof(sink), .put = put_text, .arg = &b};
    struct azure_namespace one = {.name = name};
    int32_t code = host->kube_get(host->ctx, y->s->call, &ref, &sink);
    if (code != TT_OK) {
        return err_set(err, code, "namespace %s could not be read: %s", name, err_code_name(code));
    }
    int rc = labels_read(y->s->life, str_buf_text(&b), b.len, &one, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "namespace %s", name);
        return rc;
    }
    y->namespaces[y->n_namespaces] = one;
    *ret = &y->namespaces[y->n_namespaces++];
    return ERR_OK;
}

static bool asks_for_namespaces(const struct azure_config *c)
{
    for (size_t i = 0; i < c->n_lbs; i++) {
        if (c->lbs[i].namespaces.given || c->lbs[i].namespaces.n > 0) {
            return true;
        }
    }
    return false;
}

static int place(struct targets *t, struct azure_item *it, struct err *err)
{
    struct azure_sync *y = t->y;
    struct azure_placement *p = &y->placement;
    const struct azure_namespace *ns = NULL;
    if (asks_for_namespaces(&y->p->config)) {
        int rc = namespace_of(y, str_nonnull(it->service->in->ns), &ns, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    p->namespace_labels = ns != NULL ? ns->labels : NULL;
    p->n_namespace_labels = ns != NULL ? ns->n_labels : 0;
    p->coming = (const size_t(*)[2])t->by_config;
    int rc = azure_place(y->s->a, p, it->service, true, &it->target, err);
    p->coming = NULL;
    return rc;
}

/* ---- Basic ----------------------------------------------------------------------------------- */

/* The last one, as upstream walks. */
static const char *where_it_is(struct targets *t, const struct azure_service *s)
{
    struct json_object *o;
    for (size_t i = t->lbs.n; i > 0; i--) {
        struct json_object *lb = t->lbs.items[i - 1];
        AZURE_EACH (o, azure_array(lb, "frontendIPConfigurations")) {
            if (azure_lb_is_internal(azure_doc_name(lb)) == s->internal &&
                azure_sync_owner(t->y, s, o).owns) {
                return azure_doc_name(lb);
            }
        }
    }
    return NULL;
}

/* The balancers as they will be: only names and the number of rules count for the choice. */
static struct azure_lbs with_coming(struct targets *t)
{
    struct arena *a = t->y->s->a;
    size_t n = 0;
    struct json_object **items = ARENA_ARRAY(a, struct json_object *, t->lbs.n + t->n_by_name + 1);
    for (size_t i = 0; i < t->lbs.n + t->n_by_name; i++) {
        bool there = i < t->lbs.n;
        const char *name = there ? azure_doc_name(t->lbs.items[i]) : t->by_name[i - t->lbs.n].lb;
        size_t rules = there ? json_len(azure_array(t->lbs.items[i], "loadBalancingRules")) : 0;
        if (!there && azure_sync_lb(t->y, name) != NULL) {
            continue;
        }
        for (size_t k = 0; k < t->n_by_name; k++) {
            rules += azure_eq(t->by_name[k].lb, name) ? t->by_name[k].n : 0;
        }
        struct json_object *o = azure_own(a, json_object_new_object());
        json_add_str(o, "name", name);
        struct json_object *array = azure_array_make(o, "loadBalancingRules");
        for (size_t k = 0; k < rules; k++) {
            (void)json_object_array_add(array, NULL);
        }
        items[n++] = o;
    }
    return (struct azure_lbs){.items = items, .n = n};
}

static int choose_basic(struct targets *t, struct azure_item *it, struct err *err)
{
    struct azure_sync *y = t->y;
    const struct azure_naming *naming = &y->p->naming;
    const char *current = where_it_is(t, it->service);
    if (current != NULL &&
        !azure_lb_should_change(y->s->a, naming, it->service, current, current)) {
        it->target = current;
        return ERR_OK;
    }
    struct azure_vm_sets candidates;
    bool exists;
    int rc = azure_vm_set_candidates(y->s->a, naming, it->service, &t->sets, &candidates, err);
    if (rc != ERR_OK) {
        return rc;
    }
    struct azure_lbs lbs = with_coming(t);
    return azure_select_basic(y->s->a, naming, it->service, &lbs, &candidates, &it->target, &exists,
                              err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The rules may answer in lower case: a balancer that is there keeps its name, a new one is spelled
 * as configured. */
static const char *spelled(struct azure_sync *y, const char *name)
{
    const struct azure_config *c = &y->p->config;
    struct json_object *lb = azure_sync_lb(y, name);
    if (lb != NULL) {
        return azure_doc_name(lb);
    }
    for (size_t i = 0; i < c->n_lbs; i++) {
        if (azure_eq(c->lbs[i].name, azure_lb_base(y->s->a, name))) {
            return azure_lb_is_internal(name) ? arena_printf(y->s->a, "%s-internal", c->lbs[i].name)
                                              : c->lbs[i].name;
        }
    }
    return name;
}

static void select_one(struct targets *t, struct azure_item *it)
{
    struct azure_sync *y = t->y;
    const struct azure_config *c = &y->p->config;
    int rc = ERR_OK;
    if (it->back_to != NULL) {
        it->target = it->back_to;
    } else if (azure_config_is_multi_slb(c)) {
        rc = place(t, it, &it->item->err);
    } else if (c->standard_sku) {
        it->target = azure_lb_name(y->s->a, &y->p->naming, azure_config_primary_vm_set(c),
                                   it->service->internal);
    } else {
        rc = choose_basic(t, it, &it->item->err);
    }
    if (rc == ERR_OK) {
        it->target = arena_strdup(y->s->life, spelled(y, it->target));
        count(t, it);
    }
}

void azure_targets_select(struct azure_sync *y)
{
    struct arena *a = y->s->a;
    const struct azure_config *c = &y->p->config;
    struct targets t = {.y = y, .lbs = y->lbs};
    size_t n;
    struct azure_item **items = azure_items_in_order(y, &n);
    t.by_config = (size_t(*)[2])ARENA_ARRAY(a, size_t, 2 * (c->n_lbs + 1));
    t.by_name = ARENA_ARRAY(a, struct coming, n + 1);
    if (y->namespaces == NULL) {
        y->namespaces = ARENA_ARRAY(y->s->life, struct azure_namespace, y->s->n_items + 1);
    }
    if (azure_config_is_multi_slb(c)) {
        y->placement.active = azure_active_from_rules(a, c, &y->lbs, y->services, y->n_services,
                                                      &y->placement.n_active);
    } else if (!c->standard_sku) {
        t.sets = azure_members_vm_sets(y);
        t.lbs = azure_lbs_managed(a, &y->p->naming, &y->lbs, t.sets.n > 0 ? &t.sets : NULL);
    }
    for (size_t i = 0; i < n; i++) {
        items[i]->target = NULL;
        if (items[i]->want) {
            select_one(&t, items[i]);
        }
    }
}
