/* SPDX-License-Identifier: Apache-2.0 */
/* test_hostile_objects.c: one odd object among a thousand good ones, of each kind that is watched.
 *
 * Whatever stands in one object that a tenant can write: the others arrive, in a list, in a
 * streaming list and as events of a watch, and the events behind it are seen. */
#include "controller/kube/watch/reflector.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/str.h"
#include "controller/kube/client/client.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

#define GOOD ((size_t)1000)

static char *repeated(struct arena *a, const char *text, size_t times)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    for (size_t i = 0; i < times; i++) {
        str_append(&b, text);
    }
    return str_buf_to_arena(&b, a);
}

/* Members of the object and of its metadata, with a comma behind each; a tenant can write them. */
struct oddity {
    const char *top;
    const char *meta;
    const char *why; /* what is said of it; NULL: it can be read */
};

/* All that is not asked for here, at once. */
static struct oddity unwanted(struct arena *a)
{
    const char *deep =
        arena_printf(a, "%s1%s", repeated(a, "{'f:a':", 5000), repeated(a, "}", 5000));
    const char *name = repeated(a, "n", 300000);
    return (struct oddity){
        .top = arena_printf(a, "'unknown':%s,'%s':1,'x':%s%s,'\\u00e4\\u0000\\u2028':{'\\n':[]},",
                            deep, name, repeated(a, "[", 100000), repeated(a, "]", 100000)),
        .meta =
            arena_printf(a, "'managedFields':[{'manager':'x','fieldsV1':%s}],'%s':{},", deep, name),
    };
}

static const char *object_of(struct arena *a, enum kube_kind kind, const char *name, const char *rv,
                             const struct oddity *odd)
{
    const char *ns = kind == KUBE_NODE ? "" : "'namespace':'demo',";
    return arena_printf(
        a, "{'kind':'%s',%s'metadata':{'name':'%s',%s%s'uid':'u-%s','resourceVersion':'%s'}}",
        kube_kind_name(kind), odd == NULL ? "" : odd->top, name, ns, odd == NULL ? "" : odd->meta,
        name, rv);
}

/* A thousand good ones, with the odd one in the middle; `before` and `behind` each. */
static void add_all(struct str_buf *b, struct arena *a, enum kube_kind kind,
                    const struct oddity *odd, const char *before, const char *behind)
{
    for (size_t i = 0; i < GOOD; i++) {
        if (i == GOOD / 2) {
            str_appendf(b, "%s%s%s", before, object_of(a, kind, "odd", "7", odd), behind);
        }
        str_appendf(b, "%s%s%s", before,
                    object_of(a, kind, arena_printf(a, "good-%zu", i), "1", NULL), behind);
    }
}

struct world {
    struct fake_api *api;
    struct rng *rng;
    struct kube_store *store;
    struct kube_reflectors *reflectors;
};

static void world_start(struct world *w, enum kube_kind kind, bool streams,
                        const struct api_step *steps, size_t n)
{
    struct err err = ERR_INIT;
    *w = (struct world){.api = fake_api_start(steps, n), .rng = rng_seeded_new(1)};
    w->store = kube_store_new(kind);
    w->reflectors = kube_reflectors_new(&(struct kube_reflectors_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(w->api),
        .user_agent = "test/1",
        .clock = fake_api_clock(w->api),
        .rng = w->rng,
        .streams = streams,
    });
    kube_reflectors_add(w->reflectors, w->store, NULL);
    assert_int_equal(kube_reflectors_start(w->reflectors, &err), ERR_OK);
}

static void world_stop(struct world *w)
{
    kube_reflectors_free(w->reflectors);
    kube_store_free(w->store);
    fake_api_stop(w->api);
    rng_free(w->rng);
}

static const char *key_of(struct arena *a, enum kube_kind kind, const char *name)
{
    return kind == KUBE_NODE ? name : arena_printf(a, "demo/%s", name);
}

static bool is_there(struct arena *a, struct kube_store *store, const char *name)
{
    struct kube_object *o = kube_store_get(store, key_of(a, kube_store_kind(store), name));
    kube_object_unref(o);
    return o != NULL;
}

