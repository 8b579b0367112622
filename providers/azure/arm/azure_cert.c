/* SPDX-License-Identifier: Apache-2.0 */
/* azure_cert.c: see azure_cert.h. */
#include "providers/azure/arm/azure_cert.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/net/jwt.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <string.h>

#define CHAIN_MAX    10
#define ASSERTION_S  600 /* how long an assertion is valid */
#define SHA256_BYTES 32
#define SHA1_BYTES   20

struct azure_cert {
    struct arena *a;
    struct jwt_key *key;
    const char *chain[CHAIN_MAX]; /* base64 of DER, the key's own certificate first */
    size_t n_chain;
    const char *sha256; /* base64url of the first one's hash */
    const char *sha1;
};

/* Contents of a file, in OpenSSL's types. */
struct parts {
    EVP_PKEY *key;
    X509 *certs[CHAIN_MAX];
    size_t n;
};

static void parts_done(struct parts *p)
{
    EVP_PKEY_free(p->key);
    for (size_t i = 0; i < p->n; i++) {
        X509_free(p->certs[i]);
    }
    ERR_clear_error();
}

/* Takes the reference. */
static void add_cert(struct parts *p, X509 *cert)
{
    if (p->n < CHAIN_MAX) {
        p->certs[p->n++] = cert;
    } else {
        X509_free(cert);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static int tell_password(char *buf, int size, int rwflag, void *arg)
{
    (void)rwflag;
    const char *password = arg;
    int n = (int)strlen(password);
    if (n > size) {
        return -1;
    }
    memcpy(buf, password, (size_t)n);
    return n;
}

static void read_pem(const void *text, size_t n, const char *password, struct parts *p)
{
    void *arg = (void *)(uintptr_t)password;
    BIO *bio = BIO_new_mem_buf(text, (int)n);
    p->key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, tell_password, arg) : NULL;
    BIO_free(bio);
    bio = BIO_new_mem_buf(text, (int)n);
    X509 *cert;
    while (bio != NULL && (cert = PEM_read_bio_X509(bio, NULL, tell_password, arg)) != NULL) {
        add_cert(p, cert);
    }
    BIO_free(bio);
}

static bool read_pkcs12(const void *text, size_t n, const char *password, struct parts *p)
{
    const unsigned char *der = text;
    PKCS12 *box = d2i_PKCS12(NULL, &der, (long)n);
    X509 *cert = NULL;
    STACK_OF(X509) *others = NULL;
    bool ok = box != NULL && PKCS12_parse(box, password, &p->key, &cert, &others) == 1;
    if (ok && cert != NULL) {
        add_cert(p, cert);
    }
    while (ok && sk_X509_num(others) > 0) {
        add_cert(p, sk_X509_shift(others));
    }
    sk_X509_free(others);
    PKCS12_free(box);
    return box != NULL;
}

/* The certificate that goes with the key comes first; the rest keeps its order. */
static bool lead_with_own(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (X509_check_private_key(p->certs[i], p->key) == 1) {
            X509 *own = p->certs[i];
            memmove(&p->certs[1], &p->certs[0], i * sizeof(own));
            p->certs[0] = own;
            return true;
        }
    }
    return false;
}

static bool encode(struct azure_cert *c, const struct parts *p)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    for (size_t i = 0; i < p->n; i++) {
        unsigned char *der = NULL;
        int len = i2d_X509(p->certs[i], &der);
        if (len <= 0) {
            return false;
        }
        c->chain[c->n_chain++] = str_base64_encode(c->a, der, (size_t)len, false);
        OPENSSL_free(der);
    }
    bool ok = X509_digest(p->certs[0], EVP_sha256(), hash, &n) == 1 && n == SHA256_BYTES;
    c->sha256 = str_base64_encode(c->a, hash, n, true);
    ok = ok && X509_digest(p->certs[0], EVP_sha1(), hash, &n) == 1 && n == SHA1_BYTES;
    c->sha1 = str_base64_encode(c->a, hash, n, true);
    return ok;
}

static int take_key(struct azure_cert *c, const struct parts *p, struct err *err)
{
    unsigned char *der = NULL;
    int len = i2d_PrivateKey(p->key, &der);
    int rc = len > 0 ? jwt_key_parse(der, (size_t)len, &c->key, err)
                     : err_set(err, ERR_AUTH, "the private key cannot be read");
    if (len > 0) {
        OPENSSL_clear_free(der, (size_t)len);
    }
    return rc;
}

static int take_parts(struct azure_cert *c, struct parts *p, bool pkcs12, struct err *err)
{
    if (p->key == NULL && pkcs12) {
        return err_set(
            err, ERR_AUTH,
            "PKCS#12 that aadClientCertPassword does not open, or that is encrypted with "
            "a cipher of former days: write it anew with today's");
    }
    if (p->key == NULL) {
        return err_set(err, ERR_AUTH,
                       "no private key: want PEM or PKCS#12 with key and certificate; is it "
                       "encrypted, and aadClientCertPassword right?");
    }
    if (!lead_with_own(p)) {
        return err_set(err, ERR_AUTH, "no certificate that goes with the private key");
    }
    int rc = take_key(c, p, err);
    if (rc != ERR_OK) {
        return err_set(err, ERR_AUTH, "the private key is of a kind that cannot sign: want RSA");
    }
    return encode(c, p) ? ERR_OK : err_set(err, ERR_AUTH, "the certificate cannot be encoded");
}

int azure_cert_parse(const void *text, size_t n, const char *password, struct azure_cert **ret,
                     struct err *err)
{
    struct parts p = {0};
    bool pkcs12 = false;
    read_pem(text, n, password, &p);
    if (p.key == NULL && p.n == 0) {
        pkcs12 = read_pkcs12(text, n, password, &p);
    }
    struct azure_cert *c = xcalloc(1, sizeof(*c));
    c->a = arena_new();
    int rc = take_parts(c, &p, pkcs12, err);
    parts_done(&p);
    if (rc != ERR_OK) {
        azure_cert_free(c);
        return rc;
    }
    *ret = c;
    return ERR_OK;
}

void azure_cert_free(struct azure_cert *c)
{
    if (c != NULL) {
        jwt_key_free(c->key);
        arena_free(c->a);
        free(c);
    }
}

/* ---- signing --------------------------------------------------------------------------------- */

int azure_cert_sign(struct arena *a, const struct azure_cert *c,
                    const struct azure_assertion *about, char **ret, struct err *err)
{
    _cleanup_(json_putp) struct json_object *header = json_object_new_object();
    _cleanup_(json_putp) struct json_object *claims = json_object_new_object();
    json_add_str(header, "typ", "JWT");
    json_add_str(header, "alg", about->adfs ? "RS256" : "PS256");
    json_add_str(header, about->adfs ? "x5t" : "x5t#S256", about->adfs ? c->sha1 : c->sha256);
    json_add(header, "x5c", json_strs(c->chain, c->n_chain));
    json_add_str(claims, "aud", about->audience);
    json_add_str(claims, "iss", about->client_id);
    json_add_str(claims, "sub", about->client_id);
    json_add_str(claims, "jti", about->jti);
    json_add_int(claims, "nbf", about->now_s);
    json_add_int(claims, "exp", about->now_s + ASSERTION_S);
    return jwt_sign_header(a, c->key, header, claims, ret, err);
}
