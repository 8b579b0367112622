/* SPDX-License-Identifier: Apache-2.0 */
/* test_firewall_diff.c: firewalls and health checks compared, gcloud commands; rows W2–W12,
 * G1–G10, H1–H4, P21 of the GCE specification. */
#include "tests/unit/gce/pure.h"

#include "providers/gce/model/gce_firewall_diff.h"
#include "providers/gce/model/gce_gcloud.h"
#include "tests/support/gce_decode.h"
#include "tests/support/unit.h"

static struct gce_firewall firewall(struct arena *a, const char *json)
{
    struct gce_firewall f = {0};
    assert_int_equal(gce_firewall_decode(a, pure_json(a, json), &f, NULL), ERR_OK);
    return f;
}

#define BASE(allowed, sources, dest)                                                               \
    "{\"name\":\"fw\",\"description\":\"d\",\"priority\":1000,\"allowed\":[" allowed               \
    "],\"sourceRanges\":[" sources "],\"destinationRanges\":[" dest "],\"targetTags\":[\"t\"]}"
#define MERGED "{\"IPProtocol\":\"tcp\",\"ports\":[\"80-82\",\"84-86\",\"88\"]}"
#define PLAIN                                                                                      \
    "{\"IPProtocol\":\"tcp\",\"ports\":[\"80\",\"81\",\"82\",\"84\",\"85\",\"86\",\"88\"]}"
#define ALL "\"0.0.0.0/0\""
#define IP  "\"10.0.0.1\""

