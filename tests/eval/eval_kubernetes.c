/* SPDX-License-Identifier: Apache-2.0 */
/* eval_kubernetes.c: the functions kubernetes.* of trimtab-eval.
 *
 * Each takes apart its input, calls the controller's own function, and puts the answer together;
 * nothing is computed here. */
#include "tests/eval/eval.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/lb/node_rules.h"
#include "common/lb/service_rules.h"
#include "common/lb/status_rules.h"
#include "controller/kube/lease/lease_rules.h"
#include "controller/options/options.h"
#include "controller/queue/queue_rules.h"
#include "controller/sync/sync_rules.h"

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

RUN(wants_load_balancer)
{
    const struct tt_service *svc;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(svc_wants_lb(svc));
    }
    return code;
}

RUN(needs_cleanup)
{
    const struct tt_service *svc;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(svc_needs_cleanup(svc));
    }
    return code;
}

RUN(needs_update)
{
    const struct tt_service *old_svc, *cur;
    int code = eval_service(a, json_member(in, "old"), &old_svc, err);
    if (code == ERR_OK) {
        code = eval_service(a, json_member(in, "new"), &cur, err);
    }
    if (code == ERR_OK) {
        const struct sync_scope scope = {0}; /* of a provider without classes or annotations */
        uint32_t reasons = scope_reasons(&scope, old_svc, cur, true, NULL);
        *ret = json_object_new_boolean((reasons & TT_REASON_SPEC) != 0);
    }
    return code;
}

RUN(node_predicate)
{
    const struct tt_node *node;
    int code = eval_node(a, json_member(in, "node"), &node, err);
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_object();
    json_add_bool(*ret, "not_deleted", (node->flags & TT_NODE_DELETING) == 0);
    json_add_bool(*ret, "included", (node->flags & TT_NODE_EXCLUDED) == 0);
    json_add_bool(*ret, "untainted", (node->flags & TT_NODE_TAINTED) == 0);
    json_add_bool(*ret, "ready", (node->flags & TT_NODE_READY) != 0);
    json_add_bool(*ret, "stable", (node->flags & TT_NODE_ELIGIBLE) != 0);
    return ERR_OK;
}

RUN(should_sync_updated_node)
{
    const struct tt_node *old_node, *cur;
    int code = eval_node(a, json_member(in, "old"), &old_node, err);
    if (code == ERR_OK) {
        code = eval_node(a, json_member(in, "new"), &cur, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(node_should_sync(old_node, cur));
    }
    return code;
}

/* Nodes of a load balancer: upstream compares only these. */
static const struct tt_node *const *eligible(struct arena *a, const struct tt_node *const *nodes,
                                             size_t n)
{
    const struct tt_node **out = ARENA_ARRAY(a, const struct tt_node *, n);
    for (size_t i = 0; i < n; i++) {
        struct tt_node *node = arena_memdup(a, nodes[i], sizeof(*node));
        node->flags |= TT_NODE_ELIGIBLE;
        out[i] = node;
    }
    return out;
}

RUN(nodes_equal)
{
    const struct tt_node *const *old_nodes, *const *new_nodes;
    size_t n_old = 0, n_new = 0;
    int code = eval_nodes(a, json_member(in, "old"), &old_nodes, &n_old, err);
    if (code == ERR_OK) {
        code = eval_nodes(a, json_member(in, "new"), &new_nodes, &n_new, err);
    }
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(nodes_fingerprint(eligible(a, old_nodes, n_old), n_old) ==
                                       nodes_fingerprint(eligible(a, new_nodes, n_new), n_new));
    }
    return code;
}

RUN(loggable_node_names)
{
    size_t n, n_out;
    const char **names = eval_strs(a, in, "names", &n);
    const char **out = nodes_loggable(a, names, n, &n_out);
    *ret = json_strs(out, n_out);
    return ERR_OK;
}

