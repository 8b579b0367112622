/* SPDX-License-Identifier: Apache-2.0 */
/* host_kube.c: Kubernetes objects for a provider: only the kinds and verbs that its descriptor
 * declares.
 *
 * RBAC is generated from the same table, so what passes here passes the API server.  While planning
 * every write is refused.  Finalizers of a Service are held here too: one patch with the
 * controller's and the provider's.  Failures are logged at v 2 (a provider gets only the code). */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "common/lb/status_rules.h"
#include "common/net/url_build.h"
#include "controller/host/host_internal.h"
#include "controller/host/service_patch.h"

#define PAGE_OBJECTS 250   /* of kube_each: one page is one tree */
#define PAGES_MAX    10000 /* a server that never ends a list */
#define ALONE_MS     2000  /* for a request without a call, which has no deadline */
#define ENDING_MS    500   /* the same while the process ends */

static bool has_verb(const char *verbs, const char *verb)
{
    size_t n = strlen(verb);

    for (const char *p = verbs; p != NULL && *p != '\0';) {
        size_t len = strcspn(p, ",");
        if (len == n && strncmp(p, verb, n) == 0) {
            return true;
        }
        p += len + (p[len] == ',');
    }
    return false;
}

static bool is_declared(const struct tt_provider *desc, const struct tt_kube_ref *ref,
                        const char *resource, const char *verb)
{
    for (uint32_t i = 0; i < desc->n_kube_kinds; i++) {
        const struct tt_kube_kind *k = &desc->kube_kinds[i];
        if (str_eq(k->api_version, ref->api_version) && str_eq(k->resource, resource) &&
            (k->ns == NULL || str_eq(k->ns, ref->ns)) &&
            (k->name == NULL || str_eq(k->name, ref->name)) && has_verb(k->verbs, verb)) {
            return true;
        }
    }
    return false;
}

bool host_kind_is_declared(const struct tt_host_ctx *h, const struct tt_kube_ref *ref,
                           const char *verb)
{
    return ref->api_version != NULL && ref->resource != NULL &&
           is_declared(h->args.desc, ref, ref->resource, verb);
}

/* One request on its way. */
struct kube_ask {
    const char *verb; /* RBAC's */
    const char *method;
    const char *content_type;
    const char *body;
    const char *label_selector;
    /* of kube_each: "" the first one, else where it continues; NULL: all at once */
    const char *page;
};

static int refuse_if_not_allowed(struct tt_host_ctx *h, const struct tt_call *call,
                                 const struct tt_kube_ref *ref, const struct kube_ask *ask,
                                 struct arena *a, struct err *err)
{
    bool reads = strcmp(ask->method, "GET") == 0;
    const char *resource = ref->resource;

    if (h->args.client == NULL) {
        return err_set(err, ERR_FORBIDDEN, "there is no cluster to ask");
    }
    if (!reads && !h->table.may_mutate(h, call)) {
        return err_set(err, ERR_CANCELLED, "nothing may be changed now");
    }
    if (ref->subresource != NULL) {
        resource = arena_printf(a, "%s/%s", str_nonnull(ref->resource), ref->subresource);
    }
    if (ref->api_version == NULL || ref->resource == NULL ||
        !is_declared(h->args.desc, ref, resource, ask->verb)) {
        return err_set(err, ERR_FORBIDDEN, "%s of %s %s is not declared by the provider", ask->verb,
                       str_nonnull(ref->api_version), str_nonnull(resource));
    }
    return ERR_OK;
}

static const char *query_of(const struct kube_ask *ask, struct arena *a)
{
    _cleanup_(str_buf_done) struct str_buf query = STR_BUF_INIT;

    if (!str_is_empty(ask->label_selector)) {
        url_append_pair(&query, "labelSelector", ask->label_selector);
    }
    if (ask->page != NULL) {
        url_append_pair(&query, "limit", arena_printf(a, "%d", PAGE_OBJECTS));
    }
    if (!str_is_empty(ask->page)) {
        url_append_pair(&query, "continue", ask->page);
    }
    return query.len > 0 ? str_buf_to_arena(&query, a) : NULL;
}

/* A thread of the provider's own asks: it must be able to say goodbye when the process ends, but
 * not hold up the end. */
