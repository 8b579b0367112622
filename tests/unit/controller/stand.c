/* SPDX-License-Identifier: Apache-2.0 */
/* stand.c: see stand.h. */
#include "tests/unit/controller/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/service_rules.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_req.h"
#include "tests/support/kube_ignore_sent.h"

#define START_MS 1000000

/* ---- the API server -------------------------------------------------------------------------- */

static int refusal_for(struct stand *r, struct stand_refusal *ret, const char *method,
                       const char *path)
{
    for (size_t i = 0; i < r->n_refusals; i++) {
        if (strcmp(r->refusals[i].method, method) == 0 &&
            strstr(path, r->refusals[i].path) != NULL) {
            *ret = r->refusals[i];
            r->n_refusals--;
            memmove(&r->refusals[i], &r->refusals[i + 1],
                    (r->n_refusals - i) * sizeof(r->refusals[0]));
            return ret->status;
        }
    }
    return 0;
}

/* Most tests are about what a body says, whatever was read before. */
static void take_version_out(struct stand_request *q)
{
    static const char name[] = ",\"resourceVersion\":\"";
    char *at = strstr(q->body, name);
    char *end = at == NULL ? NULL : strchr(at + strlen(name), '"');

    if (end != NULL) {
        snprintf(q->version, sizeof(q->version), "%.*s", (int)(end - at - (long)strlen(name)),
                 at + strlen(name));
        memmove(at, end + 1, strlen(end + 1) + 1);
    }
}

static void handle(void *arg, struct http_req *req)
{
    struct stand *r = arg;
    struct stand_refusal refusal;
    char text[512];
    size_t n = 0;
    const char *body = http_req_body(req, &n);

    mutex_lock(&r->lock);
    if (r->n_requests < STAND_REQUESTS_MAX) {
        struct stand_request *q = &r->requests[r->n_requests++];
        snprintf(q->method, sizeof(q->method), "%s", http_req_method(req));
        snprintf(q->path, sizeof(q->path), "%s", http_req_path(req));
        snprintf(q->content_type, sizeof(q->content_type), "%s",
                 str_nonnull(http_req_header(req, "Content-Type")));
        snprintf(q->body, sizeof(q->body), "%s", str_nonnull(body));
        if (strcmp(q->method, "PATCH") == 0) {
            take_version_out(q);
        }
    }
    int status = refusal_for(r, &refusal, http_req_method(req), http_req_path(req));
    if (r->forbidden != NULL && strstr(str_nonnull(body), r->forbidden) != NULL) {
        refusal = (struct stand_refusal){.reason = "Forbidden", .message = "a policy says no"};
        status = 403;
    }
    mutex_unlock(&r->lock);
    http_req_add_header(req, "Content-Type", "application/json");
    if (status != 0) {
        snprintf(
            text, sizeof(text),
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"%s\","
            "\"message\":\"%s\",\"code\":%d}",
            refusal.reason, refusal.message, status);
        http_req_answer(req, status, text, strlen(text));
        return;
    }
    bool asked = r->get != NULL && strcmp(http_req_method(req), "GET") == 0;
    bool patched = r->patched != NULL && strcmp(http_req_method(req), "PATCH") == 0;
    const char *answer = asked     ? r->get(http_req_target(req))
                         : patched ? r->patched(http_req_target(req))
                                   : "{}";
    http_req_answer(req, strcmp(http_req_method(req), "POST") == 0 ? 201 : 200, answer,
                    strlen(answer));
}

/* ---- life ------------------------------------------------------------------------------------ */

static void again(void *arg, const char *ns, const char *name, int64_t after_ms)
{
    syncer_again(&((const struct stand *)arg)->syncer, ns, name, after_ms);
}

static void make_host(struct stand *r)
{
    r->host = host_new(&(struct host_args){
        .desc = &r->provider->desc,
        .clock = r->clock,
        .rng = rng_real(),
        .cancel = r->cancel,
        .fence = &r->fence,
        .metrics = r->metrics,
        .client = r->client,
        .events = r->events,
        .services = r->syncer.services,
        .nodes = r->syncer.nodes,
        .slices = r->syncer.slices,
        .cluster_name = "kubernetes",
        .cleanup_finalizer = LB_CLEANUP_FINALIZER,
        .hooks = {.on_work = syncer_on_work,
                  .former_body = syncer_former_body,
                  .on_serves = syncer_on_serves,
                  .on_left = syncer_on_left,
                  .on_planned = syncer_on_planned,
                  .on_again = again,
                  .arg = r},
    });
    fake_provider_attach(r->provider, host_table(r->host));
    r->syncer.host = r->host;
}

