/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4.c: the simulator's own signatures against the published suite and the provider's requests.
 *
 * Source: docs/spec/aws.md §11.14, rows 265 to 273. */
#include "sim/aws/sigv4.h"

#include "common/base/attr.h"
#include "common/base/str.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define EMPTY  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define PARAM1 "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"
#define FORM8  "application/x-www-form-urlencoded; charset=utf-8"
#define TOKEN  "IQoJb3JpZ2luX2VjEXAMPLE//token+with/special=chars=="

struct row {
    int number;
    const char *method, *query, *content_type, *host, *token, *date;
    const char *region, *service;
    const char *body;
    const char *payload, *canonical, *key, *signature; /* key NULL: not given */
};

static const struct row rows[] = {
    {265, "GET", NULL, NULL, "example.amazonaws.com", NULL, "20150830T123600Z", "us-east-1",
     "service", "", EMPTY, "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63", NULL,
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {266, "GET", "Param2=value2&Param1=value1", NULL, "example.amazonaws.com", NULL,
     "20150830T123600Z", "us-east-1", "service", "", EMPTY,
     "816cd5b414d056048ba4f7c5386d6e0533120fb1fcfa93762cf0fc39e2cf19e0", NULL,
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {267, "POST", NULL, NULL, "example.amazonaws.com", NULL, "20150830T123600Z", "us-east-1",
     "service", "", EMPTY, "553f88c9e4d10fc9e109e2aeb65f030801b70c2f6468faca261d401ae622fc87", NULL,
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {268, "POST", NULL, "application/x-www-form-urlencoded", "example.amazonaws.com", NULL,
     "20150830T123600Z", "us-east-1", "service", "Param1=value1", PARAM1,
     "42a5e5bb34198acb3e84da4f085bb7927f2bc277ca766e6d19c73c2154021281", NULL,
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
    {269, "POST", NULL, "application/x-www-form-urlencoded; charset=utf8", "example.amazonaws.com",
     NULL, "20150830T123600Z", "us-east-1", "service", "Param1=value1", PARAM1,
     "2e1cf7ed91881a30569e46552437e4156c823447bf1781b921b5d486c568dd1c", NULL,
     "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"},
    {270, "GET", "Action=ListUsers&Version=2010-05-08", FORM8, "iam.amazonaws.com", NULL,
     "20150830T123600Z", "us-east-1", "iam", "", EMPTY,
     "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59",
     "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9",
     "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
    {271, "POST", NULL, FORM8, "ec2.us-west-2.amazonaws.com", NULL, "20260102T030405Z", "us-west-2",
     "ec2",
     "Action=DescribeSecurityGroups&Filter.1.Name=group-name&Filter.1.Value.1=k8s-elb-"
     "a1111111122223333444455555555555&Filter.2.Name=vpc-id&Filter.2.Value.1=vpc-0abc123&"
     "Version=2016-11-15",
     "640e0b239c9bc0e8dc600c727f03513600fe158b5a390737e31a656597d4ec3b",
     "4b68e85025627beacf1fdfe67f258b1f836f81a0cd193b41ce4842d00351936c",
     "9c2074c86913f471858ddbcbb0e5f9a74ef4c3cb82716c21a6e64c95b148d8a2",
     "a0dceb231e61f173695f6a11b09e2066bc923f3f17e232244a69d8c7c8e63ef4"},
    {272, "POST", NULL, FORM8, "elasticloadbalancing.us-west-2.amazonaws.com", TOKEN,
     "20260102T030405Z", "us-west-2", "elasticloadbalancing",
     "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=a1111111122223333444455555555555&"
     "Version=2012-06-01",
     "9c5ba01397cea55e5f9266a2dfc429a42d84f4507db411fdd9d5446008077274",
     "029b503871e0338bc68b1cceb49d524a5d106c9682f0cbad393ff935d6712f9a",
     "6a0407d8f6e75733dcf6b4b59b2dca9b959c3768e724bbc34eeec71b008580be",
     "c6d858efef9f6012709d9789ed3864f04f0dad1f4ba0166b9fe4dac5487da4a7"},
    {273, "POST", NULL, FORM8, "127.0.0.1:5055", NULL, "20260102T030405Z", "us-east-1",
     "elasticloadbalancing",
     "Action=AddTags&ResourceArns.member.1=arn%3Aaws%3Aelasticloadbalancing%3Aus-east-1%3A"
     "123456789012%3Aloadbalancer%2Fnet%2Fa1%2F50dc6c495c0c9188&Tags.member.1.Key="
     "kubernetes.io%2Fservice-name&Tags.member.1.Value=default%2Fmy%20svc%2A~%C3%A9&"
     "Version=2015-12-01",
     "7420082ff545009a4bdd8f8d7a359160fb5280a178c6a1e73c3cf3c5650b1c9e",
     "275d77bc7660878006758221a658ef2855569a684b7e059c28eade9cb23ee6da",
     "c69485e14fd769eb85be81d4799ad70a8bc1c1d85b0c10efee70723b45e10448",
     "7cdbd48d9d754f8b2f689a64e69635f9f06f1fc2a20aee5e0abce8ee82f2fc3f"},
};

static const char *header_of(void *arg, const char *name)
{
    const struct row *r = arg;
    return str_eq_nocase(name, "host")                   ? r->host
           : str_eq_nocase(name, "x-amz-date")           ? r->date
           : str_eq_nocase(name, "content-type")         ? r->content_type
           : str_eq_nocase(name, "x-amz-security-token") ? r->token
                                                         : NULL;
}

static void same(const struct row *r, const char *what, const char *got, const char *want)
{
    if (!str_eq(got, want)) {
        fail_msg("row %d: %s: got %s, want %s", r->number, what, str_nonnull(got),
                 str_nonnull(want));
    }
}

static void check_row(const struct row *r)
{
    struct arena *a = arena_new();
    const char *header = arena_printf(
        a,
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/%.8s/%s/%s/aws4_request, SignedHeaders=%shost;"
        "x-amz-date%s, Signature=%s",
        r->date, r->region, r->service, r->content_type ? "content-type;" : "",
        r->token ? ";x-amz-security-token" : "", r->signature);
    struct amz_authorization auth;
    const struct amz_message m = {
        .method = r->method,
        .path = "/",
        .query = r->query,
        .body = r->body,
        .body_len = strlen(r->body),
        .header = header_of,
        .arg = (void *)r,
    };
    same(r, "header", amz_authorization_parse(a, header, &auth), NULL);
    same(r, "access key", auth.access_key, "AKIDEXAMPLE");
    same(r, "payload", amz_sha256_hex(a, r->body, strlen(r->body)), r->payload);
    const char *canonical = amz_canonical_request(a, &m, &auth);
    same(r, "canonical request", amz_sha256_hex(a, canonical, strlen(canonical)), r->canonical);
    unsigned char key[32];
    char text[65];
    amz_signing_key(SECRET, auth.date, auth.region, auth.service, key);
    for (size_t i = 0; i < sizeof(key); i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    }
    same(r, "key", text, r->key ? r->key : text);
    same(r, "signature", amz_signature(a, &m, &auth, r->date, SECRET), auth.signature);
    arena_free(a);
}

static void signature__each_row_of_the_vectors__is_that_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_row(&rows[i]);
    }
}

static const char *spaced(void *arg, const char *name)
{
    (void)arg;
    return str_eq(name, "b") ? "  x   y \t z  " : "   ";
}

static void canonical_request__blanks_in_values__are_trimmed_and_collapsed(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const char *names[] = {"B", "c"};
    const struct amz_authorization auth = {.headers = names, .n_headers = 2};
    const struct amz_message m = {
        .method = "POST", .path = "/a b%20c", .body = "", .header = spaced};
    const char *lower[] = {"b", "c"};
    const struct amz_authorization low = {.headers = lower, .n_headers = 2};
    assert_string_equal(amz_canonical_request(a, &m, &low),
                        "POST\n/a%20b%2520c\n\nb:x y z\nc:\n\nb;c\n" EMPTY);
    assert_string_equal(amz_canonical_request(a, &m, &auth),
                        "POST\n/a%20b%2520c\n\nb:\nc:\n\nb;c\n" EMPTY);
    arena_free(a);
}

static void authorization__incomplete__says_what_is_missing(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"Bearer x", "algorithm"},
        {"AWS4-HMAC-SHA256", "algorithm"},
        {"AWS4-HMAC-SHA256 SignedHeaders=host, Signature=1", "Credential"},
        {"AWS4-HMAC-SHA256 Credential=a/20260102/r/s/aws4_request, Signature=1", "SignedHeaders"},
        {"AWS4-HMAC-SHA256 Credential=a/20260102/r/s/aws4_request, SignedHeaders=host",
         "Signature"},
        {"AWS4-HMAC-SHA256 Credential=a/20260102/r/s/aws4_request, SignedHeaders=host, Signature=",
         "Signature"},
        {"AWS4-HMAC-SHA256 Credential=a/2026/r/s/aws4_request, SignedHeaders=host, Signature=1",
         "slash-delimited"},
        {"AWS4-HMAC-SHA256 Credential=a/20260102/r/s, SignedHeaders=host, Signature=1",
         "slash-delimited"},
        {"AWS4-HMAC-SHA256 Credential=a/20260102/r/s/aws5_request, SignedHeaders=host, Signature=1",
         "slash-delimited"},
    };
    (void)state;
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct amz_authorization auth;
        const char *wrong = amz_authorization_parse(a, cases[i].text, &auth);
        if (!wrong || !strstr(wrong, cases[i].want)) {
            fail_msg("%s: got %s, want %s", cases[i].text, str_nonnull(wrong), cases[i].want);
        }
    }
    arena_free(a);
}

UNIT_MAIN(sigv4)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signature__each_row_of_the_vectors__is_that_of_the_table),
        cmocka_unit_test(canonical_request__blanks_in_values__are_trimmed_and_collapsed),
        cmocka_unit_test(authorization__incomplete__says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