RUN(source_ranges)
{
    const struct tt_service *svc;
    struct str_set ranges;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code == ERR_OK) {
        code = svc_source_ranges(a, svc, &ranges, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    *ret = json_object_new_object();
    json_add(*ret, "ranges", json_strs(ranges.items, ranges.n));
    json_add_bool(*ret, "allow_all", svc_ranges_allow_all(&ranges));
    return ERR_OK;
}

RUN(default_lb_name)
{
    const char *uid = json_str(in, "uid");
    *ret = json_object_new_string(svc_default_lb_name(a, str_nonnull(uid)));
    return ERR_OK;
}

RUN(traffic)
{
    const struct tt_service *svc;
    int code = eval_service(a, json_member(in, "service"), &svc, err);
    if (code != ERR_OK) {
        return code;
    }
    int32_t port = 0;
    const char *path = svc_health_check(svc, &port);
    *ret = json_object_new_object();
    json_add_bool(*ret, "only_local", svc_only_local_traffic(svc));
    json_add_bool(*ret, "needs_health_check", svc_needs_health_check(svc));
    if (path != NULL) {
        json_add_str(*ret, "path", path);
        json_add_int(*ret, "port", port);
    }
    return ERR_OK;
}

/* A status.loadBalancer object, by way of a Service that has it. */
static int load_status(struct arena *a, struct json_object *lb, const struct tt_service **ret,
                       struct err *err)
{
    _cleanup_(json_putp) struct json_object *svc = json_object_new_object();
    struct json_object *status = json_object_new_object();
    json_add(svc, "status", status);
    json_add(status, "loadBalancer", lb == NULL ? json_object_new_object() : json_object_get(lb));
    return eval_service(a, svc, ret, err);
}

static int load_statuses(struct arena *a, struct json_object *in, const struct tt_service **ret_old,
                         const struct tt_service **ret_new, struct err *err)
{
    int code = load_status(a, json_member(in, "old"), ret_old, err);
    return code == ERR_OK ? load_status(a, json_member(in, "new"), ret_new, err) : code;
}

RUN(run_status_equal)
{
    const struct tt_service *o, *n;
    int code = load_statuses(a, in, &o, &n, err);
    if (code == ERR_OK) {
        *ret = json_object_new_boolean(
            status_equal(o->ingress, o->n_ingress, n->ingress, n->n_ingress));
    }
    return code;
}

/* The answer of a function that returns a patch as text, or NULL. */
static int patch_answer(const char *text, struct json_object **ret, struct err *err)
{
    return text == NULL ? ERR_OK : json_parse(text, strlen(text), NULL, ret, err);
}

RUN(patch_add_finalizer)
{
    size_t n;
    const char **present = eval_strs(a, in, "finalizers", &n);
    const char *add = json_str(in, "add");
    if (add == NULL) {
        return err_set(err, ERR_INVALID, "add: want a finalizer");
    }
    return patch_answer(finalizer_patch_add(a, present, n, &add, 1), ret, err);
}

RUN(patch_status)
{
    const struct tt_service *o, *n;
    int code = load_statuses(a, in, &o, &n, err);
    if (code != ERR_OK) {
        return code;
    }
    return patch_answer(status_patch(a, o->ingress, o->n_ingress, n->ingress, n->n_ingress), ret,
                        err);
}

/* A map of strings, by way of a Service that has it as annotations. */
static int load_map(struct arena *a, struct json_object *map, const struct tt_service **ret,
                    struct err *err)
{
    _cleanup_(json_putp) struct json_object *svc = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    json_add(svc, "metadata", meta);
    if (map != NULL) {
        json_add(meta, "annotations", json_object_get(map));
    }
    return eval_service(a, svc, ret, err);
}

static const char *value_of(const struct tt_service *s, const char *key)
{
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        if (str_eq(s->annotations[i].key, key)) {
            return s->annotations[i].value;
        }
    }
    return NULL;
}

/* A provider wishes for every key of the new map, and that those of the old map which are missing
 * there go. */
