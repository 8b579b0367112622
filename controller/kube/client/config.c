/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: from flags, files and environment to one immutable struct kube_config.
 *
 * Order (controller.md §4.1): --kubeconfig and --master; if neither, the files of a pod; if there
 * are none and the caller wants it, KUBECONFIG or $HOME/.kube/config.
 * Must not open connections.  Secrets are never put into errors. */
#include "controller/kube/client/config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/net/url.h"
#include "common/net/url_build.h"
#include "controller/kube/client/config_internal.h"
#include "controller/kube/client/credentials_source.h"

#define IN_CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define TOKEN_MAX      ((size_t)1 << 20)
#define PEM_MAX        ((size_t)1 << 20)
/* §4.3: a token is good for a minute, less ten seconds of leeway; certificates are checked
 * every 5 minutes. */
#define TOKEN_EVERY_MS ((int64_t)50 * 1000)
#define PEM_EVERY_MS   ((int64_t)5 * 60 * 1000)
#define FILES_MAX      64

static const char *ask_env(const struct kube_config_args *args, const char *name)
{
    const char *value = args->env != NULL ? args->env(name, args->env_arg) : getenv(name);
    return str_nonnull(value);
}

static struct kube_config *config_new(const struct kube_config_args *args)
{
    struct arena *a = arena_new();
    struct kube_config *c = ARENA_NEW(a, struct kube_config);
    c->a = a;
    c->context = "";
    c->source = "";
    c->ns = "default";
    c->user = "";
    c->cluster = "";
    c->ca_path = "";
    c->no_http2 = ask_env(args, "DISABLE_HTTP2")[0] != '\0';
    return c;
}

void kube_config_free(struct kube_config *c)
{
    if (c == NULL) {
        return;
    }
    credentials_source_free(c->issuer); /* its thread reads the rest */
    http_pair_free(c->tls.pair);
    file_watch_free(c->tls.ca_file);
    file_watch_free(c->tls.cert_file);
    file_watch_free(c->tls.key_file);
    file_watch_free(c->token_file);
    arena_free(c->a); /* `c` lives there, too */
}

static void config_freep(struct kube_config **c)
{
    kube_config_free(*c);
}

/* --- from a choice ---------------------------------------------------------------------------- */

/* One member with base64 in it. */
struct data {
    const char *text;
    const char *what;  /* "client-key-data" */
    const char *owner; /* the cluster or user that has it */
    const char *holds; /* "PRIVATE KEY" */
};

/* base64 with line breaks, as YAML blocks have them. */
static int decode_data(struct arena *a, const struct data *d, const char **ret, struct err *err)
{
    const char *data = d->text;
    if (data[0] == '\0') {
        return ERR_OK;
    }
    struct str_buf packed _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (const char *p = data; *p != '\0'; p++) {
        if (strchr(" \t\r\n", *p) == NULL) {
            str_append_c(&packed, *p);
        }
    }
    unsigned char *bytes;
    size_t n;
    if (!str_base64_decode(a, str_buf_text(&packed), false, &bytes, &n)) {
        return err_set(err, ERR_INVALID, "invalid configuration: %s for %s is not base64", d->what,
                       d->owner);
    }
    const char *text = arena_strndup(a, (const char *)bytes, n);
    if (!kc_is_pem(text, d->holds)) {
        return err_set(err, ERR_INVALID, "invalid configuration: %s for %s holds no %s in PEM",
                       d->what, d->owner, d->holds);
    }
    *ret = text;
    return ERR_OK;
}

static struct file_watch *watch_pem(const char *path, bool wanted, struct clock *clock)
{
    bool has = wanted && path[0] != '\0';
    return has ? file_watch_new(path, PEM_MAX, PEM_EVERY_MS, clock) : NULL;
}

