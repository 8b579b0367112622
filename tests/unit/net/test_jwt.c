/* SPDX-License-Identifier: Apache-2.0 */
/* test_jwt.c: tokens are verified with OpenSSL and the public half of keys made in the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/net/jwt.h"
#include "tests/support/unit.h"

enum form { PKCS8_PEM, PKCS1_PEM, PKCS8_DER, PKCS1_DER, EC_PEM, ENCRYPTED_PEM };

/* The key in one of the forms in which people keep it. */
static char *key_text(struct arena *a, EVP_PKEY *key, enum form form, size_t *ret_n)
{
    BIO *bio = BIO_new(BIO_s_mem());
    int ok = 0;
    switch (form) {
    case PKCS8_PEM:
        ok = PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
        break;
    case PKCS1_PEM:
    case EC_PEM:
        ok = PEM_write_bio_PrivateKey_traditional(bio, key, NULL, NULL, 0, NULL, NULL);
        break;
    case PKCS8_DER:
        ok = i2d_PKCS8PrivateKey_bio(bio, key, NULL, NULL, 0, NULL, NULL);
        break;
    case PKCS1_DER:
        ok = i2d_PrivateKey_bio(bio, key);
        break;
    case ENCRYPTED_PEM:
        ok = PEM_write_bio_PKCS8PrivateKey(bio, key, EVP_aes_128_cbc(), "secret", 6, NULL, NULL);
        break;
    }
    assert_int_equal(ok, 1);
    char *data;
    long n = BIO_get_mem_data(bio, &data);
    char *out = arena_memdup(a, data, (size_t)n);
    BIO_free(bio);
    *ret_n = (size_t)n;
    return out;
}

static char *sign(struct arena *a, const char *key, size_t n, const char *kid)
{
    struct jwt_key *k = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(jwt_key_parse(key, n, &k, &err), ERR_OK);
    struct json_object *claims = json_object_new_object();
    json_add_str(claims, "iss", "a@b.example");
    json_add_int(claims, "iat", 1700000000);
    char *token = NULL;
    assert_int_equal(jwt_sign(a, k, kid, claims, &token, &err), ERR_OK);
    json_object_put(claims);
    jwt_key_free(k);
    return token;
}

static bool verify(EVP_PKEY *key, const char *input, size_t n, const unsigned char *sig,
                   size_t sig_n)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestVerify(ctx, sig, sig_n, (const unsigned char *)input, n) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

/* Splits the token, compares head and claims, and gives the raw signature. */
static unsigned char *check_parts(struct arena *a, const char *token, const char *head,
                                  size_t *ret_sig_n)
{
    size_t n;
    char **part = str_split(a, token, '.', &n);
    assert_int_equal(n, 3);
    unsigned char *bytes;
    size_t len;
    assert_true(str_base64_decode(a, part[0], true, &bytes, &len));
    assert_string_equal(arena_strndup(a, (char *)bytes, len), head);
    assert_true(str_base64_decode(a, part[1], true, &bytes, &len));
    assert_string_equal(arena_strndup(a, (char *)bytes, len),
                        "{\"iss\":\"a@b.example\",\"iat\":1700000000}");
    assert_true(str_base64_decode(a, part[2], true, &bytes, ret_sig_n));
    assert_null(strpbrk(token, "=+/"));
    return bytes;
}

static void jwt_sign__rsa_in_every_form__rs256(void **state)
{
    (void)state;
    static const enum form forms[] = {PKCS8_PEM, PKCS1_PEM, PKCS8_DER, PKCS1_DER};
    EVP_PKEY *key = EVP_RSA_gen(2048);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        _cleanup_(arena_freep) struct arena *a = arena_new();
        size_t n = 0;
        const char *text = key_text(a, key, forms[i], &n);
        const char *token = sign(a, text, n, "key-1");
        size_t sig_n;
        unsigned char *sig =
            check_parts(a, token, "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"key-1\"}", &sig_n);
        assert_int_equal(sig_n, 256);
        size_t input_n = (size_t)(strrchr(token, '.') - token);
        assert_true(verify(key, token, input_n, sig, sig_n));
        assert_false(verify(key, token, input_n - 1, sig, sig_n));
    }
    EVP_PKEY_free(key);
}

