/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c: the simulator as a whole, and the way of a call through it.
 *
 * A request arrives, gets its module (who claims the path), is named and counted, meets the test
 * hook and the faults, and is handed to the module, which answers through sim_answer() now or
 * later.  The frame owns the server and the parts in frame.h; it knows nothing about Kubernetes or
 * Google.  Paths of no module get a 404.  Thread rule: everything in the thread of the event
 * loop. */
#include "sim/core/frame.h"

#include <assert.h>
#include <string.h>

#include "common/base/map.h"

static void on_request(void *arg, struct http_req *req);
static void hand_to_module(struct sim_call *call);

/* --- making and freeing ----------------------------------------------------------------------- */

/* No flag names the cloud: the one that the world is of. */
static const char *cloud_of_world(struct json_object *world)
{
    struct json_object *gce = json_member(world, "gce"), *azure = json_member(world, "azure");
    bool google_machines = false;
    if (!json_object_is_type(gce, json_type_object)) {
        return azure ? "azure" : json_member(world, "aws") ? "aws" : "gce";
    }
    json_object_object_foreach(gce, path, body)
    {
        google_machines = google_machines || strstr(path, "/instances/");
        (void)body;
    }
    return json_object_is_type(azure, json_type_object) && !google_machines ? "azure" : "gce";
}

static void copy_config(struct sim *s, const struct sim_config *cfg)
{
    struct arena *a = s->arena;
    static const char *const google_zones[] = {"us-central1-a", "us-central1-b", "us-central1-c"};
    static const char *const azure_zones[] = {"eastus-1", "eastus-2", "eastus-3"};
    s->cfg = *cfg;
    s->cfg.cloud = arena_strdup(a, str_or(cfg->cloud, cloud_of_world(cfg->world)));
    static const char *const aws_zones[] = {"us-east-1a", "us-east-1b", "us-east-1c"};
    const char *const *usual = str_eq(s->cfg.cloud, "azure") ? azure_zones
                               : str_eq(s->cfg.cloud, "aws") ? aws_zones
                                                             : google_zones;
    const char *const *zones = cfg->n_zones ? cfg->zones : usual;
    size_t n = cfg->n_zones                   ? cfg->n_zones
               : str_eq(s->cfg.cloud, "none") ? 0
                                              : ARRAY_LEN(google_zones);
    const char **copy = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = arena_strdup(a, zones[i]);
    }
    s->cfg.zones = copy;
    s->cfg.n_zones = n;
    const char **quotas = ARENA_ARRAY(a, const char *, cfg->n_quotas);
    for (size_t i = 0; i < cfg->n_quotas; i++) {
        quotas[i] = arena_strdup(a, cfg->quotas[i]);
    }
    s->cfg.quotas = quotas;
    s->cfg.service_class = arena_strdup(a, cfg->service_class);
    s->cfg.rbac = arena_strdup(a, cfg->rbac);
    s->cfg.traffic_log = arena_strdup(a, cfg->traffic_log);
    s->cfg.kube_log = arena_strdup(a, cfg->kube_log);
    s->cfg.world = NULL; /* read once, at the start */
    s->cfg.ipv4 = cfg->ipv4 || !cfg->ipv6;
}

static int open_logs(struct sim *s, struct err *err)
{
    if (s->cfg.traffic_log && !(s->traffic_log = sim_call_log_open(s->cfg.traffic_log, err))) {
        return err ? err->code : ERR_INVALID;
    }
    if (s->cfg.kube_log && !(s->kube_log = sim_call_log_open(s->cfg.kube_log, err))) {
        return err ? err->code : ERR_INVALID;
    }
    return ERR_OK;
}

static int listen_on(struct sim *s, struct err *err)
{
    char *cert = NULL, *key = NULL;
    int code = ERR_OK;
    if (s->cfg.tls) {
        code = sim_tls_make(s->arena, &s->ca_pem, &cert, &key, err);
        if (code) {
            return code;
        }
    }
    struct http_server_config sc = {
        .address = "127.0.0.1",
        .port = s->cfg.port,
        .tls_cert_pem = cert,
        .tls_key_pem = key,
        .max_body = SIM_BODY_MAX, /* worlds are big */
        .handle = on_request,
        .arg = s,
    };
    code = http_server_new(s->base, &sc, &s->server, err);
    if (code) {
        return code;
    }
    s->url = arena_printf(s->arena, "%s://127.0.0.1:%u", s->cfg.tls ? "https" : "http",
                          http_server_port(s->server));
    return ERR_OK;
}

