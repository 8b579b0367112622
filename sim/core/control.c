/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: /sim/…, by which tests and people steer the simulator.
 *
 * Calls here are neither counted nor logged, and no fault befalls them.  Answers are JSON; a bad
 * request gets {"error": "what is wrong"}.  Source: interfaces.md, the table of controls. */
#include "sim/core/frame.h"

#include <string.h>

#include "sim/reach/reach.h"

struct control {
    const char *method;
    const char *path; /* "/sim/nodes/" + rest when it ends in '/' */
    void (*run)(struct sim_call *call, const char *rest);
};

static void answer_ok(struct sim_call *call, struct json_object *body)
{
    sim_answer(call, 200, body ? body : json_object_new_object());
}

static void answer_err(struct sim_call *call, const struct err *err)
{
    struct json_object *body = json_object_new_object();
    json_add_str(body, "error", err->message);
    sim_answer(call, err->code == ERR_NOT_FOUND ? 404 : err->code == ERR_EXISTS ? 409 : 400, body);
}

/* --- calls and state -------------------------------------------------------------------------- */

static void get_calls(struct sim_call *call, const char *rest)
{
    (void)rest;
    answer_ok(call, sim_counts(call->sim));
}

static void delete_calls(struct sim_call *call, const char *rest)
{
    (void)rest;
    sim_counts_reset(call->sim);
    answer_ok(call, NULL);
}

static void get_state(struct sim_call *call, const char *rest)
{
    (void)rest;
    struct json_object *world = sim_dump(call->sim);
    char *text = json_text(call->arena, world, JSON_SORTED_PRETTY);
    json_object_put(world);
    sim_answer_text(call, 200, "application/json", text);
}

static void get_reach(struct sim_call *call, const char *rest)
{
    (void)rest;
    struct json_object *world = sim_dump(call->sim);
    struct json_object *reach = reach_of_world(world);
    char *text = json_text(call->arena, reach, JSON_PRETTY);
    json_object_put(reach);
    json_object_put(world);
    sim_answer_text(call, 200, "application/json", text);
}

static void put_state(struct sim_call *call, const char *rest)
{
    (void)rest;
    static const struct json_limits limits = {.max_bytes = SIM_BODY_MAX, .max_values = 100000000};
    struct json_object *world = NULL;
    struct err err = ERR_INIT;
    if (json_parse_arena(call->arena, call->body, call->body_len, &limits, &world, &err) ||
        sim_load(call->sim, world, &err)) {
        answer_err(call, &err);
    } else {
        answer_ok(call, NULL);
    }
}

/* --- settings --------------------------------------------------------------------------------- */

/* The module of that name that has settings; answers 404 and returns NULL otherwise. */
static struct sim_slot *slot_of(struct sim_call *call, const char *name)
{
    struct sim *s = call->sim;
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].module->configure && str_eq(s->slots[i].module->name, name)) {
            return &s->slots[i];
        }
    }
    struct err err = ERR_INIT;
    err_set(&err, ERR_NOT_FOUND, "\"%s\" has no settings", name);
    answer_err(call, &err);
    return NULL;
}

static void get_settings(struct sim_call *call, const char *rest)
{
    if (slot_of(call, rest)) {
        struct json_object *now = json_member(json_member(call->sim->rest, "sim"), rest);
        answer_ok(call, now ? json_object_get(now) : NULL);
    }
}

static void put_settings(struct sim_call *call, const char *rest)
{
    struct sim *s = call->sim;
    struct sim_slot *slot = slot_of(call, rest);
    struct json_object *body = NULL;
    struct err err = ERR_INIT;
    if (!slot || !sim_call_json(call, &body)) {
        return;
    }
    if (!json_object_is_type(body, json_type_object)) {
        err_set(&err, ERR_INVALID, "settings are an object");
        answer_err(call, &err);
        return;
    }
    if (slot->module->configure(slot->state, body, &err)) {
        answer_err(call, &err);
        return;
    }
    /* As part of the world, so that a state that is saved has them. */
    s->rest = s->rest ? s->rest : json_object_new_object();
    if (!json_object_is_type(json_member(s->rest, "sim"), json_type_object)) {
        json_add(s->rest, "sim", json_object_new_object());
    }
    json_add(json_member(s->rest, "sim"), rest, json_copy(body));
    answer_ok(call, NULL);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void post_faults(struct sim_call *call, const char *rest)
{
    (void)rest;
    struct json_object *body = NULL;
    if (!sim_call_json(call, &body)) {
        return;
    }
    bool many = json_object_is_type(body, json_type_array);
    size_t n = many ? json_len(body) : 1;
    struct json_object *ids = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;
        int64_t id = 0;
        struct json_object *spec = many ? json_object_array_get_idx(body, i) : body;
        if (sim_fault_add(call->sim, spec, &id, &err)) {
            /* All or none: what was added of the list goes again. */
            for (size_t k = 0; k < json_len(ids); k++) {
                sim_fault_remove(call->sim,
                                 json_object_get_int64(json_object_array_get_idx(ids, k)));
            }
            json_object_put(ids);
            answer_err(call, &err);
            return;
        }
        json_object_array_add(ids, json_object_new_int64(id));
    }
    struct json_object *out = json_object_new_object();
    json_add(out, "ids", ids);
    answer_ok(call, out);
}

static void get_faults(struct sim_call *call, const char *rest)
{
    (void)rest;
    answer_ok(call, sim_faults_json(call->sim->faults));
}

static void delete_faults(struct sim_call *call, const char *rest)
{
    (void)rest;
    sim_fault_remove(call->sim, 0);
    answer_ok(call, NULL);
}

