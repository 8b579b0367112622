/* SPDX-License-Identifier: Apache-2.0 */
/* access_lookup.c: see access_lookup.h.
 *
 * `build` is held while a trust is put together, by whichever thread has news; `lock` only while
 * the pointer is exchanged, so requests never wait for the parsing of certificates. */
#include "controller/serve/access_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "controller/kube/watch/object_watch.h"
#include "controller/serve/access_cert.h"

#define FILE_EVERY_MS ((int64_t)60 * 1000)
#define SOURCE        ACCESS_CONFIG_NS "/" ACCESS_CONFIG_NAME
#define COLLECTION    "/api/v1/namespaces/" ACCESS_CONFIG_NS "/configmaps"

struct access_lookup {
    struct access_lookup_args args;
    struct access_header_names headers; /* of the flags */
    struct file_watch *client_file;     /* NULL: no flag */
    struct file_watch *proxy_file;
    struct object_watch *watch; /* NULL: the ConfigMap is not checked */

    struct mutex build;              /* the two below */
    char *data _guarded_by_(&build); /* JSON of the ConfigMap's data that counts; NULL: none */
    uint64_t generations _guarded_by_(&build); /* of the files that count */

    struct mutex lock;
    struct cond changed;
    struct access_trust *trust _guarded_by_(&lock);
    bool stop _guarded_by_(&lock);
    bool has_thread;
    pthread_t thread; /* of the files */
};

/* --- building --------------------------------------------------------------------------------- */

/* NULL content when there is no such flag. */
static int read_file(struct file_watch *w, const char *flag, struct arena *a, const char **ret,
                     uint64_t *generations, struct err *err)
{
    char *text = NULL;
    size_t n;
    uint64_t generation;
    if (w == NULL) {
        *ret = NULL;
        return ERR_OK;
    }
    int rc = file_watch_get(w, a, &text, &n, &generation, err);
    if (rc == ERR_OK) {
        *ret = text;
        *generations += generation;
    } else {
        (void)err_prefix(err, "%s", flag);
    }
    return rc;
}

static void exchange(struct access_lookup *l, struct access_trust *t)
{
    mutex_lock(&l->lock);
    struct access_trust *old = l->trust;
    l->trust = t;
    mutex_unlock(&l->lock);
    access_trust_unref(old);
}

static bool has_fault(const struct access_trust_faults *f)
{
    return f->client.code != ERR_OK || f->proxy.code != ERR_OK;
}

/* Puts a trust together from the files and `data` (JSON text, or NULL); what cannot be used is the
 * old one's.  Fails when a file cannot be had. */
static int make_trust(struct access_lookup *l, const char *data, uint64_t *ret_generations,
                      struct access_trust **ret, struct access_trust_faults *faults,
                      struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct json_object *tree = NULL;
    struct access_trust_parts parts = {.headers = &l->headers};
    uint64_t generations = 0;
    int rc = read_file(l->client_file, "--client-ca-file", a, &parts.client_ca, &generations, err);
    rc = rc != ERR_OK ? rc
                      : read_file(l->proxy_file, "--requestheader-client-ca-file", a,
                                  &parts.proxy_ca, &generations, err);
    rc = rc != ERR_OK || data == NULL ? rc
                                      : json_parse_arena(a, data, strlen(data), NULL, &tree, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct access_config config = access_config_read(a, tree);
    struct access_trust *old = l->trust == NULL ? NULL : access_lookup_trust(l);
    parts.config = &config;
    parts.old = old;
    *ret = access_trust_new(&parts, faults);
    *ret_generations = generations;
    access_trust_unref(old);
    return ERR_OK;
}

static void say_faults(const struct access_trust_faults *f, const char *source)
{
    const struct err *const each[] = {&f->client, &f->proxy};
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        if (each[i]->code != ERR_OK) {
            log_error(each[i]->message,
                      "Authentication settings cannot be used; the earlier ones stay",
                      LOG_S("source", source));
        }
    }
}

