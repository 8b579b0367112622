/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c: versions, the window of changes, lists of the past, and selectors
 * over stored objects. */
#include "common/base/str.h"
#include "common/data/json.h"
#include "sim/kube/selectors.h"
#include "sim/kube/store.h"
#include "tests/support/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct kube_obj *put(struct kube_db *s, const char *ns, const char *name, const char *text)
{
    struct json_object *o = NULL;
    assert_int_equal(json_parse(text, strlen(text), NULL, &o, NULL), 0);
    struct kube_obj *obj = kube_db_put(s, 0, ns, name, o);
    json_object_put(o);
    return obj;
}

/* Keys of a list, blank-separated; "expired" when it cannot be made. */
static char *keys(struct arena *a, struct kube_db *s, const char *ns, int64_t at)
{
    struct kube_obj **objs = NULL;
    size_t n = 0;
    struct str_buf b = STR_BUF_INIT;
    if (!kube_db_list(s, 0, ns, at, &objs, &n)) {
        return "expired";
    }
    for (size_t i = 0; i < n; i++) {
        str_appendf(&b, "%s%s", i ? " " : "", objs[i]->key);
    }
    kube_objs_free(objs, n);
    char *out = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return out;
}

static void store__put__numbers_and_prints_metadata_first(void **state)
{
    (void)state;
    struct kube_db *s = kube_db_new(2);
    struct kube_obj *o =
        put(s, "ns", "b", "{\"kind\":\"K\",\"spec\":{},\"metadata\":{\"name\":\"b\"}}");
    assert_string_equal(o->text,
                        "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"1\"},\"spec\":{}}");
    assert_string_equal(o->key, "ns/b");
    put(s, "ns", "b", "{\"metadata\":{}}");
    assert_int_equal(kube_db_rv(s), 2);
    assert_int_equal(kube_db_get(s, 0, "ns", "b")->rv, 2);
    assert_null(kube_db_get(s, 1, "ns", "b"));
    kube_db_free(s);
}

static void store__list_of_the_past__undoes_changes(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct kube_db *s = kube_db_new(1);
    put(s, "x", "b", "{}");                      /* 1 */
    put(s, "x", "a", "{}");                      /* 2 */
    put(s, "y", "c", "{}");                      /* 3 */
    assert_true(kube_db_remove(s, 0, "x", "b")); /* 4 */
    put(s, "x", "a", "{\"spec\":1}");            /* 5 */
    assert_false(kube_db_remove(s, 0, "x", "b"));
    assert_string_equal(keys(a, s, "", 0), "x/a y/c");
    assert_string_equal(keys(a, s, "", 4), "x/a y/c");
    assert_string_equal(keys(a, s, "", 3), "x/a x/b y/c");
    assert_string_equal(keys(a, s, "x", 3), "x/a x/b");
    assert_string_equal(keys(a, s, "", 1), "x/b");
    struct kube_obj **objs = NULL;
    size_t n = 0;
    assert_true(kube_db_list(s, 0, "x", 4, &objs, &n));
    assert_int_equal(objs[0]->rv, 2); /* before the change of version 5 */
    kube_objs_free(objs, n);
    kube_db_free(s);
    arena_free(a);
}

static void store__window__forgets_the_oldest(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct kube_db *s = kube_db_new(1);
    for (int i = 0; i < KUBE_WINDOW + 10; i++) {
        put(s, "", "n", "{}");
    }
    assert_int_equal(kube_db_n_events(s, 0), KUBE_WINDOW);
    assert_int_equal(kube_db_oldest(s, 0), 10);
    assert_string_equal(keys(a, s, "", 9), "expired");
    assert_string_equal(keys(a, s, "", 10), "n");
    size_t i = kube_db_events_after(s, 0, 20);
    assert_int_equal(kube_db_event(s, 0, i)->rv, 21);
    kube_db_expire(s, -1);
    assert_int_equal(kube_db_n_events(s, 0), 0);
    assert_string_equal(keys(a, s, "", KUBE_WINDOW + 10), "expired");
    assert_string_equal(keys(a, s, "", 0), "n");
    kube_db_free(s);
    arena_free(a);
}

static void store__load__keeps_versions(void **state)
{
    (void)state;
    struct kube_db *s = kube_db_new(1);
    struct json_object *o = NULL;
    static const char text[] = "{\"metadata\":{\"resourceVersion\":\"700\"}}";
    assert_int_equal(json_parse(text, strlen(text), NULL, &o, NULL), 0);
    kube_db_load(s, 0, "", "n", o);
    assert_int_equal(kube_db_get(s, 0, "", "n")->rv, 700);
    assert_int_equal(kube_db_rv(s), 700);
    assert_int_equal(put(s, "", "m", "{}")->rv, 701);
    json_object_put(o);
    kube_db_free(s);
}

static void selectors__labels_and_fields(void **state)
{
    (void)state;
    static const struct {
        const char *labels, *fields;
        bool takes;
    } rows[] = {
        {"app=web", NULL, true},
        {"app==web", NULL, true},
        {"app!=web", NULL, false},
        {"app=web,tier=x", NULL, false},
        {"app", NULL, true},
        {"!app", NULL, false},
        {"!other", NULL, true},
        {"app in (a, web)", NULL, true},
        {"app notin (a, web)", NULL, false},
        {"other notin (a)", NULL, true},
        {NULL, "metadata.name=web", true},
        {NULL, "metadata.name!=web", false},
        {NULL, "metadata.namespace=x", true},
        {NULL, "spec.type=LoadBalancer", true},
        {NULL, "spec.type==ClusterIP", false},
        {"app=web", "metadata.name=no", false},
    };
    struct arena *a = arena_new();
    struct kube_db *s = kube_db_new(1);
    struct kube_obj *o =
        put(s, "x", "web",
            "{\"metadata\":{\"name\":\"web\",\"namespace\":\"x\",\"labels\":{\"app\":\"web\"}},"
            "\"spec\":{\"type\":\"LoadBalancer\"}}");
    const struct kube_kind *kind = kube_kind_by_plural("services");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kube_selector *sel = NULL;
        assert_null(kube_selector_parse(a, kind, rows[i].labels, rows[i].fields, &sel));
        if (kube_selector_takes(sel, o) != rows[i].takes) {
            fail_msg("labels %s fields %s: want %d", rows[i].labels, rows[i].fields, rows[i].takes);
        }
    }
    static const char *const bad[] = {"a b", "a in b", "=", "a in (b"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct kube_selector *sel = NULL;
        struct json_object *refusal = kube_selector_parse(a, kind, bad[i], NULL, &sel);
        if (!refusal || kube_status_code(refusal) != 400) {
            fail_msg("%s is accepted", bad[i]);
        }
        json_object_put(refusal);
    }
    kube_db_free(s);
    arena_free(a);
}

UNIT_MAIN(store)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store__put__numbers_and_prints_metadata_first),
        cmocka_unit_test(store__list_of_the_past__undoes_changes),
        cmocka_unit_test(store__window__forgets_the_oldest),
        cmocka_unit_test(store__load__keeps_versions),
        cmocka_unit_test(selectors__labels_and_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
