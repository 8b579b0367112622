/* SPDX-License-Identifier: Apache-2.0 */
/* test_ca.c: certificates made with OpenSSL while the test runs.
 *
 * Owns the CA's key, which never leaves the process, and the serial numbers.  One thread at a
 * time. */
#include "tests/support/test_ca.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"

#define DAY_S (24L * 3600)

struct test_ca {
    EVP_PKEY *key;
    X509 *cert;
    char *pem;
    long serial;
};

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

static char *bio_text(BIO *bio)
{
    char *data;
    long n = BIO_get_mem_data(bio, &data);
    char *text = xstrndup(data, (size_t)n);
    BIO_free(bio);
    return text;
}

static char *cert_text(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    must(PEM_write_bio_X509(bio, cert) == 1);
    return bio_text(bio);
}

static char *key_text(EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    must(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
    return bio_text(bio);
}

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    must(ext != NULL && X509_add_ext(cert, ext, -1) == 1);
    X509_EXTENSION_free(ext);
}

static X509 *new_cert(const char *cn, EVP_PKEY *key, long serial)
{
    X509 *cert = X509_new();
    must(cert != NULL && X509_set_version(cert, 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -2 * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(cert), DAY_S);
    must(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                    (const unsigned char *)cn, -1, -1, 0) == 1);
    must(X509_set_pubkey(cert, key) == 1);
    return cert;
}

struct test_ca *test_ca_new(const char *cn)
{
    struct test_ca *ca = xcalloc(1, sizeof(*ca));
    ca->key = EVP_EC_gen("P-256");
    ca->cert = new_cert(cn, ca->key, ++ca->serial);
    must(X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert)) == 1);
    add_extension(ca->cert, ca->cert, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    add_extension(ca->cert, ca->cert, NID_subject_key_identifier, "hash");
    must(X509_sign(ca->cert, ca->key, EVP_sha256()) > 0);
    ca->pem = cert_text(ca->cert);
    return ca;
}

void test_ca_free(struct test_ca *ca)
{
    if (ca != NULL) {
        X509_free(ca->cert);
        EVP_PKEY_free(ca->key);
        free(ca->pem);
        free(ca);
    }
}

const char *test_ca_pem(const struct test_ca *ca)
{
    return ca->pem;
}

struct test_cert test_ca_issue(struct test_ca *ca, const struct test_cert_spec *spec)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_cert(spec->cn, key, ++ca->serial);
    must(X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) == 1);
    if (spec->expired) {
        X509_gmtime_adj(X509_getm_notAfter(cert), -DAY_S);
    }
    add_extension(cert, ca->cert, NID_ext_key_usage, "serverAuth,clientAuth");
    if (spec->san != NULL) {
        add_extension(cert, ca->cert, NID_subject_alt_name, spec->san);
    }
    must(X509_sign(cert, ca->key, EVP_sha256()) > 0);
    struct test_cert out = {.cert_pem = cert_text(cert), .key_pem = key_text(key)};
    X509_free(cert);
    EVP_PKEY_free(key);
    return out;
}

void test_cert_done(struct test_cert *c)
{
    free(c->cert_pem);
    free(c->key_pem);
    *c = (struct test_cert){0};
}
