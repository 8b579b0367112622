/* SPDX-License-Identifier: Apache-2.0 */
/* test_reflector_once.c: reflectors of a command, which lists once and gives up at trouble
 * that is final. */
#include "controller/kube/watch/reflector.h"
#include "tests/unit/kube/kube_test.h"

#include "common/net/http.h"
#include "controller/kube/watch/reflector_internal.h"
#include "tests/support/clock_fake.h"
#include "tests/support/http_ignore_sent.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

#define SVC(name, rv)                                                                              \
    "{'metadata':{'namespace':'demo','name':'" name "','uid':'u','resourceVersion':'" rv "'}}"
#define LIST(rv, items)                                                                            \
    "{'kind':'ServiceList','apiVersion':'v1','metadata':{'resourceVersion':'" rv                   \
    "'},'items':[" items "]}"

/* A command that answers once: one request, one error that stays, and no other request. */
static void kube_reflectors__gives_up__at_the_first_final_trouble(void **state)
{
    (void)state;
    const struct api_step steps[] = {
        {.status = 403, .body = "{'kind':'Status','reason':'Forbidden','message':'no','code':403}"},
        {.body = LIST("10", SVC("a", "1"))},
    };
    struct fake_api *api = fake_api_start(steps, 2);
    struct kube_store *store = kube_store_new(KUBE_SERVICE);
    struct kube_reflectors *r =
        kube_reflectors_new(&(struct kube_reflectors_args){.observe = kube_ignore_sent,
                                                           .config = fake_api_config(api),
                                                           .user_agent = "test/1",
                                                           .clock = fake_api_clock(api),
                                                           .gives_up = true});
    struct err err = ERR_INIT;
    kube_reflectors_add(r, store, NULL);
    assert_int_equal(kube_reflectors_start(r, &err), ERR_OK);
    assert_int_equal(kube_reflectors_wait_synced(r, CLOCK_NEVER, &err), ERR_FORBIDDEN);
    assert_true(kube_reflectors_gave_up(r));
    clock_fake_advance(fake_api_clock(api), 10L * 60 * 1000); /* every back-off would be over */
    err_clear(&err);
    assert_int_equal(kube_reflectors_wait_synced(r, CLOCK_NEVER, &err), ERR_FORBIDDEN);
    kube_reflectors_free(r);
    assert_int_equal(fake_api_count(api), 1);
    kube_store_free(store);
    fake_api_stop(api);
}

/* A command wants the lists and no more: a watch that is forbidden must not make a failure of the
 * list that is still on its way for another kind. */
static void reflector_step__gives_up__no_watch_after_the_list(void **state)
{
    static const char list[] =
        "{\"kind\":\"ServiceList\",\"metadata\":{\"resourceVersion\":\"5\"}}";
    const struct kube_config config = {.server = "http://127.0.0.1:1", .context = "", .source = ""};
    struct kube_reflectors *all = kube_reflectors_new(&(struct kube_reflectors_args){
        .observe = kube_ignore_sent, .config = &config, .user_agent = "test/1", .gives_up = true});
    struct kube_store *services = kube_store_new(KUBE_SERVICE);
    struct kube_store *nodes = kube_store_new(KUBE_NODE);
    kube_reflectors_add(all, services, NULL);
    kube_reflectors_add(all, nodes, NULL);
    all->http = http_new(&(struct http_config){.observe = http_ignore_sent});
    struct http_job *job = &all->items[0].job;
    assert_int_equal(reflector_step(job, NULL), HTTP_SEND);
    assert_true(reflector_on_body(job, 200, list, sizeof list - 1));
    assert_int_equal(reflector_step(job, &(struct http_response){.status = 200, .body = ""}),
                     HTTP_WAIT);
    assert_true(kube_store_synced(services));
    assert_true(job->req.not_before_ms - clock_now_ms(clock_real()) > 60000);
    assert_false(kube_reflectors_gave_up(all));
    assert_int_equal(reflector_step(&all->items[1].job, NULL), HTTP_SEND); /* its list is awaited */
    http_free(all->http);
    kube_reflectors_free(all);
    kube_store_free(services);
    kube_store_free(nodes);
    (void)state;
}

UNIT_MAIN(reflector_once)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_reflectors__gives_up__at_the_first_final_trouble),
        KUBE_TEST(reflector_step__gives_up__no_watch_after_the_list),
    };
    if (http_global_init(NULL) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
