/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c: a throw-away certificate authority and a server certificate for loopback (--tls).
 *
 * Recreated at each start, valid for a year, never written with its key: clients get the
 * authority's certificate through ca.crt.  Source: RFC 5280; OpenSSL 3. */
#include "sim/core/frame.h"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

static void pkey_freep(EVP_PKEY **k)
{
    EVP_PKEY_free(*k);
}

static void x509_freep(X509 **c)
{
    X509_free(*c);
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = ext && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok;
}

/* A certificate with the basics: version 3, a random serial number, one year, this name and key. */
static X509 *cert_new(EVP_PKEY *key, const char *name)
{
    X509 *cert = X509_new();
    unsigned char serial[8];
    if (!cert || RAND_bytes(serial, sizeof(serial)) != 1) {
        X509_free(cert);
        return NULL;
    }
    serial[0] &= 0x7f;
    BIGNUM *bn = BN_bin2bn(serial, sizeof(serial), NULL);
    bool ok = bn && BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(cert)) &&
              X509_set_version(cert, X509_VERSION_3) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&
              X509_gmtime_adj(X509_getm_notAfter(cert), 365L * 24 * 3600) &&
              X509_set_pubkey(cert, key) == 1 &&
              X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                         (const unsigned char *)name, -1, -1, 0) == 1;
    BN_free(bn);
    if (!ok) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static X509 *make_ca(EVP_PKEY *key)
{
    X509 *ca = cert_new(key, "trimtab-sim CA");
    bool ok = ca && X509_set_issuer_name(ca, X509_get_subject_name(ca)) == 1 &&
              add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE") &&
              add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign") &&
              add_extension(ca, ca, NID_subject_key_identifier, "hash") &&
              X509_sign(ca, key, EVP_sha256()) > 0;
    if (!ok) {
        X509_free(ca);
        return NULL;
    }
    return ca;
}

static X509 *make_server(EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key)
{
    X509 *cert = cert_new(key, "trimtab-sim");
    bool ok = cert && X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 &&
              add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
              add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
              add_extension(cert, ca, NID_ext_key_usage, "serverAuth") &&
              add_extension(cert, ca, NID_subject_key_identifier, "hash") &&
              add_extension(cert, ca, NID_authority_key_identifier, "keyid") &&
              add_extension(cert, ca, NID_subject_alt_name,
                            "IP:127.0.0.1,DNS:localhost,DNS:metadata.google.internal") &&
              X509_sign(cert, ca_key, EVP_sha256()) > 0;
    if (!ok) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static char *bio_text(struct arena *a, BIO *bio)
{
    char *data = NULL;
    long n = BIO_get_mem_data(bio, &data);
    return n > 0 ? arena_strndup(a, data, (size_t)n) : NULL;
}

static char *cert_pem(struct arena *a, X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = bio && PEM_write_bio_X509(bio, cert) == 1 ? bio_text(a, bio) : NULL;
    BIO_free(bio);
    return text;
}

static char *key_pem(struct arena *a, EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool ok = bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
    char *text = ok ? bio_text(a, bio) : NULL;
    BIO_free(bio);
    return text;
}

int sim_tls_make(struct arena *a, char **ret_ca_pem, char **ret_cert_pem, char **ret_key_pem,
                 struct err *err)
{
    _cleanup_(pkey_freep) EVP_PKEY *ca_key = EVP_EC_gen("P-256");
    _cleanup_(pkey_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    _cleanup_(x509_freep) X509 *ca = ca_key ? make_ca(ca_key) : NULL;
    _cleanup_(x509_freep) X509 *cert = ca && key ? make_server(key, ca, ca_key) : NULL;
    char *ca_text = cert ? cert_pem(a, ca) : NULL;
    char *cert_text = cert ? cert_pem(a, cert) : NULL;
    char *key_text = cert ? key_pem(a, key) : NULL;
    if (!ca_text || !cert_text || !key_text) {
        return err_set(err, ERR_BUG, "OpenSSL cannot make a certificate for loopback");
    }
    *ret_ca_pem = ca_text;
    *ret_cert_pem = cert_text;
    *ret_key_pem = key_text;
    return ERR_OK;
}