static int init_modules(struct sim *s, struct err *err)
{
    bool kubernetes_alone = str_eq(s->cfg.cloud, "none");
    for (size_t i = 0; sim_modules[i]; i++) {
        if (kubernetes_alone && sim_modules[i] != &sim_kube_module) {
            continue;
        }
        assert(s->n_slots < SIM_MODULES_MAX);
        struct sim_slot *slot = &s->slots[s->n_slots];
        slot->module = sim_modules[i];
        s->n_slots++;
        int code = slot->module->init(s, &slot->state, err);
        if (code) {
            s->n_slots--;
            (void)err_prefix(err, "module %s", slot->module->name);
            return code;
        }
    }
    return ERR_OK;
}

int sim_new(struct event_base *base, const struct sim_config *cfg, struct sim **ret,
            struct err *err)
{
    struct sim *s = xcalloc(1, sizeof(*s));
    s->base = base;
    s->arena = arena_new();
    copy_config(s, cfg);
    s->clock = cfg->clock ? cfg->clock : clock_real();
    s->rng = rng_seeded_new(cfg->seed);
    s->loaded_ids = map_new(NULL);
    s->timers = sim_timers_new(s);
    s->counts = sim_counts_new();
    s->faults = sim_faults_new(s);
    int code = open_logs(s, err);
    if (!code) {
        code = listen_on(s, err);
    }
    if (!code) {
        code = init_modules(s, err);
    }
    if (!code && cfg->world) {
        code = sim_load(s, cfg->world, err);
    }
    if (!code) {
        code = sim_world_start(s, err);
    }
    if (code) {
        sim_free(s);
        return code;
    }
    *ret = s;
    return ERR_OK;
}

void sim_free(struct sim *s)
{
    if (!s) {
        return;
    }
    http_server_free(s->server);
    for (size_t i = s->n_slots; i > 0; i--) {
        s->slots[i - 1].module->done(s->slots[i - 1].state);
    }
    sim_timers_free(s->timers);
    sim_counts_free(s->counts);
    sim_faults_free(s->faults);
    (void)sim_logs_close(s, NULL); /* main has closed them; a library's caller does not ask */
    json_object_put(s->rest);
    map_free(s->loaded_ids);
    rng_free(s->rng);
    arena_free(s->arena);
    free(s);
}

uint16_t sim_port(const struct sim *s)
{
    return http_server_port(s->server);
}

const char *sim_url(const struct sim *s)
{
    return s->url;
}

const char *sim_ca_pem(const struct sim *s)
{
    return s->ca_pem;
}

const struct sim_config *sim_cfg(const struct sim *s)
{
    return &s->cfg;
}

struct clock *sim_clock(const struct sim *s)
{
    return s->clock;
}

struct rng *sim_rng(const struct sim *s)
{
    return s->rng;
}

struct event_base *sim_event_base(const struct sim *s)
{
    return s->base;
}

void *sim_module_state(struct sim *s, const char *name)
{
    for (size_t i = 0; i < s->n_slots; i++) {
        if (str_eq(s->slots[i].module->name, name)) {
            return s->slots[i].state;
        }
    }
    return NULL;
}

int sim_fault_add(struct sim *s, struct json_object *fault, int64_t *ret_id, struct err *err)
{
    return sim_faults_add(s->faults, fault, ret_id, err);
}

void sim_fault_remove(struct sim *s, int64_t id)
{
    sim_faults_remove(s->faults, id);
}

/* --- a call arrives --------------------------------------------------------------------------- */

bool sim_frame_set_target(struct sim_call *call, const char *method, const char *target)
{
    struct arena *a = call->arena;
    const char *question = strchr(target, '?');
    call->method = arena_strdup(a, method);
    call->target = arena_strdup(a, target);
    call->path = question ? arena_strndup(a, target, (size_t)(question - target)) : call->target;
    for (size_t i = 0; i < call->sim->n_slots && !call->module; i++) {
        struct sim_slot *slot = &call->sim->slots[i];
        if (slot->module->claims(slot->state, call->method, call->path)) {
            call->module = slot->module;
            call->module_state = slot->state;
        }
    }
    return url_query_parse(a, question ? question + 1 : NULL, &call->params, &call->n_params,
                           NULL) == ERR_OK;
}

