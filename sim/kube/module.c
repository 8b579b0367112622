/* SPDX-License-Identifier: Apache-2.0 */
/* module.c: the Kubernetes API as a module of the simulator: life, the way of a call, what follows
 * a change.
 *
 * See kube.h for the parts.  A call may come here later than it was named (faults delay it), so
 * everything is worked out again from its path. */
#include "sim/kube/auth.h"
#include "sim/kube/cluster.h"
#include "sim/kube/deploy/rollout.h"
#include "sim/kube/gc.h"
#include "sim/kube/kube.h"
#include "sim/kube/pods/counts.h"
#include "sim/kube/pods/pods.h"
#include "sim/kube/route.h"
#include "sim/kube/rules/rules.h"
#include "sim/kube/service/alloc.h"
#include "sim/kube/watch.h"

#define BODY_MAX_BYTES (3 * 1024 * 1024)

static void kube_done(void *state);
static void on_store_event(void *arg, int store, const struct kube_event *ev);

static int kube_init(struct sim *sim, void **ret_state, struct err *err)
{
    struct kube_state *st = xcalloc(1, sizeof(*st));
    st->sim = sim;
    st->store = kube_db_new(kube_n_stores);
    st->alloc = kube_alloc_new(sim_rng(sim));
    st->watches = kube_watches_new(st);
    st->counts = kube_counts_new(st);
    st->pods = kube_pods_new(st);
    st->rollouts = kube_rollouts_new(st);
    st->gc = kube_gc_new(st);
    kube_db_on_event(st->store, on_store_event, st);
    int code = sim_cfg(sim)->rbac ? kube_auth_load(sim_cfg(sim)->rbac, &st->auth, err) : ERR_OK;
    if (code) {
        kube_done(st);
        return code;
    }
    kube_cluster_bootstrap(st, NULL);
    *ret_state = st;
    return ERR_OK;
}

static void kube_done(void *state)
{
    struct kube_state *st = state;
    kube_watches_free(st->watches);
    kube_counts_free(st->counts);
    kube_pods_free(st->pods);
    kube_rollouts_free(st->rollouts);
    kube_gc_free(st->gc);
    kube_alloc_free(st->alloc);
    kube_auth_free(st->auth);
    kube_db_free(st->store);
    json_object_put(st->unknown);
    json_object_put(st->images);
    free(st);
}

/* --- what follows a change -------------------------------------------------------------------- */
static void follow_service(struct kube_state *st, const struct kube_event *ev)
{
    struct json_object *was = ev->prev ? kube_obj_tree(ev->prev) : NULL;
    struct json_object *now = ev->type != KUBE_DELETED ? kube_obj_tree(ev->now) : NULL;
    kube_alloc_follow(st->alloc, was, now);
    json_object_put(was);
    json_object_put(now);
}

