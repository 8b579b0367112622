/* SPDX-License-Identifier: Apache-2.0 */
/* rig.c: the rig's life: files, the simulator's thread, the controller (rig.h).
 *
 * What the simulator is asked is in rig_sim.c, coming to rest in rig_settle.c.  The controller is
 * given the clock of the rig, and so is the provider, which in production takes the real one: its
 * open() is wrapped for that. */
#include "tests/support/rig_internal.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/net/http.h"
#include "common/net/http_server.h"
#include "controller/host/host_internal.h"
#include "controller/host/plugin.h"
#include "controller/process/app.h"
#include "providers/aws/aws_provider.h"
#include "providers/azure/azure_provider.h"
#include "providers/builtin.h"
#include "providers/gce/gce_provider.h"
#include "sim/program.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"

#define WORLD_MAX_BYTES (256UL << 20)
#define LOG_MAX_BYTES   (256UL << 20)
#define STOP_MS         10000
#define FAKE_START_MS   1000000

/* ---- files ----------------------------------------------------------------------------------- */

static int make_dir(struct rig *r, struct err *err)
{
    const char *tmp = str_or(getenv("TMPDIR"), "/tmp");
    char *dir = arena_printf(r->a, "%s/trimtab-rig-XXXXXX", tmp);
    if (mkdtemp(dir) == NULL) {
        return err_set(err, ERR_INVALID, "cannot make a folder in %s", tmp);
    }
    r->dir = dir;
    r->log_fd = open(rig_file(r, "log"), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return r->log_fd >= 0 ? ERR_OK : err_set(err, ERR_INVALID, "cannot write into %s", dir);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

const char *rig_file(struct rig *r, const char *name)
{
    return arena_printf(r->a, "%s/%s", r->dir, name);
}

const char *rig_log(struct rig *r)
{
    char *text = NULL;
    size_t n = 0;
    if (file_read(r->a, rig_file(r, "log"), LOG_MAX_BYTES, &text, &n, NULL) != ERR_OK) {
        return "";
    }
    return text;
}

int rig_read_data(struct arena *a, const char *name, struct json_object **ret, struct err *err)
{
    static const struct json_limits limits = {.max_bytes = WORLD_MAX_BYTES};
    const char *path = arena_printf(a, "%s/%s", str_nonnull(getenv("TRIMTAB_TEST_DATA")), name);
    char *text = NULL;
    size_t n = 0;
    int rc = file_read(a, path, WORLD_MAX_BYTES, &text, &n, err);
    if (rc == ERR_OK) {
        rc = json_parse_arena(a, text, n, &limits, ret, err);
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "%s", path);
    }
    return rc;
}

/* ---- clouds ---------------------------------------------------------------------------------- */

/* The provider takes the controller's clock and randomness. */
static int32_t open_google(const struct tt_open_args *args, void **ret_provider,
                           struct tt_result *result)
{
    const struct tt_host_ctx *host = (const struct tt_host_ctx *)args->host->ctx;
    return gce_provider_open(args, host->args.clock, host->args.rng, ret_provider, result);
}

static int32_t open_azure(const struct tt_open_args *args, void **ret_provider,
                          struct tt_result *result)
{
    const struct tt_host_ctx *host = (const struct tt_host_ctx *)args->host->ctx;
    return azure_provider_open(args, host->args.clock, host->args.rng, ret_provider, result);
}

static int32_t open_aws(const struct tt_open_args *args, void **ret_provider,
                        struct tt_result *result)
{
    const struct tt_host_ctx *host = (const struct tt_host_ctx *)args->host->ctx;
    const struct aws_open_with with = {.clock = host->args.clock, .rng = host->args.rng};
    return aws_provider_open(args, &with, ret_provider, result);
}

static char *google_config(struct rig *r)
{
    (void)setenv("GCE_METADATA_HOST", r->url + strlen("http://"),
                 1); /* fails for lack of memory only */
    return sim_compute_cloud_config(sim_module_state(r->sim, "gce"), r->a);
}

/* Where the provider finds its token. */
static char *azure_config(struct rig *r)
{
    (void)setenv("IDENTITY_ENDPOINT", arena_printf(r->a, "%s/msi/token", r->url), 1);
    (void)setenv("IDENTITY_HEADER", SIM_ARM_IDENTITY_HEADER, 1);
    return sim_arm_cloud_config(sim_module_state(r->sim, "azure"), r->a);
}

/* Keys and endpoints. */
static char *aws_config(struct rig *r)
{
    void *aws = sim_module_state(r->sim, "aws");
    size_t n = 0;
    char **lines = str_split(r->a, sim_aws_env(aws, r->a, NULL), '\n', &n);
    for (size_t i = 0; i < n; i++) {
        char *value = strchr(lines[i], '=');
        if (value != NULL) {
            *value = '\0';
            (void)setenv(lines[i], value + 1, 1);
        }
    }
    return sim_aws_cloud_config(aws, r->a);
}

struct rig_cloud {
    const char *name; /* of the simulator's and of the provider */
    const char *file;
    char *(*config)(
        struct rig *r); /* the simulator's own, and what of it goes to the environment */
    int32_t (*open)(const struct tt_open_args *args, void **ret_provider, struct tt_result *result);
    const char *rest; /* a flag without which there is no rest for hours; NULL: none is needed */
};
/* Google's periodic looks would come in every hour that the clock is moved; a test that is about
 * them sets the flag. */
static const struct rig_cloud clouds[] = {
    {"gce", "gce.conf", google_config, open_google, "--sync-period=1000h"},
    {"azure", "azure.json", azure_config, open_azure, NULL},
    {"aws", "aws.conf", aws_config, open_aws, NULL},
};

static const struct rig_cloud *cloud_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(clouds); i++) {
        if (str_eq(clouds[i].name, name)) {
            return &clouds[i];
        }
    }
    return NULL;
}

