/* SPDX-License-Identifier: Apache-2.0 */
/* access_cert.c: see access_cert.h.  All of OpenSSL's objects that belong to access are
 * made and read here. */
#include "controller/serve/access_cert.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#include "common/base/str.h"

#define DEPTH_MAX      8
#define SECURITY_LEVEL 1
#define UID_OID        "1.3.6.1.4.1.57683.2"
#define CREDENTIAL_ID  "authentication.kubernetes.io/credential-id"

/* --- bundles ---------------------------------------------------------------------------------- */

struct bundle {
    X509_STORE *store;
    STACK_OF(X509_NAME) * names;
    size_t n;
};

static void bundle_done(struct bundle *b)
{
    X509_STORE_free(b->store);
    sk_X509_NAME_pop_free(b->names, X509_NAME_free);
}

static void bio_freep(BIO **bio)
{
    BIO_free(*bio);
}

static int add_ca(struct bundle *b, X509 *ca, struct err *err)
{
    X509_NAME *name = X509_NAME_dup(X509_get_subject_name(ca));
    if (name == NULL || sk_X509_NAME_push(b->names, name) == 0 ||
        X509_STORE_add_cert(b->store, ca) != 1) {
        return err_set(err, ERR_INVALID, "certificate %zu cannot be used", b->n + 1);
    }
    b->n++;
    return b->n <= ACCESS_CA_MAX
               ? ERR_OK
               : err_set(err, ERR_INVALID, "more than %d certificates", ACCESS_CA_MAX);
}

/* Whether reading stopped because there is nothing more. */
static bool is_end_of_pem(void)
{
    unsigned long e = ERR_peek_last_error();
    return ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
}

static int read_all(struct bundle *b, BIO *bio, struct err *err)
{
    int rc = ERR_OK;
    while (rc == ERR_OK) {
        ERR_clear_error();
        X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        if (ca == NULL) {
            break;
        }
        rc = add_ca(b, ca, err);
        X509_free(ca);
    }
    if (rc == ERR_OK && !is_end_of_pem()) {
        rc = err_set(err, ERR_INVALID, "certificate %zu is not readable PEM", b->n + 1);
    }
    ERR_clear_error();
    if (rc == ERR_OK && b->n == 0) {
        rc = err_set(err, ERR_INVALID, "it has no certificate (want PEM)");
    }
    return rc;
}

int access_cas_parse(const char *pem, size_t n, X509_STORE **ret, STACK_OF(X509_NAME) * *ret_names,
                     struct err *err)
{
    if (n > ACCESS_CA_BYTES_MAX) {
        return err_set(err, ERR_INVALID, "larger than %zu bytes", ACCESS_CA_BYTES_MAX);
    }
    BIO *bio _cleanup_(bio_freep) = BIO_new_mem_buf(pem, (int)n);
    struct bundle b = {.store = X509_STORE_new(), .names = sk_X509_NAME_new_null()};
    if (bio == NULL || b.store == NULL || b.names == NULL) {
        out_of_memory(0);
    }
    int rc = read_all(&b, bio, err);
    if (rc != ERR_OK) {
        bundle_done(&b);
        return rc;
    }
    *ret = b.store;
    *ret_names = b.names;
    return ERR_OK;
}

/* --- verifying -------------------------------------------------------------------------------- */

static const char *shown_name(X509 *cert, char *out, int size)
{
    (void)X509_NAME_oneline(X509_get_subject_name(cert), out, size); /* "" when it fails */
    return out;
}

/* Go's rule: who says what it is for must name clients, or any use; all along the chain. */
static bool is_for_clients(STACK_OF(X509) * chain)
{
    for (int i = 0; i < sk_X509_num(chain); i++) {
        uint32_t uses = X509_get_extended_key_usage(sk_X509_value(chain, i));
        if (uses != UINT32_MAX && (uses & (XKU_SSL_CLIENT | XKU_ANYEKU)) == 0) {
            return false;
        }
    }
    return true;
}

static int verify(X509_STORE_CTX *ctx, const char *who, int64_t wall_s, struct err *err)
{
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(param, (time_t)wall_s);
    X509_VERIFY_PARAM_set_depth(param, DEPTH_MAX);
    X509_VERIFY_PARAM_set_auth_level(param, SECURITY_LEVEL);
    (void)X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN); /* fails on no flag */
    if (X509_verify_cert(ctx) != 1) {
        return err_set(err, ERR_AUTH, "certificate of \"%s\": %s", who,
                       X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    }
    if (!is_for_clients(X509_STORE_CTX_get0_chain(ctx))) {
        return err_set(err, ERR_AUTH, "certificate of \"%s\": not for client authentication", who);
    }
    return ERR_OK;
}

