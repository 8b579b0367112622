/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim/reach/reach.c: the document of GET /sim/reach, and its reasons. */
#include "tests/unit/sim/reach/reach_test.h"

static void assert_document(struct reach *r, const char *want)
{
    struct json_object *o = reach_json(r);
    assert_string_equal(json_text(reach_arena(r), o, JSON_COMPACT), want);
    json_object_put(o);
}

static void targets_and_clients(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct reach *r = reach_new(a);
    struct reach_port *p =
        reach_listen(r, &(struct reach_listener){"192.0.2.1", "TCP", 80, 80, false, NULL});
    reach_target(p, "node-1:30080", true, reach_ranges_of(a, "10.0.0.0/8"));
    reach_target(p, "node-0:30080", false, reach_ranges_of(a, "10.0.0.0/9"));
    reach_target(p, "node-0:30080", false, REACH_NOBODY);
    assert_document(r,
                    "{\"192.0.2.1\":{\"TCP/80\":{\"from\":\"internet\",\"clients\":[\"10.0.0.0/"
                    "8\"],\"targets\":["
                    "{\"target\":\"node-0:30080\",\"healthy\":false,\"clients\":[\"10.0.0.0/9\"]},"
                    "{\"target\":\"node-1:30080\",\"healthy\":true}],\"why\":null}}}");
    arena_free(a);
}

static void reasons(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct reach *r = reach_new(a);
    (void)reach_listen(r,
                       &(struct reach_listener){"192.0.2.2", NULL, 0, 0, false, REACH_NO_LISTENER});
    (void)reach_listen(r, &(struct reach_listener){"192.0.2.1", "UDP", 0, 0, true, NULL});
    struct reach_port *p =
        reach_listen(r, &(struct reach_listener){"192.0.2.1", "TCP", 80, 90, true, NULL});
    reach_target(p, "node-0:80", true, REACH_NOBODY);
    assert_document(
        r, "{\"192.0.2.1\":{\"TCP/80-90\":{\"from\":\"network\",\"clients\":[],\"targets\":["
           "{\"target\":\"node-0:80\",\"healthy\":true}],\"why\":\"no permission\"},"
           "\"UDP/*\":{\"from\":\"network\",\"clients\":[],\"targets\":[],\"why\":\"no target\"}},"
           "\"192.0.2.2\":{\"*\":{\"from\":\"internet\",\"clients\":[],\"targets\":[],\"why\":"
           "\"listener missing\"}}}");
    arena_free(a);
}

UNIT_MAIN(document)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_and_clients),
        cmocka_unit_test(reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
