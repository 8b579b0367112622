/* SPDX-License-Identifier: Apache-2.0 */
/* certs.c: the pairs of certificate and key behind the HTTPS port.
 *
 * Owns where each pair comes from: a pair of files (flags, or --cert-dir), or one that we made and
 * keep in memory.  A change is tried as a whole: all pairs together become one server_tls, or
 * everything stays.  Must not know the server or who is served.  Keys are wiped from memory when
 * they were used. */
#include "controller/serve/certs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/secret.h"
#include "controller/serve/self_signed.h"
#include "controller/serve/tls_flags.h"

#define FILE_MAX ((size_t)1024 * 1024)
#define WATCH_MS                                                                                   \
    1000 /* certs_poll() decides how often files are read; this only joins reads of one poll */
#define RENEW_US    ((int64_t)30 * 24 * 3600 * 1000000) /* before our own one ends */
#define OWN_NAME    "cloud-controller-manager"
#define CA_NAMES_OF "\n" /* between names in a text that is compared */

/* A pair in files. */
struct pair {
    const char *label; /* for errors: the certificate's file */
    const char *flag;  /* where it comes from */
    struct file_watch *cert, *key;
    uint64_t cert_seen, key_seen; /* generations that were tried last */
    const struct tls_sni *sni;    /* NULL: the port's own */
};

struct certs {
    const struct options *options; /* borrowed */
    struct clock *clock;           /* borrowed */
    struct arena *arena;           /* flags */
    struct tls_flags flags;
    struct pair *pairs; /* [0] the port's own if from files, then SNI */
    size_t n_pairs;
    bool own_made; /* the port's own is ours, in memory */
    struct arena *own_arena;
    struct self_signed own;
    char *ca_names; /* heap; those of the server_tls in use */
    int64_t next_ms;
};

static int check_files(struct certs *c, const char **ret_cert, const char **ret_key,
                       struct err *err);
static void add_pair(struct certs *c, const char *cert, const char *key, const struct tls_sni *sni);
static int build(struct certs *c, const STACK_OF(X509_NAME) * names, struct server_tls **ret,
                 struct err *err);
static char *names_text(const STACK_OF(X509_NAME) * names);

int certs_new(const struct options *options, struct clock *clock, struct certs **ret,
              struct err *err)
{
    struct certs *c = xcalloc(1, sizeof(*c));
    c->options = options;
    c->clock = clock;
    c->arena = arena_new();
    c->next_ms = clock_now_ms(clock) + CERTS_EVERY_MS;
    const char *cert = NULL, *key = NULL;
    struct server_tls *probe = NULL;
    int rc = tls_flags_read(c->arena, options, &c->flags, err);
    if (rc == ERR_OK) {
        rc = check_files(c, &cert, &key, err);
    }
    if (rc == ERR_OK) {
        c->pairs = ARENA_ARRAY(c->arena, struct pair, c->flags.n_sni + 1);
        c->own_made = cert == NULL;
        if (cert != NULL) {
            add_pair(c, cert, key, NULL);
        }
        for (size_t i = 0; i < c->flags.n_sni; i++) {
            add_pair(c, c->flags.sni[i].cert_file, c->flags.sni[i].key_file, &c->flags.sni[i]);
        }
        /* Files are read now; with a generated certificate certs_first() tries. */
        rc = c->own_made ? ERR_OK : build(c, NULL, &probe, err);
        server_tls_unref(probe);
    }
    if (rc != ERR_OK) {
        certs_free(c);
        return rc;
    }
    if (c->flags.left_out != NULL) {
        log_warning("This OpenSSL does not have some of what the TLS flags name",
                    LOG_S("leftOut", c->flags.left_out));
    }
    *ret = c;
    return ERR_OK;
}

static void forget_own(struct certs *c)
{
    secret_wipe(c->own.key_pem);
    arena_free(c->own_arena);
    c->own_arena = NULL;
    c->own = (struct self_signed){0};
}

void certs_free(struct certs *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->n_pairs; i++) {
        file_watch_free(c->pairs[i].cert);
        file_watch_free(c->pairs[i].key);
    }
    forget_own(c);
    free(c->ca_names);
    arena_free(c->arena);
    free(c);
}

static void add_pair(struct certs *c, const char *cert, const char *key, const struct tls_sni *sni)
{
    c->pairs[c->n_pairs++] = (struct pair){
        .label = cert,
        .flag = sni != NULL                                ? "--tls-sni-cert-key"
                : !str_is_empty(c->options->tls_cert_file) ? "--tls-cert-file"
                                                           : "--cert-dir",
        .cert = file_watch_new(cert, FILE_MAX, WATCH_MS, c->clock),
        .key = file_watch_new(key, FILE_MAX, WATCH_MS, c->clock),
        .sni = sni,
    };
}

