/* SPDX-License-Identifier: Apache-2.0 */
/* tls_flags.c: words of the TLS flags into words of OpenSSL.
 *
 * Owns the tables of versions, cipher suites and groups.  Must not open files or touch
 * a TLS context. */
#include "controller/serve/tls_flags.h"

#include <openssl/ssl.h>
#include <string.h>

static const struct {
    const char *name;
    int version;
} versions[] = {
    {"VersionTLS10", TLS1_VERSION},
    {"VersionTLS11", TLS1_1_VERSION},
    {"VersionTLS12", TLS1_2_VERSION},
    {"VersionTLS13", TLS1_3_VERSION},
};

/* In the order in which we prefer them.  `by_default`: used without the flag, as by Go. */
static const struct {
    const char *name;
    const char *openssl; /* NULL: not in this OpenSSL; "": of TLS 1.3, where the flag has no say */
    bool by_default;
} suites[] = {
    {"TLS_AES_128_GCM_SHA256", "", false},
    {"TLS_AES_256_GCM_SHA384", "", false},
    {"TLS_CHACHA20_POLY1305_SHA256", "", false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", true},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", true},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", true},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", true},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", true},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305", false},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305", false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA", true},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA", true},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA", true},
    /* those that Go calls insecure */
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256", false},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256", false},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", false},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384", false},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256", false},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA", false},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", false},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", NULL, false},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", NULL, false},
    {"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", NULL, false},
    {"TLS_ECDHE_RSA_WITH_RC4_128_SHA", NULL, false},
    {"TLS_RSA_WITH_RC4_128_SHA", NULL, false},
};

static const struct {
    uint64_t number; /* IANA's */
    const char *openssl;
    bool needs_35; /* OpenSSL 3.5 */
} groups[] = {
    {23, "P-256", false},
    {24, "P-384", false},
    {25, "P-521", false},
    {29, "X25519", false},
    {4587, "SecP256r1MLKEM768", true},
    {4588, "X25519MLKEM768", true},
    {4589, "SecP384r1MLKEM1024", true},
};
#define OPENSSL_3_5 0x30500000UL

static int read_version(const char *name, int *ret, struct err *err);
static int read_ciphers(struct arena *a, const struct option_list *names, struct tls_flags *f,
                        struct str_buf *left_out, struct err *err);
static int read_groups(struct arena *a, const struct option_list *numbers, struct tls_flags *f,
                       struct str_buf *left_out, struct err *err);
static int read_sni(struct arena *a, const char *text, struct tls_sni *ret, struct err *err);

int tls_flags_read(struct arena *a, const struct options *o, struct tls_flags *ret, struct err *err)
{
    struct tls_flags f = {0};
    _cleanup_(str_buf_done) struct str_buf left_out = STR_BUF_INIT;
    int rc = read_version(o->tls_min_version, &f.min_version, err);
    if (rc == ERR_OK) {
        rc = read_ciphers(a, &o->tls_ciphers, &f, &left_out, err);
    }
    if (rc == ERR_OK) {
        rc = read_groups(a, &o->tls_curves, &f, &left_out, err);
    }
    f.sni = ARENA_ARRAY(a, struct tls_sni, o->tls_sni.n);
    for (size_t i = 0; rc == ERR_OK && i < o->tls_sni.n; i++) {
        if (*o->tls_sni.items[i] != '\0') { /* the flag's default is one empty text */
            rc = read_sni(a, o->tls_sni.items[i], &f.sni[f.n_sni++], err);
        }
    }
    if (rc == ERR_OK) {
        f.left_out = left_out.len == 0 ? NULL : str_buf_to_arena(&left_out, a);
        *ret = f;
    }
    return rc;
}

static int read_version(const char *name, int *ret, struct err *err)
{
    if (str_is_empty(name)) {
        *ret = TLS1_2_VERSION;
        return ERR_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        if (str_eq(versions[i].name, name)) {
            *ret = versions[i].version;
            return ERR_OK;
        }
    }
    return err_set(err, ERR_INVALID,
                   "--tls-min-version: unknown tls version \"%s\"; possible values: VersionTLS10, "
                   "VersionTLS11, VersionTLS12, VersionTLS13",
                   name);
}

static void append_item(struct str_buf *b, const char *sep, const char *item)
{
    str_append(b, b->len > 0 ? sep : "");
    str_append(b, item);
}

/* --- cipher suites ---------------------------------------------------------------------------- */

static int refuse_suite(const char *name, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf all = STR_BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
        /* Those that can be used: with all others the list would not fit into an error. */
        if (suites[i].by_default || (suites[i].openssl != NULL && *suites[i].openssl == '\0')) {
            append_item(&all, ", ", suites[i].name);
        }
    }
    return err_set(err, ERR_INVALID,
                   "--tls-cipher-suites: Cipher suite %s not supported or doesn't exist; preferred "
                   "values: %s",
                   name, str_buf_text(&all));
}

