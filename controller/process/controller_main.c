/* SPDX-License-Identifier: Apache-2.0 */
/* controller_main.c: from argv to a running app and back.
 *
 * The main thread runs the event loop, for signals.  The app is started and stopped by a thread of
 * its own, so that a signal is seen at once, whatever the start is waiting for; when the
 * configuration changes, that thread builds another app.  Identity, election and the HTTPS port are
 * the process's and outlive every app.  The first SIGTERM or SIGINT ends it in order, within
 * STOP_MS; a second one at once, also when the loop hangs.  SIGHUP has certificates read again.
 * A separate thread writes the log. */
#include "controller/process/controller_main.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/net/http.h"
#include "common/net/http_server.h"
#include "controller/base/guard.h"
#include "controller/base/term.h"
#include "controller/host/identity.h"
#include "controller/host/plugin.h"
#include "controller/metrics/metrics_process.h"
#include "controller/options/options.h"
#include "controller/process/app.h"
#include "controller/process/serving.h"
#include "controller/sync/notify.h"
#include "controller/sync/quarantine.h"

#define STOP_MS    1500 /* for calls into the provider; the whole exit stays within 2 s */
#define RELOAD_MS  5000 /* the same before another configuration is taken over */
#define GIVE_UP_S  4 /* the latest end: no other process can hold a lost lease before it (§3.8) */
#define LOG_END_MS 200 /* for the last lines of the log */
/* The event loop's names for SIGTERM and SIGINT. */
#define STOP_BY_TERM SIGRTMIN
#define STOP_BY_INT  (SIGRTMIN + 1)

/* ---- before anything runs -------------------------------------------------------------------- */

/* Behind all lines of the log, and like them without waiting for a reader. */
static int fail(const struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;

    str_appendf(&text, "error: %s", err->message);
    log_plain(str_buf_text(&text));
    (void)log_flush(LOG_END_MS);
    return 1;
}

static int fail_usage(const char *program, const struct err *err)
{
    fprintf(stderr, "error: %s\nRun '%s --help' for all flags.\n", err->message, program);
    return 1;
}

static void print_help(const struct controller_program *p, const struct plugin *plugin)
{
    const char *program = p->name;
    _cleanup_(str_buf_done) struct str_buf b = {.columns = term_of(STDOUT_FILENO, false).columns};
    bool commands = p->append_commands != NULL;

    str_append_wrapped(&b,
                       "Keeps cloud load balancers in the state that Services of type LoadBalancer "
                       "ask for.",
                       0, 0);
    str_appendf(&b, "\n\nUsage:\n  %s [flags]%s\n", program,
                commands ? "                run the controller" : "");
    if (commands) {
        str_appendf(&b, "  %s <command> [flags]      look, plan, check\n", program);
        p->append_commands(&b, program);
    }
    options_help(&b, plugin == NULL ? NULL : plugin->desc.options,
                 plugin == NULL ? 0 : plugin->desc.n_options);
    fputs(str_buf_text(&b), stdout);
}

static void print_version(const char *version)
{
    if (strcmp(version, "raw") == 0) {
        printf("version.Info{Major:\"1\", Minor:\"36\", GitVersion:\"v1.36.2+trimtab-%s\", "
               "Compiler:\"%s\", Platform:\"linux\"}\n",
               TRIMTAB_VERSION, __VERSION__);
    } else if (version[0] == 'v') {
        printf("Kubernetes %s\n", version);
    } else {
        printf("Kubernetes v1.36.2+trimtab-%s\n", TRIMTAB_VERSION);
    }
}

static void warn_line(void *arg, const char *text)
{
    (void)arg;
    log_warning(text);
}

static void log_flags(const struct options *o)
{
    for (size_t i = 0; i < o->n_values; i++) {
        const struct option_value *v = &o->values[i];
        log_info(1, "FLAG", LOG_S("name", v->def->name),
                 LOG_S("value", v->def->secret && v->text[0] != '\0' ? "***" : v->text));
    }
}

static void warn_content_type(const struct options *o)
{
    for (size_t i = 0; i < o->n_values; i++) {
        const struct option_value *v = &o->values[i];
        if (strcmp(v->def->name, "kube-api-content-type") == 0 && v->set &&
            strcmp(v->text, "application/json") != 0) {
            log_warning("Only application/json is spoken with the API server",
                        LOG_S("asked", v->text));
        }
    }
}

static void warn_migration(const struct options *o)
{
    if (o->leader_migration) {
        log_warning(
            "--enable-leader-migration has no effect: there is nothing to migrate from here");
    }
}

