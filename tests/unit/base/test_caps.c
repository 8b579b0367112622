/* SPDX-License-Identifier: Apache-2.0 */
/* test_caps.c: capabilities that are permitted become effective (common/base/caps.h).  Each case is
 * a process in a user namespace of its own, which has all of them. */
#include "tests/unit/base/base_test.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/caps.h"
#include "tests/support/unit.h"

#define BOTH     ((1U << CAP_NET_ADMIN) | (1U << CAP_NET_RAW))
#define NO_SPACE 77

struct sets {
    uint32_t effective;
    uint32_t permitted;
};

static struct sets of_process(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    (void)syscall(SYS_capget, &header, data);
    return (struct sets){.effective = data[0].effective, .permitted = data[0].permitted};
}

/* Becomes a process with these permitted capabilities, none of them effective; false:
 * not allowed here. */
static bool become(uint32_t permitted)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{.permitted = permitted}};

    return unshare(CLONE_NEWUSER) == 0 && syscall(SYS_capset, &header, data) == 0;
}

/* The effective capabilities after caps_take(), as a child's exit status: 1 admin, 2 raw,
 * 4 any other. */
static int status_with(uint32_t permitted)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (!become(permitted)) {
            _exit(NO_SPACE);
        }
        caps_take();
        struct sets now = of_process();
        _exit((now.effective >> CAP_NET_ADMIN & 1) | (now.effective >> CAP_NET_RAW & 1) << 1 |
              ((now.effective & ~BOTH) != 0 ? 4 : 0) | (now.permitted != permitted ? 8 : 0));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void caps_take__permitted__become_effective_and_no_others(void **state)
{
    static const struct {
        uint32_t permitted;
        int want;
    } rows[] = {{BOTH, 3}, {1U << CAP_NET_ADMIN, 1}, {1U << CAP_NET_RAW, 2}, {0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int got = status_with(rows[i].permitted);
        if (got == NO_SPACE) {
            skip(); /* no user namespaces here */
        }
        assert_int_equal(got, rows[i].want);
    }
}

UNIT_MAIN(caps)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caps_take__permitted__become_effective_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
