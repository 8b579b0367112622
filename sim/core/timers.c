/* SPDX-License-Identifier: Apache-2.0 */
/* timers.c: "run this after a number of milliseconds", by the simulator's clock.
 *
 * Everything in the simulator that takes time is a timer: operations, waits, delayed and hanging
 * calls, watch bookmarks.  Timers are kept in one list by due time behind a single libevent event.
 * With a fake clock the event cannot wait by itself: the thread that advances the clock wakes the
 * loop through an eventfd.  Thread rule: all in the loop's thread, but wake_up(), which is called
 * from the clock's. */
#include "sim/core/frame.h"

#include <assert.h>
#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct sim_timer {
    struct sim_timers *owner;
    int64_t due_ms;
    uint64_t seq; /* order of creation: what was added by a timer waits for the next round */
    void (*fn)(void *arg);
    void *arg;
    struct sim_timer *next;
};

struct sim_timers {
    struct sim *sim;
    struct event *alarm;
    struct sim_timer *first; /* by due_ms, then seq */
    uint64_t next_seq;
    /* a fake clock's part; fd -1 with the real one */
    int wake_fd;
    struct event *wake;
    int subscription;
};

static void on_alarm(int fd, short what, void *arg);
static void on_wake(int fd, short what, void *arg);
static void wake_up(void *arg);
static void arm(struct sim_timers *t);

struct sim_timers *sim_timers_new(struct sim *s)
{
    struct sim_timers *t = xcalloc(1, sizeof(*t));
    t->sim = s;
    t->wake_fd = -1;
    t->alarm = event_new(s->base, -1, 0, on_alarm, t);
    if (s->clock != clock_real()) {
        t->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        assert(t->wake_fd >= 0);
        t->wake = event_new(s->base, t->wake_fd, EV_READ | EV_PERSIST, on_wake, t);
        event_add(t->wake, NULL);
        t->subscription = clock_subscribe(s->clock, wake_up, t);
    }
    return t;
}

void sim_timers_free(struct sim_timers *t)
{
    if (!t) {
        return;
    }
    if (t->wake_fd >= 0) {
        clock_unsubscribe(t->sim->clock, t->subscription);
        event_free(t->wake);
        close(t->wake_fd);
    }
    event_free(t->alarm);
    while (t->first) {
        struct sim_timer *timer = t->first;
        t->first = timer->next;
        free(timer);
    }
    free(t);
}

struct sim_timer *sim_after(struct sim *s, int64_t ms, void (*fn)(void *arg), void *arg)
{
    struct sim_timers *t = s->timers;
    struct sim_timer *timer = xcalloc(1, sizeof(*timer));
    timer->owner = t;
    timer->due_ms = clock_now_ms(s->clock) + (ms > 0 ? ms : 0);
    timer->seq = t->next_seq++;
    timer->fn = fn;
    timer->arg = arg;
    struct sim_timer **at = &t->first;
    while (*at && (*at)->due_ms <= timer->due_ms) {
        at = &(*at)->next;
    }
    timer->next = *at;
    *at = timer;
    arm(t);
    return timer;
}

void sim_timer_cancel(struct sim_timer *timer)
{
    if (!timer) {
        return;
    }
    for (struct sim_timer **at = &timer->owner->first; *at; at = &(*at)->next) {
        if (*at == timer) {
            *at = timer->next;
            free(timer);
            return;
        }
    }
}

/* The first timer that is due and older than `limit`, taken out of the list; NULL: none. */
static struct sim_timer *take_due(struct sim_timers *t, int64_t now_ms, uint64_t limit)
{
    for (struct sim_timer **at = &t->first; *at && (*at)->due_ms <= now_ms; at = &(*at)->next) {
        if ((*at)->seq < limit) {
            struct sim_timer *timer = *at;
            *at = timer->next;
            return timer;
        }
    }
    return NULL;
}

static void on_alarm(int fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct sim_timers *t = arg;
    uint64_t limit = t->next_seq;
    int64_t now_ms = clock_now_ms(t->sim->clock);
    for (struct sim_timer *timer; (timer = take_due(t, now_ms, limit));) {
        void (*fn)(void *) = timer->fn;
        void *fn_arg = timer->arg;
        free(timer);
        fn(fn_arg);
    }
    arm(t);
}

static void on_wake(int fd, short what, void *arg)
{
    uint64_t n;
    /* The count does not matter, and an empty eventfd only means that another round took it. */
    (void)!read(fd, &n, sizeof(n));
    on_alarm(fd, what, arg);
}

static void wake_up(void *arg)
{
    struct sim_timers *t = arg;
    const uint64_t one = 1;
    /* It fails only when the counter is full, and then the loop is being woken anyway. */
    (void)!write(t->wake_fd, &one, sizeof(one));
}

static void arm(struct sim_timers *t)
{
    if (!t->first) {
        event_del(t->alarm);
        if (t->wake_fd >= 0) {
            clock_announce(t->sim->clock, t->subscription, 0);
        }
        return;
    }
    if (t->wake_fd >= 0) {
        /* First: the clock wakes a subscriber for the moment that it has announced, and may
         * move at any time. */
        clock_announce(t->sim->clock, t->subscription, t->first->due_ms);
    }
    int64_t wait_ms = t->first->due_ms - clock_now_ms(t->sim->clock);
    if (t->wake_fd >= 0 && wait_ms > 0) {
        return;
    }
    wait_ms = wait_ms > 0 ? wait_ms : 0;
    struct timeval tv = {.tv_sec = wait_ms / 1000, .tv_usec = (wait_ms % 1000) * 1000};
    event_add(t->alarm, &tv);
}
