/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_session.c: opening and closing what a sub-command needs; see the header.  Loading
 * is in cmd_load.c. */
#include "controller/cmd/cmd_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/lb/findings.h"
#include "common/lb/service_rules.h"
#include "controller/base/guard.h"
#include "controller/cmd/cmd_left.h"
#include "controller/host/fence.h"
#include "controller/options/options.h"
#include "controller/process/config_source.h"
#include "providers/builtin.h"

#define CONFIG_MAX (16u << 20)
#define NO_LOG_FD  (-1) /* log.c drops lines that cannot be written */

int cmd_fail_usage(const char *command, const struct err *err)
{
    fprintf(stderr, "error: %s\nRun 'trimtab %s --help' for usage.\n", err->message, command);
    return 1;
}

int cmd_session_fail(const struct cmd_session *s, const struct err *err)
{
    struct err told = *err;
    if (s->misused) {
        return cmd_fail_usage(s->command, err);
    }
    if (s->wait != NULL) {
        cmd_wait_end(s->wait);
        (void)cmd_wait_blame(s->wait, &told);
    }
    fprintf(stderr, "error: %s\n", told.message);
    return 1;
}

int cmd_session_end(const struct cmd_session *s, int status)
{
    struct err err = ERR_INIT;
    if (status == 1 && s->wait != NULL && cmd_wait_blame(s->wait, &err) != ERR_OK) {
        fprintf(stderr, "error: %s\n", err.message);
    }
    return status;
}

void cmd_log_setup(int64_t verbosity)
{
    log_setup(&(struct log_config){.format = LOG_TEXT,
                                   .verbosity = (int)verbosity,
                                   .fd = verbosity > 0 ? STDERR_FILENO : NO_LOG_FD});
}

void *cmd_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t item_size)
{
    if (n < *cap) {
        return items;
    }
    *cap = *cap == 0 ? 16 : *cap * 2;
    void *more = arena_alloc(a, *cap * item_size);
    if (n > 0) {
        memcpy(more, items, n * item_size);
    }
    return more;
}

static void print_usage(unsigned command, const char *usage, const struct plugin *plugin)
{
    _cleanup_(str_buf_done) struct str_buf b = cmd_help_begin(usage);
    cmd_args_help(&b, command, plugin == NULL ? NULL : plugin->desc.options,
                  plugin == NULL ? 0 : plugin->desc.n_options);
    fputs(str_buf_text(&b), stdout);
}

static bool asks_for_help(int argc, char *const *argv)
{
    for (int i = 1; i < argc && !str_eq(argv[i], "--"); i++) {
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h")) {
            return true;
        }
    }
    return false;
}

int cmd_session_begin(struct cmd_session *s, unsigned command, const char *usage, int argc,
                      char *const *argv, bool *ret_done, struct err *err)
{
    struct plugin_search search = {0};
    size_t n = 0;
    const struct tt_provider *const *builtins = trimtab_builtin_providers(&n);
    int code = ERR_OK;
    *s = (struct cmd_session){.a = arena_new(), .command = argv[0]};
    cmd_log_setup(0);
    cmd_args_peek(argc, argv, &search);
    search.builtins = builtins;
    search.n_builtins = n;
    guard_install(&(struct guard_args){.provider = search.name, .fd = STDERR_FILENO});
    if (code == ERR_OK && !str_is_empty(search.name)) {
        code = plugin_open(&search, &s->plugin, err);
    }
    *ret_done = asks_for_help(argc, argv);
    if (*ret_done) {
        print_usage(command, usage, s->plugin);
        err_clear(err);
        return ERR_OK;
    }
    if (code == ERR_OK) {
        code = cmd_args_parse(s->a, command, argc, argv,
                              s->plugin == NULL ? NULL : s->plugin->desc.options,
                              s->plugin == NULL ? 0 : s->plugin->desc.n_options, &s->args, err);
        bool may_lack = (command & (CMD_TRACE | CMD_RENDER)) != 0;
        if (code == ERR_OK && s->plugin == NULL && !may_lack) {
            code = err_set(err, ERR_INVALID, "--cloud-provider is missing; built in: %s",
                           plugin_builtin_names(s->a, builtins, n));
        }
        s->misused = code != ERR_OK;
    }
    if (code == ERR_OK) {
        cmd_log_setup(s->args.verbosity);
        s->wait = cmd_wait_new(s->args.timeout_ms);
    }
    return code;
}

/* ---- what the provider reports --------------------------------------------------------------- */

