/* SPDX-License-Identifier: Apache-2.0 */
/* test_health.c: health checks of both kinds; rows 83 to 111. */
#include "providers/aws/rules/aws_health_rules.h"
#include "tests/support/unit.h"
#include "tests/unit/aws/aws_test.h"

#define LOCAL(port) ONE_PORT ",\"externalTrafficPolicy\":\"Local\",\"healthCheckNodePort\":" #port

/* Keys of annotations lack "healthcheck-", too. */
static const struct tt_service *service(struct arena *a, const char *annotations, const char *spec)
{
    struct json_object *given = pure_json(a, str_or(annotations, "{}"));
    struct json_object *full = json_object_new_object();
    json_object_object_foreach(given, key, value)
    {
        bool other = str_eq(key, "backend-protocol");
        json_add(full, other ? key : arena_printf(a, "healthcheck-%s", key),
                 json_object_get(value));
    }
    const char *text = json_text(a, full, JSON_COMPACT);
    json_object_put(full);
    return aws_test_object(a, text, spec);
}

static struct aws_naming naming(const char *mode)
{
    struct aws_naming n = aws_test_naming();
    n.probe_mode_text = mode;
    n.probe_mode = str_eq(mode, "Shared") ? AWS_PROBE_SHARED
                   : str_eq(mode, "foo")  ? AWS_PROBE_INVALID
                                          : AWS_PROBE_NODE_PORT;
    return n;
}

static const char *classic_text(struct arena *a, const char *mode, const struct tt_service *s)
{
    struct aws_classic_health h;
    struct err err = ERR_INIT;
    const struct aws_naming n = naming(mode);
    if (aws_classic_health(a, &n, s, 8080, &h, &err) != ERR_OK) {
        assert_int_equal(err.code, ERR_INVALID);
        assert_non_null(strstr(err.message, AWS_ANNOTATION "healthcheck-"));
        return "error";
    }
    return arena_printf(a, "%s %d %d %d %d", h.target, (int)h.healthy, (int)h.unhealthy,
                        (int)h.timeout, (int)h.interval);
}

static void classic__83_to_97(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *mode, *want;
    } rows[] = {
        {"83", NULL, NULL, "", "TCP:8080 2 6 5 10"},
        {"84", "{\"healthy-threshold\":\"7\"}", NULL, "", "TCP:8080 7 6 5 10"},
        {"85", "{\"unhealthy-threshold\":\"7\"}", NULL, "", "TCP:8080 2 7 5 10"},
        {"86", "{\"timeout\":\"7\"}", NULL, "", "TCP:8080 2 6 7 10"},
        {"87", "{\"interval\":\"7\"}", NULL, "", "TCP:8080 2 6 5 7"},
        {"88", "{\"port\":\"2122\"}", NULL, "", "TCP:2122 2 6 5 10"},
        {"89", "{\"protocol\":\"HTTP\"}", NULL, "", "HTTP:8080/ 2 6 5 10"},
        {"90", "{\"protocol\":\"HTTPS\",\"path\":\"/healthz\",\"port\":\"31224\"}", NULL, "",
         "HTTPS:31224/healthz 2 6 5 10"},
        {"91", "{\"protocol\":\"SSL\",\"path\":\"/healthz\",\"port\":\"3124\"}", NULL, "",
         "SSL:3124 2 6 5 10"},
        {"92", "{\"protocol\":\"TCP\",\"port\":\"traffic-port\"}", NULL, "", "TCP:8080 2 6 5 10"},
        {"93", "{\"timeout\":\"1\"}", NULL, "", "error"},
        {"94", "{\"timeout\":\"3.3\"}", NULL, "", "error"},
        {"96", "{\"protocol\":\"http\"}", NULL, "", "HTTP:8080/ 2 6 5 10"},
        {"97", "{\"port\":\"traffic-port\"}", LOCAL(32000), "", "HTTP:8080/healthz 2 6 5 10"},
        {"4.12", NULL, LOCAL(32000), "", "HTTP:32000/healthz 2 6 5 10"},
        {"4.12", NULL, LOCAL(32000), "Shared", "HTTP:32000/healthz 2 6 5 10"},
        {"4.12", NULL, NULL, "Shared", "HTTP:10256/healthz 2 6 5 10"},
        {"4.12", "{\"port\":\"traffic-port\"}", NULL, "Shared", "HTTP:10256/healthz 2 6 5 10"},
        {"4.12", "{\"protocol\":\"TCP\"}", NULL, "Shared", "TCP:10256 2 6 5 10"},
        {"4.12", NULL, NULL, "foo", "TCP:8080 2 6 5 10"},
        {"4.12", "{\"backend-protocol\":\"HTTPS\"}", NULL, "", "SSL:8080 2 6 5 10"},
        {"4.12", "{\"backend-protocol\":\"ssl\"}", NULL, "", "SSL:8080 2 6 5 10"},
        {"4.12", "{\"healthy-threshold\":\"1\"}", NULL, "", "error"},
        {"4.12", "{\"unhealthy-threshold\":\"1\"}", NULL, "", "error"},
        {"4.12", "{\"interval\":\"4\"}", NULL, "", "error"},
        {"4.12", "{\"interval\":\"\"}", NULL, "", "error"},
        {"4.12", "{\"port\":\"http\"}", NULL, "", "error"},
        {"4.12", "{\"protocol\":\"\"}", NULL, "", ":8080 2 6 5 10"}, /* as upstream: AWS says no */
        {"13.39", "{\"interval\":\"4294967306\"}", NULL, "", "error"},
        {"15.6", "{\"port\":\"-5\"}", NULL, "", "error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].row,
                  classic_text(a, rows[i].mode, service(a, rows[i].annotations, rows[i].spec)),
                  rows[i].want);
    }
}

