/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_cache.c: an edit that was refused is no state that a load balancer had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controller/sync/service_cache.h"
#include "tests/support/unit.h"
#include "tests/unit/controller/stand.h"

#define KEY "demo/web"

/* Sets demo/web as the store has it now, and says how its ensure ended. */
static void sync(struct stand *r, struct service_cache *c, bool refused)
{
    struct kube_object *o = kube_store_get(r->syncer.services, KEY);
    service_cache_set(c, KEY, o, true);
    service_cache_end_ensure(
        c, KEY, &(struct ensure_end){.good = !refused, .refused = refused, .stuck = refused});
    kube_object_unref(o);
}

/* The resourceVersion of the object that was accepted last; "" none. */
static const char *accepted(struct stand *r, struct service_cache *c)
{
    struct service_known known = service_cache_get(c, KEY);
    const char *version =
        known.accepted == NULL ? "" : arena_strdup(r->a, known.accepted->resource_version);
    service_known_done(&known);
    return version;
}

static void accepted__last_object_that_was_not_refused(void **state)
{
    struct stand *r = stand_new(0);
    struct service_cache *c = service_cache_new();
    (void)state;
    stand_service(r, "web", STAND_LB, NULL, NULL); /* versions count from 1 */
    sync(r, c, true);
    assert_string_equal(accepted(r, c), "");
    stand_service(r, "web", STAND_LB, NULL, NULL);
    sync(r, c, false);
    assert_string_equal(accepted(r, c), "2");
    for (int i = 0; i < 2; i++) { /* a refused edit, and another one */
        stand_service(r, "web", STAND_LB, NULL, NULL);
        sync(r, c, true);
        assert_string_equal(accepted(r, c), "2");
    }
    stand_service(r, "web", STAND_LB, NULL, NULL);
    sync(r, c, false);
    assert_string_equal(accepted(r, c), "5");
    stand_service(r, "web", STAND_LB, "\"uid\":\"another\"", NULL);
    sync(r, c, true);
    assert_string_equal(accepted(r, c), "");
    service_cache_free(c);
    stand_free(r);
}

UNIT_MAIN(service_cache)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted__last_object_that_was_not_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
