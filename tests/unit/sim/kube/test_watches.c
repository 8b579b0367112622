/* SPDX-License-Identifier: Apache-2.0 */
/* test_watches.c: what a watch sends, when it ends, and what faults do to it. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <string.h>

#define WATCH SERVICES "?watch=1&timeoutSeconds=300"

static void make(struct kf *f, const char *name)
{
    kf_expect(kf_do(f, "POST", SERVICES, kf_service(f, name)), 201, name);
}

static struct kf_call *open_watch(struct kf *f, const char *more)
{
    struct kf_call *w = kf_send(f, "GET", arena_printf(f->a, WATCH "%s", more), NULL, NULL);
    kf_settle(f);
    return w;
}

static void expect_lines(struct kf *f, struct kf_call *w, const char *const *want, size_t n)
{
    kf_settle(f);
    kf_look(f, w);
    for (size_t i = 0; i < n && i < json_len(w->lines); i++) {
        assert_string_equal(kf_line(f, w, i), want[i]);
    }
    assert_int_equal(json_len(w->lines), n);
}

static void fault(struct kf *f, const char *what)
{
    kf_expect(
        kf_do(f, "POST", "/sim/faults",
              arena_printf(f->a, "{\"match\":{\"path\":\"%s\"},\"do\":\"%s\"}", SERVICES, what)),
        200, what);
}

static void watch__changes__arrive_in_order(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    make(f, "a");
    struct kf_call *w = open_watch(f, "&resourceVersion=0");
    make(f, "b");
    kf_expect(kf_patch(f, SERVICES "/a", MERGE, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"), 200,
              "label");
    kf_expect(kf_patch(f, SERVICES "/a", MERGE, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"), 200,
              "again");
    kf_expect(kf_do(f, "DELETE", SERVICES "/b", NULL), 200, "delete");
    static const char *const want[] = {"ADDED a", "ADDED kubernetes", "ADDED b", "MODIFIED a",
                                       "DELETED b"};
    expect_lines(f, w, want, ARRAY_LEN(want));
    kf_stop(f);
}

static void watch__resume__sends_what_was_missed(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    make(f, "a");
    struct kf_call *list = kf_do(f, "GET", SERVICES, NULL);
    make(f, "b");
    make(f, "c");
    struct kf_call *w = open_watch(
        f, arena_printf(f->a, "&resourceVersion=%s", kf_text(list, "metadata.resourceVersion")));
    static const char *const want[] = {"ADDED b", "ADDED c"};
    expect_lines(f, w, want, ARRAY_LEN(want));
    kf_stop(f);
}

static void watch__other_kinds_and_namespaces__are_not_heard(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    kf_expect(kf_do(f, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"other\"}}"), 201,
              "namespace");
    struct kf_call *all =
        kf_send(f, "GET", "/api/v1/services?watch=1&fieldSelector=metadata.name%3Da", NULL, NULL);
    struct kf_call *w = open_watch(f, "&resourceVersion=0");
    kf_expect(kf_do(f, "POST", "/api/v1/namespaces/other/services", kf_service(f, "a")), 201,
              "other");
    make(f, "b");
    static const char *const want[] = {"ADDED kubernetes", "ADDED b"};
    static const char *const want_all[] = {"ADDED a"};
    expect_lines(f, w, want, ARRAY_LEN(want));
    expect_lines(f, all, want_all, ARRAY_LEN(want_all));
    kf_stop(f);
}

static void watch__cut__breaks_off_and_can_be_resumed(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *w = open_watch(f, "&resourceVersion=0");
    fault(f, "watch-cut");
    kf_settle(f);
    assert_true(w->done);
    make(f, "a");
    struct kf_call *again = open_watch(f, "&resourceVersion=0");
    static const char *const want[] = {"ADDED a", "ADDED kubernetes"};
    expect_lines(f, again, want, ARRAY_LEN(want));
    kf_stop(f);
}

static void watch__expire__is_an_error_line_and_old_versions_are_gone(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *list = kf_do(f, "GET", SERVICES, NULL);
    const char *rv = kf_text(list, "metadata.resourceVersion");
    struct kf_call *w = open_watch(f, arena_printf(f->a, "&resourceVersion=%s", rv));
    fault(f, "watch-expire");
    kf_settle(f);
    kf_look(f, w);
    assert_true(w->done);
    assert_string_equal(kf_line(f, w, 0), "ERROR -");
    assert_int_equal(
        json_int(json_path(json_object_array_get_idx(w->lines, 0), "object"), "code", 0), 410);
    struct kf_call *again = open_watch(f, arena_printf(f->a, "&resourceVersion=%s", rv));
    kf_settle(f);
    kf_look(f, again);
    assert_int_equal(again->status, 200);
    assert_string_equal(kf_line(f, again, 0), "ERROR -");
    kf_expect(kf_do(f, "GET", arena_printf(f->a, SERVICES "?resourceVersion=%s", rv), NULL), 200,
              "not older");
    kf_stop(f);
}

static void watch__silence__sends_nothing_any_more(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *w = open_watch(f, "&resourceVersion=0&allowWatchBookmarks=true");
    fault(f, "watch-silence");
    make(f, "a");
    clock_fake_advance(f->clock, 400000);
    static const char *const want[] = {"ADDED kubernetes", "BOOKMARK -"}; /* from before */
    expect_lines(f, w, want, ARRAY_LEN(want));
    assert_false(w->done);
    kf_stop(f);
}