static bool is_alone(struct tt_host_ctx *h, const struct tt_call *call)
{
    return call == NULL && !atomic_load(&h->opening) &&
           (h->args.desc->capabilities & TT_CAP_WITHOUT_CALL) != 0;
}

static struct cancel *limit_time(struct tt_host_ctx *h, const struct tt_call *call,
                                 struct kube_request *req)
{
    if (!is_alone(h, call)) {
        return call == NULL ? h->args.cancel : host_call_of(call)->cancel;
    }
    bool ending = h->args.cancel != NULL && cancel_fired(h->args.cancel);
    req->timeout_ms = ending ? ENDING_MS : ALONE_MS;
    req->timeout_untold = true;
    req->no_retry = true;
    return NULL;
}

static int do_ask(struct tt_host_ctx *h, const struct tt_call *call, const struct tt_kube_ref *ref,
                  const struct kube_ask *ask, const struct tt_text_sink *sink, struct arena *a,
                  struct err *err)
{
    char *path = NULL;
    struct kube_response resp = {0};
    struct kube_request req = {
        .method = ask->method, .content_type = ask->content_type, .body = ask->body};

    if (refuse_if_not_allowed(h, call, ref, ask, a, err) != ERR_OK) {
        return err->code;
    }
    int rc = kube_path(a, ref->api_version, ref->ns, ref->resource, ref->name, ref->subresource,
                       &path, err);
    if (rc != ERR_OK) {
        return rc;
    }
    req.path = path;
    req.query = query_of(ask, a);
    struct cancel *cancel = limit_time(h, call, &req);
    rc = kube_client_do(h->args.client, a, &req, cancel, &resp, err);
    if (rc == ERR_OK && sink != NULL && sink->put != NULL) {
        sink->put(sink->arg, resp.body, resp.body_len);
    }
    return rc;
}

/* The provider gets the code alone, so that the reason stands here.  It expects answers
 * such as "not found". */
static void log_failure(const struct tt_kube_ref *ref, const struct kube_ask *ask,
                        const struct err *err)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 3};
    static const char said[] = "Request of the provider to the API server failed";

    if (err->code == ERR_TRANSIENT && log_limit_ok(&limit, clock_now_ms(clock_real()))) {
        log_warning(said, LOG_S("verb", ask->verb), LOG_S("resource", ref->resource),
                    LOG_S("namespace", ref->ns), LOG_S("name", ref->name),
                    LOG_S("reason", err->message));
    } else {
        log_info(2, said, LOG_S("verb", ask->verb), LOG_S("resource", ref->resource),
                 LOG_S("namespace", ref->ns), LOG_S("name", ref->name),
                 LOG_S("reason", err->message));
    }
}

static int32_t ask_kube(struct tt_host_ctx *h, const struct tt_call *call,
                        const struct tt_kube_ref *ref, const struct kube_ask *ask,
                        const struct tt_text_sink *sink)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct err err = ERR_INIT;

    if (ref == NULL) {
        return TT_BUG;
    }
    int rc = do_ask(h, call, ref, ask, sink, a, &err);
    if (rc != ERR_OK) {
        log_failure(ref, ask, &err);
    }
    return rc;
}

/* An object of a saved world, by plural, namespace and name. */
static int32_t get_fixed(struct tt_host_ctx *h, const struct tt_kube_ref *ref,
                         const struct tt_text_sink *ret)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    struct json_object *items = json_member(h->args.fixed_objects, str_nonnull(ref->resource));

    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *o = json_object_array_get_idx(items, i);
        struct json_object *meta = json_member(o, "metadata");
        if (str_eq(json_str(meta, "name"), ref->name) &&
            str_eq(json_str(meta, "namespace"), ref->ns)) {
            json_print(&text, o, JSON_COMPACT);
            ret->put(ret->arg, str_buf_text(&text), text.len);
            return TT_OK;
        }
    }
    return TT_NOT_FOUND;
}