/* Under its name, with uid and version, and with the reason why it cannot be read. */
static void check_odd(struct arena *a, struct kube_store *store, const struct oddity *odd)
{
    struct kube_object *o = kube_store_get(store, key_of(a, kube_store_kind(store), "odd"));
    assert_non_null(o);
    assert_string_equal(o->uid, "u-odd");
    assert_string_equal(o->resource_version, "10");
    if (odd->why == NULL) {
        assert_null(o->unreadable);
    } else {
        assert_non_null(o->unreadable);
        assert_true(str_has_prefix(o->unreadable, odd->why));
    }
    assert_int_equal(kube_store_unreadable(store), odd->why != NULL);
    kube_object_unref(o);
}

struct expected {
    struct arena *a;
    struct kube_store *store;
};

static bool last_is_there(void *arg)
{
    const struct expected *e = arg;
    return is_there(e->a, e->store, "last");
}

/* The first list, by one of the two ways; then `odd` once more as an event, and a good
 * one behind it. */
static void check_kind(struct arena *a, enum kube_kind kind, bool streams, const struct oddity *odd)
{
    struct str_buf first _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct str_buf watch _cleanup_(str_buf_done) = STR_BUF_INIT;
    const char *name = kube_kind_name(kind);
    const char *top = odd->why == NULL ? odd->top : ""; /* bookmarks are the server's own */
    const char *meta = odd->why == NULL ? odd->meta : "";
    if (streams) {
        add_all(&first, a, kind, odd, "{'type':'ADDED','object':", "}\n");
        str_appendf(
            &first,
            "{'type':'BOOKMARK','object':{'kind':'%s',%s'metadata':{%s'resourceVersion':'9',"
            "'annotations':{'k8s.io/initial-events-end':'true'}}}}",
            name, top, meta);
    } else {
        str_appendf(&first, "{'kind':'%sList','metadata':{'resourceVersion':'9'},'items':[", name);
        add_all(&first, a, kind, odd, "", ",");
        str_appendf(&first, "%s]}", object_of(a, kind, "end", "8", NULL));
    }
    str_appendf(&watch, "{'type':'MODIFIED','object':%s}\n", object_of(a, kind, "odd", "10", odd));
    str_appendf(
        &watch,
        "{'type':'BOOKMARK','object':{'kind':'%s',%s'metadata':{%s'resourceVersion':'11'}}}", name,
        odd->top, odd->meta);
    str_appendf(&watch, "{'type':'ADDED','object':%s}\n", object_of(a, kind, "last", "12", NULL));
    const struct api_step steps[] = {
        {.way = API_ANSWER, .body = str_buf_text(&first)},
        {.way = API_OPEN, .body = str_buf_text(&watch)},
    };
    struct world w;
    world_start(&w, kind, streams, steps, ARRAY_LEN(steps));
    struct expected e = {.a = a, .store = w.store};
    fake_api_until(w.api, last_is_there, &e);
    assert_int_equal(kube_store_count(w.store), GOOD + 2 + !streams);
    check_odd(a, w.store, odd);
    assert_true(is_there(a, w.store, "good-999"));
    world_stop(&w);
}

static void hostile_objects__what_nobody_wants__read_like_others(void **state)
{
    const struct oddity odd = unwanted(*state);
    for (int kind = 0; kind < KUBE_KIND_MAX; kind++) {
        for (int streams = 0; streams < 2; streams++) {
            struct arena *a _cleanup_(arena_freep) = arena_new();
            check_kind(a, (enum kube_kind)kind, streams != 0, &odd);
        }
    }
}

/* Used members that exceed a limit or have a wrong type. */
static size_t unreadable(struct arena *a, struct oddity *ret, size_t max)
{
    const char *deep = arena_printf(a, "%s1%s", repeated(a, "[", 200), repeated(a, "]", 200));
    const char *many = arena_printf(a, "{%s'z':'1'}", repeated(a, "'a':'1',", 200));
    const char *long_name = repeated(a, "n", 70000);
    const struct oddity rows[] = {
        {"", "'labels':{'a':7},", "metadata.labels.a: want a string, got 7"},
        {"", arena_printf(a, "'labels':%s,", deep),
         "metadata.labels is nested deeper than 64 levels"},
        {"", arena_printf(a, "'labels':{'a':{'b':%s}},", deep),
         "metadata.labels is nested deeper than 64"},
        {"", arena_printf(a, "'labels':{'%s':'x'},", long_name),
         "metadata.labels has a member name that is longer than 65536 bytes"},
        {"", arena_printf(a, "'labels':%s,", many), "line 1, column "}, /* a name twice */
        {"", "'labels':{'a':'\\ud83d\\q'},", "line 1, column "},
        {"", "'labels':{'a':'\xff'},", "line 1, column "},
        {"", "'creationTimestamp':'yesterday',", "metadata.creationTimestamp: want a time"},
        {"", arena_printf(a, "'creationTimestamp':'%s',", repeated(a, "2026", 20000)),
         "metadata.creationTimestamp: want "},
    };
    assert_true(ARRAY_LEN(rows) <= max);
    memcpy(ret, rows, sizeof rows);
    return ARRAY_LEN(rows);
}