int access_cert_verify(X509_STORE *cas, X509 *cert, STACK_OF(X509) * chain, int64_t wall_s,
                       struct err *err)
{
    char who[256] = "";
    shown_name(cert, who, sizeof who);
    if (chain != NULL && sk_X509_num(chain) > ACCESS_CHAIN_MAX) {
        return err_set(err, ERR_AUTH, "certificate of \"%s\": a chain of more than %d", who,
                       ACCESS_CHAIN_MAX);
    }
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    if (ctx == NULL || X509_STORE_CTX_init(ctx, cas, cert, chain) != 1) {
        out_of_memory(0);
    }
    int rc = verify(ctx, who, wall_s, err);
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return rc;
}

int64_t access_cert_remaining_s(X509 *cert, int64_t wall_s)
{
    int days = 0;
    int seconds = 0;
    ASN1_TIME *now = ASN1_TIME_set(NULL, (time_t)wall_s);
    if (now == NULL || ASN1_TIME_diff(&days, &seconds, now, X509_get0_notAfter(cert)) != 1) {
        days = seconds = 0; /* a time that is none: it does not verify either */
    }
    ASN1_TIME_free(now);
    return (int64_t)days * 86400 + seconds;
}

/* --- the user that it names ------------------------------------------------------------------- */

static int entry_text(struct arena *a, X509_NAME *subject, int at, const char **ret,
                      struct err *err)
{
    unsigned char *utf8 = NULL;
    int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (n < 0 || n > ACCESS_NAME_MAX || memchr(utf8, '\0', (size_t)n) != NULL) {
        if (n >= 0) {
            OPENSSL_free(utf8);
        }
        ERR_clear_error();
        return err_set(err, ERR_INVALID, "the certificate's subject has a name that is none");
    }
    *ret = arena_strndup(a, (const char *)utf8, (size_t)n);
    OPENSSL_free(utf8);
    return ERR_OK;
}

int access_cert_cn(struct arena *a, X509 *cert, const char **ret, struct err *err)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int last = -1;
    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
        last = at;
    }
    if (last < 0) {
        *ret = "";
        return ERR_OK;
    }
    return entry_text(a, subject, last, ret, err);
}

static int take_groups(struct arena *a, X509_NAME *subject, struct access_user *u, struct err *err)
{
    const char **groups = ARENA_ARRAY(a, const char *, ACCESS_GROUPS_MAX);
    size_t n = 0;
    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0;) {
        if (n == ACCESS_GROUPS_MAX) {
            return err_set(err, ERR_INVALID, "the certificate names more than %d groups",
                           ACCESS_GROUPS_MAX);
        }
        int rc = entry_text(a, subject, at, &groups[n++], err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    u->groups = groups;
    u->n_groups = n;
    return ERR_OK;
}

static int take_uid(struct arena *a, X509_NAME *subject, struct access_user *u, struct err *err)
{
    ASN1_OBJECT *oid = OBJ_txt2obj(UID_OID, 1);
    int at = X509_NAME_get_index_by_OBJ(subject, oid, -1);
    int another = at < 0 ? -1 : X509_NAME_get_index_by_OBJ(subject, oid, at);
    ASN1_OBJECT_free(oid);
    if (another >= 0) {
        return err_set(err, ERR_INVALID, "the certificate names two UIDs");
    }
    return at < 0 ? ERR_OK : entry_text(a, subject, at, &u->uid, err);
}

/* "X509SHA256=" and the digest: what audit logs find a credential by. */
static void take_credential_id(struct arena *a, X509 *cert, struct access_user *u)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (X509_digest(cert, EVP_sha256(), digest, &n) != 1) {
        return;
    }
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "X509SHA256=");
    for (unsigned i = 0; i < n; i++) {
        str_appendf(&b, "%02x", digest[i]);
    }
    const char **value = ARENA_NEW(a, const char *);
    struct access_extra *extra = ARENA_NEW(a, struct access_extra);
    *value = str_buf_to_arena(&b, a);
    *extra = (struct access_extra){.key = CREDENTIAL_ID, .values = value, .n = 1};
    u->extra = extra;
    u->n_extra = 1;
}

bool access_cert_user(struct arena *a, X509 *cert, struct access_user *ret, struct err *err)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    struct access_user u = {.uid = ""};
    if (access_cert_cn(a, cert, &u.name, err) != ERR_OK || u.name[0] == '\0' ||
        take_groups(a, subject, &u, err) != ERR_OK || take_uid(a, subject, &u, err) != ERR_OK) {
        return false;
    }
    take_credential_id(a, cert, &u);
    *ret = u;
    return true;
}
