/* SPDX-License-Identifier: Apache-2.0 */
/* rig_sim.c: what a test asks of the simulator: its state, its counts, its faults, and calls over
 * HTTP (rig.h).
 *
 * Whatever touches the simulator runs in its thread; JSON trees are printed there and parsed again
 * here, because they never cross threads. */
#include "tests/support/rig_internal.h"

#include <event2/event.h>
#include <string.h>

#include "common/base/lock.h"
#include "common/net/http.h"
#include "sim/kube/kube.h"

/* ---- running in the simulator's thread ------------------------------------------------------- */

struct visit {
    struct rig *r;
    void (*fn)(struct sim *s, void *arg);
    void *arg;
    struct mutex lock;
    struct cond over;
    bool done;
};

static void run_visit(evutil_socket_t fd, short what, void *arg)
{
    struct visit *v = arg;
    (void)fd;
    (void)what;
    v->fn(v->r->sim, v->arg);
    mutex_lock(&v->lock);
    v->done = true;
    cond_broadcast(&v->over);
    mutex_unlock(&v->lock);
}

void rig_in_sim(struct rig *r, void (*fn)(struct sim *s, void *arg), void *arg)
{
    const struct timeval now = {0};
    struct visit v = {.r = r, .fn = fn, .arg = arg};
    mutex_init(&v.lock);
    cond_init(&v.over);
    event_base_once(r->base, -1, EV_TIMEOUT, run_visit, &v, &now);
    mutex_lock(&v.lock);
    while (!v.done) {
        clock_wait(clock_real(), &v.over, &v.lock, CLOCK_NEVER);
    }
    mutex_unlock(&v.lock);
    cond_done(&v.over);
    mutex_done(&v.lock);
}

/* ---- state ----------------------------------------------------------------------------------- */

static struct json_object *parse(struct rig *r, const struct str_buf *text)
{
    static const struct json_limits limits = {.max_bytes = 1UL << 30, .max_values = 100000000};
    struct json_object *o = NULL;
    if (json_parse_arena(r->a, str_buf_text(text), text->len, &limits, &o, NULL) != ERR_OK) {
        return NULL; /* what the simulator printed always parses */
    }
    return o;
}

static void print_world(struct sim *s, void *arg)
{
    _cleanup_(json_putp) struct json_object *world = sim_dump(s);
    json_print(arg, world, JSON_COMPACT);
}

struct json_object *rig_world(struct rig *r)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    rig_in_sim(r, print_world, &text);
    return parse(r, &text);
}

static void print_services(struct sim *s, void *arg)
{
    _cleanup_(json_putp) struct json_object *list = json_object_new_array();
    const struct kube_state *st = sim_module_state(s, "kubernetes");
    int store = kube_kind_by_plural("services")->store;
    struct kube_obj **objects = NULL;
    size_t n = 0;
    if (kube_db_list(st->store, store, "", 0, &objects, &n)) {
        for (size_t i = 0; i < n; i++) {
            (void)json_object_array_add(list, kube_obj_tree(objects[i]));
        }
        kube_objs_free(objects, n);
    }
    json_print(arg, list, JSON_COMPACT);
}

struct json_object *rig_services(struct rig *r)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    rig_in_sim(r, print_services, &text);
    return parse(r, &text);
}

struct text_job {
    const char *text;
    size_t n;
    int64_t id;
    struct err *err;
    int code;
};

static void load_world(struct sim *s, void *arg)
{
    struct text_job *job = arg;
    _cleanup_(json_putp) struct json_object *world = NULL;
    job->code = json_parse(job->text, job->n, NULL, &world, job->err);
    if (job->code == ERR_OK) {
        job->code = sim_load(s, world, job->err);
    }
}

int rig_load(struct rig *r, struct json_object *world, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    json_print(&text, world, JSON_COMPACT);
    struct text_job job = {.text = str_buf_text(&text), .n = text.len, .err = err};
    rig_in_sim(r, load_world, &job);
    return job.code;
}

struct versions {
    struct str_buf *text;
    size_t n; /* of the plurals */
};

static void print_versions(struct sim *s, void *arg)
{
    static const char *const plurals[] = {"services", "nodes", "endpointslices"};
    const struct versions *v = arg;
    const struct kube_state *st = sim_module_state(s, "kubernetes");
    for (size_t i = 0; i < v->n; i++) {
        struct kube_obj **objects = NULL;
        size_t n = 0;
        int store = kube_kind_by_plural(plurals[i])->store;
        if (kube_db_list(st->store, store, "", 0, &objects, &n)) {
            for (size_t k = 0; k < n; k++) {
                str_appendf(v->text, "%s %lld\n", objects[k]->key, (long long)objects[k]->rv);
            }
            kube_objs_free(objects, n);
        }
    }
}

void rig_versions(struct rig *r, bool slices, struct str_buf *text)
{
    struct versions v = {.text = text, .n = slices ? 3 : 2};
    rig_in_sim(r, print_versions, &v);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void print_counts(struct sim *s, void *arg)
{
    _cleanup_(json_putp) struct json_object *counts = sim_counts(s);
    json_print(arg, counts, JSON_COMPACT);
}

struct json_object *rig_counts(struct rig *r)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    rig_in_sim(r, print_counts, &text);
    return parse(r, &text);
}

static void reset_counts(struct sim *s, void *arg)
{
    (void)arg;
    sim_counts_reset(s);
}

void rig_counts_reset(struct rig *r)
{
    rig_in_sim(r, reset_counts, NULL);
}

