/* SPDX-License-Identifier: Apache-2.0 */
/* handle.c: a Compute request from its arrival to its answer.
 *
 * Route, token, project, query, body; then the generic verb or the action; then the answer: the
 * resource, a list, an Operation, or a refusal.  At --latency cloud the answer travels as long as
 * the cloud's would. */
#include "sim/compute/compute.h"

#include <string.h>

/* --- answers ---------------------------------------------------------------------------------- */

static void answer(struct request *q, int status, struct json_object *body)
{
    struct sim_call *call = q->call;
    call->pretty = !str_eq(sim_call_param(call, "prettyPrint"), "false");
    sim_answer_after(call, ce_latency_of(q->c, NULL), status, body);
}

static void answer_refusal(struct request *q)
{
    struct json_object *body = ce_refusal_body(&q->refusal);
    json_object_put(q->refusal.details);
    answer(q, q->refusal.status, body);
}

/* --- checks before any verb ------------------------------------------------------------------- */

static bool project_is_known(const struct request *q)
{
    if (str_eq(q->project, q->c->project)) {
        return true;
    }
    char *prefix = arena_printf(q->a, "projects/%s/", q->project);
    size_t n = 0;
    const char **keys = map_keys(q->c->folders, &n);
    bool known = false;
    for (size_t i = 0; i < n && !known; i++) {
        known = str_has_prefix(keys[i], prefix);
    }
    free(keys);
    return known;
}

static bool check_place(struct request *q)
{
    if (!project_is_known(q)) {
        return ce_refuse_not_found(&q->refusal, q->a,
                                   arena_printf(q->a, "projects/%s", q->project));
    }
    if (!q->location) {
        return true;
    }
    const char *what = q->scope == SCOPE_ZONE ? "zone" : "region";
    const char *place = arena_printf(q->a, "projects/%s/%ss/%s", q->project, what, q->location);
    if (ce_store_get(q->c, place)) {
        return true;
    }
    /* A host project of a shared network has no zones of its own in a world: take any project's. */
    place = arena_printf(q->a, "projects/%s/%ss/%s", q->c->project, what, q->location);
    return ce_store_get(q->c, place) || ce_refuse_invalid(&q->refusal, q->a, what, q->location,
                                                          arena_printf(q->a, "Unknown %s.", what));
}

static bool is_hex(char c)
{
    return c && strchr("0123456789abcdefABCDEF", c);
}

/* 8-4-4-4-12 hexadecimal digits. */
static bool is_uuid(const char *text)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t i = 0;
    while (shape[i] && (shape[i] == '-' ? text[i] == '-' : is_hex(text[i]))) {
        i++;
    }
    return !shape[i] && !text[i];
}

/* No parameter is a list: each is given once. */
static bool is_repeated(const struct request *q, size_t i)
{
    const struct url_param *params = q->call->params;
    bool found = false;
    for (size_t k = 0; k < i && !found; k++) {
        found = str_eq(params[k].name, params[i].name);
    }
    return found;
}

static bool check_query(struct request *q)
{
    for (size_t i = 0; i < q->call->n_params; i++) {
        const struct url_param *p = &q->call->params[i];
        const struct schema_field *f = q->op->query;
        while (f->name && !str_eq(f->name, p->name)) {
            f++;
        }
        if (!f->name) {
            return ce_refuse(
                &q->refusal, q->a, 400, "badRequest",
                "Invalid JSON payload received. Unknown name \"%s\": Cannot bind query "
                "parameter. Field '%s' could not be found in request message.",
                p->name, p->name);
        }
        if (is_repeated(q, i)) {
            return ce_refuse(&q->refusal, q->a, 400, "badRequest",
                             "Invalid value at '%s': the parameter is given twice.", p->name);
        }
        struct schema_problem problem = {0};
        if (!ce_schema_check_text(q->a, f->type, p->value, p->name, &problem)) {
            return ce_refuse_schema(&q->refusal, q->a, &problem);
        }
    }
    const char *id = sim_call_param(q->call, "requestId");
    if (id && (!is_uuid(id) || strspn(id, "0-") == 36)) {
        return ce_refuse_invalid(&q->refusal, q->a, "requestId", id,
                                 "Must be a UUID in its standard form, not all zero.");
    }
    return true;
}

static bool is_number(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n <= 20 && text[0] != '0' && strspn(text, "0123456789") == n;
}

/* By name, or by number. */
static bool check_name(struct request *q)
{
    static const char pattern[] = "^([a-z]([-a-z0-9]{0,61}[a-z0-9])?|[1-9][0-9]{0,19})$";
    if (!q->name || q->scope == SCOPE_NONE || str_eq(q->collection, "operations")) {
        return true;
    }
    return ce_name_is_valid(q->name) || is_number(q->name) ||
           ce_refuse_invalid(&q->refusal, q->a, q->col ? q->col->what : "resource", q->name,
                             arena_printf(q->a, "Must be a match of regex '%s'.", pattern));
}

static void drop_nulls(struct json_object *o)
{
    if (json_object_is_type(o, json_type_object)) {
        struct lh_entry *e = json_object_get_object(o)->head;
        while (e) {
            struct lh_entry *next = e->next;
            struct json_object *value = (struct json_object *)lh_entry_v(e);
            if (!value) {
                json_object_object_del(o, (const char *)lh_entry_k(e));
            } else {
                drop_nulls(value);
            }
            e = next;
        }
    }
    for (size_t i = 0; i < json_len(o); i++) {
        drop_nulls(json_object_array_get_idx(o, i));
    }
}

