/* SPDX-License-Identifier: Apache-2.0 */
/* test_written.c: lists of public IPs that lag behind our own writes are corrected
 * (azure_written.h). */
#include "providers/azure/snapshot/azure_written.h"
#include "tests/unit/azure/azure_test.h"

#include "providers/azure/model/azure_doc.h"
#include "tests/support/clock_fake.h"
#include "tests/support/unit.h"

#define SCOPE  "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/publicIPAddresses"
#define MINUTE 60000

struct rig {
    struct arena *a;
    struct clock *clock;
    struct azure_written *w;
};

static int setup(void **state)
{
    struct arena *a = arena_new();
    struct rig *r = ARENA_NEW(a, struct rig);
    *r = (struct rig){.a = a, .clock = clock_fake_new(1000000, 0)};
    r->w = azure_written_new(r->clock);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    azure_written_free(r->w);
    clock_fake_free(r->clock);
    arena_free(r->a);
    return 0;
}

/* "name etag ip": ip "" for none. */
static struct json_object *pip(struct rig *r, const char *text)
{
    size_t n;
    char **words = str_split(r->a, text, ' ', &n);
    const char *address = n > 2 ? arena_printf(r->a, ",\"ipAddress\":\"%s\"", words[2]) : "";
    return pure_json(r->a, arena_printf(r->a,
                                        "{\"id\":\"" SCOPE "/%s\",\"name\":\"%s\",\"etag\":\"%s\","
                                        "\"properties\":{\"x\":1%s}}",
                                        words[0], words[0], words[1], address));
}

static void wrote(struct rig *r, const char *name, const char *doc, const char *before)
{
    azure_written_note(r->w, arena_printf(r->a, SCOPE "/%s", name),
                       doc != NULL ? pip(r, doc) : NULL, before);
}

/* The list of these, corrected: "name etag; …". */
static void listed(struct rig *r, const char *docs, const char *want)
{
    struct json_object *list = azure_own(r->a, json_object_new_array());
    size_t n;
    char **each = str_split(r->a, docs, ';', &n);
    for (size_t i = 0; i < n && *docs != '\0'; i++) {
        (void)json_object_array_add(list, json_object_get(pip(r, each[i])));
    }
    const char *text = "";
    struct json_object *o;
    AZURE_EACH (o, azure_written_correct(r->w, r->a, SCOPE, list)) {
        text = arena_printf(r->a, "%s%s%s %s", text, *text != '\0' ? ";" : "", azure_doc_name(o),
                            azure_doc_etag(o));
    }
    assert_string_equal(text, want);
}

static void made__not_listed_yet__is_there(void **state)
{
    struct rig *r = *state;
    listed(r, "x 1 20.0.0.9", "x 1");
    wrote(r, "a", "a 1 20.0.0.1", NULL);
    listed(r, "x 1 20.0.0.9", "x 1;a 1");
    listed(r, "a 1 20.0.0.1;x 1 20.0.0.9", "a 1;x 1");
    clock_fake_advance(r->clock, 5 * MINUTE);
    listed(r, "x 1 20.0.0.9", "x 1");
}

static void deleted__still_listed__is_gone(void **state)
{
    struct rig *r = *state;
    wrote(r, "A", NULL, "1"); /* IDs are compared without case */
    listed(r, "a 1 20.0.0.1;x 1 20.0.0.9", "x 1");
    clock_fake_advance(r->clock, 5 * MINUTE);
    listed(r, "a 1 20.0.0.1", "a 1");
}

/* A version that was written over is older; an unknown one is newer: a frontend has taken it. */
static void changed__older_version_listed__is_the_written_one(void **state)
{
    struct rig *r = *state;
    wrote(r, "a", "a 3 20.0.0.1", "2");
    listed(r, "a 2 20.0.0.1", "a 3");
    listed(r, "a 4 20.0.0.1", "a 4");
    wrote(r, "a", "a 5 20.0.0.1", "4");
    listed(r, "a 2 20.0.0.1", "a 5");
    listed(r, "a 3 20.0.0.1", "a 5");
    listed(r, "a 4 20.0.0.1", "a 5");
    listed(r, "a 6 20.0.0.1", "a 6");
}

static void made_anew__former_one_listed__is_the_new_one(void **state)
{
    struct rig *r = *state;
    wrote(r, "a", NULL, "1");
    wrote(r, "a", "a 2 20.0.0.2", NULL);
    listed(r, "a 0 20.0.0.1", "a 2");
    listed(r, "a 7", "a 2");
    listed(r, "a 7 20.0.0.2", "a 7");
}

/* Lists of other groups have nothing of it. */
static void other_collection__stays_as_it_is(void **state)
{
    struct rig *r = *state;
    struct json_object *none = azure_own(r->a, json_object_new_array());
    wrote(r, "a", "a 1 20.0.0.1", NULL);
    const char *other = "/subscriptions/s/resourceGroups/rg2/providers/Microsoft.Network/"
                        "publicIPAddresses";
    assert_int_equal(json_len(azure_written_correct(r->w, r->a, other, none)), 0);
    assert_int_equal(json_len(azure_written_correct(r->w, r->a, SCOPE "x", none)), 0);
    assert_ptr_equal(azure_written_correct(NULL, r->a, SCOPE, none), none);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

UNIT_MAIN(written)
{
    const struct CMUnitTest tests[] = {
        TEST(made__not_listed_yet__is_there),
        TEST(deleted__still_listed__is_gone),
        TEST(changed__older_version_listed__is_the_written_one),
        TEST(made_anew__former_one_listed__is_the_new_one),
        TEST(other_collection__stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
