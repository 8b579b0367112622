/* SPDX-License-Identifier: Apache-2.0 */
/* list.c: GET of a collection: versions, pages, selectors, and the form of the answer.
 *
 * Pages are cut from the state of one version, which the store rebuilds from its window; a token
 * names that version and the last key.  resourceVersion=0 is served from the cache, which ignores
 * the limit (controller.md §4.8).  Recorded: 050–064, 149, 150. */
#include "sim/kube/list.h"

#include "sim/kube/decode.h"
#include "sim/kube/route.h"
#include "sim/kube/stream.h"
#include "sim/kube/table.h"

#include <string.h>

static const char *const too_old_page = "The provided continue parameter is too old to display a "
                                        "consistent list result. You can start a new "
                                        "list without the continue parameter, or use the continue "
                                        "token in this response to retrieve the "
                                        "remainder of the results. Continuing with the provided "
                                        "token results in an inconsistent list - objects "
                                        "that were created, modified, or deleted between the time "
                                        "the first chunk was returned and now may show "
                                        "up in the list.";

/* --- parameters ------------------------------------------------------------------------------- */
static const struct kube_kind list_options = {
    .group = "meta.k8s.io", .version = "v1", .plural = "listoptions", .kind = "ListOptions"};

/* Options of a watch for its initial objects. */
static void check_watch_match(struct kube_request *r, const struct kube_list_options *o,
                              struct kube_causes *c)
{
    static const char *const known[] = {"NotOlderThan", NULL};
    bool right = str_eq(o->match, known[0]);
    if (o->has_send_initial && !right) {
        kube_forbidden(c, "resourceVersionMatch",
                       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if (!o->has_send_initial && *o->match) {
        kube_forbidden(c, "resourceVersionMatch",
                       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                       "provided");
    }
    if (*o->match && !right) {
        kube_not_supported(c, "resourceVersionMatch", o->match, known);
    }
    if (!str_is_empty(sim_call_param(r->call, "continue"))) {
        kube_forbidden(c, "resourceVersionMatch",
                       "resourceVersionMatch is forbidden when continue is provided");
    }
}

static void check_list_match(struct kube_request *r, const struct kube_list_options *o,
                             struct kube_causes *c)
{
    static const char *const known[] = {"Exact", "NotOlderThan", "", NULL};
    const char *field = "resourceVersionMatch";
    if (o->has_send_initial) {
        kube_forbidden(c, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if (!*o->match) {
        return;
    }
    if (!str_is_empty(sim_call_param(r->call, "continue"))) {
        kube_forbidden(c, field, "resourceVersionMatch is forbidden when continue is provided");
    } else if (!o->has_rv) {
        kube_forbidden(c, field,
                       "resourceVersionMatch is forbidden unless resourceVersion is provided");
    } else if (str_eq(o->match, "Exact") && o->rv == 0) {
        kube_forbidden(c, field,
                       "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    } else if (!str_eq(o->match, "Exact") && !str_eq(o->match, "NotOlderThan")) {
        kube_not_supported(c, field, o->match, known);
    }
}

static struct json_object *check_match(struct kube_request *r, const struct kube_list_options *o)
{
    struct kube_causes c = {.arena = r->arena};
    (r->verb == KUBE_WATCH ? check_watch_match : check_list_match)(r, o, &c);
    return kube_status_invalid(&list_options, "", &c, false);
}

/* Numbers that only a watch or a page uses are read, and refused, everywhere. */
static struct json_object *check_numbers(struct kube_request *r)
{
    static const char *const names[] = {"timeoutSeconds", "limit"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *text = str_nonnull(sim_call_param(r->call, names[i]));
        int64_t n = 0;
        if (*text && !str_to_i64(text, &n)) {
            return kube_status_bad_request("strconv.ParseInt: parsing %s: invalid syntax",
                                           kube_quoted(r->arena, text));
        }
    }
    return NULL;
}

static struct json_object *bad_version(struct kube_request *r, const char *text)
{
    const char *why = arena_printf(
        r->arena,
        "resourceVersion: Invalid value: %s: strconv.ParseUint: parsing %s: invalid syntax",
        kube_quoted(r->arena, text), kube_quoted(r->arena, text));
    if (r->verb == KUBE_WATCH) {
        return kube_status(500, NULL, why, NULL);
    }
    return kube_status_bad_request("invalid resource version: %s", why);
}

struct json_object *kube_list_options(struct kube_request *r, struct kube_list_options *ret)
{
    struct sim_call *call = r->call;
    struct kube_list_options o = {.match =
                                      str_nonnull(sim_call_param(call, "resourceVersionMatch"))};
    const char *rv = str_nonnull(sim_call_param(call, "resourceVersion"));
    const char *initial = sim_call_param(call, "sendInitialEvents");
    o.has_send_initial = !str_is_empty(initial);
    o.send_initial = o.has_send_initial && kube_flag_is_on(initial);
    if (*rv) {
        uint64_t n = 0;
        if (!str_to_u64(rv, &n) || n > INT64_MAX) {
            return bad_version(r, rv);
        }
        o.has_rv = true;
        o.rv = (int64_t)n;
    }
    struct json_object *refusal = check_numbers(r);
    if (!refusal) {
        refusal = check_match(r, &o);
    }
    if (!refusal) {
        refusal = kube_selector_parse(r->arena, r->kind, sim_call_param(call, "labelSelector"),
                                      sim_call_param(call, "fieldSelector"), &o.selector);
    }
    if (!refusal) {
        *ret = o;
    }
    return refusal;
}

struct json_object *kube_status_too_large(struct kube_request *r, int64_t rv)
{
    struct json_object *cause = json_object_new_object();
    json_add_str(cause, "reason", "ResourceVersionTooLarge");
    json_add_str(cause, "message", "Too large resource version");
    struct json_object *causes = json_object_new_array();
    json_object_array_add(causes, cause);
    struct json_object *details = json_object_new_object();
    json_add(details, "causes", causes);
    json_add_int(details, "retryAfterSeconds", 1);
    const char *text =
        arena_printf(r->arena, "Timeout: Too large resource version: %lld, current: %lld",
                     (long long)rv, (long long)kube_db_rv(r->st->store));
    return kube_status(504, "Timeout", text, details);
}

/* --- pages ------------------------------------------------------------------------------------ */
struct page {
    int64_t limit;     /* 0: all */
    int64_t rv;        /* state to show; 0: now */
    const char *after; /* full key of the last object seen, or NULL */
    bool inconsistent; /* a token that says: as it is now */
};

static char *make_token(struct arena *a, int64_t rv, const char *start)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":", (long long)rv);
    str_append_json_quoted(&b, start);
    b.data[--b.len] = '\0'; /* the closing quote comes after the NUL character */
    str_append(&b, "\\u0000\"}");
    return str_base64_encode(a, b.data, b.len, true);
}

static struct json_object *bad_token(const char *why)
{
    return kube_status_bad_request("invalid continue token: continue key is not valid: %s", why);
}

static struct json_object *read_token(struct kube_request *r, const char *token, struct page *p)
{
    unsigned char *raw = NULL;
    size_t n = 0;
    if (!str_base64_decode(r->arena, token, true, &raw, &n)) {
        return bad_token("illegal base64 data at input byte 0");
    }
    const char *error = kube_json_error(r->arena, (const char *)raw, n);
    if (error) {
        return bad_token(error);
    }
    /* The start key ends in a NUL, which is cut off here before it can hurt. */
    char *text =
        str_replace(r->arena, arena_strndup(r->arena, (const char *)raw, n), "\\u0000", "");
    struct json_object *o = NULL;
    if (json_parse_arena(r->arena, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        return bad_token("cannot be read");
    }
    const char *start = json_str(o, "start");
    if (!str_eq(json_str(o, "v"), "meta.k8s.io/v1") || str_is_empty(start)) {
        return bad_token(arena_printf(r->arena, "server does not recognize this encoded version %s",
                                      str_nonnull(json_str(o, "v"))));
    }
    start += *start == '/' ? 1 : 0;
    p->after = *r->namespace ? arena_printf(r->arena, "%s/%s", r->namespace, start)
                             : arena_strdup(r->arena, start);
    p->rv = json_int(o, "rv", 0);
    p->inconsistent = p->rv < 0;
    p->rv = p->rv < 0 ? 0 : p->rv;
    return NULL;
}

static struct json_object *plan_page(struct kube_request *r, const struct kube_list_options *o,
                                     struct page *p)
{
    const char *limit = str_nonnull(sim_call_param(r->call, "limit"));
    const char *token = str_nonnull(sim_call_param(r->call, "continue"));
    if (!str_to_i64(limit, &p->limit) || p->limit < 0) {
        p->limit = 0; /* none, or less than nothing: all */
    }
    if (*token) {
        if (o->has_rv && o->rv != 0) {
            return kube_status_bad_request(
                "specifying resource version is not allowed when using continue");
        }
        p->limit = o->has_rv ? 0 : p->limit; /* from the cache, which knows no pages */
        return read_token(r, token, p);
    }
    if (!o->has_rv) {
        return NULL;
    }
    if (o->rv == 0) {
        p->limit = 0;
        return NULL;
    }
    if (o->rv > kube_db_rv(r->st->store)) {
        return kube_status_too_large(r, o->rv);
    }
    if (str_eq(o->match, "Exact") || (!*o->match && p->limit > 0)) {
        p->rv = o->rv;
    }
    return NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */
struct result {
    struct kube_obj **objs;
    size_t n;
    int64_t rv;
    int64_t remaining; /* -1: not said */
    char *token;       /* NULL: last page */
};

static const char *relative_key(struct kube_request *r, const struct kube_obj *o)
{
    return *r->namespace ? o->key + strlen(r->namespace) + 1 : o->key;
}

/* Filters and cuts the page out of all objects. */
static void cut_page(struct kube_request *r, const struct kube_list_options *o,
                     const struct page *p, struct result *res)
{
    size_t kept = 0;
    size_t beyond = 0;
    for (size_t i = 0; i < res->n; i++) {
        struct kube_obj *obj = res->objs[i];
        bool before = p->after && strcmp(obj->key, p->after) <= 0;
        if (before || !kube_selector_takes(o->selector, obj)) {
            kube_obj_unref(obj);
        } else if (p->limit > 0 && kept == (size_t)p->limit) {
            beyond++;
            kube_obj_unref(obj);
        } else {
            res->objs[kept++] = obj;
        }
    }
    res->n = kept;
    res->remaining = -1;
    if (beyond > 0) {
        res->remaining = o->selector ? -1 : (int64_t)beyond;
        res->token = make_token(
            r->arena, res->rv, arena_printf(r->arena, "/%s", relative_key(r, res->objs[kept - 1])));
    }
}

void kube_append_list_meta(struct str_buf *b, int64_t rv, const char *token, int64_t remaining)
{
    str_appendf(b, "\"metadata\":{\"resourceVersion\":\"%lld\"", (long long)rv);
    if (token) {
        str_appendf(b, ",\"continue\":\"%s\"", token);
    }
    if (remaining >= 0) {
        str_appendf(b, ",\"remainingItemCount\":%lld", (long long)remaining);
    }
    str_append_c(b, '}');
}

static void answer_objects(struct kube_request *r, struct result *res)
{
    _cleanup_(str_buf_done) struct str_buf head = STR_BUF_INIT;
    bool partial = r->form == KUBE_FORM_PARTIAL;
    str_appendf(&head, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",",
                partial ? "PartialObjectMetadata" : r->kind->kind,
                partial ? "meta.k8s.io/v1" : kube_api_version(r->kind, r->arena));
    kube_append_list_meta(&head, res->rv, res->token, res->remaining);
    str_append(&head, ",\"items\":[");
    size_t bytes = 0;
    for (size_t i = 0; i < res->n; i++) {
        bytes += res->objs[i]->len;
    }
    bool gzip =
        strstr(str_nonnull(http_req_header(r->call->req, "Accept-Encoding")), "gzip") != NULL;
    if (bytes > KUBE_STREAM_HIGH && !partial && !r->kind->as_served && !gzip) {
        kube_stream_objs(r, str_buf_text(&head), STEAL(res->objs), res->n, "]}\n");
        res->n = 0;
        return;
    }
    for (size_t i = 0; i < res->n; i++) {
        str_append(&head, i > 0 ? "," : "");
        if (partial) {
            kube_append_partial(&head, res->objs[i]);
        } else {
            kube_append_item(&head, r->kind, res->objs[i]);
        }
    }
    str_append(&head, "]}\n");
    kube_answer_json(r, 200, str_buf_text(&head), head.len);
}

void kube_handle_list(struct kube_request *r)
{
    struct kube_list_options o = {0};
    struct page p = {0};
    struct json_object *refusal = kube_list_options(r, &o);
    if (!refusal) {
        refusal = plan_page(r, &o, &p);
    }
    struct result res = {0};
    if (!refusal &&
        !kube_db_list(r->st->store, r->kind->store, r->namespace, p.rv, &res.objs, &res.n)) {
        refusal = kube_status_expired(
            p.after ? too_old_page : "The resourceVersion for the provided list is too old.");
        if (p.after) {
            size_t skip = *r->namespace ? strlen(r->namespace) + 1 : 0;
            json_add_str(json_member(refusal, "metadata"), "continue",
                         make_token(r->arena, -1, p.after + skip));
        }
    }
    if (refusal) {
        kube_answer_status(r, refusal);
        return;
    }
    res.rv = p.rv ? p.rv : kube_db_rv(r->st->store);
    cut_page(r, &o, &p, &res);
    if (r->form == KUBE_FORM_TABLE) {
        kube_answer_table(r, res.objs, res.n,
                          &(struct kube_table_meta){
                              .rv = res.rv, .token = res.token, .remaining = res.remaining});
    } else {
        answer_objects(r, &res);
    }
    kube_objs_free(res.objs, res.n);
}
