/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: see guard.h.
 *
 * Everything from on_signal() downwards runs in a signal handler of a process whose heap may be
 * broken: no allocation, no stdio, no locks.  The child that counts is made by clone() itself,
 * because fork() runs handlers of libraries. */
#include "controller/base/guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/attr.h"
#include "common/base/str.h"
#include "common/base/task.h"

#define STACK_BYTES  65536 /* of the handler: the thread's own may be what overflowed */
#define LINE_MAX_    1024
#define DEATH_MAX    1024
#define ENV_MAX      1024
#define ROOM_MS      1000 /* a log without a reader does not delay the exit */
#define WAIT_STEPS   500  /* of WAIT_STEP_NS: 5 s for the program that counts */
#define WAIT_STEP_NS 10000000
#define DAY_S        86400

static const struct {
    int number;
    const char *name;
} fatal[] = {{SIGSEGV, "SIGSEGV"},
             {SIGBUS, "SIGBUS"},
             {SIGFPE, "SIGFPE"},
             {SIGILL, "SIGILL"},
             {SIGABRT, "SIGABRT"}};

static struct {
    struct guard_args args;
    bool installed;
    pthread_t main_thread;
    pthread_key_t stacks; /* frees the handler's stack of a thread that ends */
    long utc_offset_s;
    struct sigaction before[ARRAY_LEN(fatal)];
    char *env[ENV_MAX + 2];
    char death[DEATH_MAX]; /* the variable, filled at the end */
} g;
static atomic_flag dying = ATOMIC_FLAG_INIT;
static _Atomic(atomic_bool *) fence_closed;
static _Thread_local struct guard_mark *thread_mark; /* outside of tasks */
static _Thread_local bool has_stack;
static _Thread_local bool is_mine; /* this thread is the one that is dying */

/* Where the innermost call of the running task, or else of this thread, is noted. */
static struct guard_mark **mark_place(void)
{
    void **of_task = task_local();

    return of_task != NULL ? (struct guard_mark **)of_task : &thread_mark;
}

/* ---- a line without stdio -------------------------------------------------------------------- */

struct line {
    char text[LINE_MAX_];
    size_t n;
};

static void put(struct line *l, const char *text)
{
    for (; *text != '\0' && l->n < sizeof(l->text) - 1; text++) {
        l->text[l->n++] = *text;
    }
}

/* Text of others: what would need an escape becomes '?'. */
static void put_value(struct line *l, const char *text)
{
    for (; *text != '\0' && l->n < sizeof(l->text) - 3; text++) {
        unsigned char c = (unsigned char)*text;
        l->text[l->n++] = c < ' ' || c == '"' || c == '\\' || c >= 0x7f ? '?' : *text;
    }
}

static void put_number(struct line *l, int64_t v, int width)
{
    char digits[24];
    int n = 0;

    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0 && n < (int)sizeof(digits));
    while (n < width && n < (int)sizeof(digits)) {
        digits[n++] = '0';
    }
    while (n > 0 && l->n < sizeof(l->text) - 1) {
        l->text[l->n++] = digits[--n];
    }
}

static void put_pair(struct line *l, const char *key, const char *value)
{
    put(l, g.args.json ? ",\"" : " ");
    put(l, key);
    put(l, g.args.json ? "\":\"" : "=\"");
    put_value(l, value);
    put(l, "\"");
}

/* Month and day of the days since 1970 (proleptic Gregorian calendar, years that
 * begin in March). */
static void put_date(struct line *l, int64_t days)
{
    int64_t z = days + 719468;
    int64_t of_era = z % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t march = (5 * of_year + 2) / 153;

    put_number(l, march < 10 ? march + 3 : march - 9, 2);
    put_number(l, of_year - (153 * march + 2) / 5 + 1, 2);
}