/* The provider's configuration.  The simulator's program would also make keys of service accounts,
 * which takes a fifth of a second. */
static int write_cloud_config(struct rig *r, const char *config, struct err *err)
{
    const char *own = r->cloud->config(r);
    const char *text = config == NULL ? own : str_replace(r->a, config, "<own>", own);
    text = str_replace(r->a, text, "<endpoint>", r->url);
    return file_write_atomic(rig_file(r, r->cloud->file), text, strlen(text), 0600, err);
}

/* ---- the simulator --------------------------------------------------------------------------- */

static void *run_loop(void *arg)
{
    struct rig *r = arg;
    event_base_loop(r->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

/* Signatures are as old as the difference of two clocks, and deleted things go after a time that is
 * waited for: the simulated AWS has the controller's clock.  So has every cloud that
 * takes its time. */
static bool is_aws(const struct sim_config *cfg, struct json_object *world)
{
    struct json_object *docs = json_member(world, "aws");
    return cfg->cloud != NULL ? str_eq(cfg->cloud, "aws")
                              : docs != NULL && json_object_object_length(docs) > 0;
}

static int start_sim(struct rig *r, const struct rig_args *args, struct err *err)
{
    struct sim_options o = {.cfg = args->sim, .write_kubeconfig = rig_file(r, "kubeconfig")};
    struct json_object *world = args->world;
    int rc = ERR_OK;
    if (args->world_file != NULL) {
        rc = rig_read_data(r->a, args->world_file, &world, err);
    }
    o.cfg.world = world;
    if (args->log_traffic) {
        o.cfg.traffic_log = rig_file(r, "traffic.log");
        o.cfg.kube_log = rig_file(r, "kube.log");
    }
    if (is_aws(&o.cfg, world) || o.cfg.latency != SIM_LATENCY_NONE || args->shared_clock) {
        o.cfg.clock = r->fake;
    }
    r->base = event_base_new();
    if (rc == ERR_OK) {
        rc = sim_new(r->base, &o.cfg, &r->sim, err);
    }
    if (rc == ERR_OK) {
        r->url = arena_strdup(r->a, sim_url(r->sim));
        r->cloud = cloud_of(sim_cfg(r->sim)->cloud);
        rc = sim_outputs_write(r->sim, &o, NULL, err);
    }
    if (rc == ERR_OK) {
        rc =
            write_cloud_config(r, str_or(args->cloud_config, json_str(world, "cloud_config")), err);
    }
    if (rc == ERR_OK && pthread_create(&r->thread, NULL, run_loop, r) != 0) {
        rc = err_set(err, ERR_BUG, "no thread for the simulator");
    }
    r->sim_runs = rc == ERR_OK;
    return rc;
}

static void stop_sim(struct rig *r)
{
    if (r->sim_runs) {
        event_base_loopbreak(r->base);
        pthread_join(r->thread, NULL);
    }
    sim_free(r->sim);
    if (r->base != NULL) {
        http_server_free_loop(r->base);
    }
}

/* ---- the rig --------------------------------------------------------------------------------- */

/* Google's L4 parts wait for a lease, whose calls and renewals would be in every count and at every
 * moment of the fake clock: only who speaks of it has it. */
static void copy_flags(struct rig *r, const char *const *flags)
{
    size_t n = 0;
    bool has_l4 = false;
    bool has_gate = false;
    while (flags != NULL && flags[n] != NULL) {
        has_l4 = has_l4 || str_has_prefix(flags[n], "--run-l4-");
        has_gate = has_gate || str_has_prefix(flags[n], "--gate-");
        n++;
    }
    r->flags = ARENA_ARRAY(r->a, char *, n + 2);
    for (size_t i = 0; i < n; i++) {
        r->flags[i] = arena_strdup(r->a, flags[i]);
    }
    if (has_l4 && !has_gate) {
        r->flags[n++] = arena_strdup(r->a, "--gate-l4-by-lock=false");
    }
    r->n_flags = n;
}

int rig_new(const struct rig_args *args, struct rig **ret, struct err *err)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    r->a = arena_new();
    r->log_fd = -1;
    evthread_use_pthreads();
    copy_flags(r, args->flags);
    if (!args->real_clock) {
        r->fake = clock_fake_new(FAKE_START_MS, clock_wall_us(clock_real()));
    }
    int rc = http_global_init(err);
    if (rc == ERR_OK) {
        rc = make_dir(r, err);
    }
    if (rc == ERR_OK) {
        rc = start_sim(r, args, err);
    }
    if (rc != ERR_OK) {
        rig_free(r);
        return rc;
    }
    r->http = http_new(
        &(struct http_config){.observe = http_ignore_sent, .user_agent = "rig", .proxy_url = ""});
    *ret = r;
    return ERR_OK;
}

void rig_free(struct rig *r)
{
    if (r == NULL) {
        return;
    }
    (void)rig_stop(r); /* nothing more can be done */
    http_free(r->http);
    stop_sim(r);
    if (r->log_fd >= 0) {
        close(r->log_fd);
    }
    if (r->dir != NULL) {
        (void)nftw(r->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS); /* what is left, is left */
    }
    clock_fake_free(r->fake);
    http_global_done();
    arena_free(r->a);
    free(r);
}

struct arena *rig_arena(struct rig *r)
{
    return r->a;
}

struct clock *rig_clock(struct rig *r)
{
    return r->fake != NULL ? r->fake : clock_real();
}

void rig_advance(struct rig *r, int64_t ms)
{
    clock_fake_advance(r->fake, ms);
}

struct app *rig_app(struct rig *r)
{
    return r->app;
}

const char *rig_url(struct rig *r)
{
    return r->url;
}

/* ---- the controller -------------------------------------------------------------------------- */

static int parse_flags(struct rig *r, struct err *err)
{
    char *const own[] = {
        (char *)"trimtab",
        arena_printf(r->a, "--cloud-provider=%s", r->cloud->name),
        (char *)"--leader-elect=false",
        (char *)"--secure-port=0",
        (char
             /* a limiter by a clock that stands still would never let go */
             *)"--kube-api-qps=100000",
        (char *)"--kube-api-burst=100000",
        (char *)"--concurrent-service-syncs=1", /* so that calls have one order */
        arena_printf(r->a, "--cloud-config=%s", rig_file(r, r->cloud->file)),
        arena_printf(r->a, "--kubeconfig=%s", rig_file(r, "kubeconfig")),
        (char *)r->cloud->rest,
    };
    size_t n_own = ARRAY_LEN(own) - (r->cloud->rest == NULL);
    char **argv = ARENA_ARRAY(r->a, char *, n_own + r->n_flags + 1);
    memcpy(argv, own, n_own * sizeof(*own));
    memcpy(argv + n_own, r->flags, r->n_flags * sizeof(char *));
    const struct options_input in = {
        .argc = (int)(n_own + r->n_flags),
        .argv = argv,
        .extra = r->plugin->desc.options,
        .n_extra = r->plugin->desc.n_options,
        .program = "trimtab",
    };
    int rc = options_parse(&in, &r->options, err);
    return rc == ERR_OK ? options_validate(r->options, err) : rc;
}

static void drop_controller(struct rig *r)
{
    app_free(STEAL(r->app));
    options_free(STEAL(r->options));
    plugin_free(STEAL(r->plugin));
    rng_free(STEAL(r->rng));
    log_setup(&(struct log_config){.fd = STDERR_FILENO});
}

int rig_prepare(struct rig *r, struct err *err)
{
    size_t n = 0;
    const struct tt_provider *const *builtins = trimtab_builtin_providers(&n);
    const struct plugin_search search = {
        .name = r->cloud->name, .dir = "", .builtins = builtins, .n_builtins = n};
    int rc = plugin_open(&search, &r->plugin, err);
    if (rc == ERR_OK) {
        rc = parse_flags(r, err);
    }
    if (rc != ERR_OK) {
        drop_controller(r);
        return rc;
    }
    r->plugin->desc.open = r->cloud->open;
    log_setup(&(struct log_config){
        .fd = r->log_fd, .verbosity = (int)r->options->verbosity, .vmodule = r->options->vmodule});
    r->rng = rng_seeded_new(++r->starts);
    r->app = app_new(&(struct app_args){.options = r->options,
                                        .provider = &r->plugin->desc,
                                        .clock = rig_clock(r),
                                        .rng = r->rng,
                                        .on_plan = r->on_plan,
                                        .on_plan_arg = r->on_plan_arg});
    return ERR_OK;
}

void rig_on_plan(struct rig *r, void (*fn)(void *arg, const struct tt_plan *plan), void *arg)
{
    r->on_plan = fn;
    r->on_plan_arg = arg;
}

int rig_start(struct rig *r, struct err *err)
{
    int rc = rig_prepare(r, err);
    if (rc != ERR_OK) {
        return rc;
    }
    rc = app_start(r->app, err);
    if (rc != ERR_OK) {
        (void)rig_stop(r); /* *err says what went wrong before */
    }
    return rc;
}

bool rig_stop(struct rig *r)
{
    if (r->app == NULL) {
        return true;
    }
    app_request_stop(r->app);
    if (!app_stop(r->app, STOP_MS)) {
        r->app = NULL; /* its threads still use it, the options and the plugin */
        return false;
    }
    drop_controller(r);
    rig_bury(r);
    return true;
}
