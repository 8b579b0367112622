/* SPDX-License-Identifier: Apache-2.0 */
/* test_guard.c: how a process ends that dies in a provider while its other threads go on.
 *
 * Each case forks a process that installs the guard as the program does, and looks at its last line
 * and its end.  Processes and threads meet by pipes; "stands still" is asked of /proc,
 * again and again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/task.h"
#include "controller/base/guard.h"
#include "tests/support/own_process.h"
#include "tests/support/unit.h"

#define PIPES_ENV "TRIMTAB_TEST_GUARD_PIPES" /* "FROM TO": of the program that counts */
#define LIVED     77                         /* the status of a process that its end did not end */

/* Memory that the parent and the child share.  Nothing is closed on exec: the program that counts
 * uses two of them, too. */
struct scene {
    int log[2];
    int news[2]; /* bytes of the child and of the program that counts */
    int go[2];   /* to the program that counts */
};

static void begin(struct scene *s)
{
    char text[32];

    assert_int_equal(0, pipe(s->log));
    assert_int_equal(0, pipe(s->news));
    assert_int_equal(0, pipe(s->go));
    (void)snprintf(text, sizeof(text), "%d %d", s->go[0], s->news[1]);
    assert_int_equal(0, setenv(PIPES_ENV, text, 1));
}

/* The last line of the child, which has ended; the pipes are closed. */
static void end(struct scene *s, char *line, size_t room)
{
    (void)close(s->log[1]);
    ssize_t n = read(s->log[0], line, room - 1);
    line[n > 0 ? n : 0] = '\0';
    (void)close(s->log[0]);
    for (int i = 0; i < 2; i++) {
        (void)close(s->news[i]);
        (void)close(s->go[i]);
    }
}

static void say(int fd, const void *what, size_t n)
{
    if (write(fd, what, n) != (ssize_t)n) {
        _exit(1);
    }
}

/* False: the other side has ended. */
static bool hear(int fd, void *what, size_t n)
{
    ssize_t got;

    do {
        got = read(fd, what, n);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)n;
}

/* The state of a thread as the kernel has it: 'R', 'S', 'Z'; 0: it is gone. */
static char state_of(pid_t pid, pid_t tid)
{
    char path[64];
    char text[256];

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end == NULL ? 0 : name_end[2];
}

/* Waits until the thread does nothing any more, or has ended. */
static char until_still(pid_t pid, pid_t tid)
{
    char state;

    while ((state = state_of(pid, tid)) == 'R' || state == 'D') {
        (void)sched_yield();
    }
    return state;
}

/* ---- the threads of a child ------------------------------------------------------------------ */

struct caller {
    const struct scene *s;
    const char *key;
    int wait_fd; /* a byte comes from here before it dies; -1: at once */
    int status;  /* exit() with this; -1: SIGABRT */
    pid_t tid;
};

static void *call_and_die(void *arg)
{
    struct caller *c = arg;
    struct guard_mark mark = {
        .function = "ensure_load_balancer", .key = c->key, .counted = c->key, .digest = 7};
    char byte;

    guard_enter(&mark);
    c->tid = (pid_t)syscall(SYS_gettid);
    if (c->wait_fd >= 0 && !hear(c->wait_fd, &byte, 1)) {
        _exit(1);
    }
    say(c->s->news[1], &c->tid, sizeof(c->tid));
    if (c->status >= 0) {
        exit(c->status);
    }
    (void)raise(SIGABRT);
    _exit(LIVED);
}

static void guard(const struct scene *s, char *const *argv)
{
    guard_install(&(struct guard_args){.provider = "acme", .fd = s->log[1], .argv = argv});
}

static pthread_t start(struct caller *c)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, call_and_die, c) != 0) {
        _exit(1);
    }
    return thread;
}

static void wait_for_ever(void)
{
    for (;;) {
        (void)pause();
    }
}

/* ---- two threads die ------------------------------------------------------------------------- */

/* The program that counts: says that it has begun, and ends when it may. */
static int count(void)
{
    int from = -1;
    int to = -1;
    char byte;

    if (sscanf(getenv(PIPES_ENV), "%d %d", &from, &to) != 2) {
        return 1;
    }
    say(to, "b", 1);
    bool may = hear(from, &byte, 1);
    say(to, strstr(getenv(GUARD_DEATH_ENV), " demo/first") != NULL && may ? "c" : "?", 1);
    return 0;
}

/* The second dies while the first one's death is being counted. */
static void two_die(const struct scene *s, int begun)
{
    static char *argv[] = {"test_controller", "guard", NULL};
    struct caller first = {.s = s, .key = "demo/first", .wait_fd = -1, .status = -1};
    struct caller second = {.s = s, .key = "demo/second", .wait_fd = begun, .status = -1};

    guard(s, argv);
    (void)start(&second);
    (void)start(&first);
    wait_for_ever();
}

static void two_threads_die__the_first_is_counted_to_its_end(void **state)
{
    (void)state;
    struct scene s;
    char line[1024];
    char byte = 0;
    pid_t tid = 0;
    int begun[2];
    int status = 0;
    siginfo_t still = {0};

    if (own_is_valgrind()) { /* /proc/self/exe is another program there */
        skip();
    }
    begin(&s);
    assert_int_equal(0, pipe(begun));
    pid_t pid = fork();
    if (pid == 0) {
        two_die(&s, begun[0]);
    }
    assert_true(hear(s.news[0], &tid, sizeof(tid))); /* the first */
    assert_true(hear(s.news[0], &byte, 1));          /* it is being counted */
    assert_int_equal('b', byte);
    say(begun[1], "b", 1);
    assert_true(hear(s.news[0], &tid, sizeof(tid))); /* the second */
    char second = until_still(pid, tid);
    assert_int_equal(0, waitid(P_PID, (id_t)pid, &still, WEXITED | WNOHANG | WNOWAIT));
    say(s.go[1], "g", 1);
    assert_true(hear(s.news[0], &byte, 1));
    assert_int_equal(pid, waitpid(pid, &status, 0));
    end(&s, line, sizeof(line));
    (void)close(begun[0]);
    (void)close(begun[1]);

    assert_int_equal('S', second);
    assert_int_equal(0, still.si_pid); /* the process was there when the second had died */
    assert_int_equal('c', byte);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(line, "service=\"demo/first\" provider=\"acme\""));
    assert_null(strstr(line, "demo/second"));
}

