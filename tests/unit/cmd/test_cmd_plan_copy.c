/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmd_plan_copy.c: a copied plan stands by itself, whatever size its maker's structs have. */
#include "controller/cmd/cmd_plan_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

static void cmd_plan_copy__maker_frees_its_plan__copy_stays(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct arena *theirs = arena_new();
    const char *because[] = {arena_strdup(theirs, "because")};
    const char *owners[] = {arena_strdup(theirs, "demo/web")};
    struct tt_field field = {arena_strdup(theirs, "path"), arena_strdup(theirs, "old"), NULL};
    struct tt_plan_service svc = {.size = sizeof svc,
                                  .key = arena_strdup(theirs, "demo/web"),
                                  .kind = arena_strdup(theirs, "external"),
                                  .because = because,
                                  .n_because = 1};
    struct tt_operation op = {.size = sizeof op,
                              .n = 1,
                              .verb = TT_OP_CREATE,
                              .kind = arena_strdup(theirs, "address"),
                              .name = arena_strdup(theirs, "a1"),
                              .why = arena_strdup(theirs, "why"),
                              .owners = owners,
                              .n_owners = 1,
                              .fields = &field,
                              .n_fields = 1};
    const struct tt_plan_service *services[] = {&svc};
    const struct tt_operation *operations[] = {&op};
    const struct tt_plan plan = {.size = sizeof plan,
                                 .services = services,
                                 .n_services = 1,
                                 .operations = operations,
                                 .n_operations = 1,
                                 .waves = 1,
                                 .calls = 2};
    const struct cmd_note notes[] = {{"demo/web", "a note"}, {"demo/other", "not this one's"}};

    const struct tt_plan *copy = cmd_plan_copy(a, &plan, notes, ARRAY_LEN(notes));
    arena_free(theirs);
    services[0] = NULL;
    operations[0] = NULL;

    assert_string_equal("demo/web", copy->services[0]->key);
    assert_int_equal(2, copy->services[0]->n_because);
    assert_string_equal("because", copy->services[0]->because[0]);
    assert_string_equal("a note", copy->services[0]->because[1]);
    assert_string_equal("a1", copy->operations[0]->name);
    assert_string_equal("demo/web", copy->operations[0]->owners[0]);
    assert_string_equal("old", copy->operations[0]->fields[0].old_text);
    assert_null(copy->operations[0]->fields[0].new_text);
    assert_int_equal(2, copy->calls);
}

/* A plugin of an older ABI: its structs end earlier. */
static void cmd_plan_copy__older_struct__the_rest_is_zero(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct tt_operation op = {
        .size = offsetof(struct tt_operation, calls), .kind = "address", .name = "a1", .calls = 99};
    const struct tt_operation *operations[] = {&op};
    const struct tt_plan plan = {.size = sizeof plan, .operations = operations, .n_operations = 1};

    const struct tt_plan *copy = cmd_plan_copy(a, &plan, NULL, 0);

    assert_int_equal(sizeof op, copy->operations[0]->size);
    assert_string_equal("a1", copy->operations[0]->name);
    assert_int_equal(0, copy->operations[0]->calls);
    assert_null(copy->operations[0]->why);
}

UNIT_MAIN(cmd_plan_copy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmd_plan_copy__maker_frees_its_plan__copy_stays),
        cmocka_unit_test(cmd_plan_copy__older_struct__the_rest_is_zero),
    };
    return cmocka_run_group_tests_name("cmd-plan-copy", tests, NULL, NULL);
}