/* As common/base/log_line.c begins its lines. */
static void put_head(struct line *l)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t s = now.tv_sec + (g.args.json ? 0 : g.utc_offset_s);
    if (g.args.json) {
        put(l, "{\"ts\":");
        put_number(l, s * 1000 + now.tv_nsec / 1000000, 1);
        put(l, ".");
        put_number(l, now.tv_nsec / 1000 % 1000, 3);
        put(l, ",\"caller\":\"controller/base/guard.c:1\",\"msg\":\"");
        return;
    }
    put(l, "F");
    put_date(l, s / DAY_S);
    put(l, " ");
    put_number(l, s % DAY_S / 3600, 2);
    put(l, ":");
    put_number(l, s % 3600 / 60, 2);
    put(l, ":");
    put_number(l, s % 60, 2);
    put(l, ".");
    put_number(l, now.tv_nsec / 1000, 6);
    put(l, " ");
    for (int64_t least = 1000000; least > getpid() && least > 1; least /= 10) {
        put(l, " "); /* seven columns */
    }
    put_number(l, getpid(), 1);
    put(l, " guard.c:1] \"");
}

/* `cause` "SIGSEGV", "exit(3)". */
static void write_line(const char *cause, bool from_outside)
{
    struct line l = {.n = 0};
    const struct guard_mark *m = *mark_place();

    put_head(&l);
    put(&l, from_outside ? "The process was sent a fatal signal"
            : m != NULL  ? "The provider ends the process"
                         : "The process ends outside of a call into the provider");
    put(&l, "\"");
    if (m != NULL && m->key != NULL) {
        put_pair(&l, "service", m->key);
    }
    put_pair(&l, "provider", str_nonnull(g.args.provider));
    put_pair(&l, "call", m != NULL ? m->function : "");
    put_pair(&l, "cause", cause);
    put(&l, g.args.json ? "}\n" : "\n");
    struct pollfd room = {.fd = g.args.fd, .events = POLLOUT};
    if (poll(&room, 1, ROOM_MS) == 1 && (room.revents & POLLOUT) != 0) {
        (void)!write(g.args.fd, l.text, l.n); /* fits: a pipe with room takes more than a line */
    }
}

/* ---- counting -------------------------------------------------------------------------------- */

static void fill_death(const struct guard_mark *m)
{
    struct line l = {.n = 0};
    char hex[17];

    for (int i = 0; i < 16; i++) {
        hex[i] = "0123456789abcdef"[m->digest >> (60 - 4 * i) & 15];
    }
    hex[16] = '\0';
    put(&l, GUARD_DEATH_ENV "=");
    put(&l, m->function);
    put(&l, " ");
    put(&l, hex);
    put(&l, " ");
    put(&l, m->counted);
    memcpy(g.death, l.text, l.n);
    g.death[l.n] = '\0';
}

/* Runs this program again, which counts, and waits for it: the end of this process may be the end
 * of its container. */
static void count_death(void)
{
    const struct timespec step = {.tv_nsec = WAIT_STEP_NS};
    const struct guard_mark *m = *mark_place();
    sigset_t none;
    int status = 0;

    if (g.args.argv == NULL || m == NULL || m->counted == NULL) {
        return;
    }
    fill_death(m);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execve("/proc/self/exe", g.args.argv, g.env);
        _exit(127);
    }
    for (int i = 0; child > 0 && i < WAIT_STEPS && waitpid(child, &status, WNOHANG) == 0; i++) {
        (void)nanosleep(&step, NULL);
    }
}

/* The other threads continue for a moment, with a heap that may be broken: they may
 * change nothing any more. */
static void close_fence(void)
{
    atomic_bool *closed = atomic_load(&fence_closed);

    if (closed != NULL) {
        atomic_store(closed, true);
    }
}

static void last_words(const char *cause, bool from_outside)
{
    write_line(cause, from_outside);
    close_fence();
    if (!from_outside) {
        count_death();
    }
}

/* ---- the ends -------------------------------------------------------------------------------- */