static const char *patch_between(struct arena *a, const struct tt_service *o,
                                 const struct tt_service *n)
{
    struct tt_kv *wish = ARENA_ARRAY(a, struct tt_kv, o->n_annotations + n->n_annotations);
    const char **now = ARENA_ARRAY(a, const char *, o->n_annotations + n->n_annotations);
    size_t n_wish = 0;
    for (uint32_t i = 0; i < o->n_annotations; i++) {
        if (value_of(n, o->annotations[i].key) == NULL) {
            wish[n_wish++] = (struct tt_kv){.key = o->annotations[i].key};
        }
    }
    for (uint32_t i = 0; i < n->n_annotations; i++) {
        wish[n_wish++] = n->annotations[i];
    }
    for (size_t i = 0; i < n_wish; i++) {
        now[i] = value_of(o, wish[i].key);
    }
    return str_or(annotations_patch(a, wish, now, n_wish, false), "{}");
}

RUN(patch_annotations)
{
    const struct tt_service *o, *n;
    int code = load_map(a, json_member(in, "old"), &o, err);
    if (code == ERR_OK) {
        code = load_map(a, json_member(in, "new"), &n, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    return patch_answer(patch_between(a, o, n), ret, err);
}

RUN(split_key)
{
    const char *ns, *name;
    int code = svc_split_key(a, str_nonnull(json_str(in, "key")), &ns, &name, err);
    if (code == ERR_OK) {
        *ret = json_object_new_object();
        json_add_str(*ret, "namespace", ns);
        json_add_str(*ret, "name", name);
    }
    return code;
}

RUN(retry_delay)
{
    *ret = json_object_new_int64(queue_retry_delay_ms(
        json_int(in, "base_ms", 0), json_int(in, "max_ms", 0), json_int(in, "failures", 0)));
    return ERR_OK;
}

RUN(duration)
{
    int64_t ns;
    int code = duration_parse(str_nonnull(json_str(in, "text")), &ns, err);
    if (code == ERR_OK) {
        *ret = json_object_new_int64(ns);
    }
    return code;
}

/* --- lease_attempt ---------------------------------------------------------------------------- */

/* The server of one attempt: what it has, and which calls fail. */
struct lease_server {
    struct json_object *in;
    struct lease_record stored;
    size_t updates; /* so far */
};

static void read_record(struct json_object *o, struct lease_record *ret)
{
    *ret = (struct lease_record){
        .duration_s = (int32_t)json_int(o, "duration", 0),
        .transitions = (int32_t)json_int(o, "transitions", 0),
        .acquired_us = json_int(o, "acquired", 0) * 1000000,
        .renewed_us = json_int(o, "renewed", 0) * 1000000,
    };
    (void)snprintf(ret->holder, sizeof ret->holder, "%s", str_nonnull(json_str(o, "holder")));
}

static struct json_object *print_record(const struct lease_record *r)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "holder", r->holder);
    json_add_int(o, "duration", r->duration_s);
    json_add_int(o, "acquired", r->acquired_us / 1000000);
    json_add_int(o, "renewed", r->renewed_us / 1000000);
    json_add_int(o, "transitions", r->transitions);
    return o;
}

static void read_view(struct json_object *in, const struct lease_server *server,
                      struct lease_view *ret)
{
    struct json_object *observed = json_member(in, "observed");
    *ret = (struct lease_view){.has_observed = observed != NULL,
                               .has_read = json_bool(in, "stored_seen", false),
                               .read = server->stored};
    read_record(json_member(observed, "record"), &ret->observed);
    ret->observed_ms = json_int(observed, "at", 0) * 1000;
}

/* Does the call that comes next fail? */
static bool call_fails(struct lease_server *s, enum lease_step step)
{
    if (step != LEASE_UPDATE) {
        return json_bool(s->in, step == LEASE_GET ? "get_fails" : "create_fails", false);
    }
    struct json_object *fails = json_member(s->in, "update_fails");
    size_t i = s->updates++;
    return i < json_len(fails) && json_object_get_boolean(json_object_array_get_idx(fails, i));
}

