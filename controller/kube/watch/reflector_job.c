/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_job.c: one reflector as an http_job: asks what the rules say, feeds the cutter, tells
 * the rules.
 *
 * Time-outs: a list may take ten minutes but must move every minute; how long a watch may be silent
 * is the rules' (reflector_silence_ms).  Lists may come compressed, watches never do.
 * Runs in the reflector thread; must not block. */
#include "controller/kube/client/unreachable.h"
#include "controller/kube/watch/reflector_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/net/url_build.h"

#define CREDENTIALS_POLL_MS 100
#define ENDED_MS            ((int64_t)24 * 60 * 60 * 1000)
#define LIST_TOTAL_MS       ((int64_t)10 * 60 * 1000)
#define LIST_IDLE_MS        ((int64_t)60 * 1000)
#define WATCH_SLACK_MS      ((int64_t)60 * 1000) /* beyond its timeoutSeconds */
/* Streams are cut as they come, so this only ends a server that never stops. */
#define LIST_BODY_MAX  ((size_t)1 << 30)
#define WATCH_BODY_MAX ((size_t)1 << 40)

void reflector_init(struct reflector *x, struct kube_reflectors *all, struct kube_store *store,
                    const char *selector)
{
    enum kube_kind kind = kube_store_kind(store);
    *x = (struct reflector){
        .job = {.step = reflector_step, .on_body = reflector_on_body, .arg = x},
        .all = all,
        .store = store,
        .selector = xstrdup(selector),
        .arena = arena_new(),
        .item_arena = arena_new(),
    };
    reflector_rules_init(&x->rules, all->args.page_size, all->args.min_watch_timeout_ms);
    if (all->args.streams) {
        reflector_rules_stream(&x->rules);
    }
    const struct cutter_args list = {
        .mode = CUTTER_LIST,
        .members = kube_kind_members(kind),
        .more_members = reflector_head_members,
        .on_item = reflector_on_item,
        .arg = x,
    };
    const struct cutter_args watch = {
        .mode = CUTTER_STREAM,
        .members = kube_kind_members(kind),
        .prefix = "object",
        .more_members = reflector_event_members,
        .on_item = reflector_on_event,
        .arg = x,
    };
    x->list_cutter = json_splitter_new(&list);
    x->watch_cutter = json_splitter_new(&watch);
}

void reflector_done(struct reflector *x)
{
    json_splitter_free(x->list_cutter);
    json_splitter_free(x->watch_cutter);
    reflector_rules_done(&x->rules);
    arena_free(x->arena);
    arena_free(x->item_arena);
    free(x->selector);
}

/* --- out -------------------------------------------------------------------------------------- */

static const char *build_url(struct reflector *x)
{
    struct str_buf query _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct url_build url;
    reflector_query(&query, &x->ask, x->selector);
    url_build_begin(&url, x->all->args.config->server);
    url_build_built_path(&url, kube_kind_path(kube_store_kind(x->store)));
    url_build_built_query(&url, str_buf_text(&query));
    return url_build_text(&url, x->arena);
}

static void give_up_replace(struct reflector *x)
{
    if (x->replacing) {
        kube_store_replace_end(x->store, false);
        x->replacing = false;
    }
}

static void begin_replace(struct reflector *x)
{
    give_up_replace(x);
    if (x->ask.ask == REFLECTOR_LIST) {
        kube_store_replace_begin(x->store);
    } else {
        kube_store_replace_begin_staged(x->store);
    }
    x->replacing = true;
    x->skipped = x->listed = x->pages = 0;
}

/* The work ended, with a final error or because no watch is needed: the thread waits to be ended,
 * too. */
static enum http_next send_nothing(struct reflector *x)
{
    x->job.req = (struct http_request){.not_before_ms = reflectors_now(x->all) + ENDED_MS};
    return HTTP_WAIT;
}