static void on_gone(void *arg)
{
    sim_frame_call_gone(arg);
}

void sim_frame_call_gone(struct sim_call *call)
{
    sim_call_log_write(call, 0, NULL);
    if (call->gone) {
        call->gone(call);
    }
}

static void on_request(void *arg, struct http_req *req)
{
    struct sim *s = arg;
    struct sim_call *call = ARENA_NEW(http_req_arena(req), struct sim_call);
    call->sim = s;
    call->req = req;
    call->arena = http_req_arena(req);
    call->body = http_req_body(req, &call->body_len);
    http_req_on_gone(req, on_gone, call);
    bool query_ok = sim_frame_set_target(call, http_req_method(req), http_req_target(req));
    if (!query_ok) {
        sim_frame_answer_error(call, 400, "badRequest", "the query string is malformed");
    } else if (sim_control_claims(call->path)) {
        sim_control_handle(call);
    } else if (sim_batch_claims(call->path)) {
        sim_batch_handle(call);
    } else if (!call->module) {
        sim_frame_answer_error(call, 404, "notFound", "nothing is served at this path");
    } else {
        sim_frame_dispatch(call);
    }
}

/* --- faults ----------------------------------------------------------------------------------- */

struct delayed {
    struct sim_call *call;
    struct sim_timer *timer;
};

static void delay_over(void *arg)
{
    struct delayed *d = arg;
    d->call->gone = NULL;
    hand_to_module(d->call);
}

static void delayed_gone(struct sim_call *call)
{
    struct delayed *d = call->private_data;
    sim_timer_cancel(d->timer);
}

static void delay(struct sim_call *call, int64_t ms)
{
    struct delayed *d = ARENA_NEW(call->arena, struct delayed);
    d->call = call;
    call->private_data = d;
    call->gone = delayed_gone;
    d->timer = sim_after(call->sim, ms, delay_over, d);
}

static void refuse(struct sim_call *call, const struct fault *f)
{
    struct json_object *body = json_member(f->spec, "body");
    if (f->retry_after_s > 0 && !call->batch) {
        http_req_add_header(call->req, "Retry-After",
                            arena_printf(call->arena, "%lld", (long long)f->retry_after_s));
    }
    if (!body) {
        static const struct {
            int status;
            const char *reason;
        } reasons[] = {
            {400, "badRequest"},        {401, "authError"},    {403, "forbidden"},
            {404, "notFound"},          {409, "conflict"},     {412, "conditionNotMet"},
            {429, "rateLimitExceeded"}, {503, "backendError"},
        };
        const char *reason = "backendError";
        for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
            reason = reasons[i].status == f->status ? reasons[i].reason : reason;
        }
        sim_frame_answer_error(call, f->status, reason, "refused by a fault of the simulator");
    } else if (call->module->refuse && json_object_is_type(body, json_type_object)) {
        call->module->refuse(call->module_state, call, f->status, NULL,
                             "refused by a fault of the simulator", body);
    } else if (json_object_is_type(body, json_type_string)) {
        sim_answer_text(call, f->status, "text/html; charset=UTF-8", json_object_get_string(body));
    } else {
        sim_answer(call, f->status, json_object_get(body));
    }
}

static void drop(struct sim_call *call)
{
    sim_call_log_write(call, 0, NULL);
    if (call->batch) {
        sim_batch_take_answer(call, 502, "");
    } else {
        http_req_drop(call->req);
    }
}

static void put_json(void *o)
{
    json_object_put(o);
}

/* How the operation of this call will end; the fault may be gone by then. */
static struct json_object *failure_of(struct sim_call *call, const struct fault *f)
{
    struct json_object *body = json_member(f->spec, "body");
    bool usable = json_object_is_type(body, json_type_object);
    body = usable ? json_copy(body) : json_object_new_object();
    arena_defer(call->arena, put_json, body);
    return body;
}

