/* SPDX-License-Identifier: Apache-2.0 */
/* object_watch.c: the thread and the requests of object_watch.h.
 *
 * One http_job that never ends: it sends what the rules say, feeds the cutter, tells the rules.
 * What an object means is the caller's; this file never looks into one but for kind, version and
 * the end of the state.  Everything belongs to the thread but `stop`. */
#include "controller/kube/watch/object_watch.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/map.h"
#include "common/data/json_shallow.h"
#include "common/data/json_splitter.h"
#include "common/net/http.h"
#include "common/net/url_build.h"
#include "controller/kube/client/client.h"
#include "controller/kube/client/credentials.h"
#include "controller/kube/watch/object_watch_rules.h"

#define READ_MS   ((int64_t)30 * 1000)
#define SILENT_MS ((int64_t)3 * 60 * 1000) /* bookmarks come about every minute */
/* Events are cut as they come: this only ends a server that never stops. */
#define STREAM_BODY_MAX ((size_t)1 << 30)
#define READ_DEPTH      60 /* all that is read of it is nested less deeply */
#define END_OF_STATE    "k8s.io/initial-events-end"

struct object_watch {
    struct object_watch_args args; /* texts are copies */
    struct cancel *cancel;
    struct http *http;
    pthread_t thread;
    atomic_bool stop;
    struct http_job job;
    struct object_rules rules;
    struct object_request ask; /* what is in progress */
    struct json_splitter *cutter;
    struct arena *arena; /* of the request in progress */
    struct kube_credentials creds;
    bool opened;           /* bytes of a 200 came */
    struct err stream_err; /* what the stream itself said or broke */
    /* Of a collection: objects that are there, by "namespace/name"; the value says which
     * list has shown it. */
    struct map *there;
    uintptr_t list; /* the newest one: a LIST, or the state at the begin of a stream */
};

static bool is_collection(const struct object_watch *w)
{
    return w->args.name == NULL;
}

/* For people. */
static const char *subject(const struct object_watch *w)
{
    return is_collection(w) ? w->args.collection : w->args.name;
}

static bool on_body(struct http_job *job, int status, const char *bytes, size_t n);

/* Not all of metadata: others may write what they like into managedFields. */
static const char *const event_members[] = {
    "type",
    "object.kind",
    "object.metadata.name",
    "object.metadata.namespace",
    "object.metadata.resourceVersion",
    "object.metadata.annotations", /* the end mark */
    "object.status",
    "object.message",
    "object.reason",
    "object.details",
    "object.code",
    NULL,
};

/* --- out -------------------------------------------------------------------------------------- */

static const char *build_url(struct object_watch *w)
{
    struct str_buf query _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct url_build url;
    url_build_begin(&url, w->args.config->server);
    url_build_built_path(&url, w->args.collection);
    if (w->ask.ask == OBJECT_READ && !is_collection(w)) {
        url_build_segment(&url, "name", w->args.name);
    }
    object_rules_query(&query, &w->ask, w->args.name, w->args.selector);
    url_build_built_query(&url, str_buf_text(&query));
    return url_build_text(&url, w->arena);
}

static enum http_next send_next(struct object_watch *w)
{
    object_rules_next(&w->rules, clock_now_ms(w->args.clock), rng_unit(w->args.rng), &w->ask);
    bool reads = w->ask.ask == OBJECT_READ;
    arena_reset(w->arena);
    json_splitter_reset(w->cutter);
    w->opened = false;
    w->list += w->ask.ask != OBJECT_WATCH;
    err_clear(&w->stream_err);
    struct err err = ERR_INIT;
    const struct credentials_waiter waiter = {
        .one = w->cancel}; /* the thread has nothing else to do */
    if (kube_credentials_wait(w->args.config, w->arena, 0, &waiter, &w->creds, &err) != ERR_OK) {
        /* The server will answer 401, which is reported like every other refusal. */
        log_info(2, "No credentials for the API server", LOG_S("err", err.message));
        w->creds = (struct kube_credentials){0};
    }
    w->job.on_body = reads ? NULL : on_body;
    w->job.req = (struct http_request){
        .method = "GET",
        .url = build_url(w),
        .headers = w->creds.headers,
        .n_headers = w->creds.n_headers,
        .bearer = w->creds.bearer,
        .not_before_ms = w->ask.not_before_ms,
        .idle_ms = reads ? READ_MS : SILENT_MS,
        .total_ms = reads ? READ_MS : ((int64_t)w->ask.timeout_s + 60) * 1000,
        .max_body = !reads             ? STREAM_BODY_MAX
                    : is_collection(w) ? OBJECT_WATCH_LIST_MAX
                                       : OBJECT_WATCH_BYTES_MAX,
        .max_redirects = 10,
        .streams = !reads,
    };
    return HTTP_SEND;
}