static int add_suite(struct str_buf *list, struct str_buf *left_out, const char *name,
                     bool *ret_tls13, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
        if (!str_eq(suites[i].name, name)) {
            continue;
        }
        if (suites[i].openssl == NULL) {
            append_item(left_out, ", ", name);
        } else if (*suites[i].openssl == '\0') {
            *ret_tls13 = true;
        } else {
            append_item(list, ":", suites[i].openssl);
        }
        return ERR_OK;
    }
    return refuse_suite(name, err);
}

static void add_default_suites(struct str_buf *list)
{
    for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
        if (suites[i].by_default) {
            append_item(list, ":", suites[i].openssl);
        }
    }
}

static int read_ciphers(struct arena *a, const struct option_list *names, struct tls_flags *f,
                        struct str_buf *left_out, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf list = STR_BUF_INIT;
    bool tls13 = false;
    for (size_t i = 0; i < names->n; i++) {
        int rc = add_suite(&list, left_out, names->items[i], &tls13, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    if (names->n == 0) {
        add_default_suites(&list);
    } else if (list.len == 0 && tls13) {
        /* Suites of TLS 1.3 alone: nothing is left for older versions, so these are not spoken. */
        f->min_version = TLS1_3_VERSION;
        add_default_suites(&list);
    } else if (list.len == 0) {
        return err_set(err, ERR_INVALID,
                       "--tls-cipher-suites: this OpenSSL has none of %s: name others",
                       str_buf_text(left_out));
    }
    f->ciphers = str_buf_to_arena(&list, a);
    return ERR_OK;
}

/* --- groups ----------------------------------------------------------------------------------- */

static int add_group(struct str_buf *list, struct str_buf *left_out, const char *text,
                     struct err *err)
{
    uint64_t number;
    bool ok = str_to_u64(text, &number);
    for (size_t i = 0; ok && i < ARRAY_LEN(groups); i++) {
        if (groups[i].number != number) {
            continue;
        }
        bool there = !groups[i].needs_35 || OpenSSL_version_num() >= OPENSSL_3_5;
        append_item(there ? list : left_out, there ? ":" : ", ", groups[i].openssl);
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "--tls-curve-preferences: \"%s\" is no supported group; possible values: 23 "
                   "(P-256), 24 (P-384), 25 (P-521), 29 (X25519), 4587 (SecP256r1MLKEM768), 4588 "
                   "(X25519MLKEM768), 4589 (SecP384r1MLKEM1024)",
                   text);
}

static int read_groups(struct arena *a, const struct option_list *numbers, struct tls_flags *f,
                       struct str_buf *left_out, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf list = STR_BUF_INIT;
    for (size_t i = 0; i < numbers->n; i++) {
        int rc = add_group(&list, left_out, numbers->items[i], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    if (numbers->n > 0 && list.len == 0) {
        return err_set(err, ERR_INVALID,
                       "--tls-curve-preferences: this OpenSSL has none of %s: add 29 (X25519)",
                       str_buf_text(left_out));
    }
    f->groups = list.len == 0 ? NULL : str_buf_to_arena(&list, a);
    return ERR_OK;
}

/* --- --tls-sni-cert-key ----------------------------------------------------------------------- */

static int refuse_sni(const char *text, const char *why, struct err *err)
{
    return err_set(err, ERR_INVALID, "--tls-sni-cert-key \"%s\": %s; the form is %s", text, why,
                   "CERT,KEY or CERT,KEY:NAME,NAME…");
}

static int read_sni(struct arena *a, const char *text, struct tls_sni *ret, struct err *err)
{
    const char *colon = strchr(text, ':');
    size_t n_files, n_names = 0;
    char **names = NULL;
    if (colon != NULL) {
        const char *list = str_trim(a, colon + 1);
        if (*list == '\0') {
            return refuse_sni(text, "empty names list is not allowed", err);
        }
        names = str_split(a, list, ',', &n_names);
        for (size_t i = 0; i < n_names; i++) {
            names[i] = str_trim(a, names[i]);
        }
    }
    const char *pair = colon == NULL ? text : arena_strndup(a, text, (size_t)(colon - text));
    char **files = str_split(a, pair, ',', &n_files);
    if (n_files != 2) {
        return refuse_sni(text, "expected comma separated certificate and key file paths", err);
    }
    *ret = (struct tls_sni){
        .cert_file = str_trim(a, files[0]),
        .key_file = str_trim(a, files[1]),
        .names = (const char *const *)names,
        .n_names = n_names,
    };
    return ERR_OK;
}