static bool check_required(struct request *q)
{
    for (const char *const *m = q->op->required; m && *m; m++) {
        if (!json_member(q->body, *m)) {
            struct schema_problem p = {.what = SCHEMA_REQUIRED,
                                       .path = arena_printf(q->a, "resource.%s", *m)};
            return ce_refuse_schema(&q->refusal, q->a, &p);
        }
    }
    return true;
}

static bool read_body(struct request *q)
{
    if (q->op->request < 0) {
        bool empty =
            q->call->body_len == 0 || strspn(q->call->body, " \r\n\t{}") == q->call->body_len;
        return empty || ce_refuse(&q->refusal, q->a, 400, "badRequest",
                                  "Invalid JSON payload received. This method takes no body.");
    }
    struct err err = ERR_INIT;
    if (q->call->body_len == 0) {
        return ce_refuse_required(&q->refusal, q->a, "resource");
    }
    if (json_parse_arena(q->a, q->call->body, q->call->body_len, NULL, &q->body, &err)) {
        return ce_refuse(&q->refusal, q->a, 400, "parseError", "Parse Error: %s", err.message);
    }
    struct schema_problem problem = {0};
    if (!json_object_is_type(q->body, json_type_object)) {
        return ce_refuse(&q->refusal, q->a, 400, "parseError", "Parse Error: want an object");
    }
    if (!ce_schema_check(q->a, q->op->request, q->body, "resource", &problem)) {
        return ce_refuse_schema(&q->refusal, q->a, &problem);
    }
    ce_schema_strip_read_only(q->op->request, q->body);
    if (!str_eq(q->verb, "patch")) {
        drop_nulls(q->body);
    }
    return check_required(q);
}

/* --- verbs ------------------------------------------------------------------------------------ */

static const struct {
    const char *verb;
    bool (*read)(struct request *q, struct json_object **ret);
    bool (*write)(struct request *q);
} verbs[] = {
    {"get", ce_read_get, NULL},
    {"list", ce_read_list, NULL},
    {"aggregatedList", ce_read_aggregated, NULL},
    {"insert", NULL, ce_write_insert},
    {"patch", NULL, ce_write_patch},
    {"update", NULL, ce_write_update},
    {"delete", NULL, ce_write_delete},
    {"setLabels", NULL, ce_write_set_labels},
};

static bool find_target(struct request *q)
{
    if (!q->name || q->scope == SCOPE_NONE) {
        return true;
    }
    const char *path = arena_printf(q->a, "%s/%s", q->folder, q->name);
    q->res = ce_store_get(q->c, path);
    if (!q->res) {
        return ce_refuse_not_found(&q->refusal, q->a, path);
    }
    if (q->op->long_running && q->res->inserting) {
        return ce_refuse(&q->refusal, q->a, 400, "resourceNotReady",
                         "The resource '%s' is not ready", path);
    }
    return true;
}

/* Runs the verb; *ret is what a read answers. */
static bool run_verb(struct request *q, struct json_object **ret)
{
    if (!find_target(q)) {
        return false;
    }
    for (const struct action *x = compute_actions; x->collection; x++) {
        if (str_eq(x->collection, q->collection) && str_eq(x->verb, q->verb)) {
            return x->run(q, ret);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (str_eq(verbs[i].verb, q->verb)) {
            return verbs[i].read ? verbs[i].read(q, ret) : verbs[i].write(q);
        }
    }
    return ce_refuse(&q->refusal, q->a, 501, "notImplemented", "%s is not simulated", q->op->id);
}

/* A fault's failure of the operation, in place of the mutation.  Always false. */
static bool fail_operation(struct request *q)
{
    struct json_object *body = q->call->fail;
    const char *code = str_or(json_str(body, "code"), "INTERNAL_ERROR");
    const char *message = str_or(json_str(body, "message"), "Internal error");

    (void)ce_refuse(&q->refusal, q->a, (int)json_int(body, "httpErrorStatusCode", 503), code, "%s",
                    message);
    q->refusal.code = arena_strdup(q->a, code);
    return false;
}

static void mutate(struct request *q)
{
    struct operation *op = ce_operation_of_request_id(q);
    if (op) {
        answer(q, 200, ce_operation_json(op));
        return;
    }
    bool ok = q->call->fail ? fail_operation(q) : run_verb(q, NULL);
    if (!ok && !q->refusal.code) {
        answer_refusal(q);
        return;
    }
    answer(q, 200, ce_operation_json(ce_operation_start(q)));
}

void compute_handle(void *state, struct sim_call *call)
{
    struct request *q = ARENA_NEW(call->arena, struct request);
    q->c = state;
    q->call = call;
    q->a = call->arena;
    if (!ce_route(q)) {
        ce_refuse(&q->refusal, q->a, 404, "notFound",
                  "The requested URL %s was not found on this server.", call->path);
        answer_refusal(q);
        return;
    }
    if (!ce_version_check(q) || !ce_token_check(q) || !ce_throttle(q) || !check_place(q) ||
        !check_query(q) || !check_name(q) || !read_body(q)) {
        answer_refusal(q);
        return;
    }
    if (str_eq(q->collection, "operations") && q->scope != SCOPE_AGGREGATED) {
        ce_operations_handle(q);
    } else if (q->op->long_running) {
        mutate(q);
    } else {
        struct json_object *body = NULL;
        if (run_verb(q, &body)) {
            answer(q, 200, ce_version_show(q, body));
        } else {
            answer_refusal(q);
        }
    }
}