/* --- in --------------------------------------------------------------------------------------- */

static bool end_stream(struct object_watch *w, const char *why)
{
    (void)err_set(&w->stream_err, ERR_INVALID, "event of the watch on %s: %s", subject(w), why);
    return false;
}

/* --- the objects of a collection -------------------------------------------------------------- */

static const char *key_of(struct arena *a, struct json_object *meta)
{
    _cleanup_(str_buf_done) struct str_buf key = STR_BUF_INIT;

    str_append(&key, str_nonnull(json_str(meta, "namespace")));
    str_append_c(&key, '/');
    str_append(&key, json_str(meta, "name"));
    return str_buf_to_arena(&key, a);
}

static bool put_member(struct object_watch *w, const char *type, struct json_object *object)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct json_object *meta = json_member(object, "metadata");

    if (json_str(meta, "name") == NULL) {
        return end_stream(w, "its object has no name");
    }
    const char *key = key_of(a, meta);
    if (str_eq(type, "DELETED")) {
        (void)map_remove(w->there, key);
    } else if (map_size(w->there) < OBJECT_WATCH_MAX || map_has(w->there, key)) {
        map_set(w->there, key, (void *)w->list);
    } else {
        return end_stream(w, "there are too many objects");
    }
    w->args.changed(w->args.arg, type, object);
    return true;
}

/* A list, or the state at the begin of a stream, is whole: what it lacks is gone. */
static void drop_missing(struct object_watch *w)
{
    size_t n = 0;
    const char **keys = map_keys(w->there, &n);

    for (size_t i = 0; i < n; i++) {
        if (map_get(w->there, keys[i]) == (void *)w->list) {
            continue;
        }
        struct json_object *object _cleanup_(json_putp) = json_object_new_object();
        struct json_object *meta = json_object_new_object();
        const char *slash = strchr(keys[i], '/');
        json_add(meta, "namespace", json_object_new_string_len(keys[i], (int)(slash - keys[i])));
        json_add_str(meta, "name", slash + 1);
        json_add(object, "metadata", meta);
        w->args.changed(w->args.arg, "DELETED", object);
        (void)map_remove(w->there, keys[i]);
    }
    free(keys);
}

static bool take_member(struct object_watch *w, const char *type, struct json_object *object,
                        bool ends_state)
{
    bool known = str_eq(type, "ADDED") || str_eq(type, "MODIFIED") || str_eq(type, "DELETED");

    if (ends_state && w->ask.ask == OBJECT_STREAM) {
        drop_missing(w);
    }
    return !known || put_member(w, type, object);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool end_with_status(struct object_watch *w, struct json_object *object)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    json_print(&b, object, JSON_COMPACT);
    (void)kube_status_error(200, str_buf_text(&b), b.len, "GET", &w->stream_err);
    return false;
}

static bool is_end_of_state(struct json_object *meta)
{
    return str_eq(json_str(json_member(meta, "annotations"), END_OF_STATE), "true");
}