/* Answers the calls of an attempt until it ends. */
static void serve(struct lease_server *s, struct lease_try *t, int64_t now_ms,
                  struct json_object *calls)
{
    static const char *const names[] = {"get", "create", "update"};
    while (t->next != LEASE_END) {
        enum lease_step step = t->next;
        json_push_str(calls, names[step]);
        if (call_fails(s, step)) {
            lease_try_failed(t);
        } else if (step == LEASE_GET) {
            lease_try_read(t, json_member(s->in, "stored") == NULL ? NULL : &s->stored, now_ms);
        } else {
            lease_try_written(t, now_ms);
        }
    }
}

RUN(lease_attempt)
{
    const struct lease_terms terms = {.identity = str_nonnull(json_str(in, "identity")),
                                      .duration_ms = json_int(in, "lease_duration", 0) * 1000};
    struct lease_server server = {.in = in};
    struct lease_view view;
    struct lease_try t;
    int64_t now_s = json_int(in, "now", 0);
    (void)a;
    (void)err;
    read_record(json_member(in, "stored"), &server.stored);
    read_view(in, &server, &view);
    struct json_object *calls = json_object_new_array();
    lease_try_begin(&t, &terms, &view, now_s * 1000, now_s * 1000000);
    serve(&server, &t, now_s * 1000, calls);
    *ret = json_object_new_object();
    json_add_bool(*ret, "leads", t.leads);
    json_add(*ret, "calls", calls);
    if (t.leads) {
        json_add(*ret, "written", print_record(&t.wanted));
    }
    if (view.has_observed) {
        struct json_object *observed = json_object_new_object();
        json_add(observed, "record", print_record(&view.observed));
        json_add_int(observed, "at", view.observed_ms / 1000);
        json_add(*ret, "observed", observed);
    }
    return ERR_OK;
}

static const char *const *texts_of(struct arena *a, struct json_object *array, size_t *ret_n)
{
    size_t n = json_len(array);
    const char **texts = ARENA_ARRAY(a, const char *, n);

    for (size_t i = 0; i < n; i++) {
        texts[i] = str_nonnull(json_object_get_string(json_object_array_get_idx(array, i)));
    }
    *ret_n = n;
    return texts;
}

static int controller_enabled(struct arena *a, struct json_object *in, struct json_object **ret,
                              struct err *err)
{
    size_t n = 0;
    size_t n_off = 0;
    const char *const *controllers = texts_of(a, json_member(in, "controllers"), &n);
    const char *const *off = texts_of(a, json_member(in, "disabled_by_default"), &n_off);
    (void)err;

    *ret = json_object_new_boolean(
        options_controller_enabled(str_nonnull(json_str(in, "name")), controllers, n, off, n_off));
    return ERR_OK;
}

const struct eval_fn eval_kubernetes[] = {
    {"kubernetes.wants_load_balancer", wants_load_balancer},
    {"kubernetes.needs_cleanup", needs_cleanup},
    {"kubernetes.needs_update", needs_update},
    {"kubernetes.node_predicate", node_predicate},
    {"kubernetes.should_sync_updated_node", should_sync_updated_node},
    {"kubernetes.nodes_sufficiently_equal", nodes_equal},
    {"kubernetes.loggable_node_names", loggable_node_names},
    {"kubernetes.source_ranges", source_ranges},
    {"kubernetes.default_lb_name", default_lb_name},
    {"kubernetes.traffic", traffic},
    {"kubernetes.status_equal", run_status_equal},
    {"kubernetes.patch_add_finalizer", patch_add_finalizer},
    {"kubernetes.patch_status", patch_status},
    {"kubernetes.patch_annotations", patch_annotations},
    {"kubernetes.split_key", split_key},
    {"kubernetes.retry_delay", retry_delay},
    {"kubernetes.lease_attempt", lease_attempt},
    {"kubernetes.controller_enabled", controller_enabled},
    {"kubernetes.duration", duration},
    {NULL, NULL},
};