static int32_t host_kube_get(struct tt_host_ctx *h, const struct tt_call *call,
                             const struct tt_kube_ref *ref, const struct tt_text_sink *ret)
{
    if (h->args.client == NULL && h->args.fixed_objects != NULL && ref != NULL && ret != NULL &&
        ret->put != NULL) {
        return get_fixed(h, ref, ret);
    }
    return ask_kube(h, call, ref, &(struct kube_ask){.verb = "get", .method = "GET"}, ret);
}

static int32_t host_kube_list(struct tt_host_ctx *h, const struct tt_call *call,
                              const struct tt_kube_ref *ref, const char *label_selector,
                              const struct tt_text_sink *ret)
{
    const struct kube_ask ask = {.verb = "list", .method = "GET", .label_selector = label_selector};

    return ask_kube(h, call, ref, &ask, ret);
}

static void put_each(struct json_object *items, const char *ns, const struct tt_text_sink *each)
{
    for (size_t i = 0; i < json_len(items); i++) {
        _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
        struct json_object *o = json_object_array_get_idx(items, i);
        if (ns == NULL || str_eq(json_str(json_member(o, "metadata"), "namespace"), ns)) {
            json_print(&text, o, JSON_COMPACT);
            each->put(each->arg, str_buf_text(&text), text.len);
        }
    }
}

static void take_page(void *arg, const char *text, size_t n)
{
    str_append_n(arg, text, n);
}

/* One page; *ret_next is where it continues, "" at the end. */
static int32_t each_of_page(struct tt_host_ctx *h, const struct tt_call *call,
                            const struct tt_kube_ref *ref, const struct kube_ask *ask,
                            const struct tt_text_sink *each, char **ret_next)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    const struct tt_text_sink sink = {.size = sizeof(sink), .put = take_page, .arg = &text};
    struct json_object *list = NULL;
    int32_t rc = ask_kube(h, call, ref, ask, &sink);

    if (rc != TT_OK) {
        return rc;
    }
    if (json_parse_arena(a, str_buf_text(&text), text.len, NULL, &list, NULL) != ERR_OK) {
        return TT_TRANSIENT;
    }
    put_each(json_member(list, "items"), NULL, each);
    *ret_next = xstrdup(str_nonnull(json_str(json_member(list, "metadata"), "continue")));
    return TT_OK;
}

static int32_t host_kube_each(struct tt_host_ctx *h, const struct tt_call *call,
                              const struct tt_kube_ref *ref, const char *label_selector,
                              const struct tt_text_sink *each)
{
    _cleanup_(xfreep) char *page = xstrdup("");

    if (ref == NULL || each == NULL || each->put == NULL) {
        return TT_BUG;
    }
    if (h->args.client == NULL && h->args.fixed_objects != NULL) {
        put_each(json_member(h->args.fixed_objects, str_nonnull(ref->resource)), ref->ns, each);
        return TT_OK;
    }
    for (int n = 0; n < PAGES_MAX; n++) {
        const struct kube_ask ask = {
            .verb = "list", .method = "GET", .label_selector = label_selector, .page = page};
        char *next = NULL;
        int32_t rc = each_of_page(h, call, ref, &ask, each, &next);
        if (rc != TT_OK || next[0] == '\0') {
            free(next);
            return rc;
        }
        free(page);
        page = next;
    }
    return TT_TRANSIENT;
}

static int32_t host_kube_create(struct tt_host_ctx *h, const struct tt_call *call,
                                const struct tt_kube_ref *ref, const char *json,
                                const struct tt_text_sink *ret)
{
    const struct kube_ask ask = {.verb = "create", .method = "POST", .body = json};

    return json == NULL ? TT_BUG : ask_kube(h, call, ref, &ask, ret);
}

static int32_t host_kube_patch(struct tt_host_ctx *h, const struct tt_call *call,
                               const struct tt_kube_ref *ref, const char *content_type,
                               const char *json, const struct tt_text_sink *ret)
{
    const struct kube_ask ask = {
        .verb = "patch", .method = "PATCH", .content_type = content_type, .body = json};

    if (json == NULL ||
        (!str_eq(content_type, KUBE_MERGE_PATCH) && !str_eq(content_type, KUBE_STRATEGIC_PATCH) &&
         !str_eq(content_type, KUBE_JSON_PATCH))) {
        return TT_BUG;
    }
    return ask_kube(h, call, ref, &ask, ret);
}