static void warn_secret(const struct options *o)
{
    if (o->config_secret_name[0] != '\0' && !o->dynamic_reloading) {
        log_warning("--cloud-config-secret-name has no effect without --enable-dynamic-reloading",
                    LOG_S("secret", o->config_secret_name));
    }
}

static void set_up_log(const struct options *o)
{
    log_setup(&(struct log_config){
        .format = strcmp(o->logging_format, "json") == 0 ? LOG_JSON : LOG_TEXT,
        .verbosity = (int)o->verbosity,
        .vmodule = o->vmodule,
        .fd = STDERR_FILENO,
    });
}

static int check_options(const struct options *o, struct err *err)
{
    int rc = options_check_gates(o->a, o->feature_gates, warn_line, NULL, err);

    if (rc != ERR_OK) {
        _cleanup_(str_buf_done) struct str_buf quoted = STR_BUF_INIT;
        struct err why = *err;
        str_append_go_quoted(&quoted, o->feature_gates);
        return err_set(err, rc, "invalid argument %s for \"--feature-gates\" flag: %s",
                       str_buf_text(&quoted), why.message);
    }
    rc = options_validate(o, err);
    if (rc == ERR_OK && !log_vmodule_valid(o->vmodule)) {
        rc = err_set(
            err, ERR_INVALID,
            "invalid argument \"%s\" for \"--vmodule\" flag: expect comma-separated pattern=N",
            o->vmodule);
    }
    return rc;
}

/* ---- running --------------------------------------------------------------------------------- */

struct run {
    struct app_args args;
    struct serving *serving; /* NULL: --secure-port=0 */
    struct event_base *base;
    struct notify *notify; /* NULL: no service manager wants to know */
    struct event *pulse;   /* time of the next watchdog notification */
    int exit_code;
    struct progress progress;
    struct mutex lock;
    struct app *app _guarded_by_(lock); /* the one that runs; another one follows after a reload */
    bool stopping _guarded_by_(lock);   /* a signal came: none follows */
};

static void end_loop(evutil_socket_t fd, short what, void *arg)
{
    struct run *r = arg;

    (void)fd;
    (void)what;
    event_base_loopbreak(r->base);
}

/* A call hangs and cannot be cancelled.  The lease is not released: the next leader must wait until
 * it has expired, because the hanging call may still write. */
static void give_up(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    _exit(1);
}

/* From the main thread at a signal, from the election's when the lease is lost. */
static void stop_run(struct run *r)
{
    const struct timeval limit = {.tv_sec = GIVE_UP_S};

    (void)alarm(GIVE_UP_S + 1); /* should the loop be what hangs */
    event_base_once(r->base, -1, EV_TIMEOUT, give_up, r, &limit);
    (void)notify_send(r->notify, "STOPPING=1");
    mutex_lock(&r->lock);
    r->stopping = true;
    if (r->app != NULL) {
        app_request_stop(r->app);
    }
    mutex_unlock(&r->lock);
}

/* Puts `app` in the place of the one before, NULL: none.  Returns that. */
static struct app *exchange_app(struct run *r, struct app *app)
{
    mutex_lock(&r->lock);
    struct app *before = r->app;
    r->app = app;
    if (app != NULL && r->stopping) {
        app_request_stop(app);
    }
    mutex_unlock(&r->lock);
    return before;
}

static bool is_stopping(struct run *r)
{
    mutex_lock(&r->lock);
    bool stopping = r->stopping;
    mutex_unlock(&r->lock);
    return stopping;
}

static void lease_lost(void *arg)
{
    stop_run(arg);
}

/* One life of the app.  True: another one is to follow, with another configuration. */
static bool run_once(struct run *r)
{
    struct app *app = app_new(&r->args);
    struct err err = ERR_INIT;

    (void)exchange_app(r, app);
    int rc = app_start(app, &err);
    if (rc == ERR_OK) {
        if (options_service_controller_on(r->args.options)) {
            serving_controller_started(r->serving);
        }
        app_wait_stop(app);
    }
    if (app_lease_lost(app, &err) || (rc != ERR_OK && rc != ERR_CANCELLED)) {
        r->exit_code = fail(&err);
    }
    bool again = r->exit_code == 0 && app_wants_reload(app) && !is_stopping(r);
    if (!app_stop(app, again ? RELOAD_MS : STOP_MS)) {
        /* A hanging call keeps its memory: the reload becomes a restart. */
        (void)log_flush(LOG_END_MS); /* else the line that says so is lost */
        _exit(again ? 1 : r->exit_code);
    }
    app_free(exchange_app(r, NULL));
    return again && !is_stopping(r);
}

