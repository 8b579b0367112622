/* SPDX-License-Identifier: Apache-2.0 */
/* credentials_exec.c: one run of a plugin: environment, program, output, log lines.
 *
 * The running itself is run.c's, the reading credentials_answer.c's; when to run is
 * credentials_source.c's.  Must not log what came out of stdout, and of stderr only what
 * cannot be a credential. */
#include "controller/kube/client/credentials_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/run.h"
#include "common/data/json.h"

#define LEAD_MS         ((int64_t)30 * 1000)
#define RUN_MS          ((int64_t)60 * 1000)
#define RUN_PERSON_MS   ((int64_t)300 * 1000)
#define OUT_MAX         ((size_t)1 << 20)
#define ERR_MAX_BYTES   ((size_t)16 * 1024)
#define CA_MAX_BYTES    ((size_t)1 << 20)
#define SECRET_MIN      8 /* as err_mask(): shorter ones are words */
#define HINTS           10
#define HINT_EVERY_MS   ((int64_t)60 * 60 * 1000)
#define EXEC_INFO       "KUBERNETES_EXEC_INFO"
#define STATUS_OK       "no_error"
#define STATUS_FAILED   "plugin_execution_error"
#define STATUS_MISSING  "plugin_not_found_error"
#define STATUS_INTERNAL "client_internal_error"

struct exec_plugin {
    struct exec_plugin_args args;
    struct log_limit hints;
    struct http_pair_life life; /* of the certificate in use; source's thread only */
    bool has_life;
};

extern char **environ;

/* --- environment ------------------------------------------------------------------------------ */

static const char *ca_text(struct arena *a, const struct http_tls *tls)
{
    char *text = NULL;
    size_t n;
    uint64_t generation;
    if (tls->ca_file != NULL) {
        (void)!file_watch_get(tls->ca_file, a, &text, &n, &generation, NULL); /* else without */
        return text;
    }
    return tls->ca_pem;
}

static struct json_object *cluster_info(struct arena *a, const struct exec_plugin_args *p)
{
    const struct kube_config *c = p->config;
    const char *ca = ca_text(a, &c->tls);
    struct json_object *extension = NULL;
    struct json_object *o = json_object_new_object();
    json_add_str(o, "server", c->server);
    json_add_str(o, "tls-server-name", c->tls.server_name);
    if (c->tls.insecure) {
        json_add_bool(o, "insecure-skip-tls-verify", true);
    }
    if (ca != NULL) {
        json_add_str(o, "certificate-authority-data", str_base64_encode(a, ca, strlen(ca), false));
    }
    json_add_str(o, "proxy-url", c->proxy_url);
    if (c->disable_compression) {
        json_add_bool(o, "disable-compression", true);
    }
    if (p->cluster_extension != NULL) {
        (void)!json_parse(p->cluster_extension, strlen(p->cluster_extension), NULL, &extension,
                          NULL); /* we printed it */
    }
    json_object_object_add(o, "config", extension);
    return o;
}

char *exec_plugin_info(struct arena *a, const struct exec_plugin_args *p, bool interactive)
{
    struct json_object *o _cleanup_(json_putp) = json_object_new_object();
    struct json_object *spec = json_object_new_object();
    json_add_str(o, "kind", "ExecCredential");
    json_add_str(o, "apiVersion", p->api_version);
    json_add(o, "spec", spec);
    if (p->provide_cluster_info) {
        json_add(spec, "cluster", cluster_info(a, p));
    }
    json_add_bool(spec, "interactive", interactive);
    return json_text(a, o, JSON_COMPACT);
}

