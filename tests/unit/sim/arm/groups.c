/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: resource groups that requests make and delete, with everything in them.
 *
 * Source: REST reference "Resource Groups" (Microsoft.Resources, 2021-04-01). */
#include "tests/support/unit.h"
#include "tests/unit/sim/arm/arm_fixture.h"

#include <string.h>

#define RES_V  "?api-version=2021-04-01"
#define GROUPS SUB "/resourcegroups"
#define NEW    SUB "/resourceGroups/new"
#define IN_NEW NEW "/providers/Microsoft.Network/publicIPAddresses/a"
#define EAST   "{\"location\":\"eastus\",\"tags\":{\"a\":\"b\"}}"

static const struct {
    const char *what, *method, *path, *body;
    int status;
    const char *code;
} rows[] = {
    {"the seeded group", "GET", GROUPS "/RG" RES_V, NULL, 200, NULL},
    {"all groups", "GET", GROUPS RES_V, NULL, 200, NULL},
    {"an unknown one", "GET", GROUPS "/new" RES_V, NULL, 404, "ResourceGroupNotFound"},
    {"an address in it", "PUT", IN_NEW, PIP_BODY, 404, "ResourceGroupNotFound"},
    {"deletion of nothing", "DELETE", GROUPS "/new" RES_V, NULL, 404, "ResourceGroupNotFound"},
    {"another subscription", "GET", "/subscriptions/x/resourcegroups/rg" RES_V, NULL, 404,
     "SubscriptionNotFound"},
    {"no version", "GET", GROUPS "/rg", NULL, 400, "MissingApiVersionParameter"},
    {"no body", "PUT", GROUPS "/new" RES_V, "", 400, "InvalidRequestContent"},
    {"no location", "PUT", GROUPS "/new" RES_V, "{}", 400, "LocationRequired"},
    {"no name for a group", "PUT", GROUPS "/a%20b" RES_V, EAST, 400, "InvalidResourceGroup"},
    {"a dot at the end", "PUT", GROUPS "/new." RES_V, EAST, 400, "InvalidResourceGroup"},
    {"all at once", "DELETE", GROUPS RES_V, NULL, 405, "HttpMethodNotAllowed"},
    {"made", "PUT", NEW RES_V, EAST, 201, NULL},
    {"made again", "PUT", GROUPS "/NEW" RES_V, EAST, 200, NULL},
    {"there", "GET", NEW RES_V, NULL, 200, NULL},
    {"an address in the new one", "PUT", IN_NEW, PIP_BODY, 201, NULL},
    {"deleted", "DELETE", NEW RES_V, NULL, 200, NULL},
    {"the address went with it", "GET", IN_NEW, NULL, 404, "ResourceGroupNotFound"},
    {"gone", "GET", NEW RES_V, NULL, 404, "ResourceGroupNotFound"},
};

static void requests__each_row__in_turn(void **state)
{
    (void)state;
    struct fixture *f = arm_start(NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int status = strstr(rows[i].path, "/providers/")
                         ? arm_call(f, rows[i].method, rows[i].path, rows[i].body)
                         : fixture_call(f, rows[i].method, rows[i].path, rows[i].body);
        arm_expect(f, rows[i].what, status, rows[i].status, rows[i].code);
    }
    fixture_stop(f);
}

static void group__that_was_made__is_part_of_the_state(void **state)
{
    (void)state;
    struct fixture *f = arm_start(NULL, NULL);
    arm_must(f, "PUT", NEW RES_V, EAST);
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = arena_strdup(f->a, f->text);
    fixture_must(f, "PUT", "/sim/state", before);
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(f->text, before);
    fixture_must(f, "GET", NEW RES_V, NULL);
    assert_string_equal(arm_text(f, "tags.a"), "b");
    assert_string_equal(arm_text(f, "type"), "Microsoft.Resources/resourceGroups");
    assert_string_equal(arm_text(f, "properties.provisioningState"), "Succeeded");
    fixture_must(f, "GET", GROUPS RES_V, NULL);
    assert_int_equal(arm_len(f, "value"), 2);
    fixture_must(f, "GET", "/sim/calls", NULL);
    assert_non_null(strstr(f->text, "\"ResourceGroups.List\""));
    fixture_stop(f);
}

static void group__with_something_locked__stays(void **state)
{
    (void)state;
    struct fixture *f = arm_start(NULL, NULL);
    arm_must(f, "PUT", NEW RES_V, EAST);
    arm_must(f, "PUT", IN_NEW, PIP_BODY);
    fixture_must(f, "PUT", "/sim/settings/azure",
                 "{\"locks\":[{\"scope\":\"" IN_NEW "\",\"level\":\"CanNotDelete\"}]}");
    arm_expect(f, "a part", fixture_call(f, "DELETE", NEW RES_V, NULL), 409, "ScopeLocked");
    fixture_must(f, "PUT", "/sim/settings/azure",
                 "{\"locks\":[{\"scope\":\"" NEW "\",\"level\":\"ReadOnly\"}]}");
    arm_expect(f, "write", fixture_call(f, "PUT", NEW RES_V, EAST), 409, "ScopeLocked");
    arm_must(f, "GET", IN_NEW, NULL);
    fixture_stop(f);
}

UNIT_MAIN(groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests__each_row__in_turn),
        cmocka_unit_test(group__that_was_made__is_part_of_the_state),
        cmocka_unit_test(group__with_something_locked__stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
