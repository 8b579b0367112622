/* SPDX-License-Identifier: Apache-2.0 */
/* test_settle.c: the wait for packets under way, and what is said where the call is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/local/kernel/real.h"
#include "tests/support/unit.h"

/* A child says by its exit status what it got: such a filter stays. */
static int wait_in_child(bool refuse)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = ARRAY_LEN(code), .filter = code};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int code_of = 0;
        struct local_settler *settler = local_settler_new();
        struct err err = ERR_INIT;
        if (refuse && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)) {
            _exit(99);
        }
        for (int i = 0; i < 3; i++) { /* again: the same answer */
            err = (struct err)ERR_INIT;
            code_of = local_settle(settler, &err);
        }
        local_settler_free(settler);
        bool said = strstr(err.message, "(membarrier: Operation not permitted)") != NULL;
        _exit(code_of == ERR_INVALID && !said ? 98 : code_of);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void refused(void **state)
{
    (void)state;
    assert_int_equal(wait_in_child(true), ERR_INVALID);
}

/* By the grace period of this machine: in time, or not. */
static void waited(void **state)
{
    (void)state;
    int rc = wait_in_child(false);
    assert_true(rc == ERR_OK || rc == ERR_TRANSIENT);
}

UNIT_MAIN(settle)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused), cmocka_unit_test(waited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
