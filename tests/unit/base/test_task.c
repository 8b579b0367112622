/* SPDX-License-Identifier: Apache-2.0 */
/* test_task.c: several tasks on one thread, what they wait for, and their stacks. */
#include "tests/unit/base/base_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/hold.h"
#include "common/base/run.h"
#include "common/base/task.h"
#include "tests/support/clock_fake.h"
#include "tests/support/own_process.h"
#include "tests/support/unit.h"

#define FAR_MS 600000 /* bounds a hang */

/* Shared state of a test's tasks. */
struct shared {
    struct task_loop *loop;
    struct mutex lock;
    struct cond cond;
    struct clock *clock;
    struct hold *hold;
    struct cancel *cancel;
    int pipe[2];
    pthread_t thread;
    char log[64]; /* one letter for each thing that happened */
    char fifo[64];
    int turns;
    int waiting;
};

static struct shared *shared_new(void)
{
    struct shared *s = xcalloc(1, sizeof *s);
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, task_loop_new(&s->loop, &err));
    mutex_init(&s->lock);
    cond_init(&s->cond);
    s->clock = clock_real();
    s->thread = pthread_self();
    assert_int_equal(0, pipe(s->pipe));
    return s;
}

static void shared_free(struct shared *s)
{
    task_loop_free(s->loop);
    cond_done(&s->cond);
    mutex_done(&s->lock);
    close(s->pipe[0]);
    close(s->pipe[1]);
    free(s);
}

static void add(struct shared *s, void (*fn)(void *arg))
{
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, task_start(s->loop, fn, s, &err));
}