static int32_t host_kube_delete(struct tt_host_ctx *h, const struct tt_call *call,
                                const struct tt_kube_ref *ref, const char *uid_precondition)
{
    _cleanup_(str_buf_done) struct str_buf body = STR_BUF_INIT;
    struct kube_ask ask = {.verb = "delete", .method = "DELETE"};

    if (!str_is_empty(uid_precondition)) {
        str_append(&body,
                   "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":");
        str_append_json_quoted(&body, uid_precondition);
        str_append(&body, "}}");
        ask.body = str_buf_text(&body);
    }
    return ask_kube(h, call, ref, &ask, NULL);
}

/* ---- finalizers ------------------------------------------------------------------------------ */

static bool is_own_finalizer(const struct tt_provider *desc, const char *name)
{
    for (uint32_t i = 0; i < desc->n_finalizers; i++) {
        if (str_eq(desc->finalizers[i], name)) {
            return true;
        }
    }
    return false;
}

static uint32_t wanted_finalizers(const struct tt_host_ctx *h, const struct tt_result *r,
                                  const char *const *names, uint32_t n, const char **ret)
{
    uint32_t n_ret = 0;

    if (h->args.cleanup_finalizer != NULL && (r->own & TT_OWN_FINALIZERS) == 0) {
        ret[n_ret++] = h->args.cleanup_finalizer;
    }
    for (uint32_t i = 0; i < n; i++) {
        ret[n_ret++] = names[i];
    }
    return n_ret;
}

/* Returns the body to write before the first mutation; NULL: nothing is missing. */
struct holding {
    const char *finalizers;
    const char *mark;
};

static struct holding what_to_hold(const struct tt_host_ctx *h, const struct tt_item *item,
                                   const char *const *names, uint32_t n, struct arena *a)
{
    const char *wanted[HOST_FINALIZERS_MAX + 1];
    const struct tt_service *svc = item->service;
    const struct tt_result *r = item->result;
    uint32_t n_wanted = wanted_finalizers(h, r, names, n, wanted);
    uint32_t n_shown = r->let_go ? 0 : svc->n_finalizers;
    struct holding out = {0};

    if (!r->held) {
        out.finalizers = finalizer_patch_add(a, svc->finalizers, n_shown, wanted, n_wanted);
    }
    if (!r->marked && svc->deleted_us == 0 && (r->own & TT_OWN_STATUS) == 0 &&
        (out.finalizers != NULL || r->mark_alone)) {
        out.mark = r->mark_body;
    }
    return out;
}

static int send_hold(const struct service_patch *patch, struct tt_result *r,
                     const struct holding *what, struct arena *a, struct err *err)
{
    const char *bodies[2];
    size_t n = 0;

    if (what->finalizers != NULL) {
        bodies[n++] = what->finalizers;
    }
    if (what->mark != NULL) {
        bodies[n++] = what->mark;
    }
    if (n == 0) {
        return ERR_OK;
    }
    int rc = service_patch_send(patch, patches_join(a, bodies, n), err);
    if (rc == ERR_OK) {
        log_info(2, what->finalizers != NULL ? "Finalizers added" : "Mark added",
                 LOG_S("service", r->key));
        r->held = r->held || what->finalizers != NULL;
        r->marked = r->marked || what->mark != NULL;
    }
    return rc;
}

/* It is to lose what it had, and nothing can be put on it any more. */
static bool has_vanished(const struct tt_host_ctx *h, const struct tt_item *item)
{
    if (item->verb != TT_VERB_DELETE || h->args.services == NULL) {
        return false;
    }
    _cleanup_(kube_object_unrefp) struct kube_object *now =
        kube_store_get(h->args.services, item->result->key);
    return now == NULL || !str_eq(now->uid, item->service->uid);
}

static int32_t hold(struct tt_host_ctx *h, const struct tt_call *call, const struct tt_item *item,
                    const char *const *names, uint32_t n, struct arena *a, struct err *err)
{
    const struct tt_service *svc = item->service;
    char any[SERVICE_VERSION_MAX] = "";
    const struct service_patch patch = {
        .client = h->args.client,
        .services = h->args.services,
        .cancel = host_call_of(call)->cancel,
        .metrics = h->args.metrics,
        .svc = svc,
        .version = item->result->version == NULL ? any : item->result->version};
    struct holding what = what_to_hold(h, item, names, n, a);

    if ((what.finalizers == NULL && what.mark == NULL) || has_vanished(h, item)) {
        return TT_OK;
    }
    if (svc->deleted_us != 0) {
        return err_set(err, ERR_INVALID, "the Service is being deleted: no finalizer can be added");
    }
    if (h->args.client == NULL || !h->table.may_mutate(h, call)) {
        return err_set(err, ERR_CANCELLED, "nothing may be changed now");
    }
    int rc = send_hold(&patch, item->result, &what, a, err);
    if ((rc == ERR_INVALID || rc == ERR_FORBIDDEN) && what.mark != NULL) {
        /* A policy does not allow the annotation: the load balancer does not hang on it. */
        log_warning("The annotation of created load balancers was refused",
                    LOG_S("service", item->result->key), LOG_S("err", err->message));
        err_clear(err);
        what.mark = NULL;
        rc = send_hold(&patch, item->result, &what, a, err);
        item->result->mark_owed = rc == ERR_OK;
    }
    return rc;
}

/* The finalizers that were put there may go again in the same call. */
static void note_held(const struct tt_call *call, struct tt_result *r, const char *const *names,
                      uint32_t n)
{
    struct host_call *c = host_call_of(call);
    mutex_lock(&c->lock);
    for (uint32_t i = 0; i < n; i++) {
        r->held_names[i] = arena_strdup(c->arena, names[i]);
    }
    r->n_held_names = n;
    mutex_unlock(&c->lock);
}

static int32_t host_hold_finalizers(struct tt_host_ctx *h, const struct tt_call *call,
                                    const struct tt_item *item, const char *const *names,
                                    uint32_t n)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct err err = ERR_INIT;

    if (call == NULL || item == NULL || item->service == NULL || item->result == NULL ||
        item->result->call != host_call_of(call) || n > HOST_FINALIZERS_MAX ||
        (n > 0 && names == NULL)) {
        return TT_BUG;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!is_own_finalizer(h->args.desc, names[i])) {
            return TT_BUG;
        }
    }
    bool was_held = item->result->held;
    int32_t rc = hold(h, call, item, names, n, a, &err);
    if (rc == TT_OK && item->result->held && !was_held) {
        note_held(call, item->result, names, n);
    }
    if (rc != TT_OK) {
        log_info(2, "Finalizers not added", LOG_S("service", item->result->key),
                 LOG_S("reason", err.message));
        struct host_call *c = host_call_of(call);
        mutex_lock(&c->lock);
        item->result->hold_failure = arena_strdup(c->arena, err.message);
        mutex_unlock(&c->lock);
    }
    return rc;
}