static const char *nlb_text(struct arena *a, const char *mode, const struct tt_service *s)
{
    struct aws_target_health_check c;
    struct err err = ERR_INIT;
    const struct aws_naming n = naming(mode);
    if (aws_nlb_health(a, &n, s, &c, &err) != ERR_OK) {
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(err.message[0] != '\0');
        return "error";
    }
    return arena_printf(a, "%s %s %s %d %d %d %d", c.port, str_or(c.path, "-"), c.protocol,
                        (int)c.interval, (int)c.timeout, (int)c.healthy, (int)c.unhealthy);
}

/* The timeout is 0 unless it is annotated: AWS' default stands (5.2). */
static void nlb__98_to_111(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row, *annotations, *spec, *mode, *want;
    } rows[] = {
        {"98", NULL, NULL, "", "traffic-port - TCP 30 0 3 3"},
        {"99", NULL, NULL, "Shared", "10256 /healthz HTTP 30 0 3 3"},
        {"102", NULL, LOCAL(32213), "", "32213 /healthz HTTP 10 0 2 2"},
        {"102", NULL, LOCAL(32213), "Shared", "32213 /healthz HTTP 10 0 2 2"},
        {"102", NULL, LOCAL(0), "", "0 - HTTP 10 0 2 2"}, /* the API server has not given one */
        {"103",
         "{\"protocol\":\"TCP\",\"port\":\"8001\",\"path\":\"/healthz\",\"healthy-threshold\":"
         "\"4\",\"unhealthy-threshold\":\"4\",\"interval\":\"10\",\"timeout\":\"5\"}",
         LOCAL(32213), "", "8001 - TCP 10 5 4 4"},
        {"104",
         "{\"protocol\":\"HTTP\",\"port\":\"41233\",\"path\":\"/healthz\",\"healthy-threshold\":"
         "\"5\",\"unhealthy-threshold\":\"5\",\"interval\":\"30\",\"timeout\":\"6\"}",
         NULL, "", "41233 /healthz HTTP 30 6 5 5"},
        {"105", "{\"protocol\":\"Http\"}", NULL, "", "traffic-port / HTTP 30 0 3 3"},
        {"106", "{\"interval\":\"23\"}", NULL, "", "traffic-port - TCP 23 0 3 3"},
        {"107", "{\"timeout\":\"x\"}", NULL, "", "error"},
        {"108", "{\"healthy-threshold\":\"7\",\"unhealthy-threshold\":\"5\"}", NULL, "",
         "traffic-port - TCP 30 0 7 5"},
        {"109", "{\"protocol\":\"UDP\"}", NULL, "", "error"},
        {"110", "{\"port\":\"http\"}", NULL, "", "error"},
        {"111", NULL, NULL, "foo", "error"},
        {"111", NULL, LOCAL(32213), "foo", "error"},
        {"5.2", "{\"protocol\":\"tcp\",\"port\":\"443\"}", NULL, "Shared",
         "10256 /healthz HTTP 30 0 3 3"},
        {"5.2", "{\"path\":\"\"}", LOCAL(32213), "", "32213 - HTTP 10 0 2 2"},
        {"5.2", "{\"port\":\"010\"}", NULL, "", "010 - TCP 30 0 3 3"},
        {"5.2", "{\"port\":\"\"}", NULL, "", "error"},
        {"5.2", "{\"protocol\":\"\"}", NULL, "", "error"},
        {"5.2", "{\"interval\":\"\"}", NULL, "", "error"},
        {"5.2", "{\"unhealthy-threshold\":\" 5\"}", NULL, "", "error"},
        {"13.39", "{\"interval\":\"4294967306\"}", NULL, "", "error"},
        {"13.39", "{\"port\":\"4294967306\"}", NULL, "", "error"},
        {"15.6", "{\"port\":\"-5\"}", NULL, "", "error"},
        {"15.6", "{\"interval\":\"-1\"}", NULL, "", "error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        same_text(rows[i].row,
                  nlb_text(a, rows[i].mode, service(a, rows[i].annotations, rows[i].spec)),
                  rows[i].want);
    }
}

static void nlb__shared_port_and_path_are_configured__100_101(void **state)
{
    struct arena *a = *state;
    struct aws_naming n = naming("Shared");
    struct aws_target_health_check c;
    struct err err = ERR_INIT;
    n.probe_port = 8080;
    assert_int_equal(aws_nlb_health(a, &n, service(a, NULL, NULL), &c, &err), ERR_OK);
    same_text("100", c.port, "8080");
    same_text("100", c.path, "/healthz");
    n.probe_port = 10256;
    n.probe_path = "/custom-healthz";
    assert_int_equal(aws_nlb_health(a, &n, service(a, NULL, NULL), &c, &err), ERR_OK);
    same_text("101", c.port, "10256");
    same_text("101", c.path, "/custom-healthz");
}

UNIT_MAIN(health)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(classic__83_to_97),
        PURE_TEST(nlb__98_to_111),
        PURE_TEST(nlb__shared_port_and_path_are_configured__100_101),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
