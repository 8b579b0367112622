/* SPDX-License-Identifier: Apache-2.0 */
/* test_reflector_back.c: a server that was away and is there again (reflector.c). */
#include "controller/kube/watch/reflector.h"
#include "tests/unit/kube/kube_test.h"

#include "common/base/arena.h"
#include "tests/support/kube_ignore_sent.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

#define EMPTY                                                                                      \
    "{'kind':'ServiceList','apiVersion':'v1','metadata':{'resourceVersion':'10'},'items':[]}"
#define DROPS                                                                                      \
    {.way = API_DROP}, {.way = API_DROP}, {.way = API_DROP}, {.way = API_DROP}, {.way = API_DROP}, \
        {.way = API_DROP}, {.way = API_DROP}, {.way = API_DROP}, {.way = API_DROP},                \
        {.way = API_DROP}, {.way = API_DROP},                                                      \
    {                                                                                              \
        .way = API_DROP                                                                            \
    }
#define N_DROPS       12   /* after which each back-off is at its cap of 30 s and more */
#define BACK_AGAIN_MS 6000 /* one looks every 5 s at most, and all ask within a second then */

static bool both_synced(void *arg)
{
    struct kube_store **stores = arg;
    return kube_store_synced(stores[0]) && kube_store_synced(stores[1]);
}

/* A server that was away is asked again within seconds, by all reflectors, whatever
 * their back-offs have come to. */
static void kube_reflectors__server_is_back__all_ask_within_seconds(void **state)
{
    const struct api_step list = {.way = API_LIST, .body = EMPTY};
    const struct api_step steps[] = {DROPS, list, list, list, list, list, list, list, list};
    struct fake_api *api = fake_api_start(steps, ARRAY_LEN(steps));
    struct kube_store *stores[] = {kube_store_new(KUBE_SERVICE), kube_store_new(KUBE_SERVICE)};
    struct rng *rng = rng_seeded_new(1);
    struct err err = ERR_INIT;
    struct kube_reflectors *r =
        kube_reflectors_new(&(struct kube_reflectors_args){.observe = kube_ignore_sent,
                                                           .config = fake_api_config(api),
                                                           .user_agent = "test/1",
                                                           .clock = fake_api_clock(api),
                                                           .rng = rng});
    (void)state;
    kube_reflectors_add(r, stores[0], NULL);
    kube_reflectors_add(r, stores[1], NULL);
    assert_int_equal(kube_reflectors_start(r, &err), ERR_OK);
    fake_api_wait(api, N_DROPS);
    int64_t away_ms = clock_now_ms(fake_api_clock(api));
    fake_api_until(api, both_synced, stores);
    int64_t took_ms = clock_now_ms(fake_api_clock(api)) - away_ms;
    kube_reflectors_free(r);
    for (size_t i = 0; i < ARRAY_LEN(stores); i++) {
        assert_true(kube_store_synced(stores[i]));
        kube_store_free(stores[i]);
    }
    fake_api_stop(api);
    rng_free(rng);
    assert_in_range(took_ms, 0, BACK_AGAIN_MS);
}

UNIT_MAIN(reflector_back)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_reflectors__server_is_back__all_ask_within_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
