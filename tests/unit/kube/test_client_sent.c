/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_sent.c: which sends the client tells its observer as repetitions, where one call
 * makes several. */
#include "controller/kube/client/client.h"
#include "tests/unit/kube/kube_test.h"

#include "common/net/http.h"
#include "tests/support/unit.h"
#include "tests/unit/kube/fake_api.h"

struct seen {
    int observed;
    int again;
    int before; /* of the last repetition */
    int limited;
};

static void observe(void *arg, const struct kube_sent *sent)
{
    struct seen *s = arg;
    s->observed++;
    s->again += sent->again;
    s->before = sent->again ? sent->before : s->before;
    s->limited += sent->limited;
}

/* A request after a redirect is not a retry, and does not count for the rate limit, as in
 * client-go. */
static void kube_client_do__redirects__only_our_repetition_is_one(void **state)
{
    static const struct api_step steps[] = {
        {.status = 307, .header = "Location: /api/v1/y"},
        {.status = 429, .header = "Retry-After: 0"},
        {.status = 307, .header = "Location: /api/v1/y"},
        {.status = 200, .body = "{}"},
    };
    const struct kube_request req = {.method = "GET", .path = "/api/v1/x"};
    struct fake_api *api = fake_api_start(steps, ARRAY_LEN(steps));
    struct seen seen = {0};
    struct kube_client *c = kube_client_new(&(struct kube_client_args){
        .config = fake_api_config(api),
        .user_agent = "test/1",
        .qps = -1,
        .clock = fake_api_clock(api),
        .observe = observe,
        .observe_arg = &seen,
    });
    struct kube_response resp;
    struct err err = ERR_INIT;
    assert_int_equal(kube_client_do(c, *state, &req, NULL, &resp, &err), ERR_OK);
    assert_int_equal(resp.status, 200);
    assert_int_equal(fake_api_count(api), 4);
    assert_int_equal(seen.observed, 4);
    assert_int_equal(seen.again, 1); /* the third, after 429 */
    assert_int_equal(seen.before, 429);
    assert_int_equal(seen.limited, 2);
    kube_client_free(c);
    fake_api_stop(api);
}

UNIT_MAIN(client_sent)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(kube_client_do__redirects__only_our_repetition_is_one),
    };
    if (http_global_init(NULL) != ERR_OK) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    http_global_done();
    return failed;
}
