/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c: order, snapshots, handlers, replace; vector 173. */
#include "controller/kube/store/store.h"
#include "tests/unit/kube/kube_test.h"

#include "common/base/str.h"
#include "tests/support/unit.h"

/* The handler's calls: "+key@rv", "~key@old>new", "-key@rv", "synced". */
struct told {
    struct str_buf text;
};

static void on_changed(void *arg, struct kube_object *old_obj, struct kube_object *cur)
{
    struct told *t = arg;
    if (old_obj == NULL) {
        str_appendf(&t->text, "+%s@%s ", cur->key, cur->resource_version);
    } else if (cur == NULL) {
        str_appendf(&t->text, "-%s@%s ", old_obj->key, old_obj->resource_version);
    } else {
        str_appendf(&t->text, "~%s@%s>%s ", cur->key, old_obj->resource_version,
                    cur->resource_version);
    }
}

static void on_synced(void *arg)
{
    str_append(&((struct told *)arg)->text, "synced ");
}

static struct kube_object *service(struct arena *a, const char *ns, const char *name, int rv)
{
    return decode_text(KUBE_SERVICE, arena_printf(a,
                                                  "{'metadata':{'namespace':'%s','name':'%s','uid':"
                                                  "'u','resourceVersion':'%d'}}",
                                                  ns, name, rv));
}

static struct kube_object *slice(struct arena *a, const char *name, const char *svc, int rv)
{
    return decode_text(
        KUBE_SLICE, arena_printf(a,
                                 "{'metadata':{'namespace':'d','name':'%s','resourceVersion':'%d',"
                                 "'labels':{'kubernetes.io/service-name':'%s'}}}",
                                 name, rv, svc));
}

static struct kube_store *store_with(struct told *t)
{
    struct kube_store *s = kube_store_new(KUBE_SERVICE);
    const struct kube_handler h = {.changed = on_changed, .synced = on_synced, .arg = t};
    kube_store_add_handler(s, &h);
    return s;
}

static const char *keys(struct arena *a, struct kube_snapshot *snap)
{
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < snap->n; i++) {
        str_appendf(&b, "%s ", snap->objects[i]->key);
        assert_ptr_equal(snap->views[i], snap->objects[i]->service);
    }
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    kube_snapshot_unref(snap);
    return text;
}