static int set_tls(struct kube_config *c, const struct kc_choice *k, struct clock *clock,
                   struct err *err)
{
    const struct kc_user *u = &k->user;
    const struct data ca = {k->cluster.ca_data, "certificate-authority-data", k->cluster.name,
                            "CERTIFICATE"};
    const struct data cert = {u->cert_data, "client-certificate-data", u->name, "CERTIFICATE"};
    const struct data key = {u->key_data, "client-key-data", u->name, "PRIVATE KEY"};
    int rc = decode_data(c->a, &ca, &c->tls.ca_pem, err);
    if (rc == ERR_OK) {
        rc = decode_data(c->a, &cert, &c->tls.cert_pem, err);
    }
    if (rc == ERR_OK) {
        rc = decode_data(c->a, &key, &c->tls.key_pem, err);
    }
    c->tls.ca_file = watch_pem(k->cluster.ca_file, c->tls.ca_pem == NULL, clock);
    c->tls.cert_file = watch_pem(u->cert_file, c->tls.cert_pem == NULL, clock);
    c->tls.key_file = watch_pem(u->key_file, c->tls.key_pem == NULL, clock);
    c->tls.insecure = k->cluster.insecure;
    if (k->cluster.tls_server_name[0] != '\0') {
        c->tls.server_name = arena_strdup(c->a, k->cluster.tls_server_name);
    }
    return rc;
}

static bool has_tls(const struct kube_config *c)
{
    const struct http_tls *t = &c->tls;
    return t->ca_file != NULL || t->ca_pem != NULL || t->cert_file != NULL || t->cert_pem != NULL ||
           t->insecure;
}

static int set_server(struct kube_config *c, const char *server, struct err *err)
{
    struct url u;
    const char *text = server;
    if (strstr(server, "://") == NULL) {
        text = url_join(c->a, has_tls(c) ? "https://" : "http://", server);
    }
    int rc = url_parse(c->a, text, &u, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "invalid configuration: server \"%s\"", server);
        return rc;
    }
    bool is_https = str_eq(u.scheme, "https");
    if (!is_https && !str_eq(u.scheme, "http")) {
        return err_set(err, ERR_INVALID,
                       "invalid configuration: server \"%s\": want scheme http or https", server);
    }
    size_t n = strlen(u.path);
    while (n > 0 && u.path[n - 1] == '/') {
        n--;
    }
    c->server = arena_printf(c->a, "%s%.*s", url_origin(c->a, &u), (int)n, u.path);
    c->credentials_allowed = is_https;
    return ERR_OK;
}

static void add_header(struct kube_config *c, size_t cap, const char *name, const char *value)
{
    if (c->impersonate == NULL) {
        c->impersonate = ARENA_ARRAY(c->a, struct http_header, cap);
    }
    c->impersonate[c->n_impersonate++] =
        (struct http_header){.name = arena_strdup(c->a, name), .value = arena_strdup(c->a, value)};
}

/* A header name for a key of as-user-extra: lower case, everything odd as %XX. */
static char *extra_name(struct arena *a, const char *key)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "Impersonate-Extra-");
    for (const char *p = str_lower(a, key); *p != '\0'; p++) {
        unsigned char ch = (unsigned char)*p;
        bool token = (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') ||
                     strchr("!#$&'*+-.^_`|~", ch) != NULL;
        if (token) {
            str_append_c(&b, (char)ch);
        } else {
            str_appendf(&b, "%%%02X", ch);
        }
    }
    return str_buf_to_arena(&b, a);
}

static int count_extra(struct json_object *extra, size_t *ret, struct err *err)
{
    size_t n = 0;
    if (extra != NULL && !json_object_is_type(extra, json_type_object)) {
        return err_set(err, ERR_INVALID, "invalid configuration: as-user-extra is no object");
    }
    if (extra != NULL) {
        json_object_object_foreach(extra, key, value)
        {
            if (!json_object_is_type(value, json_type_array)) {
                return err_set(err, ERR_INVALID,
                               "invalid configuration: as-user-extra.%s is no list", key);
            }
            n += json_len(value);
        }
    }
    *ret = n;
    return ERR_OK;
}

static int set_impersonation(struct kube_config *c, const struct kc_user *u, struct err *err)
{
    size_t n_extra = 0;
    int rc = count_extra(u->as_extra, &n_extra, err);
    if (rc != ERR_OK || u->as[0] == '\0') {
        return rc;
    }
    size_t cap = 2 + u->n_as_groups + n_extra;
    add_header(c, cap, "Impersonate-User", u->as);
    if (u->as_uid[0] != '\0') {
        add_header(c, cap, "Impersonate-Uid", u->as_uid);
    }
    for (size_t i = 0; i < u->n_as_groups; i++) {
        add_header(c, cap, "Impersonate-Group", u->as_groups[i]);
    }
    if (u->as_extra == NULL) {
        return ERR_OK;
    }
    json_object_object_foreach(u->as_extra, key, value)
    {
        const char *name = extra_name(c->a, key);
        for (size_t i = 0; i < json_len(value); i++) {
            add_header(c, cap, name,
                       str_nonnull(json_object_get_string(json_object_array_get_idx(value, i))));
        }
    }
    return ERR_OK;
}

