/* SPDX-License-Identifier: Apache-2.0 */
/* test_credentials_answer.c: what plugins print and TokenRequests answer; vector 202 of
 * controller.md §6.12. */
#include "controller/kube/client/credentials_answer.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

#define V1   "client.authentication.k8s.io/v1"
#define BETA "client.authentication.k8s.io/v1beta1"
#define HEAD "{'apiVersion':'" V1 "','kind':'ExecCredential'"

static void credentials_parse_exec__good__every_member(void **state)
{
    const char *text =
        quoted(*state, HEAD
               ",'spec':{'interactive':false},'status':{'token':'t','clientCertificateData':'C',"
               "'clientKeyData':'K','expirationTimestamp':'2026-01-02T03:04:05Z','more':1}}");
    struct credential c = {0};
    struct err err = ERR_INIT;
    assert_int_equal(credentials_parse_exec(*state, V1, text, strlen(text), &c, &err), ERR_OK);
    assert_string_equal(c.token, "t");
    assert_string_equal(c.cert_pem, "C");
    assert_string_equal(c.key_pem, "K");
    assert_true(c.has_expiry);
    assert_int_equal(c.expires_us, INT64_C(1767323045000000));
    text = quoted(*state,
                  HEAD ",'status':{'token':'t','clientKeyData':'','expirationTimestamp':null}}");
    assert_int_equal(credentials_parse_exec(*state, V1, text, strlen(text), &c, &err), ERR_OK);
    assert_null(c.cert_pem);
    assert_null(c.key_pem);
    assert_false(c.has_expiry);
}

static void credentials_parse_exec__bad__upstream_texts(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"", "decoding stdout: it is empty"},
        {"Please log in: SECRET", "decoding stdout: it is no JSON"},
        {"['SECRET']", "decoding stdout: want an object"},
        {"{'kind':'ExecCredential'}", "decoding stdout: 'apiVersion' is missing"},
        {"{'apiVersion':'" V1 "','status':{'token':'SECRET'}}",
         "decoding stdout: 'kind' is missing"},
        /* 202 */
        {"{'apiVersion':'" BETA "','kind':'ExecCredential','status':{'token':'SECRET'}}",
         "exec plugin is configured to use API version " V1 ", plugin returned version " BETA},
        {"{'apiVersion':'" V1 "','kind':'Status'}",
         "decoding stdout: no kind \"Status\" is registered for version \"" V1 "\""},
        {"{'apiVersion':5,'kind':'ExecCredential'}", "decoding stdout: apiVersion is no string"},
        {HEAD "}", "exec plugin didn't return a status field"},
        {HEAD ",'status':null}", "exec plugin didn't return a status field"},
        {HEAD ",'status':'SECRET'}", "decoding stdout: status is no object"},
        {HEAD ",'status':{}}", "exec plugin didn't return a token or cert/key pair"},
        {HEAD ",'status':{'token':''}}", "exec plugin didn't return a token or cert/key pair"},
        {HEAD ",'status':{'clientKeyData':'SECRET'}}",
         "exec plugin returned only certificate or key, not both"},
        {HEAD ",'status':{'token':'SECRET','clientCertificateData':'c'}}",
         "exec plugin returned only certificate or key, not both"},
        {HEAD ",'status':{'token':['SECRET']}}", "decoding stdout: token is no string"},
        {HEAD ",'status':{'token':'SECRET\\nX: y'}}", "the token has a control byte"},
        {HEAD ",'status':{'token':'SECRET','expirationTimestamp':'tomorrow'}}",
         "decoding stdout: expirationTimestamp is no time of RFC 3339"},
        {HEAD ",'status':{'token':'SECRET'}} trailing", "decoding stdout: it is no JSON"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = quoted(*state, rows[i].text);
        struct credential c = {.token = "kept"};
        struct err err = ERR_INIT;
        assert_int_equal(credentials_parse_exec(*state, V1, text, strlen(text), &c, &err),
                         ERR_INVALID);
        assert_string_equal(err.message, rows[i].want);
        assert_string_equal(c.token, "kept");
    }
}

static void credentials_parse_token_request__answers__token_and_end(void **state)
{
    static const struct {
        const char *text;
        bool fine;
    } rows[] = {
        {"{'kind':'TokenRequest','spec':{'expirationSeconds':3600},'status':{'token':'SECRET',"
         "'expirationTimestamp':'2026-01-02T03:04:05Z'}}",
         true},
        {"{'status':{'token':'SECRET'}}", false},
        {"{'status':{'token':'','expirationTimestamp':'2026-01-02T03:04:05Z'}}", false},
        {"{'status':{'token':'SECRET','expirationTimestamp':'never'}}", false},
        {"{'status':7}", false},
        {"<html>SECRET", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = quoted(*state, rows[i].text);
        struct credential c = {0};
        struct err err = ERR_INIT;
        int rc = credentials_parse_token_request(*state, text, strlen(text), &c, &err);
        assert_int_equal(rc, rows[i].fine ? ERR_OK : ERR_INVALID);
        assert_null(strstr(err.message, "SECRET"));
        if (rows[i].fine) {
            assert_string_equal(c.token, "SECRET");
            assert_int_equal(c.expires_us, INT64_C(1767323045000000));
        }
    }
}

UNIT_MAIN(credentials_answer)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(credentials_parse_exec__good__every_member),
        KUBE_TEST(credentials_parse_exec__bad__upstream_texts),
        KUBE_TEST(credentials_parse_token_request__answers__token_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