static bool on_event(void *arg, const struct cutter_item *item)
{
    struct object_watch *w = arg;
    struct json_object *event _cleanup_(json_putp) = NULL;
    struct err err = ERR_INIT;
    const struct json_limits limits = {.max_bytes = OBJECT_WATCH_BYTES_MAX, .max_values = 100000};
    if (item->broken != NULL) {
        return end_stream(w, item->broken);
    }
    if (json_parse(item->text, item->n, &limits, &event, &err) != ERR_OK) {
        return end_stream(w, err.message);
    }
    const char *type = json_str(event, "type");
    struct json_object *object = json_member(event, "object");
    if (type == NULL || !json_object_is_type(object, json_type_object)) {
        return end_stream(w, "it lacks a type or an object");
    }
    if (str_eq(type, "ERROR")) {
        return end_with_status(w, object);
    }
    struct json_object *meta = json_member(object, "metadata");
    const char *name = json_str(meta, "name");
    if (!is_collection(w) && !str_eq(type, "BOOKMARK") && !str_eq(name, w->args.name)) {
        return end_stream(w, "it is about another object");
    }
    enum object_news news = object_rules_event(&w->rules, type, json_str(meta, "resourceVersion"),
                                               is_end_of_state(meta));
    if (is_collection(w)) {
        return take_member(w, type, object, is_end_of_state(meta));
    }
    if (news != OBJECT_NO_NEWS) {
        w->args.seen(w->args.arg, news == OBJECT_IS ? object : NULL);
    }
    return true;
}