static void on_plan(void *arg, const struct tt_plan *plan)
{
    struct cmd_session *s = arg;
    s->plans = cmd_grow(s->a, s->plans, s->n_plans, &s->cap_plans, sizeof(*s->plans));
    s->plans[s->n_plans++] = cmd_plan_copy(s->a, plan, s->notes, s->n_notes);
}

static void on_finding(void *arg, uint32_t severity, const char *where, const char *message)
{
    struct cmd_session *s = arg;
    s->findings =
        cmd_grow(s->a, s->findings, s->n_findings, &s->cap_findings, sizeof(*s->findings));
    s->findings[s->n_findings++] = (struct cmd_finding){
        severity, arena_strdup(s->a, str_nonnull(where)), arena_strdup(s->a, str_nonnull(message))};
}

/* Without a cluster there is a world's objects or none, which is an answer, too:
 * nothing is "forbidden". */
static struct json_object *objects_of_files(const struct cmd_session *s)
{
    struct json_object *in_world = s->world == NULL ? NULL : json_member(s->world, "kubernetes");
    if (in_world != NULL || s->client != NULL) {
        return in_world;
    }
    return json_parse_arena(s->a, "{}", 2, NULL, &in_world, NULL) == ERR_OK ? in_world : NULL;
}

void cmd_session_host(struct cmd_session *s)
{
    struct fence *fence = ARENA_NEW(s->a, struct fence);
    s->host = host_new(&(struct host_args){
        .desc = &s->plugin->desc,
        .clock = clock_real(),
        .rng = rng_real(),
        .fence = fence,
        .client = s->client,
        .cluster_name = s->args.cluster_name,
        .cleanup_finalizer = LB_CLEANUP_FINALIZER,
        .cancel = cmd_wait_cancel(s->wait),
        .planning = !s->writes,
        .quiet = true,
        .hooks = {.on_plan = on_plan,
                  .on_finding = on_finding,
                  .on_resource = s->on_resource,
                  .on_left = cmd_left_note,
                  .arg = s},
        .fixed_services =
            s->services != NULL ? s->services : ARENA_NEW(s->a, const struct tt_service *),
        .n_fixed_services = s->n_services,
        .fixed_nodes = s->nodes != NULL ? s->nodes : ARENA_NEW(s->a, const struct tt_node *),
        .n_fixed_nodes = s->n_nodes,
        .fixed_objects = objects_of_files(s),
    });
}

/* As the controller reads it with --enable-dynamic-reloading. */
static int read_secret(struct cmd_session *s, struct err *err)
{
    struct tt_open_args *o = &s->open_args;
    const struct config_source source = {
        .secret_ns = str_or(s->args.secret_ns, "kube-system"),
        .secret_name = s->args.secret_name,
        .secret_key = str_or(s->args.secret_key, "cloud-config"),
        .client = s->client,
    };
    struct config_texts t;
    int code = config_source_read(&source, s->a, &t, err);
    if (code != ERR_OK) {
        return code;
    }
    t.path = o->config_path;
    t.text = o->config_text;
    t.len = o->config_len;
    return config_texts_fill(&t, &s->plugin->desc, o, err);
}

/* Whether a plan is to be made without the service controller's part, and with which others. */
static int read_controllers(struct cmd_session *s, struct tt_open_args *o, struct err *err)
{
    size_t n = 0;
    char **items = str_split(s->a, str_or(s->args.controllers, "*"), ',', &n);
    const char *unknown = options_unknown_controller((const char *const *)items, n);

    if (unknown != NULL) {
        return err_set(err, ERR_INVALID,
                       "--controllers: \"%s\" is not in the list of known controllers", unknown);
    }
    bool off = !options_service_controller_in((const char *const *)items, n);
    if (off && (s->plugin->desc.capabilities & TT_CAP_MORE_PARTS) == 0) {
        return err_set(err, ERR_INVALID, OPTIONS_NOTHING_TO_RUN, s->plugin->desc.name);
    }
    o->service_controller_off = off;
    o->more_controllers = options_more_controllers(s->a, (const char *const *)items, n);
    return ERR_OK;
}