static void *app_thread(void *arg)
{
    struct run *r = arg;

    while (run_once(r)) {
        log_info(0, "Starting anew with the changed configuration");
    }
    serving_election_ends(r->serving);
    mutex_lock(&r->lock);
    struct election *election = STEAL(r->args.election); /* no longer used */
    mutex_unlock(&r->lock);
    election_free(election); /* nothing works any more: the next one may begin */
    const struct timeval now = {0};
    event_base_once(r->base, -1, EV_TIMEOUT, end_loop, r, &now);
    return NULL;
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct run *r = arg;

    (void)what;
    log_info(0, "Signal received, stopping",
             LOG_S("signal", number == STOP_BY_INT ? "SIGINT" : "SIGTERM"));
    stop_run(r);
}

static void on_hangup(evutil_socket_t number, short what, void *arg)
{
    const struct run *r = arg;

    (void)number;
    (void)what;
    serving_reload(r->serving);
}

/* A second signal, and an end that takes too long. */
static void exit_at_once(int number)
{
    (void)number;
    _exit(1);
}

/* The first signal.  The kernel counts: a second one ends the process whatever the loop does. */
static void first_signal(int number)
{
    (void)signal(SIGTERM, exit_at_once);
    (void)signal(SIGINT, exit_at_once);
    (void)kill(getpid(), number == SIGINT ? STOP_BY_INT : STOP_BY_TERM);
}

static void on_pulse(evutil_socket_t fd, short what, void *arg)
{
    struct run *r = arg;
    int64_t wait_ms = notify_pulse(r->notify);

    (void)fd;
    (void)what;
    if (wait_ms != CLOCK_NEVER) {
        const struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
        event_add(r->pulse, &wait);
    }
}

/* First turn of the loop: the process serves and competes. */
static void on_first_turn(evutil_socket_t fd, short what, void *arg)
{
    struct run *r = arg;

    (void)notify_send(r->notify, "READY=1");
    on_pulse(fd, what, arg);
}

static int run_loop(struct run *r)
{
    struct event *term = evsignal_new(r->base, STOP_BY_TERM, on_signal, r);
    struct event *intr = evsignal_new(r->base, STOP_BY_INT, on_signal, r);
    struct event *hangup = evsignal_new(r->base, SIGHUP, on_hangup, r);
    const struct timeval now = {0};
    struct err err = ERR_INIT;
    pthread_t thread;
    int rc = ERR_OK;

    r->pulse = evtimer_new(r->base, on_pulse, r);

    if (evsignal_add(term, NULL) == 0 && evsignal_add(intr, NULL) == 0 &&
        evsignal_add(hangup, NULL) == 0 &&
        event_base_once(r->base, -1, EV_TIMEOUT, on_first_turn, r, &now) == 0) {
        /* Before anything is served: a signal that comes now ends the process in order, too. */
        (void)signal(SIGALRM, exit_at_once);
        (void)signal(SIGTERM, first_signal);
        (void)signal(SIGINT, first_signal);
        rc = thread_start(&thread, app_thread, r, "the controllers", &err);
    } else {
        rc = err_set(&err, ERR_TRANSIENT, "signals: %s",
                     limits_no_descriptor() ? LIMITS_NO_DESCRIPTOR : "the loop takes no events");
    }
    if (rc != ERR_OK) {
        rc = fail(&err);
    } else {
        event_base_loop(r->base, EVLOOP_NO_EXIT_ON_EMPTY);
        pthread_join(thread, NULL);
        rc = r->exit_code;
        (void)signal(SIGTERM, exit_at_once); /* the loop's handlers are removed */
        (void)signal(SIGINT, exit_at_once);
    }
    event_free(term);
    event_free(intr);
    event_free(hangup);
    event_free(r->pulse);
    return rc;
}

/* Without that part, only a provider with further parts has something to do. */
static int check_parts(const struct options *o, const struct plugin *plugin, struct err *err)
{
    if (options_service_controller_on(o) || (plugin->desc.capabilities & TT_CAP_MORE_PARTS) != 0) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, OPTIONS_NOTHING_TO_RUN, plugin->desc.name);
}

/* Drift is found by a plan. */
static int check_drift(const struct options *o, const struct plugin *plugin, struct err *err)
{
    if (plugin->desc.plan != NULL || strcmp(o->drift, "report") != 0) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "--drift=report: provider \"%s\" cannot plan, so differences cannot be shown; "
                   "--drift=repair syncs each Service every --drift-period instead",
                   plugin->desc.name);
}