static void kube_store__objects__sorted_by_namespace_then_name(void **state)
{
    struct told t = {0};
    struct kube_store *s = store_with(&t);
    const char *const names[][2] = {{"b", "x"}, {"a-b", "x"}, {"a", "z"}, {"a", "a"}, {"a.b", "c"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        kube_store_put(s, service(*state, names[i][0], names[i][1], 1));
    }
    assert_int_equal(kube_store_count(s), 5);
    assert_string_equal(keys(*state, kube_store_snapshot(s)), "a/a a/z a-b/x a.b/c b/x ");
    kube_store_free(s);
    str_buf_done(&t.text);
}

static void kube_store__changes__handlers_see_old_and_new(void **state)
{
    struct told t = {0};
    struct kube_store *s = store_with(&t);
    kube_store_put(s, service(*state, "d", "a", 1));
    kube_store_put(s, service(*state, "d", "a", 2)); /* ADDED for a known key is an update */
    kube_store_put(s, service(*state, "d", "a", 2)); /* the same version: no handler is called */
    kube_store_put(s, service(*state, "d", "b", 3));
    kube_store_delete(s, service(*state, "d", "a", 4)); /* with the deletion's version */
    kube_store_delete(s, service(*state, "d", "nobody", 5));
    assert_string_equal(str_buf_text(&t.text), "+d/a@1 ~d/a@1>2 +d/b@3 -d/a@4 ");
    assert_null(kube_store_get(s, "d/a"));
    struct kube_object *b = kube_store_get(s, "d/b");
    assert_string_equal(b->resource_version, "3");
    kube_object_unref(b);
    kube_store_free(s);
    str_buf_done(&t.text);
}

/* 173: what vanished without a watch is deleted with its last known state. */
static void kube_store_replace__v173_item_gone__deleted_with_last_state(void **state)
{
    struct told t = {0};
    struct kube_store *s = store_with(&t);
    assert_false(kube_store_synced(s));
    kube_store_replace_begin(s);
    kube_store_replace_put(s, service(*state, "d", "a", 1));
    kube_store_replace_put(s, service(*state, "d", "b", 2));
    assert_false(kube_store_synced(s));
    kube_store_replace_end(s, true);
    assert_true(kube_store_synced(s));
    kube_store_replace_begin(s);
    kube_store_replace_put(s, service(*state, "d", "b", 2));
    kube_store_replace_put(s, service(*state, "d", "c", 9));
    kube_store_replace_end(s, true);
    assert_string_equal(str_buf_text(&t.text), "+d/a@1 +d/b@2 synced +d/c@9 -d/a@1 ");
    kube_store_free(s);
    str_buf_done(&t.text);
}

struct count {
    struct kube_store *store;
    size_t left[3]; /* in the store, when the handler was called for each deletion */
    size_t n;
};

static void note_count(void *arg, struct kube_object *old_obj, struct kube_object *cur)
{
    struct count *c = arg;
    (void)old_obj;
    if (cur == NULL) {
        c->left[c->n++] = kube_store_count(c->store);
    }
}

/* One pass over the store, however many go: taken out one by one, a hundred thousand took
 * more than a second. */
static void kube_store_replace__many_gone__all_are_out_before_the_first_is_told(void **state)
{
    struct count c = {.store = kube_store_new(KUBE_SERVICE)};
    const struct kube_handler h = {.changed = note_count, .arg = &c};
    kube_store_add_handler(c.store, &h);
    for (int i = 0; i < 4; i++) {
        kube_store_put(c.store, service(*state, "d", arena_printf(*state, "s%d", i), 1));
    }
    kube_store_replace_begin(c.store);
    kube_store_replace_put(c.store, service(*state, "d", "s2", 1));
    kube_store_replace_end(c.store, true);
    assert_int_equal(c.n, 3);
    for (size_t i = 0; i < c.n; i++) {
        assert_int_equal(c.left[i], 1);
    }
    assert_string_equal(keys(*state, kube_store_snapshot(c.store)), "d/s2 ");
    kube_store_free(c.store);
}

static void kube_store_replace__slices_gone__by_service_follows(void **state)
{
    struct kube_store *s = kube_store_new(KUBE_SLICE);
    kube_store_put(s, slice(*state, "s1", "web", 1));
    kube_store_put(s, slice(*state, "s2", "web", 1));
    kube_store_put(s, slice(*state, "s3", "web2", 1));
    kube_store_replace_begin(s);
    kube_store_replace_put(s, slice(*state, "s2", "web", 1)); /* as it was */
    kube_store_replace_put(s, slice(*state, "s4", "web", 2));
    kube_store_replace_end(s, true);
    assert_string_equal(keys(*state, kube_store_slices_of(s, "d", "web")), "d/s2 d/s4 ");
    assert_string_equal(keys(*state, kube_store_slices_of(s, "d", "web2")), "");
    assert_string_equal(keys(*state, kube_store_snapshot(s)), "d/s2 d/s4 ");
    kube_store_free(s);
}

static void kube_store_replace__given_up__old_objects_stay(void **state)
{
    struct told t = {0};
    struct kube_store *s = store_with(&t);
    kube_store_replace_begin(s);
    kube_store_replace_put(s, service(*state, "d", "a", 1));
    kube_store_replace_end(s, false);
    assert_false(kube_store_synced(s));
    kube_store_replace_begin(s);
    kube_store_replace_put(s, service(*state, "d", "b", 2));
    kube_store_replace_end(s, true);
    assert_string_equal(str_buf_text(&t.text), "+d/a@1 +d/b@2 -d/a@1 synced ");
    kube_store_free(s);
    str_buf_done(&t.text);
}

static void kube_store_snapshot__unchanged__shared_until_a_change(void **state)
{
    struct told t = {0};
    struct kube_store *s = store_with(&t);
    kube_store_put(s, service(*state, "d", "a", 1));
    struct kube_snapshot *one = kube_store_snapshot(s);
    struct kube_snapshot *two = kube_store_snapshot(s);
    assert_ptr_equal(one, two);
    kube_store_delete(s, service(*state, "d", "a", 2));
    struct kube_snapshot *three = kube_store_snapshot(s);
    assert_ptr_not_equal(one, three);
    assert_int_equal(three->n, 0);
    assert_int_equal(one->n, 1);
    assert_string_equal(one->objects[0]->key, "d/a"); /* still alive by its reference */
    kube_snapshot_unref(one);
    kube_snapshot_unref(two);
    kube_snapshot_unref(three);
    kube_store_free(s);
    str_buf_done(&t.text);
}

static void kube_store_slices_of__label_moves__index_follows(void **state)
{
    struct kube_store *s = kube_store_new(KUBE_SLICE);
    kube_store_put(s, slice(*state, "s2", "web", 1));
    kube_store_put(s, slice(*state, "s1", "web", 1));
    kube_store_put(s, slice(*state, "s3", "web2", 1));
    kube_store_put(s, slice(*state, "s0", "", 1));
    assert_string_equal(keys(*state, kube_store_slices_of(s, "d", "web")), "d/s1 d/s2 ");
    kube_store_put(s, slice(*state, "s2", "web2", 2));
    assert_string_equal(keys(*state, kube_store_slices_of(s, "d", "web")), "d/s1 ");
    assert_string_equal(keys(*state, kube_store_slices_of(s, "d", "web2")), "d/s2 d/s3 ");
    kube_store_delete(s, slice(*state, "s1", "anything", 3));
    assert_string_equal(keys(*state, kube_store_slices_of(s, "d", "web")), "");
    assert_string_equal(keys(*state, kube_store_slices_of(s, "e", "web2")), "");
    kube_store_free(s);
}

static void kube_store__many_in_random_order__found_and_taken(void **state)
{
    struct told t = {0};
    struct kube_store *s = store_with(&t);
    for (int i = 0; i < 1000; i++) {
        kube_store_put(s, service(*state, "d", arena_printf(*state, "n%d", i * 7919 % 1000), 1));
    }
    assert_int_equal(kube_store_count(s), 1000);
    for (int i = 0; i < 1000; i += 2) {
        kube_store_delete(s, service(*state, "d", arena_printf(*state, "n%d", i), 2));
    }
    for (int i = 0; i < 1000; i++) {
        struct kube_object *o = kube_store_get(s, arena_printf(*state, "d/n%d", i));
        assert_int_equal(o != NULL, i % 2);
        kube_object_unref(o);
    }
    kube_store_free(s);
    str_buf_done(&t.text);
}

/* ---- small and whole ------------------------------------------------------------------------- */

static void note_key(void *arg, const struct kube_object *o)
{
    str_appendf(arg, "%s@%s/%s ", o->key, o->resource_version, o->service->resource_version);
}

/* All that readers are answered. */
static const char *answers(struct arena *a, struct kube_store *s)
{
    struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "%zu v%d: ", kube_store_count(s), (int)kube_store_version(s));
    struct kube_snapshot *snap = kube_store_snapshot(s);
    assert_true(snap->version == kube_store_version(s));
    str_appendf(&b, "%s| ", keys(a, snap));
    kube_store_each(s, note_key, &b);
    struct kube_object *one = kube_store_get(s, "d/n7");
    str_appendf(&b, "| %s", one == NULL ? "none" : one->service->name);
    kube_object_unref(one);
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

/* One step of a store's life, the same for equal `step`. */
static void take_step(struct arena *a, struct kube_store *s, int step)
{
    const char *name = arena_printf(a, "n%d", step * 7919 % 211);
    if (step % 5 == 0) {
        kube_store_delete(s, service(a, "d", name, step));
    } else if (step % 97 == 3) {
        if (step % 2 == 0) {
            kube_store_replace_begin(s);
        } else {
            kube_store_replace_begin_staged(s);
        }
        for (int i = 0; i < 200; i += 1 + step % 3) {
            kube_store_replace_put(s, service(a, "d", arena_printf(a, "n%d", i), step / 200));
        }
        kube_store_replace_end(s, step % 7 != 0);
    } else {
        kube_store_put(s, service(a, "d", name, step / 3));
    }
}

static void kube_store_keep_small__any_changes__same_answers(void **state)
{
    struct told whole_told = {0};
    struct told small_told = {0};
    struct kube_store *whole = store_with(&whole_told);
    struct kube_store *small = store_with(&small_told);
    kube_store_keep_small(small);
    for (int step = 0; step < 1500; step++) {
        take_step(*state, whole, step);
        take_step(*state, small, step);
        if (step % 50 == 0) {
            assert_string_equal(answers(*state, small), answers(*state, whole));
        }
    }
    assert_string_equal(answers(*state, small), answers(*state, whole));
    assert_string_equal(small_told.text.data, whole_told.text.data);
    kube_store_free(whole);
    kube_store_free(small);
    str_buf_done(&whole_told.text);
    str_buf_done(&small_told.text);
}

/* ---- since a version ------------------------------------------------------------------------- */

static void note_since(void *arg, const char *key, const struct kube_object *cur)
{
    str_appendf(arg, "%s%s ", cur == NULL ? "-" : "", key);
    if (cur != NULL) {
        assert_string_equal(cur->key, key);
    }
}

/* "all: d/a d/b ": what the store names, and what the version is then. */
static const char *since(struct arena *a, struct kube_store *s, uint64_t *version)
{
    struct str_buf b = STR_BUF_INIT;
    struct str_buf named = STR_BUF_INIT;
    bool all = kube_store_since(s, version, note_since, &named);
    assert_true(*version == kube_store_version(s));
    str_appendf(&b, "%s%s", all ? "all: " : "", str_buf_text(&named));
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    str_buf_done(&named);
    return text;
}

static void kube_store_since__changes__each_once_sorted(void **state)
{
    struct kube_store *s = kube_store_new(KUBE_SERVICE);
    uint64_t version = 0;
    kube_store_keep_small(s);
    assert_string_equal(since(*state, s, &version), "all: ");
    kube_store_put(s, service(*state, "d", "b", 1));
    kube_store_put(s, service(*state, "d", "a", 2));
    kube_store_put(s, service(*state, "d", "b", 3));
    uint64_t before = version;
    assert_string_equal(since(*state, s, &version), "d/a d/b ");
    assert_string_equal(since(*state, s, &version), "");
    kube_store_delete(s, service(*state, "d", "a", 4));
    assert_string_equal(since(*state, s, &version), "-d/a ");
    assert_string_equal(since(*state, s, &before), "-d/a d/b ");
    kube_store_replace_begin(s);
    kube_store_replace_put(s, service(*state, "d", "c", 5));
    kube_store_replace_put(s, service(*state, "d-e", "c", 5));
    kube_store_replace_end(s, true);
    assert_string_equal(since(*state, s, &version), "-d/b d/c d-e/c ");
    version = 0;
    assert_string_equal(since(*state, s, &version), "all: d/c d-e/c ");
    kube_store_free(s);
}

static void kube_store_since__too_long_ago__all_are_named(void **state)
{
    struct kube_store *s = kube_store_new(KUBE_SERVICE);
    uint64_t version = 0;
    kube_store_keep_small(s);
    kube_store_put(s, service(*state, "d", "a", 1));
    assert_string_equal(since(*state, s, &version), "all: d/a ");
    uint64_t before = version;
    kube_store_put(s, service(*state, "d", "b", 1));
    for (int i = 0; i < 4095; i++) {
        kube_store_put(s, service(*state, "d", "a", 2 + i));
    }
    assert_string_equal(since(*state, s, &version), "d/a d/b ");
    kube_store_put(s, service(*state, "d", "a", 1));
    assert_string_equal(since(*state, s, &version), "d/a ");
    assert_string_equal(since(*state, s, &before), "all: d/a d/b ");
    kube_store_free(s);
}

UNIT_MAIN(store)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_store__objects__sorted_by_namespace_then_name),
        KUBE_TEST(kube_store__changes__handlers_see_old_and_new),
        KUBE_TEST(kube_store_replace__v173_item_gone__deleted_with_last_state),
        KUBE_TEST(kube_store_replace__many_gone__all_are_out_before_the_first_is_told),
        KUBE_TEST(kube_store_replace__slices_gone__by_service_follows),
        KUBE_TEST(kube_store_replace__given_up__old_objects_stay),
        KUBE_TEST(kube_store_snapshot__unchanged__shared_until_a_change),
        KUBE_TEST(kube_store_slices_of__label_moves__index_follows),
        KUBE_TEST(kube_store__many_in_random_order__found_and_taken),
        KUBE_TEST(kube_store_keep_small__any_changes__same_answers),
        KUBE_TEST(kube_store_since__changes__each_once_sorted),
        KUBE_TEST(kube_store_since__too_long_ago__all_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