static bool is_named(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool is_replaced(const struct exec_plugin_args *p, const char *entry)
{
    bool replaced = is_named(entry, EXEC_INFO);
    for (size_t i = 0; i < p->n_env && !replaced; i++) {
        replaced = is_named(entry, p->env[i].name);
    }
    return replaced;
}

/* Ours, with the configured ones over them; of two of one name the later one counts. */
static const char *const *make_env(struct arena *a, const struct exec_plugin_args *p,
                                   bool interactive)
{
    size_t n = 0;
    size_t n_own = 0;
    while (environ[n_own] != NULL) {
        n_own++;
    }
    const char **env = ARENA_ARRAY(a, const char *, n_own + p->n_env + 2);
    for (size_t i = 0; i < n_own; i++) {
        if (!is_replaced(p, environ[i])) {
            env[n++] = arena_strdup(a, environ[i]);
        }
    }
    for (size_t i = 0; i < p->n_env; i++) {
        bool again = str_eq(p->env[i].name, EXEC_INFO);
        for (size_t k = i + 1; k < p->n_env && !again; k++) {
            again = str_eq(p->env[i].name, p->env[k].name);
        }
        if (!again) {
            env[n++] = arena_printf(a, "%s=%s", p->env[i].name, p->env[i].value);
        }
    }
    env[n] = arena_printf(a, EXEC_INFO "=%s", exec_plugin_info(a, p, interactive));
    return env;
}

/* --- one run ---------------------------------------------------------------------------------- */

static void count(const struct exec_plugin *x, int code, const char *status)
{
    if (x->args.observer.exec_call != NULL) {
        x->args.observer.exec_call(x->args.observer.arg, code, status);
    }
}

static int say_missing(struct exec_plugin *x, struct err *err)
{
    const char *hint = str_nonnull(x->args.install_hint);
    bool hinted = hint[0] != '\0' && log_limit_ok(&x->hints, clock_now_ms(x->args.clock));
    count(x, 1, STATUS_MISSING);
    return err_set(err, ERR_AUTH, "exec: executable %.300s not found%s%.600s", x->args.command,
                   hinted ? "; " : "", hinted ? hint : "");
}

static bool says_secret(const struct run_result *r, const struct credential *c)
{
    static const char *const marks[] = {"PRIVATE KEY", "\"token\"", "clientKeyData", "Bearer "};
    bool secret =
        c->token != NULL && strlen(c->token) >= SECRET_MIN && strstr(r->err, c->token) != NULL;
    for (size_t i = 0; i < ARRAY_LEN(marks) && !secret; i++) {
        secret = strstr(r->err, marks[i]) != NULL;
    }
    return secret;
}

/* Adds to the error of a plugin that failed why it says it did. */
static void add_stderr(struct arena *a, const struct run_result *r, const struct credential *c,
                       struct err *err)
{
    struct err why = *err;
    const char *said = str_trim(a, r->err);
    if (r->exit_code != 0 && *said != '\0' && !says_secret(r, c)) {
        (void)err_set(err, why.code, "%.500s: %.400s", why.message, said);
    }
}

/* Returns the plugin's stderr, unless that looks like a credential. */
static void log_stderr(const struct exec_plugin *x, const struct run_result *r,
                       const struct credential *c)
{
    if (r->err[0] == '\0') {
        return;
    }
    if (says_secret(r, c)) {
        log_warning("The credential plugin wrote something secret to stderr; it is not shown",
                    LOG_S("plugin", x->args.command));
        return;
    }
    struct err shown = ERR_INIT;
    (void)err_set(&shown, ERR_INVALID, "%s", r->err);
    log_info(0, "The credential plugin says", LOG_S("plugin", x->args.command),
             LOG_S("stderr", shown.message), LOG_B("cut", r->err_cut));
}

static int run_plugin(struct exec_plugin *x, struct arena *a, bool interactive,
                      struct cancel *cancel, struct run_result *ret, struct err *err)
{
    const struct exec_plugin_args *p = &x->args;
    const char **argv = ARENA_ARRAY(a, const char *, p->n_args + 2);
    int64_t usual_ms = interactive ? RUN_PERSON_MS : RUN_MS;
    struct err why = ERR_INIT;
    argv[0] = p->command;
    for (size_t i = 0; i < p->n_args; i++) {
        argv[i + 1] = p->args[i];
    }
    const struct run_args args = {
        .argv = argv,
        .envp = make_env(a, p, interactive),
        .interactive = interactive,
        .timeout_ms = p->timeout_ms > 0 ? p->timeout_ms : usual_ms,
        .out_max = OUT_MAX,
        .err_max = ERR_MAX_BYTES,
        .cancel = cancel,
    };
    int rc = run_program(a, &args, ret, &why);
    if (rc == ERR_NOT_FOUND) {
        return say_missing(x, err);
    }
    if (rc == ERR_CANCELLED) {
        return err_copy(err, &why);
    }
    if (rc != ERR_OK) {
        count(x, 1, STATUS_INTERNAL);
        return err_set(err, ERR_AUTH, "exec: %s", why.message);
    }
    count(x, ret->exit_code, ret->exit_code == 0 ? STATUS_OK : STATUS_FAILED);
    if (ret->exit_code != 0) {
        return err_set(err, ERR_AUTH, "exec: executable %.300s failed with exit code %d",
                       p->command, ret->exit_code);
    }
    return ERR_OK;
}

/* Hands a certificate to those who connect. */
static int use_certificate(struct exec_plugin *x, const struct credential *c, struct err *err)
{
    struct http_pair_life life = {0};
    struct err why = ERR_INIT;
    bool changed = false;
    if (http_pair_set(x->args.config->tls.pair, c->cert_pem, c->key_pem, &life, &changed, &why) !=
        ERR_OK) {
        return err_set(err, ERR_AUTH, "failed parsing client key/certificate: %s", why.message);
    }
    const struct kube_credentials_observer *o = &x->args.observer;
    if (changed && x->has_life && o->rotated != NULL) {
        o->rotated(o->arg, (double)(clock_wall_s(x->args.clock) - x->life.from_s));
    }
    if (o->certificate != NULL) {
        o->certificate(o->arg, c->cert_pem != NULL, life.until_s);
    }
    x->has_life = c->cert_pem != NULL;
    x->life = life;
    return ERR_OK;
}

static bool is_a_terminal(int fd)
{
    return isatty(fd) == 1;
}

static int fetch(void *arg, struct arena *a, struct cancel *cancel, struct credential *ret,
                 struct err *err)
{
    struct exec_plugin *x = arg;
    struct run_result r = {.err = ""};
    struct credential c = {0};
    bool (*is_terminal)(int) = x->args.is_terminal != NULL ? x->args.is_terminal : is_a_terminal;
    bool interactive = x->args.mode != EXEC_NEVER && is_terminal(STDIN_FILENO);
    if (x->args.mode == EXEC_ALWAYS && !interactive) {
        return err_set(err, ERR_AUTH,
                       "getting credentials: exec plugin cannot support interactive mode: standard "
                       "input is not a terminal");
    }
    int rc = run_plugin(x, a, interactive, cancel, &r, err);
    if (rc == ERR_OK &&
        credentials_parse_exec(a, x->args.api_version, r.out, r.out_len, &c, err) != ERR_OK) {
        err->code = rc = ERR_AUTH;
    }
    log_stderr(x, &r, &c);
    if (rc == ERR_AUTH && err != NULL) {
        add_stderr(a, &r, &c, err);
    }
    if (rc == ERR_OK) {
        rc = use_certificate(x, &c, err);
    }
    if (rc == ERR_OK) {
        *ret = c;
    } else if (rc != ERR_CANCELLED) {
        (void)err_prefix(err, "getting credentials");
    }
    return rc;
}

struct credentials_source *exec_plugin_new(const struct exec_plugin_args *args)
{
    struct exec_plugin *x = xcalloc(1, sizeof *x);
    x->args = *args;
    x->args.clock = args->clock == NULL ? clock_real() : args->clock;
    x->hints = (struct log_limit){.interval_ms = HINT_EVERY_MS, .burst = HINTS};
    return credentials_source_new(&(struct credentials_source_args){
        .fetch = fetch,
        .done = free,
        .arg = x,
        .name = args->command,
        .clock = x->args.clock,
        .lead_ms = LEAD_MS,
    });
}
