/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c: lists by kind and scope: their age, what a write makes of them, and that a
 * holder of an old list is not disturbed (docs/adr/0005). */
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/snapshot/azure_snapshot.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"
#include "tests/unit/azure/azure_test.h"

#include <stdlib.h>

#define GROUP "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/loadBalancers"
#define DOC(name, etag)                                                                            \
    "{\"id\":\"" GROUP "/" name "\",\"name\":\"" name "\",\"etag\":\"" etag "\"}"

struct fixture {
    struct arena *a;
    struct clock *clock;
    struct azure_snapshot *s;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->a = arena_new();
    f->clock = clock_fake_new(1000, 0);
    f->s = azure_snapshot_new(f->clock);
    azure_snapshot_put_list(f->s, AZURE_LBS, GROUP,
                            pure_json(f->a, "[" DOC("one", "1") "," DOC("two", "1") "]"));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    azure_snapshot_free(f->s);
    arena_free(f->a);
    clock_fake_free(f->clock);
    free(f);
    return 0;
}

/* "one@1 two@1"; NULL: not known. */
static const char *show(struct fixture *f, const char *scope, int64_t max_age_ms)
{
    struct json_object *list = azure_snapshot_list(f->s, AZURE_LBS, scope, max_age_ms, f->a);
    const char *text = list == NULL ? NULL : "";
    struct json_object *o;
    AZURE_EACH (o, list) {
        text = arena_printf(f->a, "%s%s%s@%s", text, text[0] != '\0' ? " " : "", azure_doc_name(o),
                            azure_doc_etag(o));
    }
    return text;
}

static void list__age_and_scope(void **state)
{
    struct fixture *f = *state;
    same_text("as put", show(f, GROUP, 0), "one@1 two@1");
    same_text("case of the scope",
              show(f,
                   "/SUBSCRIPTIONS"
                   "/s/resourcegroups/RG/providers/"
                   "microsoft.network/LoadBalancers",
                   0),
              "one@1 two@1");
    same_text("another scope", show(f, "/x", 1000), NULL);
    assert_null(azure_snapshot_list(f->s, AZURE_PIPS, GROUP, 1000, f->a));
    clock_fake_advance(f->clock, 100);
    same_text("young enough", show(f, GROUP, 100), "one@1 two@1");
    same_text("too old", show(f, GROUP, 99), NULL);
}

static void put__new_changed_gone(void **state)
{
    struct fixture *f = *state;
    struct json_object *held = azure_snapshot_list(f->s, AZURE_LBS, GROUP, 0, f->a);
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/ONE", pure_json(f->a, DOC("one", "2")));
    same_text("changed", show(f, GROUP, 0), "one@2 two@1");
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/three", pure_json(f->a, DOC("three", "1")));
    same_text("new", show(f, GROUP, 0), "one@2 two@1 three@1");
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/two", NULL);
    same_text("gone", show(f, GROUP, 0), "one@2 three@1");
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/never", NULL);
    same_text("gone that never was", show(f, GROUP, 0), "one@2 three@1");
    same_text("the old list", json_text(f->a, held, JSON_COMPACT),
              "[" DOC("one", "1") "," DOC("two", "1") "]");
}

/* A single resource is a list of none or one under its own ID. */
static void put__of_one__both_scopes_follow(void **state)
{
    struct fixture *f = *state;
    azure_snapshot_put_list(f->s, AZURE_LBS, GROUP "/one", pure_json(f->a, "[]"));
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/one", pure_json(f->a, DOC("one", "3")));
    same_text("one", show(f, GROUP "/one", 0), "one@3");
    same_text("all", show(f, GROUP, 0), "one@3 two@1");
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/two", pure_json(f->a, DOC("two", "3")));
    same_text("another's scope", show(f, GROUP "/one", 0), "one@3");
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/one/sub/x", pure_json(f->a, DOC("x", "1")));
    same_text("below the group", show(f, GROUP, 0), "one@3 two@3");
}

static void put__list_of_the_subscription__follows(void **state)
{
    struct fixture *f = *state;
    static const char all[] = "/subscriptions/s/providers/Microsoft.Network/loadBalancers";
    azure_snapshot_put_list(f->s, AZURE_LBS, all, pure_json(f->a, "[]"));
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/one", pure_json(f->a, DOC("one", "3")));
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/one/sub/x", pure_json(f->a, DOC("x", "1")));
    azure_snapshot_put(f->s, AZURE_LBS,
                       "/subscriptions/t/resourceGroups/rg/providers/Microsoft.Network/"
                       "loadBalancers/far",
                       pure_json(f->a, DOC("far", "1")));
    same_text("all", show(f, all, 0), "one@3");
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/one", NULL);
    same_text("gone", show(f, all, 0), "");
}

/* A write does not make a list younger. */
static void put__old_list__stays_old(void **state)
{
    struct fixture *f = *state;
    clock_fake_advance(f->clock, 50);
    azure_snapshot_put(f->s, AZURE_LBS, GROUP "/one", pure_json(f->a, DOC("one", "2")));
    same_text("age", show(f, GROUP, 49), NULL);
}

static void forget__one_scope_or_all(void **state)
{
    struct fixture *f = *state;
    azure_snapshot_put_list(f->s, AZURE_LBS, "/other", pure_json(f->a, "[]"));
    azure_snapshot_forget(f->s, AZURE_LBS, "/OTHER");
    same_text("one", show(f, "/other", 0), NULL);
    same_text("the rest", show(f, GROUP, 0), "one@1 two@1");
    azure_snapshot_forget(f->s, AZURE_PIPS, NULL);
    same_text("another kind", show(f, GROUP, 0), "one@1 two@1");
    azure_snapshot_forget(f->s, AZURE_LBS, NULL);
    same_text("all", show(f, GROUP, 0), NULL);
}

#define SNAPSHOT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(snapshot)
{
    const struct CMUnitTest tests[] = {
        SNAPSHOT_TEST(list__age_and_scope),
        SNAPSHOT_TEST(put__new_changed_gone),
        SNAPSHOT_TEST(put__of_one__both_scopes_follow),
        SNAPSHOT_TEST(put__list_of_the_subscription__follows),
        SNAPSHOT_TEST(put__old_list__stays_old),
        SNAPSHOT_TEST(forget__one_scope_or_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
