/* SPDX-License-Identifier: Apache-2.0 */
/* assertions.c: what a client shows to the directory in place of a secret: a token that it signed
 * with its certificate, or one of its cluster (workload identity).
 *
 * A certificate's assertion names its thumbprint in the header ("x5t#S256" with PS256, "x5t" with
 * RS256) and, as we and the Go controller send it, carries the certificate itself ("x5c"): then
 * thumbprint and signature are verified.  Any certificate is accepted: none is registered here.  A
 * cluster's token is for the audience of the exchange; its signature is not verified, its issuer is
 * not known.  Source: docs/spec/azure.md §2.4, §2.5; RFC 7515, RFC 7523. */
#include "sim/arm/arm.h"

#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <string.h>

#define SKEW_S            300
#define EXCHANGE_AUDIENCE "api://AzureADTokenExchange"

struct assertion {
    struct json_object *header, *claims;
    const char *signed_text; /* "header.claims" */
    unsigned char *signature;
    size_t signature_len;
};

static bool take_apart(struct arena *a, const char *jwt, struct assertion *ret)
{
    struct json_object **parts[] = {&ret->header, &ret->claims};
    size_t n = 0;
    char **part = str_split(a, jwt, '.', &n);
    for (size_t i = 0; i < ARRAY_LEN(parts) && n == 3; i++) {
        unsigned char *text = NULL;
        size_t len = 0;
        if (!str_base64_decode(a, part[i], true, &text, &len) ||
            json_parse_arena(a, (const char *)text, len, NULL, parts[i], NULL) ||
            !json_object_is_type(*parts[i], json_type_object)) {
            return false;
        }
    }
    if (n != 3 || !str_base64_decode(a, part[2], true, &ret->signature, &ret->signature_len)) {
        return false;
    }
    ret->signed_text = arena_strndup(a, jwt, strlen(jwt) - strlen(part[2]) - 1);
    return true;
}

/* --- the certificate -------------------------------------------------------------------------- */

static bool thumbprint_fits(struct arena *a, const struct assertion *t, const unsigned char *der,
                            size_t len)
{
    unsigned char sha256[SHA256_DIGEST_LENGTH], sha1[SHA_DIGEST_LENGTH];
    const char *wide = json_str(t->header, "x5t#S256"), *narrow = json_str(t->header, "x5t");
    SHA256(der, len, sha256);
    SHA1(der, len, sha1);
    return (!wide || str_eq(wide, str_base64_encode(a, sha256, sizeof(sha256), true))) &&
           (!narrow || str_eq(narrow, str_base64_encode(a, sha1, sizeof(sha1), true)));
}