/* --- where the port's own pair is ------------------------------------------------------------- */

/* Makes a pair and writes it, the key for our user alone. */
static int write_own(struct certs *c, const char *cert, const char *key, struct err *err)
{
    struct self_signed made;
    struct arena *a = arena_new();
    const char *dir = c->options->cert_dir;
    int rc = self_signed_make(a, c->options->bind_address, clock_wall_us(c->clock), &made, err);
    if (rc == ERR_OK && mkdir(dir, 0755) != 0 && errno != EEXIST) {
        rc = err_set(err, errno == EACCES ? ERR_FORBIDDEN : ERR_INVALID, "make %s: %s", dir,
                     strerror(errno));
    }
    if (rc == ERR_OK) {
        rc = file_write_atomic(cert, made.cert_pem, strlen(made.cert_pem), 0644, err);
        if (rc == ERR_OK) {
            rc = file_write_atomic(key, made.key_pem, strlen(made.key_pem), 0600, err);
        }
        secret_wipe(made.key_pem);
    }
    arena_free(a);
    if (rc == ERR_OK) {
        log_info(0, "Generated self-signed cert", LOG_S("cert", cert), LOG_S("key", key));
        return ERR_OK;
    }
    (void)err_prefix(err, "--cert-dir");
    return rc;
}

static int check_cert_dir(struct certs *c, const char **ret_cert, const char **ret_key,
                          struct err *err)
{
    const char *dir = c->options->cert_dir;
    const char *cert = arena_printf(c->arena, "%s/" OWN_NAME ".crt", dir);
    const char *key = arena_printf(c->arena, "%s/" OWN_NAME ".key", dir);
    bool has_cert = access(cert, R_OK) == 0;
    bool has_key = access(key, R_OK) == 0;
    if (has_cert != has_key) {
        return err_set(err, ERR_INVALID,
                       "--cert-dir: error reading %s, certificate and key must be supplied as a "
                       "pair; %s is there: remove it, or bring the other",
                       has_cert ? key : cert, has_cert ? cert : key);
    }
    *ret_cert = cert;
    *ret_key = key;
    return has_cert ? ERR_OK : write_own(c, cert, key, err);
}

/* Both NULL: a pair that is only in memory. */
static int check_files(struct certs *c, const char **ret_cert, const char **ret_key,
                       struct err *err)
{
    const struct options *o = c->options;
    bool cert = !str_is_empty(o->tls_cert_file), key = !str_is_empty(o->tls_key_file);
    if (cert != key) {
        return err_set(err, ERR_INVALID,
                       "missing filename for serving cert: --tls-cert-file and "
                       "--tls-private-key-file go together, and %s is not set",
                       cert ? "--tls-private-key-file" : "--tls-cert-file");
    }
    if (cert) {
        *ret_cert = o->tls_cert_file;
        *ret_key = o->tls_key_file;
        return ERR_OK;
    }
    return str_is_empty(o->cert_dir) ? ERR_OK : check_cert_dir(c, ret_cert, ret_key, err);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A generation that was tried counts as seen whatever comes of it: a broken pair
 * is reported once. */
static int read_pair(struct pair *p, struct arena *a, struct server_tls_pair *ret, struct err *err)
{
    char *cert, *key;
    size_t n, n_key;
    int rc = file_watch_get(p->cert, a, &cert, &n, &p->cert_seen, err);
    if (rc == ERR_OK) {
        rc = file_watch_get(p->key, a, &key, &n_key, &p->key_seen, err);
    }
    if (rc != ERR_OK) {
        (void)err_prefix(err, "%s", p->flag);
        return rc;
    }
    *ret = (struct server_tls_pair){.label = p->label, .cert_pem = cert, .key_pem = key};
    if (p->sni != NULL) {
        ret->names = p->sni->names;
        ret->n_names = p->sni->n_names;
    }
    return ERR_OK;
}

static void wipe(const struct server_tls_pair *pair)
{
    secret_wipe((char *)(uintptr_t)pair->key_pem);
}

static int build(struct certs *c, const STACK_OF(X509_NAME) * names, struct server_tls **ret,
                 struct err *err)
{
    struct arena *a = arena_new();
    size_t first = c->own_made ? 1 : 0; /* place of pairs[0] among all */
    struct server_tls_pair *all = ARENA_ARRAY(a, struct server_tls_pair, c->n_pairs + 1);
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < c->n_pairs; i++) {
        rc = read_pair(&c->pairs[i], a, &all[first + i], err);
    }
    if (c->own_made) {
        all[0] = (struct server_tls_pair){.label = "our own making",
                                          .cert_pem = c->own.cert_pem,
                                          .key_pem = arena_strdup(a, c->own.key_pem)};
    }
    if (rc == ERR_OK) {
        const struct server_tls_spec spec = {
            .own = all[0],
            .others = all + 1,
            .n_others = first + c->n_pairs - 1,
            .min_version = c->flags.min_version,
            .ciphers = c->flags.ciphers,
            .groups = c->flags.groups,
            .ask_client_cert = true,
            .client_ca_names = names,
        };
        rc = server_tls_new(&spec, ret, err);
    }
    for (size_t i = 0; i <= c->n_pairs; i++) {
        wipe(&all[i]);
    }
    arena_free(a);
    return rc;
}

