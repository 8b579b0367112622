/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync_races.c: what comes in between two steps of a sync must not be lost, and what is known
 * of another controller's Service must last as long as the Service.
 *
 * A worker is played by hand: the key is taken from the queue, the change comes in, the
 * key is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/arena.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/service_count.h"
#include "tests/unit/controller/stand.h"

#define POD(ip)                                                                                    \
    "{\"addresses\":[\"" ip "\"],\"nodeName\":\"node1\",\"conditions\":{\"ready\":true}}"

/* A stand whose only key, demo/web, is in a worker's hands; nothing is known of the Service yet. */
static struct stand *web_is_taken(struct queue_batch *ret)
{
    struct stand *r = stand_new(TT_CAP_WANTS_ENDPOINTS);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    assert_true(queue_get(r->syncer.queue, ret, NULL));
    return r;
}

/* Created, and deleted before its first finalizer is there: nothing was made, and the watch is
 * about to report it.  If the watch does not, the next failure is reported. */
static void race__deleted_before_its_finalizer__no_warning(void **state)
{
    static const struct {
        uint32_t caps;
        int status;
        const char *reason, *message;
    } rows[] = {
        {0, 404, "NotFound", "services \"web\" not found"},
        {TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS, 404, "NotFound", "services not found"},
        {0, 422, "Invalid",
         "Forbidden: no new finalizers can be added if the object is being deleted"},
    };
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        struct stand *r = stand_new(rows[i / 2].caps);
        bool stays = i % 2 == 1;
        for (int k = 0; k < 4; k++) {
            stand_refuse(r, "PATCH", "/services/", rows[i / 2].status, rows[i / 2].reason,
                         rows[i / 2].message);
        }
        stand_node(r, "node1", NULL, NULL);
        stand_service(r, "web", STAND_LB, NULL, NULL);
        stand_run(r);
        assert_int_equal(1, queue_failures(r->syncer.queue, "demo/web"));
        if (!stays) {
            stand_service_gone(r, "web");
        }
        stand_advance(r, 6000);
        assert_int_equal(stays, strstr(stand_events(r), "Warning") != NULL);
        stand_free(r);
    }
}

static void web_is_done(struct stand *r, struct queue_batch *batch)
{
    queue_done(r->syncer.queue, batch);
    queue_batch_clear(batch);
}

static void race__service_vanishes_while_it_is_taken__looked_at_again(void **state)
{
    (void)state;
    struct queue_batch batch = {0};
    struct stand *r = web_is_taken(&batch);

    stand_service_gone(r, "web");
    web_is_done(r, &batch);
    assert_int_equal(1, queue_counts(r->syncer.queue).waiting);
    stand_run(r);
    assert_string_equal("", stand_story(r)); /* nothing was done for it */
    assert_int_equal(0, service_cache_count(r->syncer.cache));
    stand_free(r);
}

static void race__endpoints_come_while_the_service_is_taken__looked_at_again(void **state)
{
    (void)state;
    struct queue_batch batch = {0};
    struct stand *r = web_is_taken(&batch);

    stand_slice(r, "web-1", "web", POD("10.0.0.1"));
    web_is_done(r, &batch);
    assert_int_equal(1, queue_counts(r->syncer.queue).delayed);
    stand_free(r);
}

/* The same of what the provider says of nodes: that it concerns the Service is known only
 * after its first sync. */
static void race__node_pass_before_its_digest_is_known_to_concern__updated_afterwards(void **state)
{
    (void)state;
    struct service_cache *c = service_cache_new();
    struct stand *r = stand_new(0);
    size_t n = 0;

    stand_service(r, "web", STAND_LB, NULL, NULL);
    struct kube_object *web = kube_store_get(r->syncer.services, "demo/web");
    const struct node_digests before = {.eligible = 1, .own = 1};
    const struct node_digests after = {.eligible = 1, .own = 2};
    service_cache_set(c, "demo/web", web, true);
    assert_true(service_cache_set_nodes(c, "demo/web", &before, 0));
    free(service_cache_with_other_nodes(c, &after, &n));
    assert_int_equal(0, n); /* none of its business, as far as is known */
    assert_false(service_cache_set_by_own(c, "demo/web", true));
    char **keys = service_cache_with_other_nodes(c, &after, &n);
    assert_int_equal(1, n);
    free(keys[0]);
    free(keys);
    assert_true(service_cache_set_nodes(c, "demo/web", &after, 0));
    assert_true(service_cache_set_by_own(c, "demo/web", true));
    assert_true(service_cache_set_by_own(c, "demo/web", false));
    kube_object_unref(web);
    service_cache_free(c);
    stand_free(r);
}