static void jwt_sign__ec__es256_as_two_numbers(void **state)
{
    (void)state;
    static const enum form forms[] = {PKCS8_PEM, EC_PEM, PKCS8_DER, PKCS1_DER};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    for (size_t i = 0; i < 4 * ARRAY_LEN(forms); i++) { /* often, as short numbers are padded */
        _cleanup_(arena_freep) struct arena *a = arena_new();
        size_t n = 0;
        const char *text = key_text(a, key, forms[i % ARRAY_LEN(forms)], &n);
        const char *token = sign(a, text, n, i % 2 == 0 ? NULL : "");
        size_t sig_n;
        unsigned char *raw = check_parts(a, token, "{\"alg\":\"ES256\",\"typ\":\"JWT\"}", &sig_n);
        assert_int_equal(sig_n, 64);

        ECDSA_SIG *parts = ECDSA_SIG_new();
        ECDSA_SIG_set0(parts, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
        unsigned char *der = NULL;
        int der_n = i2d_ECDSA_SIG(parts, &der);
        assert_true(verify(key, token, (size_t)(strrchr(token, '.') - token), der, (size_t)der_n));
        OPENSSL_free(der);
        ECDSA_SIG_free(parts);
    }
    EVP_PKEY_free(key);
}

static void jwt_key__no_key__says_so_without_its_text(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    EVP_PKEY *p384 = EVP_EC_gen("P-384");
    EVP_PKEY *rsa = EVP_RSA_gen(1024);
    size_t p384_n = 0;
    size_t locked_n = 0;
    const char *p384_text = key_text(a, p384, PKCS8_PEM, &p384_n);
    const char *locked_text = key_text(a, rsa, ENCRYPTED_PEM, &locked_n);
    EVP_PKEY_free(p384);
    EVP_PKEY_free(rsa);
    static const char none[] = "private key is neither PEM nor DER of a PKCS#8, PKCS#1 or EC key";
    const struct {
        const char *text;
        size_t n;
        const char *message;
    } rows[] = {
        {"", 0, "private key has 0 bytes, want 1 to 65536"},
        {"hunter2", 7, none},
        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 57, none},
        {locked_text, locked_n, none},
        {p384_text, p384_n, "private key is of a kind that cannot sign: want RSA or EC P-256"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct jwt_key *k = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(jwt_key_parse(rows[i].text, rows[i].n, &k, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i].message);
        assert_null(k);
    }
}

static void jwt_sign_header__an_algorithm_of_another_kind_of_key__invalid(void **state)
{
    (void)state;
    static const struct {
        bool ec;
        const char *header;
        int want;
    } rows[] = {
        {false, "{\"alg\":\"RS256\"}", ERR_OK},
        {false, "{\"alg\":\"PS256\"}", ERR_OK},
        {false, "{\"alg\":\"ES256\"}", ERR_INVALID},
        {false, "{\"alg\":\"none\"}", ERR_INVALID},
        {false, "{}", ERR_INVALID},
        {true, "{\"alg\":\"ES256\"}", ERR_OK},
        {true, "{\"alg\":\"PS256\"}", ERR_INVALID},
    };
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        EVP_PKEY *pkey = rows[i].ec ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048);
        size_t n;
        char *text = key_text(a, pkey, PKCS8_PEM, &n);
        EVP_PKEY_free(pkey);
        struct jwt_key *k = NULL;
        struct json_object *header;
        char *jwt;
        assert_int_equal(jwt_key_parse(text, n, &k, NULL), ERR_OK);
        assert_int_equal(
            json_parse_arena(a, rows[i].header, strlen(rows[i].header), NULL, &header, NULL),
            ERR_OK);
        assert_int_equal(jwt_sign_header(a, k, header, header, &jwt, NULL), rows[i].want);
        jwt_key_free(k);
    }
}

UNIT_MAIN(jwt)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jwt_sign__rsa_in_every_form__rs256),
        cmocka_unit_test(jwt_sign__ec__es256_as_two_numbers),
        cmocka_unit_test(jwt_key__no_key__says_so_without_its_text),
        cmocka_unit_test(jwt_sign_header__an_algorithm_of_another_kind_of_key__invalid),
    };
    return cmocka_run_group_tests_name("jwt", tests, NULL, NULL);
}