/* One heap for all threads: with ten workers it saves a tenth of the memory. */
static void share_heap(void)
{
#ifdef M_ARENA_MAX
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}

/* For /status: the app that there is at the moment, if any. */
static void look_at_app(void *arg, struct arena *a, struct status_view *ret)
{
    struct run *r = arg;
    struct election_view leader;

    mutex_lock(&r->lock);
    if (r->app != NULL) {
        app_look(r->app, a, ret);
    } else {
        status_look(&(struct status_sources){.clock = clock_real()}, a, ret);
    }
    election_look(r->args.election, a, &leader);
    mutex_unlock(&r->lock);
    ret->leader = (struct status_leader){
        .elects = r->args.options->leader_elect,
        .leads = leader.leads,
        .lease = leader.lease,
        .holder = leader.holder,
    };
}

/* For /livez and the watchdog: the workers of the app that there is. */
static bool check_workers(void *arg, char *why, size_t n)
{
    struct run *r = arg;
    struct progress_work work = {0};

    mutex_lock(&r->lock);
    bool fine = r->app == NULL || app_check_workers(r->app, why, n);
    if (r->app != NULL) {
        app_work(r->app, &work);
    }
    mutex_unlock(&r->lock);
    return progress_check(&r->progress, &work, why, n) && fine;
}

/* From the threads that renew leases. */
static bool may_renew(void *arg, struct err *err)
{
    struct run *r = arg;
    struct progress_work work = {0};
    char why[ERR_MESSAGE_MAX] = "";

    mutex_lock(&r->lock);
    if (r->app != NULL) {
        app_work(r->app, &work);
        work.waiting +=
            !app_is_running(r->app); /* who leads and does not come to work is in the way */
    }
    mutex_unlock(&r->lock);
    if (progress_check(&r->progress, &work, why, sizeof(why))) {
        return true;
    }
    (void)err_set(err, ERR_TRANSIENT, "it is not renewed: %s", why);
    return false;
}

/* The result of /livez, with or without the port: neither the election nor a worker hangs.  That
 * the loop turns, its caller shows. */
static bool is_alive(void *arg, char *why, size_t n)
{
    struct run *r = arg;

    mutex_lock(&r->lock);
    struct election *election = r->args.election;
    bool fine = election == NULL || election_check_health(election, why, n);
    mutex_unlock(&r->lock);
    return fine && check_workers(r, why, n);
}