static void traffic__W2_to_W9(void **state)
{
    struct arena *a = *state;
    static const char *plain_items[] = {"80", "81", "82", "84", "85", "86", "88"};
    const struct gce_strs plain = {plain_items, 7};
    const struct gce_firewall want = firewall(a, BASE(MERGED, ALL, IP));
    static const struct {
        const char *row, *found;
        bool differs;
    } rows[] = {
        {"equal", BASE(MERGED, ALL, IP), false},
        {"W3", BASE("{\"IPProtocol\":\"usps\",\"ports\":[\"80-82\",\"84-86\",\"88\"]}", ALL, IP),
         true},
        {"W4", BASE("{\"IPProtocol\":\"tcp\",\"ports\":[\"666\"]}", ALL, IP), true},
        {"W5", BASE(MERGED, "\"nonsense\"", IP), true},
        {"W6", BASE(MERGED, "\"1.0.0.0/10\"", IP), true},
        {"W7", BASE(MERGED, ALL, "\"8.8.8.8\""), true},
        {"W8", BASE(PLAIN, ALL, IP), false},
        {"W9",
         BASE("{\"IPProtocol\":\"tcp\",\"ports\":[\"80\",\"81\",\"82\",\"84\",\"85\",\"86\"]}", ALL,
              IP),
         true},
        {"W9", BASE("{\"IPProtocol\":\"tcp\",\"ports\":[\"80-82\",\"86\"]}", ALL, IP), true},
        {"no destination", BASE(MERGED, ALL, ""), true},
        {"two entries", BASE(MERGED "," MERGED, ALL, IP), true},
        {"protocol is not looked at",
         BASE("{\"IPProtocol\":\"udp\",\"ports\":[\"80-82\",\"84-86\",\"88\"]}", ALL, IP), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_firewall found = firewall(a, rows[i].found);
        if (gce_firewall_traffic_differs(a, &found, &want, &plain) != rows[i].differs) {
            fail_msg("%s", rows[i].row);
        }
    }
    struct gce_firewall other = want;
    other.description = "1.2.3.4";
    assert_true(gce_firewall_traffic_differs(a, &other, &want, &plain)); /* W2 */
    other = want;
    other.priority = 999;
    assert_true(gce_firewall_traffic_differs(a, &other, &want, &plain));
}

static void mended__protocol_and_tags(void **state)
{
    struct arena *a = *state;
    struct gce_firewall want = firewall(a, BASE(MERGED, ALL, IP));
    struct gce_firewall udp = firewall(
        a, BASE("{\"IPProtocol\":\"udp\",\"ports\":[\"80-82\",\"84-86\",\"88\"]}", ALL, IP));
    assert_true(gce_firewall_protocol_differs(&udp, &want));
    assert_false(gce_firewall_protocol_differs(&want, &want));
    struct gce_firewall none = want;
    none.tags = (struct gce_strs){0};
    assert_true(gce_firewall_tags_differ(a, &none, &want));
    assert_false(gce_firewall_tags_differ(a, &want, &none)); /* unknown tags are no difference */
}

/* Ports are compared as sets, and however many a range has, it costs nothing. */
static void equal__ports__as_sets(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *x, *y; /* the list `allowed` */
        bool equal;
    } rows[] = {
        {"{\"IPProtocol\":\"tcp\",\"ports\":[\"8000-80103\"]}",
         "{\"IPProtocol\":\"tcp\",\"ports\":[\"8000-8003\"]}", false},
        {"{\"IPProtocol\":\"tcp\",\"ports\":[\"0-9223372036854775807\",\"7\"]}",
         "{\"IPProtocol\":\"tcp\",\"ports\":[\"9-9223372036854775807\",\"0-8\"]}", true},
        {"{\"IPProtocol\":\"tcp\",\"ports\":[\"1-5\",\"3\",\"6-6\"]}",
         "{\"IPProtocol\":\"TCP\",\"ports\":[\"1-2\"]},{\"IPProtocol\":\"tcp\",\"ports\":[\"2-6\"]"
         "}",
         true},
        {"{\"IPProtocol\":\"tcp\",\"ports\":[\"1\",\"3\"]}",
         "{\"IPProtocol\":\"tcp\",\"ports\":[\"1-3\"]}", false},
        {"{\"IPProtocol\":\"tcp\",\"ports\":[\"9-1\"]}", "{\"IPProtocol\":\"tcp\"}", true},
        {"{\"IPProtocol\":\"tcp\"}", "{\"IPProtocol\":\"tcp\"},{\"IPProtocol\":\"tcp\"}", true},
        {"{\"IPProtocol\":\"tcp\"}", "", false},
        {"{\"IPProtocol\":\"tcp\"}", "{\"IPProtocol\":\"tcp\",\"ports\":[\"0\"]}", false},
        {"{\"IPProtocol\":\"tcp\",\"ports\":[\"1\"]}", "{\"IPProtocol\":\"udp\",\"ports\":[\"1\"]}",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool same = !rows[i].equal;
        struct gce_firewall x = firewall(a, arena_printf(a, "{\"allowed\":[%s]}", rows[i].x));
        struct gce_firewall y = firewall(a, arena_printf(a, "{\"allowed\":[%s]}", rows[i].y));
        assert_int_equal(gce_firewall_equal(a, &x, &y, &same, NULL), ERR_OK);
        if (same != rows[i].equal) {
            fail_msg("%s against %s: equal %d", rows[i].x, rows[i].y, same);
        }
    }
}

static void equal__W11_W12(void **state)
{
    struct arena *a = *state;
    static const char *const one =
        "{\"priority\":1000,\"description\":\"d\",\"sourceRanges\":[\"2.3.4.5/24\"],"
        "\"destinationRanges\":[\"1.1.1.1\"],\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":"
        "[\"80-82\"]},{\"IPProtocol\":\"udp\",\"ports\":[\"53\"]}]}";
    static const struct {
        const char *row, *other;
        bool equal;
    } rows[] = {
        {"W11",
         "{\"priority\":1000,\"description\":\"d\",\"sourceRanges\":[\"2.3.4.0/24\"],"
         "\"destinationRanges\":[\"1.1.1.1\"],\"allowed\":[{\"IPProtocol\":\"UDP\",\"ports\":"
         "[\"53\"]},{\"IPProtocol\":\"TCP\",\"ports\":[\"82\",\"81\",\"80\"]}]}",
         true},
        {"W12 source",
         "{\"priority\":1000,\"description\":\"d\",\"sourceRanges\":[\"2.3.4.5/32\"],"
         "\"destinationRanges\":[\"1.1.1.1\"],\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":"
         "[\"80-82\"]},{\"IPProtocol\":\"udp\",\"ports\":[\"53\"]}]}",
         false},
        {"W12 ports",
         "{\"priority\":1000,\"description\":\"d\",\"sourceRanges\":[\"2.3.4.5/24\"],"
         "\"destinationRanges\":[\"1.1.1.1\"],\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":"
         "[\"80-83\"]},{\"IPProtocol\":\"udp\",\"ports\":[\"53\"]}]}",
         false},
        {"W12 protocol",
         "{\"priority\":1000,\"description\":\"d\",\"sourceRanges\":[\"2.3.4.5/24\"],"
         "\"destinationRanges\":[\"1.1.1.1\"],\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":"
         "[\"80-82\"]},{\"IPProtocol\":\"sctp\",\"ports\":[\"53\"]}]}",
         false},
    };
    const struct gce_firewall x = firewall(a, one);
    bool same = false;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gce_firewall y = firewall(a, rows[i].other);
        assert_int_equal(gce_firewall_equal(a, &x, &y, &same, NULL), ERR_OK);
        if (same != rows[i].equal) {
            fail_msg("%s", rows[i].row);
        }
    }
    struct gce_firewall y = x;
    y.priority = 999;
    assert_int_equal(gce_firewall_equal(a, &x, &y, &same, NULL), ERR_OK);
    assert_false(same);
    y = firewall(a, "{\"sourceRanges\":[\"bad\"]}");
    assert_int_equal(gce_firewall_equal(a, &x, &y, &same, NULL), ERR_INVALID);
}