static bool on_body(struct http_job *job, int status, const char *bytes, size_t n)
{
    struct object_watch *w = job->arg;
    struct err err = ERR_INIT;
    (void)status;
    w->opened = true;
    if (json_splitter_feed(w->cutter, bytes, n, &err) == ERR_OK) {
        return true;
    }
    if (w->stream_err.code == ERR_OK) { /* else the reader stopped it and said why */
        (void)end_stream(w, err.message);
    }
    return false;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* In *err what the answer means; OK for a 200. */
static void judge(struct object_watch *w, const struct http_response *resp, struct err *err)
{
    err_clear(err);
    if (w->stream_err.code != ERR_OK) {
        (void)err_copy(err, &w->stream_err);
    } else if (resp->status == 0) {
        (void)err_copy(err, &w->job.err);
    } else if (resp->status != 200) {
        (void)kube_status_error(resp->status, resp->body, resp->body_len, "GET", err);
        if (resp->status == 401) {
            (void)kube_credentials_renew(w->args.config, w->arena, &w->creds);
        }
    }
    kube_credentials_mask(&w->creds, err);
}

static void take_list(struct object_watch *w, struct json_object *list, struct err *err)
{
    struct json_object *items = json_member(list, "items");

    if (!json_object_is_type(items, json_type_array)) {
        (void)err_set(err, ERR_INVALID, "the answer is not the list that was asked for");
        return;
    }
    for (size_t i = 0; i < json_len(items); i++) {
        if (!put_member(w, "ADDED", json_object_array_get_idx(items, i))) {
            (void)err_copy(err, &w->stream_err);
            return;
        }
    }
    drop_missing(w);
    object_rules_read(&w->rules, json_str(json_member(list, "metadata"), "resourceVersion"));
}

/* The object of a GET. */
static void take_read(struct object_watch *w, const struct http_response *resp, struct err *err)
{
    struct json_object *o _cleanup_(json_putp) = NULL;
    const struct json_limits limits = {.max_bytes = is_collection(w) ? OBJECT_WATCH_LIST_MAX
                                                                     : OBJECT_WATCH_BYTES_MAX,
                                       .max_values = is_collection(w) ? 3000000 : 100000};
    size_t n = resp->body_len;
    const char *body = json_shallow(w->arena, resp->body, &n, READ_DEPTH);
    if (json_parse(body, n, &limits, &o, err) != ERR_OK) {
        (void)err_prefix(err, "the answer is not the JSON that was asked for");
        return;
    }
    struct json_object *meta = json_member(o, "metadata");
    if (is_collection(w)) {
        take_list(w, o, err);
        return;
    }
    if (!str_eq(json_str(meta, "name"), w->args.name)) {
        (void)err_set(err, ERR_INVALID, "the answer is not the object that was asked for");
        return;
    }
    object_rules_read(&w->rules, json_str(meta, "resourceVersion"));
    w->args.seen(w->args.arg, o);
}

static enum http_next step(struct http_job *job, const struct http_response *resp)
{
    struct object_watch *w = job->arg;
    struct err err = ERR_INIT;
    bool reads = w->ask.ask == OBJECT_READ;
    if (resp == NULL) {
        return send_next(w);
    }
    judge(w, resp, &err);
    if (err.code == ERR_CANCELLED) {
        return HTTP_DONE;
    }
    if (reads && err.code == ERR_OK) {
        take_read(w, resp, &err);
    } else if (reads && err.http_status == 404 && !is_collection(w)) {
        err_clear(&err);
        object_rules_read(&w->rules, NULL);
        w->args.seen(w->args.arg, NULL);
    }
    if (!(reads && err.code == ERR_OK)) {
        int64_t now_ms = clock_now_ms(w->args.clock);
        bool say = object_rules_ended(&w->rules, err.code == ERR_OK ? NULL : &err, w->opened,
                                      now_ms, rng_unit(w->args.rng));
        if (say && w->args.trouble != NULL) {
            w->args.trouble(w->args.arg, &err);
        }
    }
    return send_next(w);
}

static void observe(void *arg, const struct http_sent *sent)
{
    const struct object_watch *w = arg;
    const char *resource = strrchr(w->args.collection, '/');
    const struct kube_sent told = kube_sent_of(sent, resource == NULL ? "" : resource + 1);
    w->args.observe(w->args.observe_arg, &told);
}

/* --- life ------------------------------------------------------------------------------------- */

static void *thread_main(void *arg)
{
    struct object_watch *w = arg;
    http_start(w->http, &w->job);
    while (!atomic_load(&w->stop) && !w->job.done) {
        http_wait(w->http, CLOCK_NEVER);
    }
    return NULL;
}

static void free_all(struct object_watch *w)
{
    http_free(w->http);
    json_splitter_free(w->cutter);
    arena_free(w->arena);
    cancel_free(w->cancel);
    free((char *)w->args.user_agent);
    free((char *)w->args.collection);
    free((char *)w->args.name);
    free((char *)w->args.selector);
    map_free(w->there);
    free(w);
}

int object_watch_start(const struct object_watch_args *args, struct object_watch **ret,
                       struct err *err)
{
    assert(args->observe != NULL);
    struct object_watch *w = xcalloc(1, sizeof *w);
    w->args = *args;
    w->args.user_agent = xstrdup(args->user_agent);
    w->args.collection = xstrdup(args->collection);
    w->args.name = args->name == NULL ? NULL : xstrdup(args->name);
    w->args.selector = args->selector == NULL ? NULL : xstrdup(args->selector);
    w->there = map_new(NULL);
    w->args.clock = args->clock == NULL ? clock_real() : args->clock;
    w->args.rng = args->rng == NULL ? rng_real() : args->rng;
    w->cancel = cancel_new(args->cancel);
    w->arena = arena_new();
    w->job = (struct http_job){.step = step, .on_body = on_body, .arg = w};
    object_rules_init(&w->rules);
    w->rules.many = is_collection(w);
    const struct cutter_args cut = {
        .mode = CUTTER_STREAM,
        .members = args->members,
        .prefix = "object",
        .more_members = event_members,
        .on_item = on_event,
        .arg = w,
    };
    w->cutter = json_splitter_new(&cut);
    struct http_config cfg = kube_http_config(args->config, w->args.user_agent);
    cfg.clock = w->args.clock;
    cfg.cancel = w->cancel;
    cfg.observe = observe;
    cfg.observe_arg = w;
    w->http = http_new(&cfg);
    atomic_init(&w->stop, false);
    if (thread_start(&w->thread, thread_main, w, "a watch", err) != ERR_OK) {
        free_all(w);
        (void)err_prefix(err, "%s", args->name == NULL ? args->collection : args->name);
        return ERR_TRANSIENT;
    }
    *ret = w;
    return ERR_OK;
}

void object_watch_stop(struct object_watch *w)
{
    if (w == NULL) {
        return;
    }
    atomic_store(&w->stop, true);
    cancel_fire(w->cancel);
    http_wakeup(w->http);
    (void)pthread_join(w->thread, NULL);
    free_all(w);
}