/* Programs that this one starts are not to speak in its name. */
static void make_notify(struct run *r)
{
    const struct notify_args args = {
        .socket = getenv("NOTIFY_SOCKET"),
        .watchdog_usec = getenv("WATCHDOG_USEC"),
        .watchdog_pid = getenv("WATCHDOG_PID"),
        .alive = is_alive,
        .arg = r,
    };

    r->notify = notify_new(&args);
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

static int make_election(struct run *r, struct err *err)
{
    const struct election_args args = {
        .options = r->args.options,
        .metrics = r->args.metrics,
        .identity = r->args.identity,
        .lost = lease_lost,
        .may_renew = may_renew,
        .arg = r,
    };
    return r->args.options->leader_elect ? election_new(&args, &r->args.election, err) : ERR_OK;
}

static int make_serving(struct run *r, struct err *err)
{
    const struct serving_args args = {
        .options = r->args.options,
        .metrics = r->args.metrics,
        .identity = r->args.identity,
        .election = r->args.election,
        .provider = r->args.provider->name,
        .look = look_at_app,
        .check_workers = check_workers,
        .arg = r,
    };
    return serving_new(&args, &r->serving, err);
}

/* Serves before it competes: standbys answer, too (§3.4). */
static int start_process(struct run *r, struct err *err)
{
    int rc = make_election(r, err);

    if (rc == ERR_OK) {
        rc = make_serving(r, err);
    }
    if (rc == ERR_OK && r->args.election != NULL) {
        rc = election_start(r->args.election, err);
    }
    return rc;
}

static int run_process(struct run *r)
{
    struct metrics *m = r->args.metrics;
    struct err err = ERR_INIT;
    const struct identity_args who = identity_args_of(r->args.options, m, NULL);

    if (identity_new(&who, &r->args.identity, &err) != ERR_OK) {
        return fail(&err);
    }
    metrics_add_process(m, r->args.options);
    metrics_add_collector(m, identity_show, r->args.identity);
    int rc = start_process(r, &err) == ERR_OK ? run_loop(r) : fail(&err);

    serving_free(r->serving);
    election_free(r->args.election); /* still there when no loop ran */
    metrics_remove_collector(m, identity_show, r->args.identity);
    identity_free(r->args.identity);
    return rc;
}

static int run_app(const struct options *o, const struct plugin *plugin)
{
    struct err err = ERR_INIT;

    share_heap();
    if (check_parts(o, plugin, &err) != ERR_OK || check_drift(o, plugin, &err) != ERR_OK) {
        return fail(&err);
    }
    if (http_global_init(&err) != ERR_OK) {
        return fail(&err);
    }
    evthread_use_pthreads();
    struct event_base *base = NULL;
    if (http_server_new_loop(&base, &err) != ERR_OK) {
        http_global_done();
        return fail(&err);
    }
    signal(SIGPIPE, SIG_IGN);
    struct run r = {
        .args = {.options = o,
                 .provider = &plugin->desc,
                 .metrics = metrics_new(),
                 .opaque = plugin_is_loaded(plugin),
                 .quarantines = plugin_is_loaded(plugin) && o->provider_quarantine,
                 .may_renew = may_renew},
        .base = base,
    };
    progress_init(&r.progress, clock_real(), o->progress_deadline_ms);
    r.args.progress = &r.progress;
    r.args.may_renew_arg = &r;
    mutex_init(&r.lock);
    make_notify(&r);
    int rc = run_process(&r);
    notify_free(r.notify);
    mutex_done(&r.lock);
    metrics_free(r.args.metrics);
    event_base_free(r.base);
    libevent_global_shutdown();
    http_global_done();
    return rc;
}

static int run_controller(const struct options *o, const struct plugin *plugin)
{
    log_flags(o);
    warn_content_type(o);
    warn_secret(o);
    warn_migration(o);
    log_info(0, "Version", LOG_S("version", "v" TRIMTAB_VERSION));
    return run_app(o, plugin);
}

static int main_with_plugin(const struct controller_program *p, int argc, char **argv,
                            const struct plugin *plugin)
{
    struct options *o = NULL;
    struct err err = ERR_INIT;
    const struct options_input in = {
        .argc = argc,
        .argv = argv,
        .extra = plugin == NULL ? NULL : plugin->desc.options,
        .n_extra = plugin == NULL ? 0 : plugin->desc.n_options,
        .program = p->name,
        .warn = warn_line,
    };
    const char *death = getenv(GUARD_DEATH_ENV);
    int rc = 0;

    if (options_parse(&in, &o, &err) != ERR_OK) {
        return fail_usage(p->name, &err);
    }
    set_up_log(o);
    /* The process that counts a death dies of one without being counted. */
    bool counts = plugin_is_loaded(plugin) && o->provider_quarantine && death == NULL;
    guard_install(&(struct guard_args){.provider = plugin == NULL ? "" : plugin->desc.name,
                                       .json = strcmp(o->logging_format, "json") == 0,
                                       .fd = STDERR_FILENO,
                                       .argv = counts ? argv : NULL});
    if (o->help) {
        print_help(p, plugin);
    } else if (strcmp(o->version, "false") != 0) {
        print_version(o->version);
    } else if (check_options(o, &err) != ERR_OK) {
        rc = fail_usage(p->name, &err);
    } else if (death != NULL && plugin != NULL) {
        rc = quarantine_report(o, &plugin->desc, death);
    } else {
        rc = log_begin_writing(&err) == ERR_OK ? run_controller(o, plugin) : fail(&err);
        (void)log_end_writing(LOG_END_MS);
    }
    log_setup(&(struct log_config){.fd = STDERR_FILENO}); /* it borrowed vmodule from the options */
    options_free(o);
    return rc;
}

int controller_main(const struct controller_program *p, int argc, char **argv)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct option_peek peek = options_peek(a, argc, argv);
    struct plugin *plugin = NULL;
    struct err err = ERR_INIT;

    log_setup(&(struct log_config){.fd = STDERR_FILENO});
    const struct plugin_search search = {
        .name = peek.cloud_provider,
        .dir = peek.plugin_dir,
        .allow_writable = peek.allow_writable,
        .builtins = p->builtins,
        .n_builtins = p->n_builtins,
    };
    guard_install(&(struct guard_args){.provider = peek.cloud_provider, .fd = STDERR_FILENO});
    if (peek.cloud_provider[0] != '\0' && plugin_open(&search, &plugin, &err) != ERR_OK) {
        return fail(&err);
    }
    int rc = main_with_plugin(p, argc, argv, plugin);
    plugin_free(plugin);
    return rc;
}