static void hostile_objects__caps_of_every_kind__known_but_unreadable(void **state)
{
    struct oddity odd[16];
    size_t n = unreadable(*state, odd, ARRAY_LEN(odd));
    for (int kind = 0; kind < KUBE_KIND_MAX; kind++) {
        for (size_t i = 0; i < n; i++) {
            struct arena *a _cleanup_(arena_freep) = arena_new();
            check_kind(a, (enum kube_kind)kind, (i + (size_t)kind) % 2 == 0, &odd[i]);
        }
    }
}

/* --- what stays known ------------------------------------------------------------------------- */

static struct kube_object *taken(struct arena *a, enum kube_kind kind, const char *json,
                                 const struct kube_salvage *how)
{
    const struct json_view *view = NULL;
    struct err err = ERR_INIT;
    const char *text = quoted(a, json);
    assert_int_equal(json_view_parse(a, text, strlen(text), NULL, &view, &err), ERR_OK);
    return kube_object_take(kind, a, view, how, &err);
}

#define META "'metadata':{'namespace':'demo','name':'web','uid':'u1','resourceVersion':"

/* Field by field: what can be read is new, what cannot is as it was when all could. */
static void kube_object_take__after_a_good_one__lost_fields_stay(void **state)
{
    struct arena *a = *state;
    struct kube_salvage how = {0};
    struct kube_object *good = taken(
        a, KUBE_SERVICE,
        "{" META "'1','annotations':{'k':'v'},'finalizers':['f']},'spec':{'type':'LoadBalancer',"
        "'loadBalancerIP':'192.0.2.1','ports':[{'port':80}],'loadBalancerSourceRanges':['10.0.0.0/"
        "8']},"
        "'status':{'loadBalancer':{'ingress':[{'ip':'192.0.2.1'}]}}}",
        &how);
    how.known = good;
    struct kube_object *bad =
        taken(a, KUBE_SERVICE,
              "{" META "'2','annotations':7,'finalizers':['f','g'],'deletionTimestamp':"
              "'2026-01-02T03:04:05Z'},'spec':{'type':'ClusterIP','ports':{},"
              "'loadBalancerSourceRanges':true,'loadBalancerIP':'192.0.2.2'}}",
              &how);
    how.known = bad; /* which is no ground for the next one: the good one is */
    struct kube_object *worse = taken(a, KUBE_SERVICE, "{" META "'3'},'spec':7}", &how);
    kube_object_unref(good);
    assert_string_equal(bad->resource_version, "2");
    assert_string_equal(bad->service->type, "ClusterIP");
    assert_string_equal(bad->service->lb_ip, "192.0.2.2");
    assert_string_equal(bad->service->annotations[0].value, "v");
    assert_int_equal(bad->service->n_finalizers, 2);
    assert_true(bad->service->deleted_us != 0);
    assert_int_equal(bad->service->ports[0].port, 80);
    assert_string_equal(bad->service->source_ranges[0], "10.0.0.0/8");
    assert_int_equal(bad->service->n_ingress, 0);
    assert_true(bad->base == worse->base);
    kube_object_unref(bad);
    assert_string_equal(worse->unreadable, "spec: want an object, got 7");
    assert_string_equal(worse->service->type, "LoadBalancer");
    assert_string_equal(worse->service->lb_ip, "192.0.2.1");
    assert_int_equal(worse->service->n_finalizers, 0);
    assert_int_equal(worse->service->deleted_us, 0);
    kube_object_unref(worse);
}

/* Another uid, or none before: absent; a Service counts as one that has a load balancer, and may
 * hold our finalizer. */