void host_keep_former(struct tt_host_ctx *h, struct tt_result *r)
{
    char any[SERVICE_VERSION_MAX] = "";
    struct err err = ERR_INIT;
    const struct service_patch patch = {.client = h->args.client,
                                        .services = h->args.services,
                                        .cancel = r->call->cancel,
                                        .metrics = h->args.metrics,
                                        .svc = r->service,
                                        .version = r->version == NULL ? any : r->version};

    const struct host_hooks *hooks = &h->args.hooks;
    if (hooks->former_body == NULL || h->args.client == NULL || (r->own & TT_OWN_STATUS) != 0) {
        return;
    }
    const char *body = hooks->former_body(r->call->call_arg, r);
    if (body == NULL || !h->table.may_mutate(h, &r->call->abi)) {
        return;
    }
    r->former_sent = true; /* also when its answer is lost */
    if (service_patch_send(&patch, body, &err) != ERR_OK) {
        log_warning("The last applied settings were not stored on the Service",
                    LOG_S("service", r->key), LOG_S("err", err.message));
    }
}

void host_table_kube(struct tt_host *t)
{
    t->kube_get = host_kube_get;
    t->kube_list = host_kube_list;
    t->kube_each = host_kube_each;
    t->kube_create = host_kube_create;
    t->kube_patch = host_kube_patch;
    t->kube_delete = host_kube_delete;
    t->hold_finalizers = host_hold_finalizers;
}