static bool verify(const struct assertion *t, EVP_PKEY *key)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *pkey = NULL;
    bool pss = str_eq(json_str(t->header, "alg"), "PS256");
    bool ok = ctx && EVP_DigestVerifyInit(ctx, &pkey, EVP_sha256(), NULL, key) == 1;
    if (ok && pss) {
        ok = EVP_PKEY_CTX_set_rsa_padding(pkey, RSA_PKCS1_PSS_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(pkey, RSA_PSS_SALTLEN_DIGEST) == 1;
    }
    ok = ok && EVP_DigestVerify(ctx, t->signature, t->signature_len,
                                (const unsigned char *)t->signed_text, strlen(t->signed_text)) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

/* The header fits together, and the signature is that of the certificate it carries. */
static bool signature_is_valid(struct arena *a, const struct assertion *t)
{
    struct json_object *chain = json_member(t->header, "x5c");
    const char *alg = json_str(t->header, "alg");
    const char *leaf =
        json_len(chain) ? json_object_get_string(json_object_array_get_idx(chain, 0)) : NULL;
    unsigned char *der = NULL;
    size_t len = 0;
    if (!str_eq(alg, json_str(t->header, "x5t#S256") ? "PS256" : "RS256") ||
        t->signature_len == 0) {
        return false;
    }
    if (!leaf) {
        return true;
    }
    if (!str_base64_decode(a, leaf, false, &der, &len) || !thumbprint_fits(a, t, der, len)) {
        return false;
    }
    const unsigned char *at = der;
    X509 *certificate = d2i_X509(NULL, &at, (long)len);
    bool ok = certificate && EVP_PKEY_is_a(X509_get0_pubkey(certificate), "RSA") &&
              verify(t, X509_get0_pubkey(certificate));
    X509_free(certificate);
    return ok;
}

/* --- claims ----------------------------------------------------------------------------------- */

static bool has_audience(struct json_object *claims, const char *wanted)
{
    struct json_object *aud = json_member(claims, "aud");
    bool found = str_eq_nocase(json_str(claims, "aud"), wanted);
    for (size_t i = 0; json_object_is_type(aud, json_type_array) && i < json_len(aud); i++) {
        found = found ||
                str_eq_nocase(json_object_get_string(json_object_array_get_idx(aud, i)), wanted);
    }
    return found;
}

/* A NumericDate of RFC 7519: whole seconds, or with a fraction, as some clients write it. */
static int64_t date_of(struct json_object *claims, const char *name)
{
    struct json_object *o = json_member(claims, name);
    bool number = json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double);
    return number ? json_object_get_int64(o) : 0;
}

static const struct arm_denial *deny(struct arena *a, int number, const char *text)
{
    struct arm_denial *d = ARENA_NEW(a, struct arm_denial);
    d->number = number;
    d->text = arena_printf(a, "AADSTS%d: %s", number, text);
    return d;
}

static const struct arm_denial *judge_certificate(struct arm *arm, struct sim_call *call,
                                                  const struct assertion *t, const char *client)
{
    struct arena *a = call->arena;
    const char *endpoint = arena_printf(a, "%s%s", sim_url(arm->sim), call->path);
    if (!has_audience(t->claims, endpoint)) {
        return deny(a, 700023,
                    arena_printf(a,
                                 "Client assertion audience claim does not match Realm issuer. "
                                 "Expected %s.",
                                 endpoint));
    }
    if (!str_eq_nocase(json_str(t->claims, "iss"), client) ||
        !str_eq_nocase(json_str(t->claims, "sub"), client) ||
        str_is_empty(json_str(t->claims, "jti"))) {
        return deny(a, 700021,
                    "Client assertion application identifier doesn't match 'client_id' parameter, "
                    "or the assertion has no 'jti'.");
    }
    return signature_is_valid(a, t)
               ? NULL
               : deny(a, 700027, "Client assertion contains an invalid signature.");
}

const struct arm_denial *arm_assertion_judge(struct arm *arm, struct sim_call *call,
                                             const char *jwt, const char *client)
{
    struct arena *a = call->arena;
    struct assertion t = {0};
    int64_t now = clock_wall_s(sim_clock(arm->sim));
    if (!take_apart(a, jwt, &t)) {
        return deny(a, 50027, "JWT token is invalid or malformed.");
    }
    if (date_of(t.claims, "exp") <= now || date_of(t.claims, "nbf") > now + SKEW_S) {
        return deny(a, 700024, "Client assertion is not within its valid time range.");
    }
    if (json_member(t.header, "x5t") || json_member(t.header, "x5t#S256")) {
        return judge_certificate(arm, call, &t, client);
    }
    if (!has_audience(t.claims, EXCHANGE_AUDIENCE)) {
        return deny(a, 700212,
                    "No matching federated identity record found for presented assertion audience. "
                    "Expected " EXCHANGE_AUDIENCE ".");
    }
    bool named =
        !str_is_empty(json_str(t.claims, "iss")) && !str_is_empty(json_str(t.claims, "sub"));
    return named ? NULL
                 : deny(a, 700211,
                        "No matching federated identity record found for presented "
                        "assertion issuer and subject.");
}