int cmd_session_open_args(struct cmd_session *s, struct err *err)
{
    struct tt_open_args *o = &s->open_args;
    *o = (struct tt_open_args){
        .size = sizeof *o,
        .host = host_table(s->host),
        .cluster_name = s->args.cluster_name,
        .config_path = s->args.cloud_config,
        .options = s->args.options,
        .n_options = s->args.n_options,
        .concurrency = 1,
        .planning = !s->writes,
        .version = TRIMTAB_VERSION,
    };
    if (read_controllers(s, o, err) != ERR_OK) {
        return err->code;
    }
    if (s->args.cloud_config != NULL) {
        char *text;
        int code =
            file_read_stream(s->a, s->args.cloud_config, CONFIG_MAX, &text, &o->config_len, err);
        if (code != ERR_OK) {
            (void)err_prefix(err, "--cloud-config");
            return code;
        }
        o->config_text = text;
    }
    if (s->world != NULL) {
        o->state_json = json_text(s->a, s->world, JSON_COMPACT);
        o->state_len = strlen(o->state_json);
        if (o->config_text == NULL && json_str(s->world, "cloud_config") != NULL) {
            o->config_path = s->args.state_file;
            o->config_text = json_str(s->world, "cloud_config");
            o->config_len = strlen(o->config_text);
        }
    }
    if (!str_is_empty(s->args.secret_name)) {
        return read_secret(s, err);
    }
    return ERR_OK;
}

int cmd_session_open(struct cmd_session *s, struct err *err)
{
    struct host_call *call;
    int code;
    cmd_session_host(s);
    code = cmd_session_open_args(s, err);
    if (code != ERR_OK) {
        return code;
    }
    cmd_wait_for(s->wait, arena_printf(s->a, "opening the provider %s", s->plugin->desc.name));
    call = host_call_begin(s->host, s->a, 1, cmd_wait_left_ms(s->wait), 0, NULL);
    struct tt_result *result = host_call_result(call, 0);
    host_set_opening(s->host, true);
    host_call_enter(call, "open");
    code = s->plugin->desc.open(&s->open_args, &s->provider, result);
    host_set_opening(s->host, false);
    host_call_end(call);
    cmd_wait_end(s->wait);
    s->opened = code == TT_OK;
    code = host_result_outcome(result, code, false, err);
    if (code != ERR_OK) {
        (void)err_prefix(err, "the provider %s did not open", s->plugin->desc.name);
        return code;
    }
    return cmd_session_load_slices(s, err);
}

void cmd_session_done(struct cmd_session *s)
{
    struct guard_mark mark = {.function = "close"};
    if (s->opened) {
        host_end_watches(s->host);
        guard_enter(&mark);
        s->plugin->desc.close(s->provider);
        guard_leave(&mark);
    }
    host_free(s->host);
    kube_store_free(s->slices);
    kube_client_free(s->client);
    kube_config_free(s->config);
    cmd_wait_free(s->wait);
    plugin_free(s->plugin);
    arena_free(s->a);
}

struct sync_scope cmd_session_scope(const struct cmd_session *s)
{
    return sync_scope_of(&s->plugin->desc);
}

static int cmp_key(const void *key, const void *member)
{
    const struct tt_service *svc = *(const struct tt_service *const *)member;
    size_t n = strlen(svc->ns);
    const char *slash = strchr(key, '/');
    size_t n_key = slash == NULL ? 0 : (size_t)(slash - (const char *)key);
    int c = strncmp(key, svc->ns, n_key < n ? n_key : n);
    if (c == 0) {
        c = (n_key > n) - (n_key < n);
    }
    return c != 0 ? c : strcmp(slash == NULL ? "" : slash + 1, svc->name);
}

static const struct tt_service *find(const struct tt_service *const *all, uint32_t n,
                                     const char *key)
{
    const struct tt_service *const *found =
        n == 0 ? NULL : bsearch(key, all, n, sizeof(*all), cmp_key);
    return found == NULL ? NULL : *found;
}

const struct tt_service *cmd_session_service(const struct cmd_session *s, const char *key)
{
    const struct tt_service *found = find(s->services, s->n_services, key);
    for (size_t i = 0; found == NULL && i < s->n_gone; i++) {
        found = cmp_key(key, &s->gone[i]) == 0 ? s->gone[i] : NULL;
    }
    return found;
}

bool cmd_session_is_gone(const struct cmd_session *s, const struct tt_service *svc)
{
    for (size_t i = 0; i < s->n_gone; i++) {
        if (s->gone[i] == svc) {
            return true;
        }
    }
    return false;
}

const struct tt_service *cmd_session_previous(const struct cmd_session *s, const char *key)
{
    const struct sync_scope scope = cmd_session_scope(s);
    const struct tt_service *now = cmd_session_service(s, key);
    const struct tt_service *was = find(s->replaced, s->n_replaced, key);
    bool synced = was != NULL && now != NULL && str_eq(was->uid, now->uid) &&
                  lb_service_stands(was) && !svc_is_unreadable(was) && scope_wants(&scope, was);
    return synced ? was : NULL;
}