void stand_describe(struct stand *r)
{
    host_free(r->host);
    make_host(r);
    r->syncer.scope = sync_scope_of(&r->provider->desc);
}

static void make_client(struct stand *r)
{
    r->server = test_server_start(&(struct test_server_config){.handle = handle, .arg = r});
    r->kube = (struct kube_config){.a = r->a,
                                   .server = test_server_url(r->server, ""),
                                   .context = "",
                                   .source = "test",
                                   .ns = "default",
                                   .user = ""};
    r->client = kube_client_new(&(struct kube_client_args){.observe = kube_ignore_sent,
                                                           .config = &r->kube,
                                                           .user_agent = "test",
                                                           .qps = -1,
                                                           .clock = r->clock,
                                                           .may_mutate = fence_may_mutate_arg,
                                                           .may_mutate_arg = &r->fence});
    r->events = kube_events_new(r->client, r->clock, rng_real());
}

static void list_is_complete(struct kube_store *s)
{
    kube_store_replace_begin(s);
    kube_store_replace_end(s, true);
}

struct stand *stand_new(uint32_t capabilities)
{
    struct stand *r = xcalloc(1, sizeof(*r));

    r->a = arena_new();
    r->clock = clock_fake_new(START_MS, 1780000000000000);
    r->provider = fake_provider_new(capabilities);
    r->cancel = cancel_new(NULL);
    r->metrics = metrics_new();
    mutex_init(&r->lock);
    make_client(r);
    r->syncer = (struct syncer){
        .desc = &r->provider->desc,
        .scope = sync_scope_of(&r->provider->desc),
        .provider = r->provider,
        .clock = r->clock,
        .rng = rng_real(),
        .cancel = r->cancel,
        .queue = queue_new(
            &(struct queue_limits){.nodes_together = (capabilities & TT_CAP_NODES_TOGETHER) != 0},
            r->clock),
        .cache = service_cache_new(),
        .node_sets = node_sets_new(),
        .services = kube_store_new(KUBE_SERVICE),
        .nodes = kube_store_new(KUBE_NODE),
        .slices = (capabilities & TT_CAP_WANTS_ENDPOINTS) != 0 ? kube_store_new(KUBE_SLICE) : NULL,
        .client = r->client,
        .events = r->events,
        .metrics = r->metrics,
    };
    if ((capabilities & TT_CAP_FEW_SERVICES) != 0) {
        kube_store_keep_small(r->syncer.services);
    }
    make_host(r);
    r->watch.syncer = &r->syncer;
    r->watch.fanout = node_fanout_new(&r->syncer);
    watch_attach(&r->watch);
    list_is_complete(r->syncer.services);
    list_is_complete(r->syncer.nodes);
    if (r->syncer.slices != NULL) {
        list_is_complete(r->syncer.slices);
    }
    atomic_store(&r->watch.started, true);
    return r;
}

static void end_events(struct stand *r)
{
    if (r->events != NULL) {
        kube_events_free(STEAL(r->events), 5000);
        r->syncer.events = NULL;
    }
}

void stand_free(struct stand *r)
{
    end_events(r);
    node_fanout_free(r->watch.fanout);
    host_free(r->host);
    queue_shutdown(r->syncer.queue, false);
    queue_free(r->syncer.queue);
    service_cache_free(r->syncer.cache);
    node_sets_free(r->syncer.node_sets);
    kube_store_free(r->syncer.services);
    kube_store_free(r->syncer.nodes);
    kube_store_free(r->syncer.slices);
    kube_client_free(r->client);
    test_server_stop(r->server);
    metrics_free(r->metrics);
    cancel_free(r->cancel);
    fake_provider_free(r->provider);
    clock_fake_free(r->clock);
    mutex_done(&r->lock);
    arena_free(r->a);
    free(r);
}

/* ---- objects --------------------------------------------------------------------------------- */

static struct kube_store *store_of(struct stand *r, enum kube_kind kind)
{
    return kind == KUBE_SERVICE ? r->syncer.services
           : kind == KUBE_NODE  ? r->syncer.nodes
                                : r->syncer.slices;
}

