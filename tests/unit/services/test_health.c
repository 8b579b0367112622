/* SPDX-License-Identifier: Apache-2.0 */
/* test_health.c: what kube-proxy answers on health check node ports and on port 10256. */
#include "tests/unit/services/services_test.h"

#include "tests/upstream/health.h"

/* ---- healthCheckNodePort --------------------------------------------------------------------- */

static void node_port_health__by_endpoints_and_proxy(void **state)
{
    static const struct {
        size_t ready;
        bool healthy;
        int status;
        const char *weight;
    } cases[] = {
        {2, true, 200, "2"}, {2, false, 503, "2"}, {0, true, 503, "0"}, {0, false, 503, "0"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ks_node_port_answer answer =
            ks_node_port_health(*state, "ns", "svc", cases[i].ready, cases[i].healthy);
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(answer.weight, cases[i].weight);
        assert_string_equal(answer.content_type, "application/json");
        assert_string_equal(answer.nosniff, "nosniff");
    }
    assert_string_equal(
        ks_node_port_health(*state, "ns", "svc", 2, true).body,
        "{\n\t\"service\": {\n\t\t\"namespace\": \"ns\",\n\t\t\"name\": \"svc\"\n\t},\n"
        "\t\"localEndpoints\": 2,\n\t\"serviceProxyHealthy\": true\n}");
    assert_string_equal(
        ks_node_port_health(*state, "n\"", "s\n", 0, false).body,
        "{\n\t\"service\": {\n\t\t\"namespace\": \"n\\\"\",\n\t\t\"name\": \"s\\n\"\n\t},\n"
        "\t\"localEndpoints\": 0,\n\t\"serviceProxyHealthy\": false\n}");
}

/* ---- port 10256 ------------------------------------------------------------------------------ */

#define ZERO "0001-01-01T00:00:00Z"

static const struct {
    const char *events; /* "q4@10 u6@20": queued IPv4 at 10 s, updated IPv6 at 20 s */
    const char *path;
    const char *node; /* members of the Node; NULL: not known */
    int status;
    const char *body; /* members between braces; now is 100 s, the time-out 60 s */
} rows[] = {
#define NOW  "1970-01-01T00:01:40Z"
#define AT20 "1970-01-01T00:00:20Z"
#define AT30 "1970-01-01T00:00:30Z"
    /* at a start no family has written rules: healthy, no status */
    {"", "/livez", NULL, 200, "'lastUpdated':'" NOW "','currentTime':'" NOW "','healthy':true"},
    {"q4@1", "/livez", NULL, 200, "'lastUpdated':'" NOW "','currentTime':'" NOW "','healthy':true"},
    {"", "/healthz", "'spec': {}", 200,
     "'lastUpdated':'" NOW "','currentTime':'" NOW "','nodeEligible':true,'healthy':true"},
    /* the node: not known, on its way out, tainted */
    {"", "/healthz", NULL, 503,
     "'lastUpdated':'" ZERO "','currentTime':'" NOW "','nodeEligible':false,'healthy':true"},
    {"u4@20", "/healthz", "'metadata': {'deletionTimestamp': '2026-01-01T00:00:00Z'}", 503,
     "'lastUpdated':'" AT20 "','currentTime':'" NOW "','nodeEligible':false,'healthy':true,"
     "'status':{'IPv4':{'lastUpdated':'" AT20 "','healthy':true}}"},
    {"", "/healthz",
     "'spec': {'taints': [{'key': 'x'}, {'key': 'ToBeDeletedByClusterAutoscaler'}]}", 503,
     "'lastUpdated':'" ZERO "','currentTime':'" NOW "','nodeEligible':false,'healthy':true"},
    {"", "/healthz", "'spec': {'taints': [{'key': 'DeletionCandidateOfClusterAutoscaler'}]}", 200,
     "'lastUpdated':'" NOW "','currentTime':'" NOW "','nodeEligible':true,'healthy':true"},
    /* late from the time-out on, not before */
    {"u4@20 q4@40", "/livez", NULL, 503,
     "'lastUpdated':'" AT20 "','currentTime':'" NOW "','healthy':false,'status':{'IPv4':"
     "{'lastUpdated':'" AT20 "','healthy':false}}"},
    {"u4@20 q4@41", "/livez", NULL, 200,
     "'lastUpdated':'" NOW "','currentTime':'" NOW "','healthy':true,'status':{'IPv4':"
     "{'lastUpdated':'" AT20 "','healthy':true}}"},
    /* the oldest change counts, until rules are written */
    {"u4@20 q4@30 q4@99", "/livez", NULL, 503,
     "'lastUpdated':'" AT20 "','currentTime':'" NOW "','healthy':false,'status':{'IPv4':"
     "{'lastUpdated':'" AT20 "','healthy':false}}"},
    {"q4@10 u4@20 q4@99", "/livez", NULL, 200,
     "'lastUpdated':'" NOW "','currentTime':'" NOW "','healthy':true,'status':{'IPv4':"
     "{'lastUpdated':'" AT20 "','healthy':true}}"},
    /* one late family is enough; the latest time of both stands in the answer */
    {"u4@20 u6@30 q4@40", "/livez", NULL, 503,
     "'lastUpdated':'" AT30 "','currentTime':'" NOW "','healthy':false,'status':{'IPv4':"
     "{'lastUpdated':'" AT20 "','healthy':false},'IPv6':{'lastUpdated':'" AT30
     "','healthy':true}}"},
    /* a family that never wrote rules is not checked */
    {"u4@20 q6@1", "/livez", NULL, 200,
     "'lastUpdated':'" NOW "','currentTime':'" NOW "','healthy':true,'status':{'IPv4':"
     "{'lastUpdated':'" AT20 "','healthy':true}}"},
};

static struct ks_proxy_progress progress_of(struct arena *a, const char *events)
{
    struct ks_proxy_progress progress = {0};
    size_t n;
    char **words = str_split(a, events, ' ', &n);
    for (size_t i = 0; i < n && *events != '\0'; i++) {
        enum ks_family family = words[i][1] == '6' ? KS_IPV6 : KS_IPV4;
        int64_t at = strtol(words[i] + 3, NULL, 10);
        if (words[i][0] == 'q') {
            ks_progress_queued(&progress, family, at);
        } else {
            ks_progress_updated(&progress, family, at);
        }
    }
    return progress;
}

static const struct ks_node *node_of(struct arena *a, const char *members)
{
    const struct ks_node *node = NULL;
    struct err err = ERR_INIT;
    if (members != NULL) {
        struct json_object *o = json_of(a, arena_printf(a, "{%s}", members));
        assert_int_equal(ks_node_decode(a, o, "", &node, &err), ERR_OK);
    }
    return node;
}

static void proxy_health__rows(void **state)
{
    struct arena *a = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ks_proxy_progress progress = progress_of(a, rows[i].events);
        struct ks_proxy_answer answer = ks_proxy_health(&progress, node_of(a, rows[i].node),
                                                        str_eq(rows[i].path, "/livez"), 60, 100);
        assert_int_equal(answer.status, rows[i].status);
        assert_string_equal(ks_proxy_answer_body(a, &answer),
                            str_replace(a, arena_printf(a, "{%s}", rows[i].body), "'", "\""));
    }
}

UNIT_MAIN(health)
{
    const struct CMUnitTest tests[] = {
        services_test(node_port_health__by_endpoints_and_proxy),
        services_test(proxy_health__rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
