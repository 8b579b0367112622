/* SPDX-License-Identifier: Apache-2.0 */
/* test_hostile_objects.c: one odd object among a thousand good ones, of each kind that is watched.
 *
 * Whatever stands in one object that a tenant can write: the others arrive, in a list, in a streaming list and as events of
 * a watch, and the events behind it are seen. */
#include "controller/kube/reflector.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/str.h"
#include "controller/kube/client.h"
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
    const char *what;
    const char *top;
    const char *meta;
};

/* All that nobody here asks for, at once. */
static struct oddity unwanted(struct arena *a)
{
    const char *deep =
        arena_printf(a, "%s1%s", repeated(a, "{'f:a':", 5000), repeated(a, "}", 5000));
    const char *name = repeated(a, "n", 300000);
    return (struct oddity){
        .what = "what nobody wants",
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

struct expected {
    struct arena *a;
    struct kube_store *store;
};

static bool last_is_there(void *arg)
{
    const struct expected *e = arg;
    return is_there(e->a, e->store, "last");
}

/* The first list, by one of the two ways; then `odd` once more as an event, and a good one behind it. */
static void check_kind(struct arena *a, enum kube_kind kind, bool streams, const struct oddity *odd)
{
    struct str_buf first _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct str_buf watch _cleanup_(str_buf_done) = STR_BUF_INIT;
    const char *name = kube_kind_name(kind);
    if (streams) {
        add_all(&first, a, kind, odd, "{'type':'ADDED','object':", "}\n");
        str_appendf(
            &first,
            "{'type':'BOOKMARK','object':{'kind':'%s',%s'metadata':{%s'resourceVersion':'9',"
            "'annotations':{'k8s.io/initial-events-end':'true'}}}}",
            name, odd->top, odd->meta);
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
    assert_true(is_there(a, w.store, "odd"));
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

UNIT_MAIN(hostile_objects)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(hostile_objects__what_nobody_wants__read_like_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