static void delete_fault(struct sim_call *call, const char *rest)
{
    struct err err = ERR_INIT;
    int64_t id = 0;
    if (!str_to_i64(rest, &id) || id == 0 || !sim_faults_has(call->sim->faults, id)) {
        err_set(&err, ERR_NOT_FOUND, "there is no fault %s", rest);
        answer_err(call, &err);
        return;
    }
    sim_fault_remove(call->sim, id);
    answer_ok(call, NULL);
}

/* --- nodes and pods --------------------------------------------------------------------------- */

static void post_nodes(struct sim_call *call, const char *rest)
{
    (void)rest;
    struct json_object *body = NULL;
    struct err err = ERR_INIT;
    if (!sim_call_json(call, &body)) {
        return;
    }
    int64_t count = json_int(body, "count", 0);
    if (count < 1 || count > 10000) {
        err_set(&err, ERR_INVALID, "count: want a whole number from 1 to 10000");
        answer_err(call, &err);
        return;
    }
    struct json_object *names = json_object_new_array();
    const struct sim_nodes_wish wish = {
        .count = (int)count,
        .ipv6 = json_bool(body, "ipv6", sim_cfg(call->sim)->ipv6),
        .zone = json_str(body, "zone"),
        .subnetwork = json_str(body, "subnetwork"),
    };
    if (sim_nodes_add(call->sim, &wish, names, &err)) {
        json_object_put(names);
        answer_err(call, &err);
        return;
    }
    struct json_object *out = json_object_new_object();
    json_add(out, "nodes", names);
    answer_ok(call, out);
}

static void delete_node(struct sim_call *call, const char *rest)
{
    struct err err = ERR_INIT;
    if (sim_nodes_remove(call->sim, rest, &err)) {
        answer_err(call, &err);
    } else {
        answer_ok(call, NULL);
    }
}

/* The same with each node's name as the cluster has it; new reference. */
static struct json_object *real_names(struct sim_call *call, struct json_object *pods)
{
    if (!json_object_is_type(pods, json_type_object)) {
        return json_object_get(pods);
    }
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(pods, name, value)
    {
        json_object_object_add(out, sim_nodes_name(call->sim, call->arena, name),
                               json_object_get(value));
    }
    return out;
}

/* "NAMESPACE/SERVICE" of the path; answers 404 and returns false when it is not that. */
static bool split_service(struct sim_call *call, const char *rest, const char **ns,
                          const char **service)
{
    struct err err = ERR_INIT;
    const char *slash = strchr(rest, '/');
    if (!slash || slash == rest || slash[1] == '\0' || strchr(slash + 1, '/') ||
        !sim_module_state(call->sim, "kubernetes")) {
        err_set(&err, ERR_NOT_FOUND, "want /sim/pods/NAMESPACE/SERVICE");
        answer_err(call, &err);
        return false;
    }
    *ns = arena_strndup(call->arena, rest, (size_t)(slash - rest));
    *service = slash + 1;
    return true;
}

static void put_pods(struct sim_call *call, const char *rest)
{
    struct json_object *body = NULL;
    struct err err = ERR_INIT;
    const char *ns, *service;
    if (!split_service(call, rest, &ns, &service) || !sim_call_json(call, &body)) {
        return;
    }
    struct json_object *pods = real_names(call, body);
    if (sim_kube_set_pods(sim_module_state(call->sim, "kubernetes"), ns, service, pods, &err)) {
        answer_err(call, &err);
    } else {
        answer_ok(call, NULL);
    }
    json_object_put(pods);
}

static void delete_pods(struct sim_call *call, const char *rest)
{
    struct err err = ERR_INIT;
    const char *ns, *service;
    if (!split_service(call, rest, &ns, &service)) {
        return;
    }
    if (sim_kube_drop_pods(sim_module_state(call->sim, "kubernetes"), ns, service, &err)) {
        answer_err(call, &err);
    } else {
        answer_ok(call, NULL);
    }
}

static const struct control controls[] = {
    {"GET", "/sim/calls", get_calls},         {"DELETE", "/sim/calls", delete_calls},
    {"GET", "/sim/state", get_state},         {"PUT", "/sim/state", put_state},
    {"POST", "/sim/faults", post_faults},     {"GET", "/sim/faults", get_faults},
    {"DELETE", "/sim/faults", delete_faults}, {"DELETE", "/sim/faults/", delete_fault},
    {"POST", "/sim/nodes", post_nodes},       {"DELETE", "/sim/nodes/", delete_node},
    {"PUT", "/sim/pods/", put_pods},          {"DELETE", "/sim/pods/", delete_pods},
    {"GET", "/sim/settings/", get_settings},  {"PUT", "/sim/settings/", put_settings},
    {"GET", "/sim/reach", get_reach},
};

bool sim_control_claims(const char *path)
{
    return str_has_prefix(path, "/sim/");
}

void sim_control_handle(struct sim_call *call)
{
    bool path_known = false;
    call->pretty = true;
    for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
        const struct control *c = &controls[i];
        size_t n = strlen(c->path);
        bool is_prefix = c->path[n - 1] == '/';
        bool hit = is_prefix ? str_has_prefix(call->path, c->path) && call->path[n] != '\0'
                             : str_eq(call->path, c->path);
        path_known = path_known || hit;
        if (hit && str_eq(call->method, c->method)) {
            const char *rest = url_unescape(call->arena, call->path + (is_prefix ? n : 0), false);
            c->run(call, str_nonnull(rest));
            return;
        }
    }
    sim_frame_answer_error(call, path_known ? 405 : 404, "notFound",
                           path_known ? "this control does not take that method"
                                      : "there is no such control; see docs/simulator.md");
}