/* New data of the ConfigMap. */
static void take_data(struct access_lookup *l, struct json_object *data)
{
    struct access_trust *t = NULL;
    struct access_trust_faults faults = {0};
    struct err err = ERR_INIT;
    uint64_t generations;
    struct str_buf text _cleanup_(str_buf_done) = STR_BUF_INIT;
    json_print(&text, data, JSON_SORTED); /* "null" for none at all */
    mutex_lock(&l->build);
    bool is_same = str_eq(l->data, str_buf_text(&text));
    int rc = is_same ? ERR_OK : make_trust(l, str_buf_text(&text), &generations, &t, &faults, &err);
    if (t != NULL) {
        free(l->data);
        l->data = str_buf_steal(&text);
        l->generations = generations;
        log_info(1, "The cluster's authentication settings were read", LOG_S("source", SOURCE),
                 LOG_B("clientCA", t->client_cas != NULL), LOG_B("proxyCA", t->proxy_cas != NULL));
        exchange(l, t);
    }
    mutex_unlock(&l->build);
    if (rc != ERR_OK) {
        log_error(err.message, "Authentication settings cannot be used; the earlier ones stay",
                  LOG_S("source", SOURCE));
    }
    say_faults(&faults, SOURCE);
}

/* --- the ConfigMap ---------------------------------------------------------------------------- */

static void seen(void *arg, struct json_object *object)
{
    struct access_lookup *l = arg;
    if (object == NULL) {
        log_info(1, "The ConfigMap with the cluster's authentication settings does not exist",
                 LOG_S("source", SOURCE));
        return; /* upstream keeps what it had, too */
    }
    take_data(l, json_member(object, "data"));
}

static void trouble(void *arg, const struct err *err)
{
    static struct log_limit limit = {.interval_ms = 60000, .burst = 3};
    struct access_lookup *l = arg;
    if (log_limit_ok(&limit, clock_now_ms(l->args.clock))) {
        log_warning("The cluster's authentication settings cannot be watched; trying again",
                    LOG_S("source", SOURCE), LOG_S("err", err->message));
    }
}

