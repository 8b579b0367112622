/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c: threads and file descriptors that the system refuses, and gives again. */
#include "tests/unit/base/base_test.h"

#include <errno.h>
#include <sys/resource.h>

#include "common/base/limits.h"
#include "tests/support/no_threads.h"
#include "tests/support/own_process.h"
#include "tests/support/unit.h"

static void *say_done(void *arg)
{
    *(bool *)arg = true;
    return NULL;
}

typedef int start_fn(pthread_t *ret, void *(*run)(void *arg), void *arg, const char *purpose,
                     struct err *err);

static void threads__refused__sentence_then_given(void **state)
{
    (void)state;
    if (own_is_valgrind()) {
        print_message("# left out under valgrind\n");
        return;
    }
    static start_fn *const starts[] = {thread_start, thread_try};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct err err = ERR_INIT;
        pthread_t thread;
        bool done = false;
        no_threads_begin();
        int rc = starts[i](&thread, say_done, &done, "a test", &err);
        no_threads_end();
        assert_int_equal(rc, ERR_TRANSIENT);
        assert_string_equal(err.message,
                            "no thread for a test can be started: Resource temporarily "
                            "unavailable; raise the limit of tasks (TasksMax= in a unit, pids.max "
                            "of a container, ulimit -u)");
        assert_int_equal(starts[i](&thread, say_done, &done, "a test", NULL), ERR_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(done);
    }
}

static void descriptors__none_is_free__known_and_errno_kept(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    errno = EMFILE;
    assert_false(limits_no_descriptor());
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    errno = EINVAL;
    bool is_none = limits_no_descriptor();
    int kept = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(is_none);
    assert_int_equal(kept, EINVAL);
    assert_false(limits_no_descriptor());
}

UNIT_MAIN(limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads__refused__sentence_then_given),
        cmocka_unit_test(descriptors__none_is_free__known_and_errno_kept),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