/* The pass saw the new node but not the Service; the Service is about to be given the old nodes. */
static void race__node_pass_before_a_new_service_is_known__updated_afterwards(void **state)
{
    (void)state;
    struct service_cache *c = service_cache_new();
    struct stand *r = stand_new(0);
    size_t n = 0;

    stand_service(r, "web", STAND_LB, NULL, NULL);
    struct kube_object *web = kube_store_get(r->syncer.services, "demo/web");
    const struct node_digests before = {.eligible = 1, .own = 1};
    const struct node_digests after = {.eligible = 2, .own = 2};
    free(service_cache_with_other_nodes(c, &after, &n));
    assert_int_equal(0, n);
    service_cache_set(c, "demo/web", web, true);
    assert_false(service_cache_set_nodes(c, "demo/web", &before, 0));
    assert_true(service_cache_set_nodes(c, "demo/web", &after, 0));
    kube_object_unref(web);
    service_cache_free(c);
    stand_free(r);
}

static void add_node_and_pass(void *arg, struct fake_provider *p, const struct tt_call *call,
                              const struct tt_item *item)
{
    struct stand *r = arg;

    (void)call, (void)item;
    p->during = NULL;
    stand_node(r, "node2", NULL, NULL);
    node_fanout_pass(&r->syncer);
}

/* The same, seen from outside: while the old Service of the name is cleaned up, a node comes. */
static void race__node_comes_while_the_replaced_service_goes__the_new_one_has_it(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_node(r, "node1", NULL, NULL);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, NULL);
    stand_run(r);
    fake_provider_forget(r->provider);
    r->provider->during = add_node_and_pass;
    r->provider->during_arg = r;
    stand_service(r, "web", STAND_LB, STAND_WITH_F ",\"uid\":\"uid-2\"", NULL);
    stand_run(r);
    assert_string_equal("delete demo/web, ensure demo/web, update demo/web", stand_story(r));
    assert_string_equal("node1 node2", fake_provider_call(r->provider, TT_VERB_UPDATE, 0).nodes);
    stand_free(r);
}

/* Its type has gone, and with it the class that said whose it is; every later event
 * brings it back. */
static void foreign__event_after_event__its_finalizer_stays(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_service(r, "web", STAND_LB ",\"loadBalancerClass\":\"x\"", STAND_WITH_F, NULL);
    stand_run(r);
    for (int i = 0; i < 3; i++) {
        stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
        stand_run(r);
    }
    assert_string_equal("get demo/web, get demo/web, get demo/web", stand_story(r));
    assert_int_equal(0, stand_patches(r));
    stand_service_gone(r, "web");
    stand_run(r);
    assert_int_equal(0, service_cache_count(r->syncer.cache));
    stand_free(r);
}

#define OWN_F "example.com/own"
#define BOTH  "\"finalizers\":[\"" OWN_F "\",\"" STAND_F "\"]"

/* The user changes the type there and back: when the load balancer is made again, the view of the
 * Service may be older than our taking the finalizers off.  Without them its deletion would leave
 * everything behind. */