static void ports__P21(void **state)
{
    struct arena *a = *state;
    int64_t first = 0;
    int64_t last = 0;
    assert_int_equal(gce_firewall_port_parse(a, "80", &first, &last, NULL), ERR_OK);
    assert_int_equal(first + last, 160);
    assert_int_equal(gce_firewall_port_parse(a, "443-8080", &first, &last, NULL), ERR_OK);
    assert_int_equal(last, 8080);
    struct err err = ERR_INIT;
    assert_int_equal(gce_firewall_port_parse(a, "a-b", &first, &last, &err), ERR_INVALID);
    assert_int_equal(gce_firewall_port_parse(a, "1-2-3", &first, &last, &err), ERR_INVALID);
    assert_true(str_has_prefix(err.message, "unexpected port format \"1-2-3\", "));
}

static void check__H1_to_H4(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        int32_t interval, timeout, healthy, unhealthy, port;
        bool differs;
        int32_t merged_interval;
    } rows[] = {
        {"H1", 8, 1, 1, 3, 10256, false, 8},          {"H2 interval", 7, 1, 1, 3, 10256, true, 8},
        {"H2 timeout", 8, 0, 1, 3, 10256, true, 8},   {"H2 healthy", 8, 1, 0, 3, 10256, true, 8},
        {"H2 unhealthy", 8, 1, 1, 2, 10256, true, 8}, {"H3", 9, 2, 2, 4, 10256, false, 9},
        {"H3 kept with H4", 9, 2, 2, 4, 1, true, 9},
    };
    const struct gce_check want = gce_check_default("n", "d", "/healthz", 10256);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_check found = want;
        found.interval_s = rows[i].interval;
        found.timeout_s = rows[i].timeout;
        found.healthy = rows[i].healthy;
        found.unhealthy = rows[i].unhealthy;
        found.port = rows[i].port;
        struct gce_check merged = gce_check_merge(&found, &want);
        if (gce_check_differs(&found, &want) != rows[i].differs ||
            merged.interval_s != rows[i].merged_interval || merged.port != want.port) {
            fail_msg("%s: interval %d", rows[i].row, merged.interval_s);
        }
    }
    struct gce_check found = want;
    found.path = "/x";
    assert_true(gce_check_differs(&found, &want));
    found = want;
    found.description = "";
    assert_true(gce_check_differs(&found, &want));
}

