/* SPDX-License-Identifier: Apache-2.0 */
/* test_sigv4.c: signatures of AWS requests (docs/spec/aws.md 2.7; rows 265 to 273 of 11.14). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "common/net/sigv4.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <string.h>

#define SUITE_S  1440938160 /* 20150830T123600Z */
#define OURS_S   1767323045 /* 20260102T030405Z */
#define FORM     "application/x-www-form-urlencoded"
#define NOTHING  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define EXAMPLE  "https://example.amazonaws.com"
#define LB_TOKEN "IQoJb3JpZ2luX2VjEXAMPLE//token+with/special=chars=="

static const struct sigv4_keys keys = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                       NULL};

struct row {
    int row;
    int64_t time_s;
    const char *method;
    const char *url;
    const char *type; /* Content-Type, or NULL */
    const char *token;
    const char *body;
    const char *region;
    const char *service;
    const char *payload_hash;
    const char *canonical_hash;
    const char *signature;
};
static const struct row rows[] = {
    {265, SUITE_S, "GET", EXAMPLE "/", NULL, NULL, "", "us-east-1", "service", NOTHING,
     "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {266, SUITE_S, "GET", EXAMPLE "/?Param2=value2&Param1=value1", NULL, NULL, "", "us-east-1",
     "service", NOTHING, "816cd5b414d056048ba4f7c5386d6e0533120fb1fcfa93762cf0fc39e2cf19e0",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {267, SUITE_S, "POST", EXAMPLE "/", NULL, NULL, "", "us-east-1", "service", NOTHING,
     "553f88c9e4d10fc9e109e2aeb65f030801b70c2f6468faca261d401ae622fc87",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {268, SUITE_S, "POST", EXAMPLE "/", FORM, NULL, "Param1=value1", "us-east-1", "service",
     "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
     "42a5e5bb34198acb3e84da4f085bb7927f2bc277ca766e6d19c73c2154021281",
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
    {269, SUITE_S, "POST", EXAMPLE "/", FORM "; charset=utf8", NULL, "Param1=value1", "us-east-1",
     "service", "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
     "2e1cf7ed91881a30569e46552437e4156c823447bf1781b921b5d486c568dd1c",
     "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"},
    {270, SUITE_S, "GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
     FORM "; charset=utf-8", NULL, "", "us-east-1", "iam", NOTHING,
     "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59",
     "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
    {271, OURS_S, "POST", "https://ec2.us-west-2.amazonaws.com/", FORM "; charset=utf-8", NULL,
     "Action=DescribeSecurityGroups&Filter.1.Name=group-name&Filter.1.Value.1="
     "k8s-elb-a1111111122223333444455555555555&Filter.2.Name=vpc-id&Filter.2.Value.1=vpc-0abc123&"
     "Version=2016-11-15",
     "us-west-2", "ec2", "640e0b239c9bc0e8dc600c727f03513600fe158b5a390737e31a656597d4ec3b",
     "4b68e85025627beacf1fdfe67f258b1f836f81a0cd193b41ce4842d00351936c",
     "a0dceb231e61f173695f6a11b09e2066bc923f3f17e232244a69d8c7c8e63ef4"},
    {272, OURS_S, "POST", "https://elasticloadbalancing.us-west-2.amazonaws.com/",
     FORM "; charset=utf-8", LB_TOKEN,
     "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=a1111111122223333444455555555555&"
     "Version=2012-06-01",
     "us-west-2", "elasticloadbalancing",
     "9c5ba01397cea55e5f9266a2dfc429a42d84f4507db411fdd9d5446008077274",
     "029b503871e0338bc68b1cceb49d524a5d106c9682f0cbad393ff935d6712f9a",
     "c6d858efef9f6012709d9789ed3864f04f0dad1f4ba0166b9fe4dac5487da4a7"},
    {273, OURS_S, "POST", "http://127.0.0.1:5055/", FORM "; charset=utf-8", NULL,
     "Action=AddTags&ResourceArns.member.1=arn%3Aaws%3Aelasticloadbalancing%3Aus-east-1%3A"
     "123456789012%3Aloadbalancer%2Fnet%2Fa1%2F50dc6c495c0c9188&Tags.member.1.Key=kubernetes.io"
     "%2Fservice-name&Tags.member.1.Value=default%2Fmy%20svc%2A~%C3%A9&Version=2015-12-01",
     "us-east-1", "elasticloadbalancing",
     "7420082ff545009a4bdd8f8d7a359160fb5280a178c6a1e73c3cf3c5650b1c9e",
     "275d77bc7660878006758221a658ef2855569a684b7e059c28eade9cb23ee6da",
     "7cdbd48d9d754f8b2f689a64e69635f9f06f1fc2a20aee5e0abce8ee82f2fc3f"},
};

static void same(int row, const char *what, const char *got, const char *want)
{
    if (!str_eq(got, want)) {
        fail_msg("row %d: %s: got %s, want %s", row, what, got, want);
    }
}

static int sign(struct arena *a, struct sigv4_cache *cache, const struct row *r,
                struct sigv4_signature *ret, struct err *err)
{
    const struct http_header type = {"Content-Type", r->type};
    struct sigv4_keys k = keys;
    k.session_token = r->token;
    const struct sigv4_request req = {
        .method = r->method,
        .url = r->url,
        .headers = &type,
        .n_headers = r->type != NULL ? 1 : 0,
        .body = r->body,
        .body_len = strlen(r->body),
        .region = r->region,
        .service = r->service,
        .time_s = r->time_s,
    };
    return sigv4_sign(a, cache, &k, &req, ret, err);
}

static void check_row(struct arena *a, struct sigv4_cache *cache, const struct row *r)
{
    struct sigv4_signature s;
    struct err err = ERR_INIT;
    if (sign(a, cache, r, &s, &err) != ERR_OK) {
        fail_msg("row %d: %s", r->row, err.message);
    }
    same(r->row, "payload", s.payload_hash, r->payload_hash);
    same(r->row, "canonical request", s.canonical_hash, r->canonical_hash);
    same(r->row, "authorization", s.authorization,
         arena_printf(a,
                      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/%.8s/%s/%s/aws4_request, "
                      "SignedHeaders=%shost;x-amz-date%s, Signature=%s",
                      s.date, r->region, r->service, r->type != NULL ? "content-type;" : "",
                      r->token != NULL ? ";x-amz-security-token" : "", r->signature));
}

static void vectors__rows_265_to_273(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_row(a, NULL, &rows[i]);
    }
}

static void cache__gives_the_same__also_when_it_is_full(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct sigv4_cache cache;
    sigv4_cache_init(&cache);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            check_row(a, &cache, &rows[i]);
        }
        /* Other days push the vectors' keys out. */
        for (int day = 0; day < SIGV4_CACHE_SLOTS; day++) {
            struct row r = rows[0];
            struct sigv4_signature s;
            r.time_s += (int64_t)86400 * (day + 1);
            assert_int_equal(sign(a, &cache, &r, &s, NULL), ERR_OK);
        }
    }
    assert_int_equal(cache.used, SIGV4_CACHE_SLOTS);
    sigv4_cache_done(&cache);
    for (size_t i = 0; i < sizeof cache.slots; i++) {
        assert_int_equal(((const unsigned char *)cache.slots)[i], 0);
    }
}

static void cache__another_secret_of_one_access_key__is_another_key(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct sigv4_cache cache;
    struct sigv4_signature with[2];
    struct sigv4_keys other = keys;
    const struct sigv4_request req = {
        .method = "GET", .url = EXAMPLE, .region = "r", .service = "s", .time_s = SUITE_S};
    other.secret_key = "another";
    sigv4_cache_init(&cache);
    assert_int_equal(sigv4_sign(a, &cache, &keys, &req, &with[0], NULL), ERR_OK);
    assert_int_equal(sigv4_sign(a, &cache, &other, &req, &with[1], NULL), ERR_OK);
    assert_string_not_equal(with[0].authorization, with[1].authorization);
    sigv4_cache_done(&cache);
}

static void *sign_often(void *arg)
{
    struct arena *a = arena_new();
    void *bad = NULL;
    for (int i = 0; i < 200; i++) {
        const struct row *r = &rows[(size_t)i % ARRAY_LEN(rows)];
        struct sigv4_signature s;
        if (sign(a, arg, r, &s, NULL) != ERR_OK || !str_has_suffix(s.authorization, r->signature)) {
            bad = arg;
        }
    }
    arena_free(a);
    return bad;
}

static void cache__is_shared_by_threads(void **state)
{
    (void)state;
    struct sigv4_cache cache;
    pthread_t threads[4];
    sigv4_cache_init(&cache);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, sign_often, &cache), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *bad = NULL;
        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
    }
    sigv4_cache_done(&cache);
}