static void kube_object_take__never_read__absent_and_careful(void **state)
{
    struct arena *a = *state;
    const struct kube_salvage first = {0};
    struct kube_object *other = taken(
        a, KUBE_SERVICE,
        "{'metadata':{'namespace':'demo','name':'web','uid':'u0','resourceVersion':'1'},'spec':{"
        "'type':'ClusterIP','ports':[{'port':80}]}}",
        &first);
    const struct kube_salvage how = {.known = other};
    struct kube_object *bad =
        taken(a, KUBE_SERVICE, "{" META "'2','finalizers':7},'spec':{'type':7,'ports':7}}", &how);
    assert_null(bad->base);
    assert_string_equal(bad->service->type, "LoadBalancer");
    assert_int_equal(bad->service->n_ports, 0);
    assert_string_equal(bad->service->finalizers[0], "service.kubernetes.io/load-balancer-cleanup");
    kube_object_unref(bad);
    /* of a text that the parser refuses, names alone */
    const struct kube_salvage brief = {.why = "no JSON", .brief = true};
    bad = taken(a, KUBE_SERVICE, "{" META "'2'}}", &brief);
    assert_string_equal(bad->unreadable, "no JSON");
    assert_string_equal(bad->service->type, "LoadBalancer");
    kube_object_unref(bad);
    assert_null(
        taken(a, KUBE_SERVICE, "{'metadata':{'name':'web','resourceVersion':'1'}}", &first));
    kube_object_unref(other);
}

/* The API server stores it; the annotation is no good, the others are. */
static void kube_object_take__nul_in_an_annotation__only_that_is_spoilt(void **state)
{
    struct arena *a = *state;
    const struct json_view *view = NULL;
    const struct json_limits limits = {.allow_nul = true};
    const struct kube_salvage how = {0};
    struct err err = ERR_INIT;
    const char *text = quoted(a, "{" META "'1','annotations':{'a':'x\\u0000y','b':'z'}}}");
    assert_int_equal(json_view_parse(a, text, strlen(text), &limits, &view, &err), ERR_OK);
    struct kube_object *o = kube_object_take(KUBE_SERVICE, a, view, &how, &err);
    assert_null(o->unreadable);
    assert_string_equal(o->service->annotations[0].value, "x\xef\xbf\xbdy");
    assert_string_equal(o->service->annotations[1].value, "z");
    kube_object_unref(o);
}

/* Parsers of answers have a cap on nesting; what is nested more deeply is nothing that
 * they look for. */
static void kube_client_do__deep_managed_fields__answer_can_be_parsed(void **state)
{
    struct arena *a = *state;
    struct kube_response resp;
    struct json_object *o = NULL;
    struct err err = ERR_INIT;
    const char *deep = arena_printf(a, "%s%s", repeated(a, "[", 5000), repeated(a, "]", 5000));
    const struct api_step steps[] = {
        {.body = arena_printf(a, "{'metadata':{'managedFields':[%s],'name':'c'},'data':{'k':'v'}}",
                              deep)},
    };
    struct fake_api *api = fake_api_start(steps, ARRAY_LEN(steps));
    struct kube_client *client =
        kube_client_new(&(struct kube_client_args){.observe = kube_ignore_sent,
                                                   .config = fake_api_config(api),
                                                   .user_agent = "test/1",
                                                   .qps = -1,
                                                   .clock = fake_api_clock(api)});
    const struct kube_request req = {.method = "GET",
                                     .path = "/api/v1/namespaces/demo/configmaps/c"};
    assert_int_equal(kube_client_do(client, a, &req, NULL, &resp, &err), ERR_OK);
    assert_int_equal(json_parse_arena(a, resp.body, resp.body_len, NULL, &o, &err), ERR_OK);
    assert_string_equal(json_str(json_member(o, "data"), "k"), "v");
    assert_string_equal(json_str(json_member(o, "metadata"), "name"), "c");
    kube_client_free(client);
    fake_api_stop(api);
}

UNIT_MAIN(hostile_objects)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(hostile_objects__what_nobody_wants__read_like_others),
        KUBE_TEST(hostile_objects__caps_of_every_kind__known_but_unreadable),
        KUBE_TEST(kube_object_take__after_a_good_one__lost_fields_stay),
        KUBE_TEST(kube_object_take__never_read__absent_and_careful),
        KUBE_TEST(kube_object_take__nul_in_an_annotation__only_that_is_spoilt),
        KUBE_TEST(kube_client_do__deep_managed_fields__answer_can_be_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