static const char *dup_or_null(struct arena *a, const char *s)
{
    return s[0] == '\0' ? NULL : arena_strdup(a, s);
}

/* Header values must not break the request. */
static int check_one_line(const char *s, const char *what, struct err *err)
{
    for (; s != NULL && *s != '\0'; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f) {
            return err_set(err, ERR_INVALID, "invalid configuration: %s has a control byte", what);
        }
    }
    return ERR_OK;
}

static int set_user(struct kube_config *c, const struct kc_user *u, struct clock *clock,
                    struct err *err)
{
    c->user = arena_strdup(c->a, u->name);
    c->token = dup_or_null(c->a, str_trim(c->a, u->token));
    c->username = dup_or_null(c->a, u->username);
    c->password = dup_or_null(c->a, u->password);
    if (u->token_file[0] != '\0') {
        c->token_file = file_watch_new(u->token_file, TOKEN_MAX, TOKEN_EVERY_MS, clock);
    }
    int rc = set_impersonation(c, u, err);
    if (rc == ERR_OK) {
        rc = check_one_line(c->token, "token", err);
    }
    for (size_t i = 0; rc == ERR_OK && i < c->n_impersonate; i++) {
        rc = check_one_line(c->impersonate[i].value, c->impersonate[i].name, err);
    }
    return rc;
}

static int build(const struct kube_config_args *args, const struct kc_file *f,
                 struct kube_config *c, struct err *err)
{
    struct kc_choice k;
    int rc = kc_choose(f, args->context, args->master, &k, err);
    if (rc == ERR_OK) {
        rc = kc_check(c->a, f, &k, err);
    }
    if (rc == ERR_OK) {
        rc = set_tls(c, &k, args->clock, err);
    }
    if (rc == ERR_OK) {
        rc = set_user(c, &k.user, args->clock, err);
    }
    if (rc == ERR_OK) {
        rc = set_server(c, k.cluster.server, err);
    }
    if (rc == ERR_OK) {
        c->context = k.context;
        c->cluster = k.cluster.name;
        c->ca_path = c->tls.ca_file != NULL ? k.cluster.ca_file : "";
        c->ns = str_or(k.ctx.ns, "default");
        c->proxy_url = dup_or_null(c->a, k.cluster.proxy_url);
        c->disable_compression = k.cluster.disable_compression;
        kc_use_exec(c, args, &k);
    }
    return rc;
}

/* --- from files ------------------------------------------------------------------------------- */

/* KUBECONFIG: a list; what is missing is skipped, what is broken is an error. */
static int load_list(struct kube_config *c, const char *list, struct kc_file *ret, struct err *err)
{
    size_t n;
    char **paths = str_split(c->a, list, ':', &n);
    struct kc_file all = {.current_context = ""};
    const char *used[FILES_MAX];
    size_t n_used = 0;
    for (size_t i = 0; i < n && n_used < FILES_MAX; i++) {
        struct kc_file one;
        struct err local = ERR_INIT;
        if (paths[i][0] == '\0') {
            continue;
        }
        int rc = kc_file_load(c->a, paths[i], &one, &local);
        if (rc == ERR_NOT_FOUND) {
            continue;
        }
        if (rc != ERR_OK) {
            return err_copy(err, &local);
        }
        kc_file_merge(c->a, &all, &one);
        used[n_used++] = paths[i];
    }
    c->source = str_join(c->a, used, n_used, ":");
    *ret = all;
    return ERR_OK;
}

static int load_environment(const struct kube_config_args *args, struct kube_config *c,
                            struct kc_file *ret, struct err *err)
{
    const char *list = ask_env(args, "KUBECONFIG");
    const char *home = ask_env(args, "HOME");
    if (list[0] == '\0' && home[0] != '\0') {
        list = arena_printf(c->a, "%s/.kube/config", home);
    }
    return load_list(c, list, ret, err);
}

static int load_explicit(const struct kube_config_args *args, struct kube_config *c,
                         struct kc_file *ret, struct err *err)
{
    *ret = (struct kc_file){.current_context = ""};
    if (str_is_empty(args->kubeconfig)) {
        c->source = "--master";
        return ERR_OK;
    }
    c->source = arena_strdup(c->a, args->kubeconfig);
    return kc_file_load(c->a, args->kubeconfig, ret, err);
}