/* Requests that are equal to the server have one signature. */
static void request__is_made_canonical(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    static const struct {
        const char *a, *b;
        bool equal;
    } urls[] = {
        {"https://h/", "https://h", true},
        {"https://h:443/", "https://h/", true},
        {"http://h:80/x", "http://h/x", true},
        {"https://h:80/", "https://h/", false},
        {"https://user:pw@h/", "https://h/", true},
        {"https://h/#part", "https://h/", true},
        {"https://h/?b=1&a=2", "https://h/?a=2&b=1", true},
        {"https://h/?a=2&a=1", "https://h/?a=1&a=2", true},
        {"https://h/?a", "https://h/?a=", true},
        {"https://h/?a=x+y", "https://h/?a=x%20y", true},
        {"https://h/?a=%7e", "https://h/?a=~", true},
        {"https://h/a%20b", "https://h/a+b", false},
        {"https://h/A", "https://h/a", false},
        {"https://h//x", "https://h/x", false},
        {"http://[::1]:5000/", "http://[::1]/", false},
        {"http://[::1]:80/", "http://[::1]/", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct sigv4_signature s[2];
        struct sigv4_request req = {
            .method = "GET", .url = urls[i].a, .region = "r", .service = "s", .time_s = SUITE_S};
        assert_int_equal(sigv4_sign(a, NULL, &keys, &req, &s[0], NULL), ERR_OK);
        req.url = urls[i].b;
        assert_int_equal(sigv4_sign(a, NULL, &keys, &req, &s[1], NULL), ERR_OK);
        if (str_eq(s[0].authorization, s[1].authorization) != urls[i].equal) {
            fail_msg("%s and %s: want equal %d", urls[i].a, urls[i].b, urls[i].equal);
        }
    }
}

static void headers__blanks_case_and_order__do_not_count(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct http_header one[] = {
        {"X-Amz-B", "  two   words "}, {"x-amz-a", "1"}, {"X-AMZ-A", "2"}};
    const struct http_header two[] = {{"x-amz-a", "1"}, {"x-amz-a", "2"}, {"x-amz-b", "two words"}};
    struct sigv4_signature s[2];
    struct sigv4_request req = {.method = "GET",
                                .url = EXAMPLE,
                                .headers = one,
                                .n_headers = 3,
                                .region = "r",
                                .service = "s",
                                .time_s = SUITE_S};
    assert_int_equal(sigv4_sign(a, NULL, &keys, &req, &s[0], NULL), ERR_OK);
    req.headers = two;
    assert_int_equal(sigv4_sign(a, NULL, &keys, &req, &s[1], NULL), ERR_OK);
    same(0, "equal", s[0].authorization, s[1].authorization);
    assert_non_null(strstr(s[0].authorization, "SignedHeaders=host;x-amz-a;x-amz-b;x-amz-date,"));
}

static void refusals__do_not_show_keys(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    static const struct {
        const char *url;
        const char *header;
    } bad[] = {
        {"nonsense", "x-amz-a"},         {"https://h/?a=%zz", "x-amz-a"},
        {"https://h/", "Authorization"}, {"https://h/", "host"},
        {"https://h/", "X-Amz-Date"},    {"https://h/", "X-AMZ-Security-Token"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct http_header header = {bad[i].header, keys.secret_key};
        const struct sigv4_request req = {.method = "GET",
                                          .url = bad[i].url,
                                          .headers = &header,
                                          .n_headers = 1,
                                          .region = "r",
                                          .service = "s",
                                          .time_s = SUITE_S};
        struct sigv4_signature s;
        struct err err = ERR_INIT;
        assert_int_equal(sigv4_sign(a, NULL, &keys, &req, &s, &err), ERR_INVALID);
        assert_null(strstr(err.message, "wJal"));
    }
}

static void sign_http__adds_its_headers(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct http_header type = {"Content-Type", FORM "; charset=utf-8"};
    struct sigv4_keys k = keys;
    const struct row *r = &rows[7];
    struct http_request req = {.method = "POST",
                               .url = r->url,
                               .headers = &type,
                               .n_headers = 1,
                               .body = r->body,
                               .body_len = strlen(r->body)};
    k.session_token = LB_TOKEN;
    assert_int_equal(sigv4_sign_http(a, NULL, &k, r->region, r->service, OURS_S, &req, NULL),
                     ERR_OK);
    assert_int_equal(req.n_headers, 4);
    same(272, "first", req.headers[0].name, "Content-Type");
    same(272, "date", req.headers[1].value, "20260102T030405Z");
    same(272, "token", req.headers[2].value, LB_TOKEN);
    same(272, "name", req.headers[3].name, "Authorization");
    assert_true(str_has_suffix(req.headers[3].value, r->signature));
    /* Signed twice by mistake: refused, not sent with two. */
    assert_int_equal(sigv4_sign_http(a, NULL, &k, r->region, r->service, OURS_S, &req, NULL),
                     ERR_INVALID);
}

UNIT_MAIN(sigv4)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors__rows_265_to_273),
        cmocka_unit_test(cache__gives_the_same__also_when_it_is_full),
        cmocka_unit_test(cache__another_secret_of_one_access_key__is_another_key),
        cmocka_unit_test(cache__is_shared_by_threads),
        cmocka_unit_test(request__is_made_canonical),
        cmocka_unit_test(headers__blanks_case_and_order__do_not_count),
        cmocka_unit_test(refusals__do_not_show_keys),
        cmocka_unit_test(sign_http__adds_its_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