static void finalizers__taken_off_and_still_shown__put_there_again(void **state)
{
    static const char *const finalizers[] = {OWN_F};
    (void)state;
    struct stand *r = stand_new(TT_CAP_HOLDS_FINALIZERS | TT_CAP_REPORTS_PLANS);
    r->provider->desc.finalizers = finalizers;
    r->provider->desc.n_finalizers = 1;
    r->provider->hold = OWN_F;
    stand_describe(r);
    stand_service(r, "web", STAND_LB, BOTH, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(0, stand_patches(r)); /* all are there */

    stand_service(r, "web", STAND_CLUSTER_IP, BOTH, NULL);
    stand_run(r);
    assert_int_equal(1, stand_patches(r));
    assert_non_null(strstr(stand_patch(r, 0), "$deleteFromPrimitiveList/finalizers"));

    stand_service(r, "web", STAND_LB, BOTH, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(2, stand_patches(r));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"" STAND_F
                        "\",\"" OWN_F "\"],"
                        "\"annotations\":{" STAND_MARK("uid-web") "}}}",
                        stand_patch(r, 1));
    stand_service(r, "web", STAND_LB ",\"loadBalancerIP\":\"203.0.113.10\"", BOTH,
                  STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(2, stand_patches(r)); /* once is enough */
    assert_string_equal("ensure demo/web, delete demo/web, ensure demo/web, ensure demo/web",
                        stand_story(r));
    stand_free(r);
}

/* The same for the controller's own finalizer, with a provider that leaves it to the controller. */
static void finalizers__taken_off_and_still_shown__put_there_before_the_call(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
    stand_run(r);
    size_t before = stand_patches(r);
    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_int_equal(before + 1, stand_patches(r));
    assert_string_equal("{\"metadata\":{\"uid\":\"uid-web\",\"finalizers\":[\"" STAND_F "\"],"
                        "\"annotations\":{" STAND_MARK("uid-web") "}}}",
                        stand_patch(r, before));
    stand_free(r);
}

/* Once the Service was seen without, what it shows counts again; and nothing is remembered
 * of one that is gone. */
static void finalizers__taken_off_and_seen_so__what_is_shown_counts(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    stand_service(r, "web", STAND_LB, STAND_WITH_F, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    stand_service(r, "web", STAND_CLUSTER_IP, STAND_WITH_F, NULL);
    stand_run(r);
    assert_true(service_cache_has_let_go(r->syncer.cache, "demo/web", "uid-web"));
    assert_false(service_cache_has_let_go(r->syncer.cache, "demo/web", "uid-other"));
    stand_service(r, "web", STAND_CLUSTER_IP, NULL, NULL);
    stand_add(r, "web", TT_REASON_SPEC);
    stand_run(r);
    assert_false(service_cache_has_let_go(r->syncer.cache, "demo/web", "uid-web"));
    assert_int_equal(0, service_cache_count(r->syncer.cache));
    stand_free(r);
}

/* The first addresses, written by this process, are programmed already.  Where others were before,
 * the provider may give up something now; a change by another program counts always. */
static void own_status__the_first_one__not_synced_again(void **state)
{
    (void)state;
    struct stand *r = stand_new(0);

    r->provider->desc.capabilities |= TT_CAP_FOLLOWS_INGRESS;
    stand_describe(r);
    stand_service(r, "web", STAND_LB, NULL, NULL);
    stand_run(r);
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("ensure demo/web", stand_story(r));
    stand_service(r, "web", STAND_LB, NULL, STAND_STATUS("203.0.113.9"));
    stand_run(r);
    stand_service(r, "web", STAND_LB, "\"labels\":{\"a\":\"b\"}", STAND_STATUS("203.0.113.10"));
    stand_run(r);
    assert_string_equal("ensure demo/web, ensure demo/web, ensure demo/web", stand_story(r));
    stand_service(r, "new", STAND_LB, NULL, NULL);
    stand_run(r);
    stand_service(r, "new", STAND_LB, NULL, STAND_STATUS("203.0.113.9"));
    stand_run(r); /* another program was there first */
    assert_string_equal("ensure demo/web, ensure demo/web, ensure demo/web, ensure demo/new, "
                        "ensure demo/new",
                        stand_story(r));
    stand_free(r);
}

UNIT_MAIN(sync_races)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(race__deleted_before_its_finalizer__no_warning),
        cmocka_unit_test(race__service_vanishes_while_it_is_taken__looked_at_again),
        cmocka_unit_test(race__endpoints_come_while_the_service_is_taken__looked_at_again),
        cmocka_unit_test(race__node_pass_before_a_new_service_is_known__updated_afterwards),
        cmocka_unit_test(race__node_pass_before_its_digest_is_known_to_concern__updated_afterwards),
        cmocka_unit_test(race__node_comes_while_the_replaced_service_goes__the_new_one_has_it),
        cmocka_unit_test(own_status__the_first_one__not_synced_again),
        cmocka_unit_test(foreign__event_after_event__its_finalizer_stays),
        cmocka_unit_test(finalizers__taken_off_and_still_shown__put_there_again),
        cmocka_unit_test(finalizers__taken_off_and_still_shown__put_there_before_the_call),
        cmocka_unit_test(finalizers__taken_off_and_seen_so__what_is_shown_counts),
    };
    return cmocka_run_group_tests_name("controller-sync-races", tests, NULL, NULL);
}
