/* SPDX-License-Identifier: Apache-2.0 */
/* test_orphan_guard.c: a list that suddenly lacks many Services deletes no load balancer;
 * everything else that a Service can go by does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "controller/host/orphan_guard.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/service_count.h"
#include "tests/unit/controller/stand.h"

static void trips__at_least_three_and_more_than_a_third(void **state)
{
    static const struct {
        size_t lost;
        size_t known;
        bool want;
    } rows[] = {{0, 0, false},  {1, 1, false},   {2, 2, false},    {3, 3, true},
                {3, 8, true},   {3, 9, false},   {3, 10, false},   {4, 11, true},
                {4, 12, false}, {40, 100, true}, {33, 100, false}, {34, 100, true}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (orphan_guard_trips(rows[i].lost, rows[i].known) != rows[i].want) {
            fail_msg("%zu of %zu", rows[i].lost, rows[i].known);
        }
    }
}

static void functions__without_a_guard__keep_nothing(void **state)
{
    struct kube_object *const services[3] = {NULL}; /* they are not read */
    (void)state;
    struct orphan_guard *off = orphan_guard_new(false);
    assert_false(orphan_guard_lost(off, services, 3, 3));
    assert_false(orphan_guard_keeps(off, "a", NULL, NULL));
    assert_false(orphan_guard_lost(NULL, services, 3, 3));
    assert_false(orphan_guard_keeps(NULL, "a", NULL, NULL));
    assert_int_equal(orphan_guard_count(NULL), 0);
    orphan_guard_seen(NULL, "a");
    orphan_guard_free(off);
    orphan_guard_free(NULL);
}

/* `n` Services s0 … with load balancers. */
static struct stand *stand_with(size_t n, bool guard)
{
    struct stand *r = stand_new(0);
    r->syncer.orphan_guard = orphan_guard_new(guard);
    r->provider->exists = true;
    for (size_t i = 0; i < n; i++) {
        stand_service(r, arena_printf(r->a, "s%zu", i), STAND_LB, NULL, NULL);
    }
    stand_run(r);
    fake_provider_forget(r->provider);
    return r;
}

static void end(struct stand *r)
{
    struct orphan_guard *g = r->syncer.orphan_guard;
    stand_free(r);
    orphan_guard_free(g);
}

/* A complete list with those Services that are in the store, but for these. */
static void list_without(struct stand *r, const char *const *names, size_t n)
{
    struct kube_store *s = r->syncer.services;
    struct kube_snapshot *before = kube_store_snapshot(s);
    kube_store_replace_begin_staged(s);
    for (size_t i = 0; i < before->n; i++) {
        const struct tt_service *svc = before->views[i];
        bool left_out = false;
        for (size_t j = 0; j < n; j++) {
            left_out = left_out || strcmp(svc->name, names[j]) == 0;
        }
        if (!left_out) {
            kube_store_replace_put(s, kube_object_ref(before->objects[i]));
        }
    }
    kube_snapshot_unref(before);
    kube_store_replace_end(s, true);
}

static const char *const three[] = {"s0", "s1", "s2"};

static void list__lacks_many__kept_and_told(void **state)
{
    (void)state;
    struct stand *r = stand_with(4, true);
    r->syncer.board = board_new(r->clock);
    list_without(r, three, 3);
    stand_run(r);
    stand_advance(r, 3600000);
    assert_string_equal(stand_story(r), "");
    assert_int_equal(orphan_guard_count(r->syncer.orphan_guard), 3);
    assert_int_equal(service_cache_count(r->syncer.cache), 1);
    struct board_view view;
    board_look(r->syncer.board, r->a, &view);
    assert_int_equal(view.n_rows, 3);
    assert_int_equal(view.rows[0].state, BOARD_FAILED);
    const char *words =
        "The Service is gone and its load balancer is kept: one list of the API server lacked 3 of "
        "4 Services at once, and no deletion was observed. To delete it: trimtab orphans "
        "--delete demo/s0";
    assert_string_equal(view.rows[0].message, words);
    struct board *board = r->syncer.board;
    assert_non_null(
        strstr(stand_events(r), arena_printf(r->a, "Warning LoadBalancerKept %s\n", words)));
    end(r);
    board_free(board);
}

static void list__service_comes_back__ensured_again_not_deleted(void **state)
{
    (void)state;
    struct stand *r = stand_with(4, true);
    list_without(r, three, 3);
    stand_run(r);
    stand_service(r, "s1", STAND_LB, NULL, NULL);
    stand_run(r);
    assert_string_equal(stand_story(r), "ensure demo/s1");
    assert_int_equal(orphan_guard_count(r->syncer.orphan_guard), 2);
    stand_service_gone(r, "s1"); /* an order this time */
    stand_run(r);
    assert_non_null(strstr(stand_story(r), "delete demo/s1"));
    end(r);
}

/* Another Service of that name, with another UID: the one that vanished is not cleaned up
 * for its sake. */
static void list__name_is_taken_by_another__the_kept_one_is_not_deleted(void **state)
{
    (void)state;
    struct stand *r = stand_with(4, true);
    list_without(r, three, 3);
    /* before any sync of the key, and after one */
    stand_service(r, "s0", STAND_LB, "\"uid\":\"other-0\"", NULL);
    stand_run(r);
    stand_service(r, "s1", STAND_LB, "\"uid\":\"other-1\"", NULL);
    stand_run(r);
    assert_null(strstr(stand_story(r), "delete"));
    assert_non_null(strstr(stand_story(r), "ensure demo/s0"));
    assert_non_null(strstr(stand_story(r), "ensure demo/s1"));
    assert_int_equal(orphan_guard_count(r->syncer.orphan_guard), 3);
    end(r);
}