static int read_config(struct access_lookup *l, struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct kube_response resp;
    struct json_object *o = NULL;
    int rc = access_api_get(l->args.api, a, COLLECTION "/" ACCESS_CONFIG_NAME, &resp, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const struct json_limits limits = {.max_bytes = OBJECT_WATCH_BYTES_MAX, .max_values = 100000};
    rc = json_parse_arena(a, resp.body, resp.body_len, &limits, &o, err);
    if (rc != ERR_OK || !str_eq(json_str(o, "kind"), "ConfigMap")) {
        return err_set(err, ERR_INVALID, "the answer is no ConfigMap");
    }
    take_data(l, json_member(o, "data"));
    return ERR_OK;
}

/* Reaction to an error of the first reading: NULL if it is waited for or does not matter. */
static bool is_fatal(const struct access_lookup *l, const struct err *err)
{
    bool answered = err->code != ERR_TRANSIENT && err->code != ERR_THROTTLED &&
                    err->code != ERR_CANCELLED && err->code != ERR_NOT_FOUND;
    return answered && !l->args.options->authn_tolerate_failure;
}

static int first_reading(struct access_lookup *l, struct err *err)
{
    struct err why = ERR_INIT;
    if (read_config(l, &why) == ERR_OK) {
        return ERR_OK;
    }
    if (is_fatal(l, &why)) {
        const char *hint = why.code == ERR_FORBIDDEN
                               ? "; bind our account to role extension-apiserver-authentication-"
                                 "reader in kube-system, or give "
                                 "--authentication-skip-lookup"
                               : "";
        return err_set(err, why.code, "ConfigMap %s/%s: %s%s", ACCESS_CONFIG_NS, ACCESS_CONFIG_NAME,
                       why.message, hint);
    }
    if (why.code != ERR_NOT_FOUND) {
        log_warning("The cluster's authentication settings could not be read yet; until then "
                    "client certificates authenticate no user",
                    LOG_S("source", SOURCE), LOG_S("err", why.message));
    }
    return ERR_OK;
}

static int start_watch(struct access_lookup *l, struct err *err)
{
    static const char *const members[] = {"data", NULL};
    const struct object_watch_args args = {
        .config = access_api_config(l->args.api),
        .user_agent = l->args.user_agent,
        .collection = COLLECTION,
        .name = ACCESS_CONFIG_NAME,
        .members = members,
        .clock = l->args.clock,
        .rng = l->args.rng,
        .seen = seen,
        .trouble = trouble,
        .arg = l,
        .observe = access_api_observe,
        .observe_arg = l->args.api,
    };
    return object_watch_start(&args, &l->watch, err);
}

/* --- the files -------------------------------------------------------------------------------- */

static void look_at_files(struct access_lookup *l)
{
    struct access_trust *t = NULL;
    struct access_trust_faults faults = {0};
    struct err err = ERR_INIT;
    uint64_t generations = 0;
    mutex_lock(&l->build);
    /* Never fails: each file was read once, and then its last content counts. */
    (void)make_trust(l, l->data, &generations, &t, &faults, &err);
    bool is_new = t != NULL && generations != l->generations;
    if (is_new) {
        l->generations = generations; /* so that each fault is said once */
        exchange(l, STEAL(t));
    }
    mutex_unlock(&l->build);
    access_trust_unref(t);
    if (is_new) {
        log_info(0, "Files of client CAs were read again");
        say_faults(&faults, "files");
    }
}

static void *file_thread(void *arg)
{
    struct access_lookup *l = arg;
    mutex_lock(&l->lock);
    while (!l->stop) {
        int64_t until_ms = clock_now_ms(l->args.clock) + FILE_EVERY_MS;
        while (!l->stop && clock_now_ms(l->args.clock) < until_ms) {
            clock_wait(l->args.clock, &l->changed, &l->lock, until_ms);
        }
        if (!l->stop) {
            mutex_unlock(&l->lock);
            look_at_files(l);
            mutex_lock(&l->lock);
        }
    }
    mutex_unlock(&l->lock);
    return NULL;
}

static struct file_watch *watch_file(const char *path, struct clock *clock)
{
    /* A little less than the thread's own minute, so that each of its looks is one. */
    return str_is_empty(path) ? NULL
                              : file_watch_new(path, ACCESS_CA_BYTES_MAX, FILE_EVERY_MS / 2, clock);
}

/* --- life ------------------------------------------------------------------------------------- */

static bool needs_config(const struct access_lookup *l)
{
    return !l->args.options->authn_skip_lookup && (l->client_file == NULL || l->proxy_file == NULL);
}

static int start(struct access_lookup *l, struct err *err)
{
    struct access_trust *t = NULL;
    struct access_trust_faults faults;
    int rc = make_trust(l, NULL, &l->generations, &t, &faults, err);
    if (rc != ERR_OK) {
        return rc;
    }
    exchange(l, t);
    if (has_fault(&faults)) { /* without a ConfigMap they are the files' */
        return err_copy(err, faults.client.code != ERR_OK ? &faults.client : &faults.proxy);
    }
    if (needs_config(l) && l->args.api != NULL) {
        rc = first_reading(l, err);
        rc = rc != ERR_OK ? rc : start_watch(l, err);
    } else if (needs_config(l)) {
        log_warning("No --authentication-kubeconfig and not in a cluster: the cluster's "
                    "authentication settings cannot be read, so client certificates authenticate "
                    "no user unless --client-ca-file is given");
    }
    bool has_files = l->client_file != NULL || l->proxy_file != NULL;
    if (rc == ERR_OK && has_files) {
        rc = thread_start(&l->thread, file_thread, l, "files of access", err);
        l->has_thread = rc == ERR_OK;
    }
    return rc;
}

int access_lookup_new(const struct access_lookup_args *args, struct access_lookup **ret,
                      struct err *err)
{
    const struct options *o = args->options;
    struct access_lookup *l = xcalloc(1, sizeof *l);
    l->args = *args;
    l->headers = (struct access_header_names){
        .user = o->rh_username_headers,
        .uid = o->rh_uid_headers,
        .groups = o->rh_group_headers,
        .extra = o->rh_extra_prefixes,
        .allowed = o->rh_allowed_names,
    };
    l->client_file = watch_file(o->client_ca_file, args->clock);
    l->proxy_file = watch_file(o->rh_client_ca_file, args->clock);
    mutex_init(&l->build);
    mutex_init(&l->lock);
    cond_init(&l->changed);
    int rc = start(l, err);
    if (rc != ERR_OK) {
        access_lookup_free(l);
        return rc;
    }
    *ret = l;
    return ERR_OK;
}

void access_lookup_free(struct access_lookup *l)
{
    if (l == NULL) {
        return;
    }
    object_watch_stop(l->watch);
    if (l->has_thread) {
        mutex_lock(&l->lock);
        l->stop = true;
        cond_broadcast(&l->changed);
        mutex_unlock(&l->lock);
        (void)pthread_join(l->thread, NULL);
    }
    access_trust_unref(l->trust);
    free(l->data);
    file_watch_free(l->client_file);
    file_watch_free(l->proxy_file);
    cond_done(&l->changed);
    mutex_done(&l->lock);
    mutex_done(&l->build);
    free(l);
}

struct access_trust *access_lookup_trust(struct access_lookup *l)
{
    mutex_lock(&l->lock);
    struct access_trust *t = access_trust_ref(l->trust);
    mutex_unlock(&l->lock);
    return t;
}
