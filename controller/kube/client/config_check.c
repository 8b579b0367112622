/* SPDX-License-Identifier: Apache-2.0 */
/* config_check.c: following the context, and everything that is refused, in upstream's words.
 *
 * Source: controller.md §4.2 "Resolution", "Auth mixing".  All complaints are collected, so that
 * one run names them all; several are joined with "; ", where upstream prints Go's "[a, b]".
 * Opens the files that the chosen cluster and user name, to see that they can be read. */
#include "common/base/file.h"
#include "common/net/url.h"
#include "controller/kube/client/config_internal.h"

#include <stdarg.h>
#include <string.h>

#define COMPLAINTS_MAX 16
#define PEM_FILE_MAX   ((size_t)1 << 20)
#define INVALID        "invalid configuration: "

struct complaints {
    struct arena *a;
    const char *texts[COMPLAINTS_MAX];
    size_t n;
};

static void complain(struct complaints *c, const char *fmt, ...) _printf_(2, 3);
static void complain(struct complaints *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (c->n < COMPLAINTS_MAX) {
        c->texts[c->n++] = arena_vprintf(c->a, fmt, ap);
    }
    va_end(ap);
}

static void complain_text(void *arg, const char *text)
{
    complain(arg, "%s", text);
}

/* --- choosing --------------------------------------------------------------------------------- */

static const struct kc_context *find_context(const struct kc_file *f, const char *name)
{
    for (size_t i = 0; i < f->n_contexts; i++) {
        if (str_eq(f->contexts[i].name, name)) {
            return &f->contexts[i];
        }
    }
    return NULL;
}

static bool find_cluster(const struct kc_file *f, const char *name, struct kc_cluster *ret)
{
    for (size_t i = 0; i < f->n_clusters; i++) {
        if (str_eq(f->clusters[i].name, name)) {
            *ret = f->clusters[i];
            return true;
        }
    }
    return false;
}

static bool find_user(const struct kc_file *f, const char *name, struct kc_user *ret)
{
    for (size_t i = 0; i < f->n_users; i++) {
        if (str_eq(f->users[i].name, name)) {
            *ret = f->users[i];
            return true;
        }
    }
    return false;
}

/* The cluster and user that a context names.  A server of --master needs no cluster. */
static int follow(const struct kc_file *f, bool has_master, struct kc_choice *c, struct err *err)
{
    const char *cluster = c->ctx.cluster;
    const char *user = c->ctx.user;
    bool has_cluster = find_cluster(f, cluster, &c->cluster) || has_master;
    bool has_user = find_user(f, user, &c->user);
    if (user[0] == '\0') {
        return err_set(err, ERR_INVALID, INVALID "user was not specified for context \"%s\"",
                       c->context);
    }
    if (!has_user) {
        return err_set(err, ERR_INVALID, INVALID "user \"%s\" was not found for context \"%s\"",
                       user, c->context);
    }
    if (has_cluster) {
        return ERR_OK;
    }
    if (cluster[0] == '\0') {
        return err_set(err, ERR_INVALID, INVALID "cluster was not specified for context \"%s\"",
                       c->context);
    }
    return err_set(err, ERR_INVALID, INVALID "cluster \"%s\" was not found for context \"%s\"",
                   cluster, c->context);
}

static void fill_blanks(struct kc_choice *c)
{
    static const struct kc_cluster no_cluster = {.name = "",
                                                 .server = "",
                                                 .ca_file = "",
                                                 .ca_data = "",
                                                 .tls_server_name = "",
                                                 .proxy_url = ""};
    static const struct kc_user no_user = {.name = "",
                                           .cert_file = "",
                                           .cert_data = "",
                                           .key_file = "",
                                           .key_data = "",
                                           .token = "",
                                           .token_file = "",
                                           .username = "",
                                           .password = "",
                                           .as = "",
                                           .as_uid = ""};
    c->ctx = (struct kc_context){.name = "", .cluster = "", .user = "", .ns = ""};
    c->cluster = no_cluster;
    c->user = no_user;
}

/* Upstream's words, and the names that may have been meant. */
static int no_context(const struct kc_file *f, const char *name, struct err *err)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const char **names = ARENA_ARRAY(a, const char *, f->n_contexts + 1);
    for (size_t i = 0; i < f->n_contexts; i++) {
        names[i] = f->contexts[i].name;
    }
    return err_set(err, ERR_INVALID,
                   "invalid configuration: context was not found for specified context: %s%s", name,
                   str_near_hint(a, name, names, f->n_contexts));
}

int kc_choose(const struct kc_file *f, const char *context, const char *master,
              struct kc_choice *ret, struct err *err)
{
    struct kc_choice c = {.context = str_or(context, str_nonnull(f->current_context))};
    int rc = ERR_OK;
    fill_blanks(&c);
    if (c.context[0] != '\0') {
        const struct kc_context *found = find_context(f, c.context);
        if (found == NULL) {
            return no_context(f, c.context, err);
        }
        c.ctx = *found;
        rc = follow(f, !str_is_empty(master), &c, err);
    }
    if (!str_is_empty(master)) {
        c.cluster.server = master;
        c.cluster.tls_server_name = ""; /* it was meant for the other server */
    }
    if (rc == ERR_OK) {
        *ret = c;
    }
    return rc;
}

/* --- checking --------------------------------------------------------------------------------- */