/* Sends x->ask, perhaps once more. */
static enum http_next send_ask(struct reflector *x, int64_t not_before_ms)
{
    bool is_list = x->ask.ask == REFLECTOR_LIST;
    arena_reset(x->arena);
    x->opened = false;
    err_clear(&x->stream_err);
    json_splitter_reset(is_list ? x->list_cutter : x->watch_cutter);
    /* Without a token the server will answer 401, which is reported like every other refusal. */
    struct err err = ERR_INIT;
    int rc = kube_credentials_get(x->all->args.config, x->arena, 0, &x->creds, &err);
    x->awaits_credentials = rc == ERR_IN_PROGRESS;
    if (x->awaits_credentials) { /* a plugin runs, and this thread has streams to read */
        x->send_at_ms = not_before_ms;
        x->job.req.not_before_ms = reflectors_now(x->all) + CREDENTIALS_POLL_MS;
        return HTTP_WAIT;
    }
    if (rc != ERR_OK && reflectors_end_at(x->all, &err)) {
        (void)kube_advise_refusal(x->all->args.config, &err);
        reflectors_failed(x->all, &err, false);
        return send_nothing(x);
    }
    if (rc != ERR_OK) {
        log_error(err.message, "No credentials for the API server");
        x->creds = (struct kube_credentials){0};
    }
    x->job.req = (struct http_request){
        .method = "GET",
        .url = build_url(x),
        .headers = x->creds.headers,
        .n_headers = x->creds.n_headers,
        .bearer = x->creds.bearer,
        .not_before_ms = not_before_ms,
        .gzip = is_list && !x->all->args.config->disable_compression,
        .idle_ms =
            is_list ? LIST_IDLE_MS : reflector_silence_ms(&x->rules, x->rules.watch_began_ms),
        .total_ms = is_list ? LIST_TOTAL_MS : -1,
        .max_body = is_list ? LIST_BODY_MAX : WATCH_BODY_MAX,
        .max_redirects = 10,
        .streams = !is_list,
    };
    return HTTP_SEND;
}

static enum http_next send_next(struct reflector *x)
{
    struct kube_reflectors *r = x->all;
    reflector_next(&x->rules, reflectors_now(r), reflectors_unit(r), &x->ask);
    x->retries = (struct client_rules){0};
    if (x->ask.begins_list) {
        begin_replace(x);
    }
    return send_ask(x, reflectors_not_before(r, x, x->ask.not_before_ms));
}

/* --- in --------------------------------------------------------------------------------------- */

/* A server that keeps a watch open long after it should have closed it feeds us old news. */
static bool is_overdue(struct reflector *x)
{
    return x->ask.ask != REFLECTOR_LIST && reflectors_now(x->all) - x->rules.watch_began_ms >
                                               (int64_t)x->ask.timeout_s * 1000 + WATCH_SLACK_MS;
}

bool reflector_on_body(struct http_job *job, int status, const char *bytes, size_t n)
{
    struct reflector *x = job->arg;
    (void)status;
    x->opened = true;
    struct json_splitter *c = x->ask.ask == REFLECTOR_LIST ? x->list_cutter : x->watch_cutter;
    struct err err = ERR_INIT;
    if (is_overdue(x)) {
        (void)err_set(&x->stream_err, ERR_TRANSIENT, "the watch was not closed in time");
        return false;
    }
    int rc = json_splitter_feed(c, bytes, n, &err);
    if (rc == ERR_OK && x->ask.ask != REFLECTOR_LIST) {
        reflector_watch_bytes(&x->rules, reflectors_now(x->all));
        job->req.idle_ms = reflector_silence_ms(&x->rules, x->rules.watch_byte_ms);
    }
    if (rc == ERR_OK) {
        return true;
    }
    if (x->stream_err.code == ERR_OK) { /* else the reader stopped it and said why */
        (void)err_set(&x->stream_err, ERR_INVALID,
                      "the answer is not the JSON that was asked for: %s", err.message);
    }
    return false;
}

static const char *type_name(const struct reflector *x)
{
    return kube_kind_name(kube_store_kind(x->store));
}

/* "*v1.Service", as upstream names it in the same lines. */
static const char *type_label(const struct reflector *x)
{
    return arena_printf(x->arena, "*v1.%s", type_name(x));
}