static void note(struct shared *s, char what)
{
    size_t n = strlen(s->log);
    assert_true(n < sizeof s->log - 1);
    s->log[n] = what;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void say_twice(void *arg)
{
    struct shared *s = arg;
    assert_non_null(task_current());
    assert_true(pthread_equal(s->thread, pthread_self()));
    note(s, 'a');
    (void)task_poll(NULL, 0, 1);
    note(s, 'b');
}

static void task_loop_run__two_that_pause__take_turns_on_this_thread(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    add(s, say_twice);
    add(s, say_twice);
    assert_null(task_current());
    task_loop_run(s->loop);
    assert_null(task_current());
    assert_string_equal("aabb", s->log);
    shared_free(s);
}

static void start_another(void *arg)
{
    struct shared *s = arg;
    note(s, '1');
    add(s, say_twice);
}

static void task_start__from_a_task__runs_before_the_loop_ends(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    add(s, start_another);
    task_loop_run(s->loop);
    assert_string_equal("1ab", s->log);
    shared_free(s);
}

static void keep_own(void *arg)
{
    struct shared *s = arg;
    int own = 0;
    assert_null(*task_local());
    *task_local() = &own;
    (void)task_poll(NULL, 0, 1);
    assert_ptr_equal(&own, *task_local());
    s->turns++;
}

static void task_local__two_tasks__each_has_its_own(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    assert_null(task_local());
    add(s, keep_own);
    add(s, keep_own);
    task_loop_run(s->loop);
    assert_int_equal(2, s->turns);
    shared_free(s);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static void wait_for_turn(void *arg)
{
    struct shared *s = arg;
    mutex_lock(&s->lock);
    s->waiting++;
    while (s->turns == 0) {
        clock_wait(s->clock, &s->cond, &s->lock, CLOCK_NEVER);
    }
    s->turns--;
    note(s, 'w');
    mutex_unlock(&s->lock);
}

static void give_one(void *arg)
{
    struct shared *s = arg;
    mutex_lock(&s->lock);
    assert_int_equal(3, s->waiting);
    s->turns = 1;
    cond_signal(&s->cond);
    mutex_unlock(&s->lock);
    (void)task_poll(NULL, 0, 1);
    assert_string_equal("w", s->log); /* one of three */
    mutex_lock(&s->lock);
    s->turns = 2;
    cond_broadcast(&s->cond);
    mutex_unlock(&s->lock);
}

static void cond_signal__three_tasks_wait__wakes_one(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    add(s, wait_for_turn);
    add(s, wait_for_turn);
    add(s, wait_for_turn);
    add(s, give_one);
    task_loop_run(s->loop);
    assert_string_equal("www", s->log);
    shared_free(s);
}

static void *give_from_a_thread(void *arg)
{
    struct shared *s = arg;
    for (int given = 0; given < 200;) {
        mutex_lock(&s->lock);
        if (s->turns == 0) {
            s->turns = 1;
            given++;
            cond_signal(&s->cond);
        }
        mutex_unlock(&s->lock);
    }
    return NULL;
}

static void take_a_hundred(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < 100; i++) {
        mutex_lock(&s->lock);
        while (s->turns == 0) {
            clock_wait(s->clock, &s->cond, &s->lock, CLOCK_NEVER);
        }
        s->turns--;
        s->waiting++;
        mutex_unlock(&s->lock);
    }
}

static void cond_signal__from_another_thread__is_never_lost(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    pthread_t giver;
    add(s, take_a_hundred);
    add(s, take_a_hundred);
    assert_int_equal(0, pthread_create(&giver, NULL, give_from_a_thread, s));
    task_loop_run(s->loop);
    pthread_join(giver, NULL);
    assert_int_equal(200, s->waiting);
    shared_free(s);
}

static void wait_until_late(void *arg)
{
    struct shared *s = arg;
    int64_t until_ms = clock_now_ms(s->clock) + 5;
    mutex_lock(&s->lock);
    while (clock_now_ms(s->clock) < until_ms) {
        clock_wait(s->clock, &s->cond, &s->lock, until_ms);
    }
    mutex_unlock(&s->lock);
    note(s, 'l');
}

static void clock_wait__moment_comes__task_goes_on(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    add(s, wait_until_late);
    add(s, wait_until_late);
    task_loop_run(s->loop);
    assert_string_equal("ll", s->log);
    shared_free(s);
}

static void wait_for_noon(void *arg)
{
    struct shared *s = arg;
    mutex_lock(&s->lock);
    s->waiting++;
    while (clock_now_ms(s->clock) < 1000) {
        clock_wait(s->clock, &s->cond, &s->lock, 1000);
    }
    mutex_unlock(&s->lock);
    note(s, 'n');
}

static void move_to_noon(void *arg)
{
    struct shared *s = arg;
    assert_int_equal(2, clock_fake_waiting(s->clock));
    clock_fake_advance(s->clock, 1000);
}

static void clock_wait__fake_clock_moved_by_a_task__others_go_on(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    s->clock = clock_fake_new(0, 0);
    add(s, wait_for_noon);
    add(s, wait_for_noon);
    add(s, move_to_noon);
    task_loop_run(s->loop);
    assert_string_equal("nn", s->log);
    clock_fake_free(s->clock);
    shared_free(s);
}

/* ---- longer locks ---------------------------------------------------------------------------- */

static void hold_alone(void *arg)
{
    struct shared *s = arg;
    assert_true(hold_change(s->hold, HOLD_NOT, HOLD_ALONE, NULL));
    note(s, '(');
    (void)task_poll(NULL, 0, 1);
    note(s, ')');
    (void)hold_change(s->hold, HOLD_ALONE, HOLD_NOT, NULL);
}

static void hold__two_tasks_of_one_thread__one_after_the_other(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    s->hold = hold_new();
    add(s, hold_alone);
    add(s, hold_alone);
    add(s, hold_alone);
    task_loop_run(s->loop);
    assert_string_equal("()()()", s->log);
    hold_free(s->hold);
    shared_free(s);
}

static void hold_in_vain(void *arg)
{
    struct shared *s = arg;
    assert_false(hold_change(s->hold, HOLD_NOT, HOLD_ALONE, s->cancel));
    note(s, 'x');
}

static void fire(void *arg)
{
    struct shared *s = arg;
    cancel_fire(s->cancel);
}

static void hold__cancelled_while_a_task_waits__ends_the_wait(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    s->hold = hold_new();
    s->cancel = cancel_new(NULL);
    assert_true(hold_change(s->hold, HOLD_NOT, HOLD_ALONE, NULL));
    add(s, hold_in_vain);
    add(s, fire);
    task_loop_run(s->loop);
    assert_string_equal("x", s->log);
    (void)hold_change(s->hold, HOLD_ALONE, HOLD_NOT, NULL);
    cancel_free(s->cancel);
    hold_free(s->hold);
    shared_free(s);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void read_byte(void *arg)
{
    struct shared *s = arg;
    struct pollfd fd = {.fd = s->pipe[0], .events = POLLIN};
    while (task_poll(&fd, 1, FAR_MS) == 0) {
    }
    assert_int_equal(POLLIN, fd.revents);
    char byte;
    assert_int_equal(1, read(s->pipe[0], &byte, 1));
    note(s, byte);
}

static void write_byte(void *arg)
{
    struct shared *s = arg;
    note(s, 'w');
    assert_int_equal(1, write(s->pipe[1], "r", 1));
}

static void task_poll__bytes_come_from_another_task__goes_on(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    add(s, read_byte);
    add(s, write_byte);
    task_loop_run(s->loop);
    assert_string_equal("wr", s->log);
    shared_free(s);
}

static void task_poll__outside_of_tasks__is_poll(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    struct pollfd fd = {.fd = s->pipe[0], .events = POLLIN};
    assert_int_equal(0, task_poll(&fd, 1, 0));
    write_byte(s);
    assert_int_equal(1, task_poll(&fd, 1, FAR_MS));
    shared_free(s);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void run_a_reader(void *arg)
{
    struct shared *s = arg;
    struct arena *a = arena_new();
    const char *const argv[] = {"/bin/cat", s->fifo, NULL};
    const char *const envp[] = {NULL};
    const struct run_args args = {
        .argv = argv, .envp = envp, .timeout_ms = FAR_MS, .out_max = 100, .err_max = 100};
    struct run_result result;
    struct err err = ERR_INIT;
    assert_int_equal(ERR_OK, run_program(a, &args, &result, &err));
    assert_string_equal("bytes", result.out);
    note(s, 'r');
    arena_free(a);
}

static void write_to_the_reader(void *arg)
{
    struct shared *s = arg;
    int fd = -1;
    while ((fd = open(s->fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
        (void)task_poll(NULL, 0, 1); /* it does not read yet */
    }
    note(s, 'w');
    assert_int_equal(5, write(fd, "bytes", 5));
    (void)close(fd);
}

static void run_program__in_a_task__others_run_meanwhile(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    char folder[] = "/tmp/test-task-XXXXXX";
    assert_non_null(mkdtemp(folder));
    (void)snprintf(s->fifo, sizeof s->fifo, "%s/fifo", folder);
    assert_int_equal(0, mkfifo(s->fifo, 0600));
    add(s, run_a_reader);
    add(s, write_to_the_reader);
    task_loop_run(s->loop);
    assert_string_equal("wr", s->log);
    (void)unlink(s->fifo);
    (void)rmdir(folder);
    shared_free(s);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* AddressSanitizer would move its locals elsewhere. */
__attribute__((no_sanitize_address)) static size_t go_deep(int levels)
{
    volatile char page[4096];
    memset((char *)page, levels, sizeof page);
    return levels == 0 ? 0 : go_deep(levels - 1) + (size_t)(page[7] == (char)levels);
}

static void use_a_megabyte(void *arg)
{
    struct shared *s = arg;
    long before_kib = own_mapping_kib(__builtin_frame_address(0));
    assert_in_range(before_kib, 4, 256);
    assert_int_equal(200, go_deep(200));
    assert_in_range(own_mapping_kib(__builtin_frame_address(0)), 200 * 4, TASK_STACK_BYTES / 1024);
    s->turns++;
}

static void task__deep_call__uses_pages_as_deep_as_it_goes(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    add(s, use_a_megabyte);
    task_loop_run(s->loop);
    assert_int_equal(1, s->turns);
    shared_free(s);
}

static void pause_deep(void *arg)
{
    struct shared *s = arg;
    char text[2048];
    int me = s->waiting++;
    for (int i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof text, "task %d turn %d", me, i);
        (void)task_poll(NULL, 0, 1);
        char want[64];
        (void)snprintf(want, sizeof want, "task %d turn %d", me, i);
        assert_string_equal(want, text);
    }
    s->turns++;
}

static void task_start__hundred_tasks_of_many_turns__each_keeps_its_locals(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    for (int i = 0; i < 100; i++) {
        add(s, pause_deep);
    }
    task_loop_run(s->loop);
    assert_int_equal(100, s->turns);
    shared_free(s);
}

static void lock_twice(void *arg)
{
    struct shared *s = arg;
    assert_int_equal(0, task_mutexes());
    mutex_lock(&s->lock);
    assert_int_equal(1, task_mutexes());
    mutex_unlock(&s->lock);
    assert_int_equal(0, task_mutexes());
}

static void task_mutexes__in_a_task__counts(void **state)
{
    (void)state;
    struct shared *s = shared_new();
    add(s, lock_twice);
    task_loop_run(s->loop);
    shared_free(s);
}

static void block_with_a_mutex(void *arg)
{
    struct shared *s = arg;
    mutex_lock(&s->lock);
    (void)task_poll(NULL, 0, 1);
    mutex_unlock(&s->lock);
}

/* Another task of the thread that wants it would wait for ever, so it is found at the first one. */
static void task_poll__mutex_is_held__process_dies(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        struct shared *s = shared_new();
        add(s, block_with_a_mutex);
        task_loop_run(s->loop);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(SIGABRT, WTERMSIG(status));
}

static void overflow(void *arg)
{
    struct shared *s = arg;
    s->turns += (int)go_deep(1 << 20);
}

static void task__stack_overflows__process_dies_at_the_guard(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)signal(SIGSEGV, SIG_DFL);
        (void)close(STDERR_FILENO);
        struct shared *s = shared_new();
        add(s, overflow);
        task_loop_run(s->loop);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(SIGSEGV, WTERMSIG(status));
}

UNIT_MAIN(task)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_loop_run__two_that_pause__take_turns_on_this_thread),
        cmocka_unit_test(task_start__from_a_task__runs_before_the_loop_ends),
        cmocka_unit_test(task_local__two_tasks__each_has_its_own),
        cmocka_unit_test(cond_signal__three_tasks_wait__wakes_one),
        cmocka_unit_test(cond_signal__from_another_thread__is_never_lost),
        cmocka_unit_test(clock_wait__moment_comes__task_goes_on),
        cmocka_unit_test(clock_wait__fake_clock_moved_by_a_task__others_go_on),
        cmocka_unit_test(hold__two_tasks_of_one_thread__one_after_the_other),
        cmocka_unit_test(hold__cancelled_while_a_task_waits__ends_the_wait),
        cmocka_unit_test(task_poll__bytes_come_from_another_task__goes_on),
        cmocka_unit_test(task_poll__outside_of_tasks__is_poll),
        cmocka_unit_test(run_program__in_a_task__others_run_meanwhile),
        cmocka_unit_test(task__deep_call__uses_pages_as_deep_as_it_goes),
        cmocka_unit_test(task_start__hundred_tasks_of_many_turns__each_keeps_its_locals),
        cmocka_unit_test(task_mutexes__in_a_task__counts),
        cmocka_unit_test(task_poll__mutex_is_held__process_dies),
        cmocka_unit_test(task__stack_overflows__process_dies_at_the_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