/* As the reflector does, also of what cannot be read. */
static struct kube_object *decode(struct stand *r, enum kube_kind kind, const char *json)
{
    const struct json_view *view = NULL;
    struct kube_object *obj = NULL;
    struct err err = ERR_INIT;

    if (json_view_parse(r->a, json, strlen(json), NULL, &view, &err) == ERR_OK) {
        const char *key = kube_item_key(kind, r->a, view);
        struct kube_object *known = kube_store_get(store_of(r, kind), key);
        const struct kube_salvage how = {.known = known};
        obj = kube_object_take(kind, r->a, view, &how, &err);
        kube_object_unref(known);
    }
    if (obj == NULL) {
        fprintf(stderr, "test object: %s\n%s\n", err.message, json);
        abort();
    }
    return obj;
}

static const char *more(struct stand *r, const char *members)
{
    return members == NULL ? "" : arena_printf(r->a, ",%s", members);
}

void stand_service(struct stand *r, const char *name, const char *spec, const char *meta,
                   const char *status)
{
    const char *uid = meta != NULL && strstr(meta, "\"uid\"") != NULL
                          ? ""
                          : arena_printf(r->a, ",\"uid\":\"uid-%s\"", name);
    const char *json = arena_printf(
        r->a,
        "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"%s\",\"resourceVersion\":\"%ld\"%s%s},"
        "\"spec\":{%s},\"status\":{%s}}",
        name, ++r->version, uid, more(r, meta), str_nonnull(spec), str_nonnull(status));

    kube_store_put(r->syncer.services, decode(r, KUBE_SERVICE, json));
}

void stand_service_gone(struct stand *r, const char *name)
{
    const char *key = arena_printf(r->a, "demo/%s", name);
    struct kube_object *last = kube_store_get(r->syncer.services, key);

    kube_store_delete(r->syncer.services, last);
}

static void put_node(struct stand *r, const char *name, const char *spec, const char *meta,
                     const char *status)
{
    const char *id = spec != NULL && strstr(spec, "\"providerID\"") != NULL
                         ? spec
                         : arena_printf(r->a, "\"providerID\":\"cloud/%s\"%s", name, more(r, spec));
    const char *json = arena_printf(
        r->a,
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"uid-%s\",\"resourceVersion\":\"%ld\"%s},"
        "\"spec\":{%s},\"status\":{%s}}",
        name, name, ++r->version, more(r, meta), id, status);

    kube_store_put(r->syncer.nodes, decode(r, KUBE_NODE, json));
}

void stand_node(struct stand *r, const char *name, const char *spec, const char *meta)
{
    put_node(r, name, spec, meta, "");
}

void stand_node_ready(struct stand *r, const char *name, const char *ready)
{
    put_node(r, name, NULL, NULL,
             arena_printf(r->a, "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]", ready));
}

void stand_node_gone(struct stand *r, const char *name)
{
    kube_store_delete(r->syncer.nodes, kube_store_get(r->syncer.nodes, name));
}

void stand_slice(struct stand *r, const char *name, const char *service, const char *endpoints)
{
    const char *json = arena_printf(
        r->a,
        "{\"metadata\":{\"namespace\":\"demo\",\"name\":\"%s\",\"uid\":\"uid-%s\","
        "\"resourceVersion\":"
        "\"%ld\",\"labels\":{\"kubernetes.io/service-name\":\"%s\"}},\"addressType\":\"IPv4\","
        "\"endpoints\":[%s],\"ports\":[{\"name\":\"\",\"port\":8080,\"protocol\":\"TCP\"}]}",
        name, name, ++r->version, service, endpoints);

    kube_store_put(r->syncer.slices, decode(r, KUBE_SLICE, json));
}

/* ---- running --------------------------------------------------------------------------------- */

void stand_add(struct stand *r, const char *name, uint32_t reasons)
{
    queue_add(r->syncer.queue, arena_printf(r->a, "demo/%s", name), NULL, reasons);
}

int stand_run(struct stand *r)
{
    struct queue_batch b = {0};
    int n = 0;

    while (!queue_is_idle(r->syncer.queue) && queue_get(r->syncer.queue, &b, NULL)) {
        syncer_process(&r->syncer, &b);
        queue_done(r->syncer.queue, &b);
        queue_batch_clear(&b);
        n++;
    }
    return n;
}

int stand_advance(struct stand *r, int64_t ms)
{
    clock_fake_advance(r->clock, ms);
    return stand_run(r);
}