static int64_t sum(struct json_object *ops, bool (*counts)(const char *op, const char *arg),
                   const char *arg)
{
    int64_t total = 0;
    if (ops == NULL) {
        return 0;
    }
    json_object_object_foreach(ops, op, n)
    {
        total += counts(op, arg) ? json_object_get_int64(n) : 0;
    }
    return total;
}

static bool op_matches(const char *op, const char *glob)
{
    return str_glob(glob, op);
}

int64_t rig_calls(struct rig *r, const char *api, const char *op)
{
    return sum(json_member(rig_counts(r), api), op_matches, op);
}

static bool op_mutates(const char *op, const char *arg)
{
    static const char *const reads[] = {"*.get",  "*.list",      "*.aggregatedList",
                                        "*.wait", "*.getHealth", "*.list*",
                                        "*.Get*", "*.List*",     "*.Describe*"};
    (void)arg;
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        if (str_glob(reads[i], op)) {
            return false;
        }
    }
    return true;
}

int64_t rig_mutations(struct rig *r)
{
    struct json_object *counts = rig_counts(r);
    return sum(json_member(counts, "gce"), op_mutates, NULL) +
           sum(json_member(counts, "azure"), op_mutates, NULL) +
           sum(json_member(counts, "aws"), op_mutates, NULL);
}

static bool op_writes_services(const char *op, const char *arg)
{
    static const char *const verbs[] = {".create", ".update", ".patch", ".delete",
                                        ".deletecollection"};
    (void)arg;
    bool writes = false;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        writes = writes || str_has_suffix(op, verbs[i]);
    }
    return writes && (str_has_prefix(op, "services.") || str_has_prefix(op, "services/"));
}

int64_t rig_service_writes(struct rig *r)
{
    return sum(json_member(rig_counts(r), "kubernetes"), op_writes_services, NULL);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void add_fault(struct sim *s, void *arg)
{
    struct text_job *job = arg;
    _cleanup_(json_putp) struct json_object *fault = NULL;
    job->code = json_parse(job->text, job->n, NULL, &fault, job->err);
    if (job->code == ERR_OK) {
        job->code = sim_fault_add(s, fault, &job->id, job->err);
    }
}

int rig_fault(struct rig *r, const char *fault, int64_t *ret_id, struct err *err)
{
    struct text_job job = {.text = fault, .n = strlen(fault), .err = err};
    rig_in_sim(r, add_fault, &job);
    if (job.code == ERR_OK && ret_id != NULL) {
        *ret_id = job.id;
    }
    return job.code;
}

static void remove_fault(struct sim *s, void *arg)
{
    sim_fault_remove(s, *(const int64_t *)arg);
}

void rig_fault_remove(struct rig *r, int64_t id)
{
    rig_in_sim(r, remove_fault, &id);
}

/* ---- dying ----------------------------------------------------------------------------------- */

void rig_kill_at(struct rig *r, int64_t nth, enum rig_when when)
{
    /* Faults see calls in the order of their creation and the first that hits wins;
     * both count every call. */
    const char *lose = arena_printf(
        r->a, "{\"match\":{},\"from\":%lld,\"count\":1,\"do\":\"lose\"}", (long long)nth);
    const char *deaf = arena_printf(
        r->a, "{\"match\":{},\"from\":%lld,\"count\":0,\"do\":\"close\"}", (long long)nth);
    rig_bury(r);
    if (when == RIG_AFTER) {
        (void)!rig_fault(r, lose, &r->kill_fault[0], NULL);
    }
    (void)!rig_fault(r, deaf, &r->kill_fault[1], NULL);
}

bool rig_is_dead(struct rig *r)
{
    struct json_object *list = rig_get(r, "/sim/faults");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *fault = json_object_array_get_idx(list, i);
        int64_t id = json_int(fault, "id", 0);
        bool ours = id != 0 && (id == r->kill_fault[0] || id == r->kill_fault[1]);
        if (ours && json_int(fault, "hits", 0) > 0) {
            return true;
        }
    }
    return false;
}

void rig_bury(struct rig *r)
{
    for (size_t i = 0; i < ARRAY_LEN(r->kill_fault); i++) {
        if (r->kill_fault[i] != 0) {
            rig_fault_remove(r, r->kill_fault[i]);
            r->kill_fault[i] = 0;
        }
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

int rig_kube(struct rig *r, const char *method, const char *path, const char *body,
             struct json_object **ret_answer)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *type =
        str_eq(method, "PATCH") ? "application/merge-patch+json" : "application/json";
    const struct http_header headers[] = {{"Content-Type", type}, {"Accept", "application/json"}};
    const struct http_request req = {
        .method = method,
        .url = arena_printf(a, "%s%s", r->url, path),
        .headers = headers,
        .n_headers = ARRAY_LEN(headers),
        .body = body,
        .body_len = body == NULL ? 0 : strlen(body),
        .bearer = "sim-admin",
    };
    struct http_response resp;
    if (ret_answer != NULL) {
        *ret_answer = NULL;
    }
    if (http_do(r->http, a, &req, NULL, &resp, NULL) != ERR_OK) {
        return 0;
    }
    if (ret_answer != NULL) {
        (void)!json_parse(resp.body, resp.body_len, NULL, ret_answer, NULL); /* may be text */
    }
    return resp.status;
}

static void put(void *o)
{
    json_object_put(o);
}

struct json_object *rig_get(struct rig *r, const char *path)
{
    struct json_object *answer = NULL;
    int status = rig_kube(r, "GET", path, NULL, &answer);
    if (answer != NULL) {
        arena_defer(r->a, put, answer);
    }
    return status == 200 ? answer : NULL;
}
