/* SPDX-License-Identifier: Apache-2.0 */
/* self_signed.c: two keys and two certificates.
 *
 * Owns what stands in them.  The CA's key is forgotten at once: nothing else will ever be signed
 * with it.  Must not touch files. */
#include "controller/serve/self_signed.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "common/base/str.h"

#define KEY_BITS 2048
#define HOST     "localhost"
#define HOUR_S   ((time_t)3600)
#define YEAR_S   ((time_t)365 * 24 * 3600)

/* One certificate in the making. */
struct draft {
    X509 *cert;
    EVP_PKEY *key;
};

static void draft_done(struct draft *d)
{
    X509_free(d->cert);
    EVP_PKEY_free(d->key);
}

static bool add_extension(const struct draft *d, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, d->cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = ext != NULL && X509_add_ext(d->cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok;
}

static bool set_serial(X509 *cert)
{
    BIGNUM *n = BN_new();
    bool ok = n != NULL && BN_rand(n, 63, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert)) != NULL;
    BN_free(n);
    return ok;
}

/* Key, names and times; not signed yet. */
static bool draft_begin(struct draft *d, const char *cn, time_t now)
{
    d->key = EVP_RSA_gen(KEY_BITS);
    d->cert = X509_new();
    return d->key != NULL && d->cert != NULL && X509_set_version(d->cert, X509_VERSION_3) == 1 &&
           set_serial(d->cert) &&
           ASN1_TIME_set(X509_getm_notBefore(d->cert), now - HOUR_S) != NULL &&
           ASN1_TIME_set(X509_getm_notAfter(d->cert), now - HOUR_S + YEAR_S) != NULL &&
           X509_NAME_add_entry_by_txt(X509_get_subject_name(d->cert), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)cn, -1, -1, 0) == 1 &&
           X509_set_pubkey(d->cert, d->key) == 1;
}

static bool make_ca(struct arena *a, struct draft *ca, time_t now)
{
    return draft_begin(ca, arena_printf(a, HOST "-ca@%lld", (long long)now), now) &&
           X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert)) == 1 &&
           add_extension(ca, ca->cert, NID_key_usage,
                         "critical,digitalSignature,keyEncipherment,keyCertSign") &&
           add_extension(ca, ca->cert, NID_basic_constraints, "critical,CA:TRUE") &&
           add_extension(ca, ca->cert, NID_subject_key_identifier, "hash") &&
           add_extension(ca, ca->cert, NID_subject_alt_name, "DNS:" HOST) &&
           X509_sign(ca->cert, ca->key, EVP_sha256()) > 0;
}

static bool make_leaf(struct arena *a, struct draft *leaf, const struct draft *ca,
                      const char *bind_address, time_t now)
{
    bool any = str_eq(bind_address, "0.0.0.0") || str_eq(bind_address, "::") ||
               str_eq(bind_address, "127.0.0.1");
    const char *names = any ? "DNS:" HOST ",IP:127.0.0.1"
                            : arena_printf(a, "DNS:" HOST ",IP:127.0.0.1,IP:%s", bind_address);
    return draft_begin(leaf, arena_printf(a, HOST "@%lld", (long long)now), now) &&
           X509_set_issuer_name(leaf->cert, X509_get_subject_name(ca->cert)) == 1 &&
           add_extension(leaf, ca->cert, NID_key_usage,
                         "critical,digitalSignature,keyEncipherment") &&
           add_extension(leaf, ca->cert, NID_ext_key_usage, "serverAuth") &&
           add_extension(leaf, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(leaf, ca->cert, NID_authority_key_identifier, "keyid") &&
           add_extension(leaf, ca->cert, NID_subject_alt_name, names) &&
           X509_sign(leaf->cert, ca->key, EVP_sha256()) > 0;
}

/* The text of what `bio` has gathered.  The memory of a key is wiped with the BIO. */
static char *take_text(struct arena *a, BIO *bio)
{
    char *data;
    long n = BIO_get_mem_data(bio, &data);
    char *text = arena_strndup(a, data, (size_t)n);
    BIO_free(bio);
    return text;
}

int self_signed_make(struct arena *a, const char *bind_address, int64_t wall_us,
                     struct self_signed *ret, struct err *err)
{
    time_t now = (time_t)(wall_us / 1000000);
    struct draft ca = {0}, leaf = {0};
    BIO *cert = BIO_new(BIO_s_mem());
    BIO *key = BIO_new(BIO_s_secmem());
    bool ok = cert != NULL && key != NULL && make_ca(a, &ca, now) &&
              make_leaf(a, &leaf, &ca, bind_address, now) &&
              PEM_write_bio_X509(cert, leaf.cert) == 1 && PEM_write_bio_X509(cert, ca.cert) == 1 &&
              PEM_write_bio_PrivateKey(key, leaf.key, NULL, NULL, 0, NULL, NULL) == 1;
    draft_done(&ca);
    draft_done(&leaf);
    if (!ok) {
        char why[256];
        ERR_error_string_n(ERR_get_error(), why, sizeof(why));
        ERR_clear_error();
        BIO_free(cert);
        BIO_free(key);
        return err_set(err, ERR_BUG, "certificate of our own for %s: %s", bind_address, why);
    }
    *ret = (struct self_signed){
        .cert_pem = take_text(a, cert),
        .key_pem = take_text(a, key),
        .ends_us = (int64_t)(now - HOUR_S + YEAR_S) * 1000000,
    };
    return ERR_OK;
}