static void say(struct reflector *x, enum reflector_say what, const struct err *err)
{
    switch (what) {
    case REFLECTOR_SAY_NOTHING:
        break;
    case REFLECTOR_SAY_EXPIRED:
        log_info(4, "Watch closed", LOG_S("type", type_label(x)), LOG_S("err", err->message));
        break;
    case REFLECTOR_SAY_LISTING:
        log_info(4, "No streaming list; listing instead", LOG_S("type", type_label(x)),
                 LOG_S("err", err->message));
        break;
    case REFLECTOR_SAY_STALLED:
        log_warning("The streaming list does not come to its end mark; listing instead. Something "
                    "between here and the API server may hold back bookmarks: "
                    "KUBE_FEATURE_WatchListClient=false saves the attempt",
                    LOG_S("type", type_label(x)), LOG_I("objects", x->listed));
        break;
    case REFLECTOR_SAY_SHORT:
        log_error(
            arena_printf(x->arena,
                         "very short watch: %s: Unexpected watch close - watch lasted less than "
                         "a second and no items received",
                         kube_kind_resource(kube_store_kind(x->store))),
            "Failed to watch", LOG_S("type", type_label(x)));
        break;
    case REFLECTOR_SAY_FAILED:
        if (x->all->reach.tries == 0) { /* else it was said for all kinds */
            log_error(err->message, "Failed to watch", LOG_S("type", type_label(x)));
        }
        break;
    case REFLECTOR_SAY_ENDED:
        log_warning("Watch ended with error", LOG_S("type", type_label(x)),
                    LOG_S("err", err->message));
        break;
    }
}

