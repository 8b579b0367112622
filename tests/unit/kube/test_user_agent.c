/* SPDX-License-Identifier: Apache-2.0 */
/* test_user_agent.c: vectors 187 and 188 of controller.md §6.12, and what ours look like. */
#include "controller/kube/client/user_agent.h"
#include "tests/unit/kube/kube_test.h"

#include <string.h>

#include "common/base/str.h"
#include "tests/support/unit.h"

static void user_agent__v188_built__as_upstream(void **state)
{
    assert_string_equal(
        user_agent_build(*state, "lynx", "nicest", "beos", "itanium", "baaaaaaaaad"),
        "lynx/nicest (beos/itanium) kubernetes/baaaaaaaaad");
}

static void user_agent_make__clients__told_apart_at_the_end(void **state)
{
    static const char *const names[] = {USER_AGENT_SERVICES, USER_AGENT_LEASES, USER_AGENT_WATCHES,
                                        USER_AGENT_MAIN};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[USER_AGENT_MAX];
        user_agent_make(names[i], text);
        assert_true(str_has_prefix(text, "cloud-controller-manager/v"));
        assert_non_null(strstr(text, " (linux/"));
        assert_non_null(strstr(text, ") kubernetes/trimtab-"));
        assert_true(str_has_suffix(text, arena_printf(*state, "/%s", names[i])));
    }
}

UNIT_MAIN(user_agent)
{
    const struct CMUnitTest tests[] = {
        KUBE_TEST(user_agent__v188_built__as_upstream),
        KUBE_TEST(user_agent_make__clients__told_apart_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
