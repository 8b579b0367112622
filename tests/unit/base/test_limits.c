/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c: threads and file descriptors that the system refuses, and gives again. */
#include "tests/unit/base/base_test.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/limits.h"
#include "tests/support/unit.h"

/* pthread_create() says EAGAIN for a stack that no address space holds, also to root, whom a limit of tasks does not bind. */
#define HUGE_STACK ((size_t)1 << 46)

static void default_stack(size_t bytes)
{
    pthread_attr_t attr;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
    assert_int_equal(pthread_setattr_default_np(&attr), 0);
    assert_int_equal(pthread_attr_destroy(&attr), 0);
}

static size_t default_stack_now(void)
{
    pthread_attr_t attr;
    size_t bytes = 0;
    assert_int_equal(pthread_getattr_default_np(&attr), 0);
    assert_int_equal(pthread_attr_getstacksize(&attr, &bytes), 0);
    assert_int_equal(pthread_attr_destroy(&attr), 0);
    return bytes;
}

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
    static start_fn *const starts[] = {thread_start, thread_try};
    size_t before = default_stack_now();
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct err err = ERR_INIT;
        pthread_t thread;
        bool done = false;
        default_stack(HUGE_STACK);
        int rc = starts[i](&thread, say_done, &done, "a test", &err);
        default_stack(before);
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