/* Another thread has the last word, and counts: ending the process now would end that. */
static void wait_for_the_end(void)
{
    for (;;) {
        (void)pause();
    }
}

/* Afterwards the signal is what it was before, and pending: it is delivered when this returns. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool from_outside = info->si_code <= 0 && info->si_pid != getpid();

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(fatal); i++) {
        if (fatal[i].number != number) {
            continue;
        }
        if (!atomic_flag_test_and_set(&dying)) {
            is_mine = true;
            last_words(fatal[i].name, from_outside);
        } else if (!is_mine) {
            wait_for_the_end();
        }
        (void)sigaction(number, &g.before[i], NULL);
    }
    (void)raise(number);
    /* The kernel spares process 1 of a container what would end others: a leader that may change
     * nothing must not stay. */
    if (getpid() == 1) {
        _exit(128 + number);
    }
    errno = saved;
}

/* Runs in the thread that called exit(); only the main thread does that on purpose. */
static void on_end(int status, void *arg)
{
    struct line cause = {.n = 0};

    (void)arg;
    if ((*mark_place() == NULL && pthread_equal(pthread_self(), g.main_thread) != 0) ||
        atomic_flag_test_and_set(&dying)) {
        return;
    }
    is_mine = true;
    put(&cause, "exit(");
    put_number(&cause, status & 0xff, 1);
    put(&cause, ")");
    cause.text[cause.n] = '\0';
    last_words(cause.text, false);
}

/* ---- installing ------------------------------------------------------------------------------ */

static void free_stack(void *stack)
{
    const stack_t none = {.ss_flags = SS_DISABLE};

    (void)sigaltstack(&none, NULL);
    free(stack);
}

/* Once per thread. */
static void give_stack(void)
{
    stack_t stack = {.ss_sp = xmalloc(STACK_BYTES), .ss_size = STACK_BYTES};

    has_stack = true;
    if (sigaltstack(&stack, NULL) != 0 || pthread_setspecific(g.stacks, stack.ss_sp) != 0) {
        free_stack(stack.ss_sp); /* without it, an overflow of the stack has no last line */
    }
}

static void take_environment(void)
{
    size_t n = 0;

    g.env[n++] = g.death;
    for (char **e = environ; e != NULL && *e != NULL && n < ENV_MAX; e++) {
        g.env[n++] = *e;
    }
    g.env[n] = NULL;
}

void guard_install(const struct guard_args *args)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    time_t now = time(NULL);
    struct tm local = {0};

    g.args = *args;
    take_environment();
    /* Functions run in the reverse order: the last one is before those of a plugin and of the
     * libraries that it loaded, before any other destructor has run.  The first one that runs is
     * the only one that does anything. */
    (void)on_exit(on_end, NULL);
    if (g.installed) {
        return;
    }
    g.installed = true;
    g.main_thread = pthread_self();
    g.utc_offset_s = localtime_r(&now, &local) != NULL ? local.tm_gmtoff : 0;
    (void)pthread_key_create(&g.stacks, free_stack); /* there is room for it at the start */
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(fatal); i++) {
        (void)sigaction(fatal[i].number, &action, &g.before[i]); /* cannot fail: valid signals */
    }
}

void guard_set_fence(atomic_bool *closed)
{
    atomic_store(&fence_closed, closed);
}

const char *guard_key(char text[GUARD_KEY_MAX], const struct tt_service *svc)
{
    if (svc == NULL) {
        return NULL;
    }
    (void)snprintf(text, GUARD_KEY_MAX, "%s/%s", str_nonnull(svc->ns), str_nonnull(svc->name));
    return text;
}

void guard_enter(struct guard_mark *m)
{
    if (g.installed && !has_stack) {
        give_stack();
    }
    struct guard_mark **place = mark_place();
    m->outer = *place;
    atomic_signal_fence(memory_order_release);
    *place = m;
}

void guard_leave(struct guard_mark *m)
{
    *mark_place() = m->outer;
    atomic_signal_fence(memory_order_release);
}