static void gcloud__G1_to_G10(void **state)
{
    struct arena *a = *state;
    static const struct {
        const char *row;
        enum gce_gcloud_verb verb;
        const char *json, *want;
    } rows[] = {
        {"G1", GCE_GCLOUD_CREATE,
         "{\"name\":\"k8s-fw-last-line\",\"network\":\"projects/my-project/global/networks/"
         "default\","
         "\"description\":\"Last Line of Defense\",\"targetTags\":[\"jock-nodes\",\"band-nodes\"],"
         "\"sourceRanges\":[\"3.3.3.3/20\",\"1.1.1.1/20\",\"2.2.2.2/20\"],\"allowed\":["
         "{\"IPProtocol\":\"udp\",\"ports\":[\"321\",\"123-456\",\"123\"]},"
         "{\"IPProtocol\":\"tcp\",\"ports\":[\"321\",\"123-456\",\"123\"]},"
         "{\"IPProtocol\":\"sctp\",\"ports\":[\"321\",\"123-456\",\"123\"]}]}",
         "gcloud compute firewall-rules create k8s-fw-last-line --network default --description "
         "\"Last Line of Defense\" --allow sctp:123,sctp:123-456,sctp:321,tcp:123,tcp:123-456,"
         "tcp:321,udp:123,udp:123-456,udp:321 --source-ranges 1.1.1.1/20,2.2.2.2/20,3.3.3.3/20 "
         "--target-tags band-nodes,jock-nodes --project my-project"},
        {"G2", GCE_GCLOUD_UPDATE,
         "{\"name\":\"f\",\"sourceRanges\":[\"10.0.0.0/8\"],\"destinationRanges\":"
         "[\"192.168.1.2/32\",\"192.168.1.1/32\"],\"targetTags\":[\"node-tag\"]}",
         "gcloud compute firewall-rules update f --source-ranges 10.0.0.0/8 --destination-ranges "
         "192.168.1.1/32,192.168.1.2/32 --target-tags node-tag --project my-project"},
        {"G4", GCE_GCLOUD_UPDATE,
         "{\"name\":\"f\",\"sourceRanges\":[\"2001:db8::/32\"],\"destinationRanges\":"
         "[\"2001:db8::1/128\"]}",
         "gcloud compute firewall-rules update f --source-ranges 2001:db8::/32 "
         "--destination-ranges "
         "2001:db8::1/128 --project my-project"},
        {"G5", GCE_GCLOUD_UPDATE,
         "{\"name\":\"f\",\"denied\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"8080\"]}],"
         "\"priority\":500,\"direction\":\"INGRESS\",\"disabled\":true}",
         "gcloud compute firewall-rules update f --deny tcp:8080 --priority 500 --direction "
         "INGRESS "
         "--disabled --project my-project"},
        {"G6", GCE_GCLOUD_UPDATE,
         "{\"name\":\"f\",\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"80\",\"443\"]},"
         "{\"IPProtocol\":\"udp\",\"ports\":[\"53\"]}]}",
         "gcloud compute firewall-rules update f --allow tcp:443,tcp:80,udp:53 --project "
         "my-project"},
        {"G7", GCE_GCLOUD_UPDATE, "{\"name\":\"f\",\"denied\":[{\"IPProtocol\":\"all\"}]}",
         "gcloud compute firewall-rules update f --deny all --project my-project"},
        {"G8", GCE_GCLOUD_UPDATE,
         "{\"name\":\"f\",\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"80\",\"443\"]},"
         "{\"IPProtocol\":\"udp\",\"ports\":[\"53\"]},{\"IPProtocol\":\"icmp\"},"
         "{\"IPProtocol\":\"esp\"},{\"IPProtocol\":\"ah\"}]}",
         "gcloud compute firewall-rules update f --allow ah,esp,icmp,tcp:443,tcp:80,udp:53 "
         "--project my-project"},
        {"G10", GCE_GCLOUD_DELETE, "{\"name\":\"X\",\"priority\":1}",
         "gcloud compute firewall-rules delete X --project my-project"},
        {"quoting", GCE_GCLOUD_UPDATE,
         "{\"name\":\"f\",\"description\":\"{\\\"kubernetes.io/service-name\\\":\\\"ns/n\\\"}\"}",
         "gcloud compute firewall-rules update f --description "
         "\"{\\\"kubernetes.io/service-name\\\":\\\"ns/n\\\"}\" --project my-project"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gce_firewall f = firewall(a, rows[i].json);
        char *got = gce_gcloud_firewall(a, rows[i].verb, &f, "my-project");
        /* An empty description is printed like any other; these rows say nothing of it. */
        same_text(rows[i].row, str_replace(a, got, " --description \"\"", ""), rows[i].want);
    }
}

UNIT_MAIN(firewall_diff)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(traffic__W2_to_W9),
        PURE_TEST(mended__protocol_and_tags),
        PURE_TEST(equal__ports__as_sets),
        PURE_TEST(equal__W11_W12),
        PURE_TEST(ports__P21),
        PURE_TEST(check__H1_to_H4),
        PURE_TEST(gcloud__G1_to_G10),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