/* True when the fault has dealt with the call. */
static bool befall(struct sim_call *call, const struct fault *f)
{
    switch (f->action) {
    case FAULT_REFUSE:
    case FAULT_THROTTLE:
        refuse(call, f);
        return true;
    case FAULT_LOSE:
        call->lose_answer = true;
        return false;
    case FAULT_DELAY:
        delay(call, f->ms);
        return true;
    case FAULT_HANG:
        return true; /* until the client or the simulator goes */
    case FAULT_CLOSE:
        drop(call);
        return true;
    case FAULT_FAIL:
        call->fail = failure_of(call, f);
        return false;
    case FAULT_NONE:
    case FAULT_WATCH_CUT:
    case FAULT_WATCH_EXPIRE:
    case FAULT_WATCH_SILENCE:
        break;
    }
    return false;
}

/* --- on to the module, and back --------------------------------------------------------------- */

void sim_frame_dispatch(struct sim_call *call)
{
    struct sim *s = call->sim;
    call->op = "unknown";
    call->module->name_call(call->module_state, call);
    sim_counts_add(s->counts, call->module->name, call->op);
    if (s->hook) {
        s->hook(s->hook_arg, call, false);
    }
    const struct fault *f = sim_faults_match(s->faults, call);
    if (!f || !befall(call, f)) {
        hand_to_module(call);
    }
}

static void hand_to_module(struct sim_call *call)
{
    struct sim *s = call->sim;
    bool may_watch = call->module->watch_fault != NULL && sim_call_param(call, "watch") != NULL;
    call->module->handle(call->module_state, call);
    /* `call` may be gone now: it is answered, or its client has left. */
    if (may_watch) {
        sim_faults_after_watch(s->faults);
    }
}

void sim_frame_answer_error(struct sim_call *call, int status, const char *reason,
                            const char *message)
{
    struct json_object *body = NULL;
    if (call->module && call->module->refuse) {
        call->module->refuse(call->module_state, call, status, reason, message, NULL);
        return;
    }
    if (call->module && call->module->error_body) {
        body = call->module->error_body(call->module_state, call, status, reason, message);
    } else {
        body = json_object_new_object();
        json_add_str(body, "error", message);
    }
    sim_answer(call, status, body);
}

static void send(struct sim_call *call, int status, const char *type, const struct str_buf *text)
{
    struct sim *s = call->sim;
    call->status = status;
    if (s->hook && call->module) {
        s->hook(s->hook_arg, call, true);
    }
    if (call->batch) {
        sim_batch_take_answer(call, call->lose_answer ? 502 : status, str_buf_text(text));
        return;
    }
    if (call->lose_answer) {
        http_req_drop(call->req);
        return;
    }
    if (type) {
        http_req_add_header(call->req, "Content-Type", type);
    }
    http_req_answer(call->req, status, str_buf_text(text), text->len);
}

void sim_answer(struct sim_call *call, int status, struct json_object *body)
{
    struct str_buf b = STR_BUF_INIT;
    sim_call_log_write(call, call->lose_answer ? 0 : status, call->lose_answer ? NULL : body);
    if (body) {
        json_print(&b, body, call->pretty ? JSON_PRETTY : JSON_COMPACT);
        str_append_c(&b, '\n');
    }
    const char *type = body ? "application/json; charset=UTF-8" : NULL;
    json_object_put(body);
    send(call, status, type, &b);
    str_buf_done(&b);
}

void sim_answer_text(struct sim_call *call, int status, const char *content_type, const char *text)
{
    struct str_buf b = STR_BUF_INIT;
    struct json_object *logged = NULL;
    str_append(&b, text);
    if (!call->lose_answer && b.len > 0) {
        bool is_json = content_type && strstr(content_type, "json");
        if (!is_json || json_parse(b.data, b.len, NULL, &logged, NULL) != ERR_OK) {
            logged = json_object_new_string(text);
        }
    }
    sim_call_log_write(call, call->lose_answer ? 0 : status, logged);
    json_object_put(logged);
    send(call, status, content_type, &b);
    str_buf_done(&b);
}

bool sim_call_json(struct sim_call *call, struct json_object **ret)
{
    struct err err = ERR_INIT;
    if (json_parse_arena(call->arena, call->body, call->body_len, NULL, ret, &err) == ERR_OK) {
        return true;
    }
    sim_frame_answer_error(call, 400, "parseError",
                           arena_printf(call->arena, "Parse Error: %s", err.message));
    return false;
}

const char *sim_call_param(const struct sim_call *call, const char *name)
{
    return url_query_get(call->params, call->n_params, name);
}