int stand_nodes_changed(struct stand *r)
{
    node_fanout_pass(&r->syncer);
    return stand_run(r);
}

/* ---- reading --------------------------------------------------------------------------------- */

void stand_refuse(struct stand *r, const char *method, const char *path, int status,
                  const char *reason, const char *message)
{
    mutex_lock(&r->lock);
    struct stand_refusal *f = &r->refusals[r->n_refusals++];
    *f = (struct stand_refusal){.status = status};
    snprintf(f->method, sizeof(f->method), "%s", method);
    snprintf(f->path, sizeof(f->path), "%s", path);
    snprintf(f->reason, sizeof(f->reason), "%s", reason);
    snprintf(f->message, sizeof(f->message), "%s", message);
    mutex_unlock(&r->lock);
}

static bool is_service_patch(const struct stand_request *q)
{
    return strcmp(q->method, "PATCH") == 0 && strstr(q->path, "/services/") != NULL;
}

size_t stand_requests(struct stand *r, const char *method)
{
    size_t n = 0;

    mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_requests; i++) {
        n += method == NULL || strcmp(r->requests[i].method, method) == 0;
    }
    mutex_unlock(&r->lock);
    return n;
}

size_t stand_patches(struct stand *r)
{
    size_t n = 0;

    mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_requests; i++) {
        n += is_service_patch(&r->requests[i]);
    }
    mutex_unlock(&r->lock);
    return n;
}

const struct stand_request *stand_patch_request(struct stand *r, size_t nth)
{
    const struct stand_request *found = NULL;

    mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_requests && found == NULL; i++) {
        if (is_service_patch(&r->requests[i]) && nth-- == 0) {
            found = &r->requests[i];
        }
    }
    mutex_unlock(&r->lock);
    return found;
}

const char *stand_patch(struct stand *r, size_t nth)
{
    const struct stand_request *q = stand_patch_request(r, nth);

    return q == NULL ? "" : q->body;
}

const char *stand_events(struct stand *r)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    end_events(r);
    mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_requests; i++) {
        const struct stand_request *q = &r->requests[i];
        struct json_object *tree = NULL;
        if (strstr(q->path, "/events") == NULL) {
            continue;
        }
        if (strcmp(q->method, "POST") != 0) {
            str_append(&b, "(again)\n");
        } else if (json_parse_arena(r->a, q->body, strlen(q->body), NULL, &tree, NULL) == ERR_OK) {
            str_appendf(&b, "%s %s %s\n", str_nonnull(json_str(tree, "type")),
                        str_nonnull(json_str(tree, "reason")),
                        str_nonnull(json_str(tree, "message")));
        }
    }
    mutex_unlock(&r->lock);
    return str_buf_to_arena(&b, r->a);
}

const char *stand_story(struct stand *r)
{
    _cleanup_(xfreep) char *story = fake_provider_story(r->provider);

    return arena_strdup(r->a, story);
}

void stand_wait_idle(struct queue *q)
{
    int64_t until_ms = clock_now_ms(clock_real()) + STAND_PATIENCE_MS;
    struct mutex m;
    struct cond never;
    mutex_init(&m);
    cond_init(&never);
    while (!queue_is_idle(q)) {
        if (clock_now_ms(clock_real()) >= until_ms) {
            abort(); /* something hangs: the test must not go on */
        }
        mutex_lock(&m);
        clock_wait(clock_real(), &never, &m, clock_now_ms(clock_real()) + 1);
        mutex_unlock(&m);
    }
    cond_done(&never);
    mutex_done(&m);
}

/* ---- the mark -------------------------------------------------------------------------------- */

static void note_flags(void *arg, struct fake_provider *p, const struct tt_call *call,
                       const struct tt_item *item)
{
    (void)p;
    (void)call;
    if (item->verb == TT_VERB_ENSURE) {
        *(uint32_t *)arg = item->flags;
    }
}

struct stand *stand_noting(const char *ip, uint32_t capabilities, uint32_t operations,
                           uint32_t *flags)
{
    struct stand *r = stand_new(capabilities);
    r->provider->ip = ip;
    r->provider->plan_operations = operations;
    r->provider->during = note_flags;
    r->provider->during_arg = flags;
    stand_node(r, "node-0", NULL, NULL);
    return r;
}

void stand_sync(struct stand *r, const char *spec, const char *meta, const char *status)
{
    stand_service(r, "web", spec, meta, status);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);
}