/* A complete page: its metadata says what comes next.  A Status in a 200 is an error, too. */
static int read_head(struct reflector *x, struct json_object **ret, struct err *err)
{
    size_t n;
    const char *head = json_splitter_head(x->list_cutter, &n);
    if (!json_splitter_at_boundary(x->list_cutter)) {
        return err_set(err, ERR_TRANSIENT, "the list ended in the middle, after %zu items",
                       json_splitter_count(x->list_cutter));
    }
    struct json_object *o _cleanup_(json_putp) = NULL;
    int rc = json_parse(head, n, NULL, &o, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (str_eq(json_str(o, "kind"), "Status")) {
        return kube_status_error(200, head, n, "GET", err);
    }
    const char *kind =
        json_str(o, "kind"); /* of an empty list, too, or of one that says it at its end */
    if (kind != NULL && !str_eq(kind, arena_printf(x->arena, "%sList", type_name(x)))) {
        return err_set(err, ERR_INVALID, "the answer is no %sList but a %.40s", type_name(x), kind);
    }
    if (str_is_empty(json_str(json_member(o, "metadata"), "resourceVersion"))) {
        return err_set(err, ERR_INVALID,
                       "the answer is no list: it has no metadata.resourceVersion");
    }
    if (++x->pages > LIST_PAGES_MAX) {
        return err_set(err, ERR_INVALID, "the list does not end: it has more than %u pages",
                       LIST_PAGES_MAX);
    }
    *ret = STEAL(o);
    return ERR_OK;
}

/* The store holds what the server holds. */
static void list_complete(struct reflector *x)
{
    if (x->skipped > SKIPPED_SAID_MAX) {
        log_warning("More objects of the list cannot be read whole", LOG_S("type", type_label(x)),
                    LOG_I("objects", x->skipped));
    }
    kube_store_replace_end(x->store, true);
    x->replacing = false;
    reflectors_wake_waiters(x->all);
    http_wakeup(x->all->http);
}

void reflector_streamed(struct reflector *x, const char *rv)
{
    reflector_initial_end(&x->rules, rv);
    log_info(4, "Listed", LOG_S("type", type_label(x)), LOG_I("items", kube_store_staged(x->store)),
             LOG_B("complete", true), LOG_B("streamed", true));
    reflectors_reached(x->all);
    list_complete(x);
}

static void finish_page(struct reflector *x, struct json_object *head)
{
    struct json_object *meta = json_member(head, "metadata");
    const char *token = str_nonnull(json_str(meta, "continue"));
    bool complete = reflector_list_page(&x->rules, json_str(meta, "resourceVersion"), token);
    log_info(4, "Listed", LOG_S("type", type_label(x)),
             LOG_I("items", json_splitter_count(x->list_cutter)), LOG_B("complete", complete));
    if (complete) {
        list_complete(x);
    }
}

static void list_ended(struct reflector *x, struct err *err)
{
    struct kube_reflectors *r = x->all;
    struct json_object *head _cleanup_(json_putp) = NULL;
    if (err->code == ERR_OK) {
        (void)read_head(x, &head, err);
        kube_credentials_mask(&x->creds, err);
    }
    if (err->code == ERR_OK) {
        reflectors_reached(r);
        finish_page(x, head);
        return;
    }
    enum reflector_end why = reflector_classify(err);
    bool unreached = err->http_status == 0 && !x->opened;
    /* A command reports the server that it cannot reach; the log also says which list
     * met that first. */
    if (!r->args.gives_up || !unreached || err->code != ERR_TRANSIENT) {
        (void)err_prefix(err, "failed to list %s", type_label(x));
    }
    (void)kube_advise_refusal(r->args.config, err);
    reflectors_failed(r, err, unreached);
    say(x, reflector_list_failed(&x->rules, why, reflectors_now(r), reflectors_unit(r)), err);
}

static void watch_ended(struct reflector *x, struct err *err)
{
    struct kube_reflectors *r = x->all;
    enum reflector_end why = reflector_classify(err);
    bool collecting = reflector_is_collecting(&x->rules);
    if (why == REFLECTOR_END_OK || x->opened) {
        reflectors_reached(r);
    } else {
        if (collecting) {
            (void)err_prefix(err, "failed to list %s", type_label(x));
            (void)kube_advise_refusal(r->args.config, err);
        }
        reflectors_failed(r, err, err->http_status == 0);
    }
    if (why == REFLECTOR_END_OK && !json_splitter_at_boundary(x->watch_cutter)) {
        log_info(1, "Watch closed with unexpected EOF", LOG_S("type", type_label(x)));
    }
    log_info(4, "Watch ended", LOG_S("type", type_label(x)),
             LOG_I("events", json_splitter_count(x->watch_cutter)), LOG_S("err", err->message));
    say(x, reflector_watch_ended(&x->rules, why, x->opened, reflectors_now(r), reflectors_unit(r)),
        err);
}

/* In *err what the answer means; OK for a 200 that was read to its end. */
static void judge(struct reflector *x, const struct http_response *resp,
                  const struct client_answer *ans, struct err *err)
{
    if (x->stream_err.code != ERR_OK) {
        err_copy(err, &x->stream_err);
    } else if (resp->status == 0) {
        err_copy(err, &x->job.err);
    } else if (resp->status == 200) {
        err_clear(err);
    } else {
        (void)kube_status_error(resp->status, ans->body, ans->body_len, "GET", err);
    }
    kube_credentials_mask(&x->creds, err);
}

/* Repetitions of the request itself: Retry-After, and a new token after a 401 (§4.5). */
static bool is_repeated(struct reflector *x, const struct client_answer *ans, const struct err *err,
                        int64_t *ret_at_ms)
{
    int64_t now_ms = reflectors_now(x->all);
    if (err->http_status == 401 && !x->retries.renewed) {
        x->retries.renewed = true;
        *ret_at_ms = now_ms;
        return kube_credentials_renew(x->all->args.config, x->arena, &x->creds);
    }
    /* "Too large resource version" comes with a Retry-After, but the rules
     * know something better. */
    bool waits = ans->status != 0 && !x->opened && !kube_error_is_too_large_rv(err);
    return waits && client_retry(&x->retries, "GET", ans, err, now_ms, ret_at_ms);
}

/* With gives_up one list is all that is wanted: a watch after it could only fail, and be taken for
 * the failure of a list of another kind that is still on its way. */
static bool is_over(struct reflector *x, const struct err *err)
{
    bool has_all = x->all->args.gives_up && kube_store_synced(x->store);
    return has_all || (err->code != ERR_OK && reflectors_end_at(x->all, err));
}

enum http_next reflector_step(struct http_job *job, const struct http_response *resp)
{
    struct reflector *x = job->arg;
    if (resp == NULL) {
        return x->awaits_credentials ? send_ask(x, x->send_at_ms) : send_next(x);
    }
    const struct client_answer ans = {
        .status = resp->status,
        .body = resp->body,
        .body_len = resp->body_len,
        .retry_after = http_response_header(resp, "Retry-After"),
    };
    struct err err = ERR_INIT;
    int64_t at_ms;
    judge(x, resp, &ans, &err);
    if (err.code == ERR_CANCELLED) {
        give_up_replace(x);
        return HTTP_DONE;
    }
    if (err.code != ERR_OK && is_repeated(x, &ans, &err, &at_ms)) {
        return send_ask(x, at_ms);
    }
    if (x->ask.ask == REFLECTOR_LIST) {
        list_ended(x, &err);
    } else {
        watch_ended(x, &err);
    }
    return is_over(x, &err) ? send_nothing(x) : send_next(x);
}