/* `holds`: what must be in it ("CERTIFICATE", "PRIVATE KEY"), or NULL. */
static void check_file(struct complaints *c, const char *what, const char *path, const char *owner,
                       const char *holds)
{
    char *text;
    size_t n;
    struct err err = ERR_INIT;
    if (path[0] == '\0') {
        return;
    }
    if (file_read(c->a, path, PEM_FILE_MAX, &text, &n, &err) != ERR_OK) {
        complain(c, "unable to read %s %s for %s due to %s", what, path, owner, err.message);
    } else if (holds != NULL && !kc_is_pem(text, holds)) {
        complain(c, "%s %s for %s holds no %s in PEM", what, path, owner, holds);
    }
}

bool kc_is_pem(const char *text, const char *holds)
{
    const char *begin = strstr(text, "-----BEGIN ");
    const char *label = begin == NULL ? NULL : strstr(begin, holds);
    return label != NULL && str_has_prefix(label + strlen(holds), "-----");
}

static void check_proxy(struct complaints *c, const struct kc_cluster *k)
{
    struct url u;
    struct err err = ERR_INIT;
    if (k->proxy_url[0] == '\0') {
        return;
    }
    bool fine =
        url_parse(c->a, k->proxy_url, &u, &err) == ERR_OK &&
        (str_eq(u.scheme, "http") || str_eq(u.scheme, "https") || str_eq(u.scheme, "socks5"));
    if (!fine) {
        complain(c, "invalid 'proxy-url' \"%s\" for cluster \"%s\": %s", k->proxy_url, k->name,
                 str_or(err.message, "want a URL with scheme http, https or socks5"));
    }
}

static void check_cluster(struct complaints *c, const struct kc_cluster *k)
{
    bool has_data = k->ca_data[0] != '\0';
    bool has_file = k->ca_file[0] != '\0';
    if (k->server[0] == '\0' && k->name[0] == '\0') {
        complain(c, "default cluster has no server defined");
    } else if (k->server[0] == '\0') {
        complain(c, "no server found for cluster \"%s\"", k->name);
    }
    check_proxy(c, k);
    if (has_data && has_file) {
        complain(c,
                 "certificate-authority-data and certificate-authority are both specified for %s. "
                 "certificate-authority-data will override",
                 k->name);
    } else {
        check_file(c, "certificate-authority", k->ca_file, k->name, "CERTIFICATE");
    }
    if (k->insecure && (has_data || has_file)) {
        complain(c, "specifying a root certificates file with the insecure flag is not allowed");
    }
}

static void check_certificate(struct complaints *c, const struct kc_user *u)
{
    bool cert = u->cert_file[0] != '\0' || u->cert_data[0] != '\0';
    bool key = u->key_file[0] != '\0' || u->key_data[0] != '\0';
    if (!cert) {
        return;
    }
    if (u->cert_file[0] != '\0' && u->cert_data[0] != '\0') {
        complain(
            c,
            "client-cert-data and client-cert are both specified for %s. client-cert-data will "
            "override",
            u->name);
    } else {
        check_file(c, "client-cert", u->cert_file, u->name, "CERTIFICATE");
    }
    if (u->key_file[0] != '\0' && u->key_data[0] != '\0') {
        complain(c,
                 "client-key-data and client-key are both specified for %s; client-key-data will "
                 "override",
                 u->name);
    } else {
        check_file(c, "client-key", u->key_file, u->name, "PRIVATE KEY");
    }
    if (!key) {
        complain(c,
                 "client-key-data or client-key must be specified for %s to use the clientCert "
                 "authentication method",
                 u->name);
    }
}

static void check_user(struct complaints *c, const struct kc_user *u)
{
    bool token = u->token[0] != '\0';
    bool basic = u->username[0] != '\0' || u->password[0] != '\0';
    check_certificate(c, u);
    if (u->has_exec) {
        kc_check_exec(u, complain_text, c->a, c);
    } else if (u->auth_provider != NULL) {
        complain(
            c,
            "auth-provider \"%s\" of user \"%s\" is not supported; use a token, a tokenFile or a "
            "client certificate",
            str_nonnull(json_str(u->auth_provider, "name")), u->name);
    }
    if (token && basic) {
        complain(c,
                 "more than one authentication method found for %s; found [token basicAuth], only "
                 "one is allowed",
                 u->name);
    }
    if (u->as[0] == '\0' && (u->as_uid[0] != '\0' || u->n_as_groups > 0 || u->as_extra != NULL)) {
        complain(c, "requesting uid, groups or user-extra for %s without impersonating a user",
                 u->name);
    }
    check_file(c, "tokenFile", u->token_file, u->name, NULL);
}

/* Nothing says which cluster is meant. */
static int no_configuration(struct arena *a, const struct kc_file *f, struct err *err)
{
    const char **names = ARENA_ARRAY(a, const char *, f->n_contexts);
    for (size_t i = 0; i < f->n_contexts; i++) {
        names[i] = f->contexts[i].name;
    }
    if (f->n_contexts == 0) {
        return err_set(err, ERR_INVALID, INVALID "no configuration has been provided");
    }
    return err_set(err, ERR_INVALID, INVALID "current-context is not set; contexts: %.400s",
                   str_join(a, names, f->n_contexts, ", "));
}

int kc_check(struct arena *a, const struct kc_file *f, const struct kc_choice *choice,
             struct err *err)
{
    struct complaints c = {.a = a};
    const struct kc_cluster *k = &choice->cluster;
    if (k->server[0] == '\0' && k->name[0] == '\0' && choice->context[0] == '\0') {
        return no_configuration(a, f, err);
    }
    check_user(&c, &choice->user);
    check_cluster(&c, k);
    if (c.n == 0) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, INVALID "%s", str_join(a, c.texts, c.n, "; "));
}