static int make_own(struct certs *c, struct err *err)
{
    struct arena *a = arena_new();
    struct self_signed made;
    int rc = self_signed_make(a, c->options->bind_address, clock_wall_us(c->clock), &made, err);
    if (rc != ERR_OK) {
        arena_free(a);
        return rc;
    }
    forget_own(c);
    c->own_arena = a;
    c->own = made;
    log_info(0, "Generated self-signed cert in-memory");
    return ERR_OK;
}

int certs_first(struct certs *c, const STACK_OF(X509_NAME) * names, struct server_tls **ret,
                struct err *err)
{
    int rc = c->own_made ? make_own(c, err) : ERR_OK;
    if (rc == ERR_OK) {
        rc = build(c, names, ret, err);
    }
    if (rc == ERR_OK) {
        free(c->ca_names);
        c->ca_names = names_text(names);
    }
    return rc;
}

/* --- changes ---------------------------------------------------------------------------------- */

static bool file_changed(struct file_watch *w, uint64_t seen, bool now)
{
    struct arena *a = arena_new();
    char *data;
    size_t n;
    uint64_t generation = seen;
    if (now) {
        file_watch_expire(w);
    }
    bool ok = file_watch_get(w, a, &data, &n, &generation, NULL) == ERR_OK;
    if (ok) {
        explicit_bzero(data, n);
    }
    arena_free(a);
    return ok && generation != seen;
}

static bool files_changed(struct certs *c, bool now)
{
    bool changed = false;
    for (size_t i = 0; i < c->n_pairs; i++) {
        struct pair *p = &c->pairs[i];
        changed = file_changed(p->cert, p->cert_seen, now) || changed;
        changed = file_changed(p->key, p->key_seen, now) || changed;
    }
    return changed;
}

/* Names as one text, to compare. */
static char *names_text(const STACK_OF(X509_NAME) * names)
{
    struct str_buf b = STR_BUF_INIT;
    for (int i = 0; names != NULL && i < sk_X509_NAME_num(names); i++) {
        char *one = X509_NAME_oneline(sk_X509_NAME_value(names, i), NULL, 0);
        str_append(&b, one);
        str_append(&b, CA_NAMES_OF);
        OPENSSL_free(one);
    }
    return str_buf_steal(&b);
}

static bool names_changed(struct certs *c, const STACK_OF(X509_NAME) * names)
{
    char *text = names_text(names);
    bool changed = !str_eq(text, str_nonnull(c->ca_names));
    free(c->ca_names);
    c->ca_names = text;
    return changed;
}

static bool own_changed(struct certs *c)
{
    if (!c->own_made || clock_wall_us(c->clock) < c->own.ends_us - RENEW_US) {
        return false;
    }
    struct err err = ERR_INIT;
    if (make_own(c, &err) != ERR_OK) {
        log_error(err.message, "The certificate of our own making ends soon, and no new one can be "
                               "made");
        return false;
    }
    return true;
}

struct server_tls *certs_poll(struct certs *c, const STACK_OF(X509_NAME) * names, bool now)
{
    int64_t at = clock_now_ms(c->clock);
    if (!now && at < c->next_ms) {
        return NULL;
    }
    c->next_ms = at + CERTS_EVERY_MS;
    bool files = files_changed(c, now);
    bool others = names_changed(c, names);
    bool own = own_changed(c);
    struct server_tls *tls = NULL;
    struct err err = ERR_INIT;
    if (!files && !others && !own) {
        return NULL;
    }
    if (build(c, names, &tls, &err) != ERR_OK) {
        log_error(err.message, "The changed certificate cannot be used; the old one stays");
        return NULL;
    }
    log_info(files ? 0 : 2, "Serving with new certificates");
    return tls;
}