static void watch__bookmarks__once_a_minute(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *w = open_watch(f, "&resourceVersion=0&allowWatchBookmarks=true");
    kf_expect(kf_do(f, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"other\"}}"), 201,
              "namespace");
    clock_fake_advance(f->clock, 60000);
    /* The first mark ends the initial objects. */
    static const char *const want[] = {"ADDED kubernetes", "BOOKMARK -", "BOOKMARK -"};
    expect_lines(f, w, want, ARRAY_LEN(want));
    struct kf_call *list = kf_do(f, "GET", SERVICES, NULL);
    struct json_object *mark = json_object_array_get_idx(w->lines, 2);
    assert_string_equal(json_str(json_path(mark, "object.metadata"), "resourceVersion"),
                        kf_text(list, "metadata.resourceVersion"));
    kf_stop(f);
}

static void watch__table__names_columns_once(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *w =
        kf_send(f, "GET", WATCH, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n", NULL);
    kf_settle(f);
    make(f, "a");
    kf_settle(f);
    kf_look(f, w);
    assert_int_equal(json_len(w->lines), 2);
    struct json_object *first = json_member(json_object_array_get_idx(w->lines, 0), "object");
    struct json_object *second = json_member(json_object_array_get_idx(w->lines, 1), "object");
    assert_true(json_len(json_member(first, "columnDefinitions")) > 0);
    assert_null(json_member(second, "columnDefinitions"));
    assert_int_equal(json_len(json_member(second, "rows")), 1);
    kf_stop(f);
}

static void watch__many_objects__all_come_before_the_mark(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 150, .node_images = 40};
    struct kf *f = kf_start(&cfg);
    struct kf_call *w =
        kf_send(f, "GET",
                "/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                "&allowWatchBookmarks=true&timeoutSeconds=2",
                NULL, NULL);
    kf_wait(f, w);
    assert_int_equal(json_len(w->lines), 151);
    assert_string_equal(kf_line(f, w, 0), "ADDED node-0");
    assert_string_equal(kf_line(f, w, 150), "BOOKMARK -");
    kf_stop(f);
}

static void watch__loading_a_world__expires_it(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    struct kf_call *w = open_watch(f, "&resourceVersion=0");
    kf_expect(kf_do(f, "PUT", "/sim/state", "{}"), 200, "load");
    static const char *const want[] = {"ADDED kubernetes", "ERROR -"};
    expect_lines(f, w, want, ARRAY_LEN(want));
    assert_true(w->done);
    kf_stop(f);
}

UNIT_MAIN(watches)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watch__changes__arrive_in_order),
        cmocka_unit_test(watch__resume__sends_what_was_missed),
        cmocka_unit_test(watch__other_kinds_and_namespaces__are_not_heard),
        cmocka_unit_test(watch__cut__breaks_off_and_can_be_resumed),
        cmocka_unit_test(watch__expire__is_an_error_line_and_old_versions_are_gone),
        cmocka_unit_test(watch__silence__sends_nothing_any_more),
        cmocka_unit_test(watch__bookmarks__once_a_minute),
        cmocka_unit_test(watch__table__names_columns_once),
        cmocka_unit_test(watch__many_objects__all_come_before_the_mark),
        cmocka_unit_test(watch__loading_a_world__expires_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
