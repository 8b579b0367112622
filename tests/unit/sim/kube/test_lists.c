/* SPDX-License-Identifier: Apache-2.0 */
/* test_lists.c: pages, versions, forms and sizes of lists, over HTTP. */
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/sim/kube/kube_fixture.h"

#include <string.h>

static void make(struct kf *f, const char *name)
{
    kf_expect(kf_do(f, "POST", SERVICES, kf_service(f, name)), 201, name);
}

/* Names of the items, blank-separated. */
static const char *names(struct kf *f, struct kf_call *c)
{
    struct json_object *items = json_member(c->json, "items");
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *meta = json_member(json_object_array_get_idx(items, i), "metadata");
        str_appendf(&b, "%s%s", i ? " " : "", json_str(meta, "name"));
    }
    char *out = str_buf_to_arena(&b, f->a);
    str_buf_done(&b);
    return out;
}

static const char *next_page(struct kf *f, struct kf_call *c)
{
    return arena_printf(f->a, SERVICES "?limit=2&continue=%s", kf_text(c, "metadata.continue"));
}

static void list__pages__show_one_moment(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    make(f, "a");
    make(f, "c");
    make(f, "e");
    struct kf_call *first = kf_do(f, "GET", SERVICES "?limit=2", NULL);
    assert_string_equal(names(f, first), "a c");
    assert_string_equal(kf_text(first, "metadata.remainingItemCount"), "2");
    make(f, "d");
    kf_expect(kf_do(f, "DELETE", SERVICES "/e", NULL), 200, "delete");
    struct kf_call *second = kf_do(f, "GET", next_page(f, first), NULL);
    assert_string_equal(names(f, second), "e kubernetes");
    assert_string_equal(kf_text(second, "metadata.continue"), "");
    assert_string_equal(kf_text(second, "metadata.resourceVersion"),
                        kf_text(first, "metadata.resourceVersion"));
    kf_stop(f);
}

static void list__expired_page__goes_on_with_the_fresh_token(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    make(f, "a");
    make(f, "b");
    struct kf_call *first = kf_do(f, "GET", SERVICES "?limit=1", NULL);
    struct kf_call *world = kf_do(f, "GET", "/sim/state", NULL);
    kf_expect(kf_do(f, "PUT", "/sim/state", world->body), 200, "load");
    make(f, "aa");
    struct kf_call *gone = kf_do(f, "GET", next_page(f, first), NULL);
    kf_expect(gone, 410, "old page");
    assert_string_equal(kf_text(gone, "reason"), "Expired");
    assert_string_equal(names(f, kf_do(f, "GET", next_page(f, gone), NULL)), "aa b");
    kf_stop(f);
}

static void list__resource_version_zero__ignores_the_limit(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    make(f, "a");
    make(f, "b");
    struct kf_call *c = kf_do(f, "GET", SERVICES "?limit=1&resourceVersion=0", NULL);
    assert_string_equal(names(f, c), "a b kubernetes");
    kf_stop(f);
}

static void list__wrong_parameters__are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        int status;
    } rows[] = {
        {"resourceVersionMatch=Exact", 422},
        {"resourceVersionMatch=Exact&resourceVersion=0", 422},
        {"resourceVersionMatch=Nope&resourceVersion=3", 422},
        {"limit=x", 400},
        {"limit=x", 400},
        {"resourceVersion=-1", 400},
        {"continue=!!", 400},
        {"labelSelector=a%20b", 400},
        {"watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1", 422},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kf_expect(kf_do(f, "GET", arena_printf(f->a, SERVICES "?%s", rows[i].query), NULL),
                  rows[i].status, rows[i].query);
    }
    kf_stop(f);
}

static struct kf_call *get_as(struct kf *f, const char *target, const char *headers)
{
    struct kf_call *c = kf_send(f, "GET", target, headers, NULL);
    kf_wait(f, c);
    return c;
}

static void table__services__cells_as_kubectl_shows_them(void **state)
{
    (void)state;
    struct kf *f = kf_start(NULL);
    make(f, "web");
    kf_expect(kf_patch(f, SERVICES "/web/status", MERGE,
                       "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.1\"},"
                       "{\"hostname\":\"x.example.com\"}]}}}"),
              200, "status");
    clock_fake_advance(f->clock, 200000);
    struct kf_call *c =
        get_as(f, SERVICES "/web", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n");
    struct json_object *row = json_object_array_get_idx(json_member(c->json, "rows"), 0);
    struct json_object *cells = json_member(row, "cells");
    static const char *const want[] = {"web", "LoadBalancer", NULL,     "192.0.2.1,x.example.com",
                                       NULL,  "3m20s",        "app=web"};
    assert_int_equal(json_len(cells), ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        if (want[i]) {
            assert_string_equal(json_object_get_string(json_object_array_get_idx(cells, i)),
                                want[i]);
        }
    }
    assert_int_equal(json_len(json_member(c->json, "columnDefinitions")), ARRAY_LEN(want));
    assert_string_equal(json_str(json_member(row, "object"), "kind"), "PartialObjectMetadata");
    kf_stop(f);
}

static void list__long_answers__come_whole(void **state)
{
    (void)state;
    struct sim_config cfg = {.nodes = 120, .node_images = 40};
    struct kf *f = kf_start(&cfg);
    struct kf_call *c = kf_do(f, "GET", "/api/v1/nodes", NULL);
    kf_expect(c, 200, "nodes");
    assert_true(c->body_len > 120 * 15000);
    assert_int_equal(json_len(json_member(c->json, "items")), 120);
    struct kf_call *zipped = get_as(f, "/api/v1/nodes", "Accept-Encoding: gzip\r\n");
    assert_non_null(strstr(zipped->headers, "Content-Encoding: gzip"));
    assert_memory_equal(zipped->body, "\x1f\x8b\x08", 3);
    struct kf_call *small = get_as(f, "/api/v1/nodes?limit=1", "Accept-Encoding: gzip\r\n");
    assert_null(strstr(small->headers, "Content-Encoding"));
    kf_stop(f);
}

static void list__accept__chooses_the_form(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        int status;
        const char *kind;
    } rows[] = {
        {"application/json", 200, "ServiceList"},
        {"*/*", 200, "ServiceList"},
        {"application/vnd.kubernetes.protobuf,application/json", 200, "ServiceList"},
        {"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", 200,
         "PartialObjectMetadataList"},
        {"application/json;as=Table;v=v1;g=meta.k8s.io", 200, "Table"},
        {"application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", 200, "ServiceList"},
        {"application/vnd.kubernetes.protobuf", 406, "Status"},
    };
    struct kf *f = kf_start(NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kf_call *c =
            get_as(f, SERVICES, arena_printf(f->a, "Accept: %s\r\n", rows[i].accept));
        kf_expect(c, rows[i].status, rows[i].accept);
        assert_string_equal(kf_text(c, "kind"), rows[i].kind);
    }
    kf_stop(f);
}

UNIT_MAIN(lists)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__pages__show_one_moment),
        cmocka_unit_test(list__expired_page__goes_on_with_the_fresh_token),
        cmocka_unit_test(list__resource_version_zero__ignores_the_limit),
        cmocka_unit_test(list__wrong_parameters__are_refused),
        cmocka_unit_test(table__services__cells_as_kubectl_shows_them),
        cmocka_unit_test(list__long_answers__come_whole),
        cmocka_unit_test(list__accept__chooses_the_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