static void on_store_event(void *arg, int store, const struct kube_event *ev)
{
    struct kube_state *st = arg;
    const struct kube_kind *kind = kube_kind_of_store(store);
    if (ev && kind->rules == &kube_rules_service) {
        follow_service(st, ev);
    }
    kube_watches_event(st->watches, store, ev);
    if (ev) {
        kube_counts_follow(st->counts, kind, ev);
        kube_pods_follow(st->pods, kind, ev);
        kube_rollouts_follow(st->rollouts, kind, ev);
        kube_gc_follow(st->gc, ev);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */
static bool subresource_is_served(const struct kube_request *r)
{
    const char *sub = r->subresource;
    return *sub == '\0' || (str_eq(sub, "status") && r->kind->has_status) ||
           (str_eq(sub, "finalize") && str_eq(r->kind->plural, "namespaces")) ||
           (str_eq(sub, "scale") && str_eq(r->kind->plural, "deployments")) ||
           (str_eq(sub, "token") && str_eq(r->kind->plural, "serviceaccounts"));
}

static void dispatch(struct kube_request *r)
{
    switch (r->verb) {
    case KUBE_GET:
        kube_handle_get(r);
        break;
    case KUBE_LIST:
        kube_handle_list(r);
        break;
    case KUBE_WATCH:
        kube_handle_watch(r);
        break;
    case KUBE_CREATE:
        kube_handle_create(r);
        break;
    case KUBE_UPDATE:
        kube_handle_update(r);
        break;
    case KUBE_PATCH:
        kube_handle_patch(r);
        break;
    case KUBE_DELETE:
        kube_handle_delete(r);
        break;
    case KUBE_DELETE_COLLECTION:
        kube_handle_delete_collection(r);
        break;
    default:
        kube_answer_status(r, kube_status_method_not_allowed());
    }
}

/* Methods that a path does not take although its resource is served. */
static bool is_method_refused(const struct kube_request *r)
{
    bool reads = r->verb == KUBE_LIST || r->verb == KUBE_WATCH;
    bool across = r->kind->namespaced && !*r->namespace;
    bool on_part =
        *r->subresource && r->verb != KUBE_GET && r->verb != KUBE_UPDATE && r->verb != KUBE_PATCH;
    bool all_namespaces =
        r->verb == KUBE_DELETE_COLLECTION && str_eq(r->kind->plural, "namespaces");
    return (across && !reads) || on_part || all_namespaces;
}

static void handle_resource(struct kube_request *r)
{
    r->form = kube_form_of(http_req_header(r->call->req, "Accept"));
    if (r->call->body_len > BODY_MAX_BYTES) {
        kube_answer_status(r, kube_status(413, "RequestEntityTooLarge",
                                          "Request entity too large: limit is 3145728",
                                          json_object_new_object()));
    } else if (r->form == KUBE_FORM_REFUSED) {
        kube_answer_status(
            r,
            kube_status(
                406, "NotAcceptable",
                "406: Not Acceptable\n\nAvailable representations: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf, "
                "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
                json_object_new_object()));
    } else if (!subresource_is_served(r)) {
        kube_answer_status(r, kube_status(404, "NotFound",
                                          "the server could not find the requested resource",
                                          json_object_new_object()));
    } else if (r->kind->is_review || str_eq(r->subresource, "token")) {
        kube_handle_review(r);
    } else if (is_method_refused(r)) {
        kube_answer_status(r, kube_status_method_not_allowed());
    } else if (str_eq(r->subresource, "scale")) {
        kube_handle_scale(r);
    } else {
        dispatch(r);
    }
}

/* Inside a version of an API the server knows what a resource is; elsewhere it is a
 * plain web server. */
static void answer_unknown_path(struct kube_request *r)
{
    size_t n = 0;
    char **parts = str_split(r->arena, r->call->path, '/', &n);
    bool in_core = n >= 3 && str_eq(parts[1], "api");
    bool in_group = n >= 4 && str_eq(parts[1], "apis") && kube_group_is_served(parts[2], NULL);
    if (in_core || in_group) {
        kube_answer_status(r, kube_status(404, "NotFound",
                                          "the server could not find the requested resource",
                                          json_object_new_object()));
    } else {
        kube_answer_plain(r, 404, "404 page not found\n");
    }
}

static void kube_handle(void *state, struct sim_call *call)
{
    struct kube_request *r = ARENA_NEW(call->arena, struct kube_request);
    r->st = state;
    r->call = call;
    r->arena = call->arena;
    kube_route(r);
    struct json_object *refusal = kube_auth_check(r);
    call->user = r->user;
    if (refusal) {
        kube_answer_status(r, refusal);
    } else if (r->kind) {
        handle_resource(r);
    } else if (!kube_handle_other(r)) {
        answer_unknown_path(r);
    }
}

static struct json_object *kube_error_body(void *state, const struct sim_call *call, int status,
                                           const char *reason, const char *message)
{
    static const struct {
        int status;
        const char *reason;
    } known[] = {
        {400, "BadRequest"},    {401, "Unauthorized"},
        {403, "Forbidden"},     {404, "NotFound"},
        {409, "Conflict"},      {410, "Expired"},
        {422, "Invalid"},       {429, "TooManyRequests"},
        {500, "InternalError"}, {503, "ServiceUnavailable"},
        {504, "Timeout"},
    };
    (void)state;
    (void)call;
    const char *word = reason;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        word = known[i].status == status ? known[i].reason : word;
    }
    return kube_status(status, word, message, NULL);
}

const struct sim_module sim_kube_module = {
    .name = "kubernetes",
    .to_kube_log = true,
    .init = kube_init,
    .done = kube_done,
    .claims = kube_claims,
    .name_call = kube_name_call,
    .handle = kube_handle,
    .error_body = kube_error_body,
    .load = kube_world_load,
    .dump = kube_world_dump,
    .watch_fault = kube_watch_fault,
};