/* ---- tasks of one thread --------------------------------------------------------------------- */

static void call_and_stay(void *arg)
{
    struct guard_mark mark = {.function = "ensure_load_balancer", .key = "demo/stays"};

    (void)arg;
    guard_enter(&mark);
    (void)task_poll(NULL, 0, -1);
    guard_leave(&mark);
}

static void call_and_die_as_task(void *arg)
{
    struct guard_mark mark = {.function = "ensure_load_balancer", .key = "demo/dies"};

    (void)arg;
    guard_enter(&mark);
    (void)task_poll(NULL, 0, 1); /* the other one is in its call now */
    (void)raise(SIGABRT);
    _exit(LIVED);
}

static void one_task_dies(const struct scene *s)
{
    struct task_loop *l = NULL;
    struct err err = ERR_INIT;

    guard(s, NULL);
    if (task_loop_new(&l, &err) != ERR_OK ||
        task_start(l, call_and_die_as_task, NULL, &err) != ERR_OK ||
        task_start(l, call_and_stay, NULL, &err) != ERR_OK) {
        _exit(1);
    }
    task_loop_run(l);
    _exit(LIVED);
}

static void two_tasks_in_calls__one_dies__its_call_is_named(void **state)
{
    (void)state;
    struct scene s;
    char line[1024];
    int status = 0;

    begin(&s);
    pid_t pid = fork();
    if (pid == 0) {
        one_task_dies(&s);
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    end(&s, line, sizeof(line));
    assert_non_null(strstr(line, "service=\"demo/dies\""));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---- exit() beside calls --------------------------------------------------------------------- */

static struct caller beside;
static int let_beside_die[2];

/* A function that a plugin leaves for the end: afterwards its code is not to be called any more,
 * and a thread that is in it dies. */
static void plugins_end(int status, void *arg)
{
    (void)arg;
    say(let_beside_die[1], "b", 1);
    pid_t tid = 0;
    if (!hear(beside.s->news[0], &tid, sizeof(tid))) { /* the one that exits */
        _exit(1);
    }
    if (!hear(beside.s->news[0], &tid, sizeof(tid))) { /* the one beside it */
        _exit(1);
    }
    (void)until_still(getpid(), tid);
    _exit(status); /* sanitizers look for leaks otherwise */
}

static void exit_beside(const struct scene *s)
{
    struct caller leaves = {.s = s, .key = "demo/leaves", .wait_fd = -1, .status = 3};

    beside = (struct caller){.s = s, .key = "demo/beside", .status = -1};
    if (pipe(let_beside_die) != 0) {
        _exit(1);
    }
    beside.wait_fd = let_beside_die[0];
    guard(s, NULL);                   /* as the program begins */
    (void)on_exit(plugins_end, NULL); /* a plugin is loaded */
    guard(s, NULL);                   /* and named */
    (void)start(&beside);
    (void)start(&leaves);
    wait_for_ever();
}

static void exit_in_a_call__a_thread_beside_it_dies__who_left_is_named_and_its_status_stays(
    void **state)
{
    (void)state;
    struct scene s;
    char line[1024];
    int status = 0;

    begin(&s);
    pid_t pid = fork();
    if (pid == 0) {
        exit_beside(&s);
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    end(&s, line, sizeof(line));
    assert_non_null(strstr(line, "service=\"demo/leaves\""));
    assert_non_null(strstr(line, "cause=\"exit(3)\""));
    assert_null(strstr(line, "demo/beside"));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* ---- process 1 ------------------------------------------------------------------------------- */

/* In a process namespace of its own, as in a container, whose first process the kernel spares. */
static int die_as_process_1(const struct scene *s)
{
    int status = 0;
    struct caller c = {.s = s, .key = "demo/web", .wait_fd = -1, .status = -1};

    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
        return LIVED + 1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        guard(s, NULL);
        (void)call_and_die(&c);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return LIVED + 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void process_1__fatal_signal__ends(void **state)
{
    (void)state;
    struct scene s;
    char line[1024];
    int status = 0;

    begin(&s);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(die_as_process_1(&s));
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    end(&s, line, sizeof(line));
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == LIVED + 1) { /* the system does not permit namespaces */
        skip();
    }
    assert_int_equal(128 + SIGABRT, WEXITSTATUS(status));
    assert_non_null(strstr(line, "service=\"demo/web\""));
    assert_non_null(strstr(line, "cause=\"SIGABRT\""));
}

UNIT_MAIN(guard)
{
    if (getenv(GUARD_DEATH_ENV) != NULL) {
        return count();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_die__the_first_is_counted_to_its_end),
        cmocka_unit_test(
            exit_in_a_call__a_thread_beside_it_dies__who_left_is_named_and_its_status_stays),
        cmocka_unit_test(two_tasks_in_calls__one_dies__its_call_is_named),
        cmocka_unit_test(process_1__fatal_signal__ends),
    };
    return cmocka_run_group_tests_name("controller-guard", tests, NULL, NULL);
}