/* --- in a pod --------------------------------------------------------------------------------- */

static char *pod_file(const struct kube_config_args *args, struct arena *a, const char *name)
{
    return arena_printf(a, "%s/%s", str_or(args->in_cluster_dir, IN_CLUSTER_DIR), name);
}

static void set_pod_namespace(const struct kube_config_args *args, struct kube_config *c)
{
    char *text = NULL;
    size_t n;
    const char *ns = ask_env(args, "POD_NAMESPACE");
    if (ns[0] == '\0' &&
        file_read(c->a, pod_file(args, c->a, "namespace"), 4096, &text, &n, NULL) == ERR_OK) {
        ns = str_trim(c->a, text);
    }
    c->ns = arena_strdup(c->a, str_or(ns, "default"));
}

/* §4.3.  `host` and `port` are not empty. */
static int build_in_cluster(const struct kube_config_args *args, struct kube_config *c,
                            const char *host, const char *port, struct err *err)
{
    char *text = NULL;
    size_t n;
    struct err why = ERR_INIT;
    const char *token = pod_file(args, c->a, "token");
    const char *ca = pod_file(args, c->a, "ca.crt");
    int rc = file_read(c->a, token, TOKEN_MAX, &text, &n, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (str_trim(c->a, text)[0] == '\0') {
        return err_set(err, ERR_AUTH, "read empty token from file \"%s\"", token);
    }
    c->token_file = file_watch_new(token, TOKEN_MAX, TOKEN_EVERY_MS, args->clock);
    if (file_read(c->a, ca, PEM_MAX, &text, &n, &why) == ERR_OK) {
        c->tls.ca_file = file_watch_new(ca, PEM_MAX, PEM_EVERY_MS, args->clock);
        c->ca_path = ca;
    } else {
        log_error(why.message, "Expected to load root CA config, using the system's",
                  LOG_S("file", ca));
    }
    bool bare_v6 = strchr(host, ':') != NULL && host[0] != '[';
    c->source = "in-cluster configuration";
    set_pod_namespace(args, c);
    return set_server(
        c, arena_printf(c->a, bare_v6 ? "https://[%s]:%s" : "https://%s:%s", host, port), err);
}

/* --- all together ----------------------------------------------------------------------------- */

/* Neither flag was given. */
static int build_default(const struct kube_config_args *args, struct kube_config *c,
                         struct err *err)
{
    const char *host = ask_env(args, "KUBERNETES_SERVICE_HOST");
    const char *port = ask_env(args, "KUBERNETES_SERVICE_PORT");
    if (host[0] != '\0' && port[0] != '\0') {
        return build_in_cluster(args, c, host, port, err);
    }
    struct kc_file f = {.current_context = ""};
    int rc = args->use_environment ? load_environment(args, c, &f, err) : ERR_OK;
    if (rc == ERR_OK) {
        rc = build(args, &f, c, err);
    }
    if (rc == ERR_INVALID && f.n_clusters == 0 && err != NULL) {
        struct err why = *err;
        return err_set(err, rc,
                       "%s (unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                       "KUBERNETES_SERVICE_PORT must be defined)",
                       why.message);
    }
    return rc;
}

int kube_config_load(const struct kube_config_args *args, struct kube_config **ret, struct err *err)
{
    struct kube_config *c _cleanup_(config_freep) = config_new(args);
    bool explicit_source = !str_is_empty(args->kubeconfig) || !str_is_empty(args->master);
    int rc;
    if (explicit_source) {
        struct kc_file f;
        rc = load_explicit(args, c, &f, err);
        rc = rc == ERR_OK ? build(args, &f, c, err) : rc;
    } else {
        rc = build_default(args, c, err);
    }
    if (rc == ERR_OK) {
        *ret = STEAL(c);
    }
    return rc;
}

int kube_config_blame(const char *kubeconfig, struct err *err)
{
    if (str_is_empty(kubeconfig)) {
        return err->code;
    }
    if (strstr(err->message, kubeconfig) != NULL) {
        if (!str_has_prefix(err->message, "error loading config file")) {
            (void)err_prefix(err, "kubeconfig");
        }
        return err->code;
    }
    struct err why = *err;
    return err_set(err, why.code, "%.800s; look into %.200s", why.message, kubeconfig);
}
