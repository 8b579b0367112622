/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.c: signing of JSON Web Tokens with OpenSSL.
 *
 * Source: gce-cloud-provider.md §2.4 (RS256 for service accounts), RFC 7515, RFC 7518 §3.3 to
 * §3.5 (PS256 for client assertions of Azure, azure.md §2.4). Owns the compact serialisation and
 * the choice of the algorithm by the kind of key.  What the claims mean is the caller's.  Must not
 * put key text, or OpenSSL's words about it, into an error.
 * Thread-safe: a parsed key is only read; each signature has a context of its own. */
#include "common/net/jwt.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/str.h"
#include "common/data/json.h"

#define KEY_MAX_BYTES ((size_t)64 * 1024)
#define ES256_INT_LEN 32 /* bytes of r and of s in a P-256 signature (RFC 7518 §3.4) */

struct jwt_key {
    EVP_PKEY *pkey;
    bool is_ec; /* ES256 instead of RS256 */
};

static EVP_PKEY *read_key(const void *text, size_t n);
static bool pkey_is_p256(EVP_PKEY *pkey);
static int sign_bytes(struct arena *a, const struct jwt_key *k, bool pss, const char *text,
                      unsigned char **ret, size_t *ret_n, struct err *err);

int jwt_key_parse(const void *text, size_t n, struct jwt_key **ret, struct err *err)
{
    if (n == 0 || n > KEY_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "private key has %zu bytes, want 1 to %zu", n,
                       KEY_MAX_BYTES);
    }
    EVP_PKEY *pkey = read_key(text, n);
    ERR_clear_error();
    if (pkey == NULL) {
        return err_set(err, ERR_INVALID,
                       "private key is neither PEM nor DER of a PKCS#8, PKCS#1 or EC key");
    }
    bool is_ec = EVP_PKEY_is_a(pkey, "EC") == 1;
    if (is_ec ? !pkey_is_p256(pkey) : EVP_PKEY_is_a(pkey, "RSA") != 1) {
        EVP_PKEY_free(pkey);
        return err_set(err, ERR_INVALID,
                       "private key is of a kind that cannot sign: want RSA or EC P-256");
    }
    struct jwt_key *k = xcalloc(1, sizeof(*k));
    k->pkey = pkey;
    k->is_ec = is_ec;
    *ret = k;
    return ERR_OK;
}

void jwt_key_free(struct jwt_key *k)
{
    if (k != NULL) {
        EVP_PKEY_free(k->pkey);
        free(k);
    }
}

/* A daemon has no user to ask for a pass phrase: an encrypted key is an unreadable one. */
static int no_passphrase(char *buf, int size, int rwflag, void *arg)
{
    (void)buf, (void)size, (void)rwflag, (void)arg;
    return -1;
}

static EVP_PKEY *read_key(const void *text, size_t n)
{
    BIO *bio = BIO_new_mem_buf(text, (int)n);
    EVP_PKEY *pkey = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    if (pkey == NULL) {
        const unsigned char *der = text;
        pkey = d2i_AutoPrivateKey(NULL, &der, (long)n);
    }
    return pkey;
}

static bool pkey_is_p256(EVP_PKEY *pkey)
{
    char group[64];
    size_t len = 0;
    return EVP_PKEY_get_group_name(pkey, group, sizeof(group), &len) == 1 &&
           (str_eq(group, "prime256v1") || str_eq(group, "P-256"));
}

int jwt_sign(struct arena *a, const struct jwt_key *k, const char *kid, struct json_object *claims,
             char **ret, struct err *err)
{
    struct json_object *header = json_object_new_object();
    json_add_str(header, "alg", k->is_ec ? "ES256" : "RS256");
    json_add_str(header, "typ", "JWT");
    json_add_str(header, "kid", str_is_empty(kid) ? NULL : kid);
    int rc = jwt_sign_header(a, k, header, claims, ret, err);
    json_object_put(header);
    return rc;
}

int jwt_sign_header(struct arena *a, const struct jwt_key *k, struct json_object *header,
                    struct json_object *claims, char **ret, struct err *err)
{
    const char *alg = json_str(header, "alg");
    bool pss = str_eq(alg, "PS256");
    if (k->is_ec ? !str_eq(alg, "ES256") : !pss && !str_eq(alg, "RS256")) {
        return err_set(err, ERR_INVALID, "the private key does not sign with %s", str_nonnull(alg));
    }
    const char *head = json_text(a, header, JSON_COMPACT);
    const char *body = json_text(a, claims, JSON_COMPACT);
    char *input = arena_printf(a, "%s.%s", str_base64_encode(a, head, strlen(head), true),
                               str_base64_encode(a, body, strlen(body), true));
    unsigned char *sig = NULL;
    size_t sig_len = 0;
    int rc = sign_bytes(a, k, pss, input, &sig, &sig_len, err);
    if (rc != ERR_OK) {
        return rc;
    }
    *ret = arena_printf(a, "%s.%s", input, str_base64_encode(a, sig, sig_len, true));
    return ERR_OK;
}

/* JWS wants r and s as plain big-endian numbers side by side, OpenSSL gives them as ASN.1. */
static bool ecdsa_to_raw(struct arena *a, unsigned char **sig, size_t *n)
{
    const unsigned char *p = *sig;
    ECDSA_SIG *parts = d2i_ECDSA_SIG(NULL, &p, (long)*n);
    if (parts == NULL) {
        return false;
    }
    unsigned char *raw = arena_alloc(a, 2 * ES256_INT_LEN);
    bool ok =
        BN_bn2binpad(ECDSA_SIG_get0_r(parts), raw, ES256_INT_LEN) == ES256_INT_LEN &&
        BN_bn2binpad(ECDSA_SIG_get0_s(parts), raw + ES256_INT_LEN, ES256_INT_LEN) == ES256_INT_LEN;
    ECDSA_SIG_free(parts);
    *sig = raw;
    *n = (size_t)2 * ES256_INT_LEN;
    return ok;
}

/* RSA keys sign with PKCS#1 v1.5 padding unless told otherwise, which is what RS256 means; PS256
 * has a salt as long as its hash (RFC 7518 §3.5). */
static bool set_padding(EVP_PKEY_CTX *ctx, bool pss)
{
    return !pss || (EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
                    EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) == 1);
}

static int sign_bytes(struct arena *a, const struct jwt_key *k, bool pss, const char *text,
                      unsigned char **ret, size_t *ret_n, struct err *err)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const unsigned char *data = (const unsigned char *)text;
    size_t n = 0;
    unsigned char *sig = NULL;
    EVP_PKEY_CTX *pkey_ctx = NULL;
    bool ok = ctx != NULL && EVP_DigestSignInit(ctx, &pkey_ctx, EVP_sha256(), NULL, k->pkey) == 1 &&
              set_padding(pkey_ctx, pss) && EVP_DigestSign(ctx, NULL, &n, data, strlen(text)) == 1;
    if (ok) {
        sig = arena_alloc(a, n);
        ok = EVP_DigestSign(ctx, sig, &n, data, strlen(text)) == 1;
    }
    if (ok && k->is_ec) {
        ok = ecdsa_to_raw(a, &sig, &n);
    }
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    if (!ok) {
        return err_set(err, ERR_INVALID, "the private key cannot sign with SHA-256");
    }
    *ret = sig;
    *ret_n = n;
    return ERR_OK;
}