static void gone_otherwise__deleted_as_ever(void **state)
{
    static const char *const two[] = {"s0", "s1"};
    (void)state;
    struct stand *r = stand_with(4, true); /* two are too few */
    list_without(r, two, 2);
    stand_run(r);
    assert_non_null(strstr(stand_story(r), "delete demo/s0"));
    assert_non_null(strstr(stand_story(r), "delete demo/s1"));
    end(r);

    r = stand_with(9, true); /* three of nine are too few */
    list_without(r, three, 3);
    stand_run(r);
    assert_non_null(strstr(stand_story(r), "delete demo/s2"));
    end(r);

    r = stand_with(4, true); /* each with an event of its own */
    stand_service_gone(r, "s0");
    stand_service_gone(r, "s1");
    stand_service_gone(r, "s2");
    stand_run(r);
    assert_non_null(strstr(stand_story(r), "delete demo/s2"));
    end(r);

    r = stand_with(4, false); /* --orphan-guard=false */
    list_without(r, three, 3);
    stand_run(r);
    assert_non_null(strstr(stand_story(r), "delete demo/s0"));
    end(r);
}

/* A list in which many names stand for other Services: the older ones are kept, and the
 * new ones are made. */
static void list__other_uids_in_their_places__the_older_ones_are_kept(void **state)
{
    (void)state;
    for (int staged = 0; staged < 2; staged++) {
        struct stand *r = stand_with(4, true);
        struct kube_store *s = r->syncer.services;
        struct kube_object *other[4];
        for (int i = 0; i < 4; i++) { /* decoded by the stand in another store */
            const char *name = arena_printf(r->a, "s%d", i);
            const char *meta = i == 3 ? NULL : arena_printf(r->a, "\"uid\":\"other-%d\"", i);
            r->syncer.services = kube_store_new(KUBE_SERVICE);
            stand_service(r, name, STAND_LB, meta, NULL);
            other[i] = kube_store_get(r->syncer.services, arena_printf(r->a, "demo/%s", name));
            kube_store_free(r->syncer.services);
        }
        r->syncer.services = s;
        if (staged == 1) {
            kube_store_replace_begin_staged(s);
        } else {
            kube_store_replace_begin(s);
        }
        for (int i = 0; i < 4; i++) {
            kube_store_replace_put(s, other[i]);
        }
        kube_store_replace_end(s, true);
        stand_run(r);
        assert_null(strstr(stand_story(r), "delete"));
        assert_non_null(strstr(stand_story(r), "ensure demo/s0"));
        assert_int_equal(orphan_guard_count(r->syncer.orphan_guard), 3);
        assert_non_null(strstr(stand_events(r), "Warning LoadBalancerKept"));
        end(r);
    }
}

static void note_name(void *arg, const char *ns, const char *name, const struct tt_service *s)
{
    str_appendf(arg, "%s%s/%s ", s == NULL ? "-" : "", ns, name);
}

/* They still use what they share: the provider gets them. */
static void list__kept__among_the_services_that_the_provider_sees(void **state)
{
    struct str_buf told = STR_BUF_INIT;
    const struct tt_service_sink each = {sizeof(each), note_name, &told};
    uint64_t version = 3;

    (void)state;
    struct stand *r = stand_with(4, true);
    host_free(r->host);
    r->host = host_new(&(struct host_args){.desc = &r->provider->desc,
                                           .clock = r->clock,
                                           .fence = &r->fence,
                                           .services = r->syncer.services,
                                           .orphan_guard = r->syncer.orphan_guard});
    r->syncer.host = r->host;
    fake_provider_attach(r->provider, host_table(r->host));
    list_without(r, three, 3);
    struct host_call *c = host_call_begin(r->host, r->a, 1, 1000, 0, NULL);
    const struct tt_service *const *all = NULL;
    uint32_t n = 0;
    host_table(r->host)->services(r->host, host_call_abi(c), &all, &n);
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(all[i]->name, arena_printf(r->a, "s%u", i));
    }
    const struct tt_host *h = host_table(r->host);
    assert_int_equal(h->services_since(h->ctx, host_call_abi(c), &version, &each), 1);
    assert_string_equal(str_buf_text(&told), "demo/s0 demo/s1 demo/s2 demo/s3 ");
    assert_int_equal(version, 0); /* asked again, all are named again */
    str_buf_done(&told);
    assert_string_equal(h->service(h->ctx, host_call_abi(c), "demo", "s1")->name, "s1");
    host_call_end(c);
    end(r);
}

/* One of the three was seen to be deleted: two are left, which are too few. */
static void list__a_deletion_was_seen__does_not_count(void **state)
{
    (void)state;
    struct stand *r = stand_with(4, true);
    stand_service(r, "s0", STAND_LB, STAND_DELETING "," STAND_WITH_F, NULL);
    list_without(r, three, 3);
    stand_run(r);
    assert_non_null(strstr(stand_story(r), "delete demo/s1"));
    assert_int_equal(orphan_guard_count(r->syncer.orphan_guard), 0);
    end(r);
}

UNIT_MAIN(orphan_guard)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trips__at_least_three_and_more_than_a_third),
        cmocka_unit_test(functions__without_a_guard__keep_nothing),
        cmocka_unit_test(list__lacks_many__kept_and_told),
        cmocka_unit_test(list__service_comes_back__ensured_again_not_deleted),
        cmocka_unit_test(list__name_is_taken_by_another__the_kept_one_is_not_deleted),
        cmocka_unit_test(gone_otherwise__deleted_as_ever),
        cmocka_unit_test(list__other_uids_in_their_places__the_older_ones_are_kept),
        cmocka_unit_test(list__kept__among_the_services_that_the_provider_sees),
        cmocka_unit_test(list__a_deletion_was_seen__does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
