/* SPDX-License-Identifier: Apache-2.0 */
/* test_events.c: the event writer against a scripted API server: create, patch, repeat, drop,
 * flush.
 *
 * Source: controller.md §4.10 "Flow" and "Failure handling". */
#include "controller/kube/events/events.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/str.h"
#include "common/net/http.h"
#include "tests/support/clock_fake.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/no_threads.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

struct world {
    struct fake_api *api;
    struct rng *rng;
    struct kube_client *client;
    struct kube_events *events;
    struct kube_object *svc;
};

static struct world world_start(const struct api_step *steps, size_t n)
{
    struct world w = {.api = fake_api_start(steps, n), .rng = rng_seeded_new(7)};
    w.client = kube_client_new(&(struct kube_client_args){
        .observe = kube_ignore_sent,
        .config = fake_api_config(w.api),
        .user_agent = "x",
        .qps = -1,
        .clock = fake_api_clock(w.api),
    });
    w.events = kube_events_new(w.client, fake_api_clock(w.api), w.rng);
    w.svc = decode_text(KUBE_SERVICE, "{'metadata':{'namespace':'demo','name':'web','uid':'u1',"
                                      "'resourceVersion':'7'}}");
    return w;
}

static void world_stop(struct world *w)
{
    kube_object_unref(w->svc);
    kube_client_free(w->client);
    fake_api_stop(w->api);
    rng_free(w->rng);
}

#define START(...)                                                                                 \
    const struct api_step steps[] = {__VA_ARGS__};                                                 \
    struct world w = world_start(steps, ARRAY_LEN(steps))

static void emit(struct world *w, const char *type, const char *message)
{
    kube_events_emit(w->events, w->svc->service, "service-controller", type, "Because", message);
}

static void kube_events__repeated__created_then_patched(void **state)
{
    START({.status = 201, .body = "{}"}, {.body = "{}"});
    emit(&w, "Warning", "it failed");
    fake_api_wait(w.api, 1);
    clock_fake_advance(fake_api_clock(w.api), 60000);
    emit(&w, "Warning", "it failed");
    fake_api_wait(w.api, 2);
    kube_events_free(w.events, 1000);
    struct json_object *body;
    const char *text = fake_api_body(w.api, 0);
    assert_int_equal(json_parse_arena(*state, text, strlen(text), NULL, &body, NULL), ERR_OK);
    const char *name = json_str(json_member(body, "metadata"), "name");
    assert_true(str_has_prefix(name, "web."));
    assert_string_equal(json_str(body, "firstTimestamp"), "2026-01-02T03:04:05Z");
    assert_string_equal(fake_api_target(w.api, 0), "POST /api/v1/namespaces/demo/events");
    assert_string_equal(fake_api_content_type(w.api, 0), "application/json");
    assert_string_equal(fake_api_target(w.api, 1),
                        arena_printf(*state, "PATCH /api/v1/namespaces/demo/events/%s", name));
    assert_string_equal(fake_api_content_type(w.api, 1), "application/strategic-merge-patch+json");
    assert_string_equal(
        fake_api_body(w.api, 1),
        "{\"count\":2,\"lastTimestamp\":\"2026-01-02T03:05:05Z\",\"message\":\"it failed\"}");
    world_stop(&w);
}

static void kube_events__patch_of_expired_event__created_anew(void **state)
{
    START({.status = 201, .body = "{}"}, {.status = 404, .body = recorded_body(*state, "123-")},
          {.status = 201, .body = "{}"});
    emit(&w, "Normal", "m");
    emit(&w, "Normal", "m");
    fake_api_wait(w.api, 3);
    kube_events_free(w.events, 1000);
    assert_true(str_has_prefix(fake_api_target(w.api, 2), "POST "));
    assert_non_null(strstr(fake_api_body(w.api, 2), "\"count\":2"));
    world_stop(&w);
}

/* A refused event is not sent again; an unanswered one is, 12 times in all, 10 s apart. */
static void kube_events__failures__refused_dropped_unanswered_repeated(void **state)
{
    START({.status = 403, .body = "{'kind':'Status','reason':'Forbidden','message':'no'}"},
          {.status = 500, .body = ""},
          {.status = 409, .body = "{'kind':'Status','reason':'AlreadyExists'}"}, {.way = API_DROP},
          {.way = API_DROP}, {.way = API_DROP}, {.status = 201, .body = "{}"});
    int64_t began_ms = clock_now_ms(fake_api_clock(w.api));
    emit(&w, "Normal", "one");
    emit(&w, "Normal", "two");
    emit(&w, "Normal", "three");
    emit(&w, "Normal", "four");
    fake_api_wait(w.api, 7);
    kube_events_free(w.events, 1000);
    for (int i = 3; i < 7; i++) {
        assert_non_null(strstr(fake_api_body(w.api, i), "\"message\":\"four\""));
    }
    int64_t took_ms = clock_now_ms(fake_api_clock(w.api)) - began_ms;
    assert_in_range(took_ms, 20000, 30000); /* a random first gap, then 10 s each */
    world_stop(&w);
    (void)state;
}

/* Twelve tries in all; the next event gets its own. */
static void kube_events__never_answered__given_up_after_twelve_tries(void **state)
{
    struct api_step steps[13];
    for (size_t i = 0; i < 12; i++) {
        steps[i] = (struct api_step){.way = API_DROP};
    }
    steps[12] = (struct api_step){.status = 201, .body = "{}"};
    struct world w = world_start(steps, ARRAY_LEN(steps));
    int64_t began_ms = clock_now_ms(fake_api_clock(w.api));
    emit(&w, "Normal", "lost");
    emit(&w, "Normal", "next");
    fake_api_wait(w.api, 13);
    assert_in_range(clock_now_ms(fake_api_clock(w.api)) - began_ms, 100000, 110000);
    assert_non_null(strstr(fake_api_body(w.api, 11), "\"message\":\"lost\""));
    assert_non_null(strstr(fake_api_body(w.api, 12), "\"message\":\"next\""));
    kube_events_free(w.events, 1000);
    world_stop(&w);
    (void)state;
}

static void kube_events__message__cut_and_type_checked(void **state)
{
    START({.status = 201, .body = "{}"});
    char *text = arena_alloc(*state, 3001);
    memset(text, 'x', 3000);
    emit(&w, "Fatal", "never sent");
    emit(&w, "Normal", text);
    fake_api_wait(w.api, 1);
    kube_events_free(w.events, 1000);
    struct json_object *body;
    const char *sent = fake_api_body(w.api, 0);
    assert_int_equal(json_parse_arena(*state, sent, strlen(sent), NULL, &body, NULL), ERR_OK);
    assert_int_equal(strlen(json_str(body, "message")), 1024);
    assert_int_equal(fake_api_count(w.api), 1);
    world_stop(&w);
}

static void kube_events_free__queued__written_before_the_end(void **state)
{
    START({.status = 201, .body = "{}"}, {.status = 201, .body = "{}"},
          {.status = 201, .body = "{}"});
    emit(&w, "Normal", "one");
    emit(&w, "Normal", "two");
    emit(&w, "Normal", "three");
    kube_events_free(w.events, 5000);
    assert_int_equal(fake_api_count(w.api), 3);
    world_stop(&w);
    (void)state;
}

static void kube_events_free__server_hangs__ends_in_time(void **state)
{
    START({.way = API_HANG});
    for (int i = 0; i < 1100; i++) { /* more than the queue holds */
        emit(&w, "Normal", "stuck");
    }
    fake_api_wait(w.api, 1);
    int64_t began_ms = clock_now_ms(clock_real());
    kube_events_free(w.events, 50);
    assert_in_range(clock_now_ms(clock_real()) - began_ms, 50, AT_ONCE_MS);
    assert_int_equal(fake_api_count(w.api), 1);
    world_stop(&w);
    (void)state;
}

static void kube_events__same_moment__names_differ(void **state)
{
    START({.status = 201, .body = "{}"}, {.status = 201, .body = "{}"});
    emit(&w, "Normal", "one");
    emit(&w, "Normal", "two");
    fake_api_wait(w.api, 2);
    kube_events_free(w.events, 5000);
    const char *names[2];
    for (int i = 0; i < 2; i++) {
        struct json_object *body;
        const char *sent = fake_api_body(w.api, i);
        assert_int_equal(json_parse_arena(*state, sent, strlen(sent), NULL, &body, NULL), ERR_OK);
        names[i] = json_str(json_member(body, "metadata"), "name");
    }
    assert_string_not_equal(names[0], names[1]);
    world_stop(&w);
}

static void kube_events__thread_refused__wait_for_the_next_one(void **state)
{
    START({.status = 201, .body = "{}"}, {.status = 201, .body = "{}"});
    kube_events_free(w.events, 1000);
    no_threads_begin();
    w.events = kube_events_new(w.client, fake_api_clock(w.api), w.rng);
    emit(&w, "Normal", "one");
    no_threads_end();
    emit(&w, "Normal", "two");
    fake_api_wait(w.api, 2);
    kube_events_free(w.events, 1000);
    assert_non_null(strstr(fake_api_body(w.api, 0), "\"message\":\"one\""));
    assert_non_null(strstr(fake_api_body(w.api, 1), "\"message\":\"two\""));
    world_stop(&w);
    (void)state;
}

static void kube_events_free__thread_refused__ends_at_once(void **state)
{
    START({.status = 201, .body = "{}"});
    kube_events_free(w.events, 1000);
    no_threads_begin();
    w.events = kube_events_new(w.client, fake_api_clock(w.api), w.rng);
    emit(&w, "Normal", "one");
    kube_events_free(w.events, INT64_MAX / 2); /* a wait would never end */
    no_threads_end();
    world_stop(&w);
    (void)state;
}

UNIT_MAIN(events)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_events__repeated__created_then_patched),
        KUBE_TEST(kube_events__patch_of_expired_event__created_anew),
        KUBE_TEST(kube_events__failures__refused_dropped_unanswered_repeated),
        KUBE_TEST(kube_events__never_answered__given_up_after_twelve_tries),
        KUBE_TEST(kube_events__message__cut_and_type_checked),
        KUBE_TEST(kube_events_free__queued__written_before_the_end),
        KUBE_TEST(kube_events_free__server_hangs__ends_in_time),
        KUBE_TEST(kube_events__same_moment__names_differ),
        KUBE_TEST(kube_events__thread_refused__wait_for_the_next_one),
        KUBE_TEST(kube_events_free__thread_refused__ends_at_once),
    };
    if (http_global_init(NULL) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
