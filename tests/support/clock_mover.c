/* SPDX-License-Identifier: Apache-2.0 */
/* clock_mover.c: see clock_mover.h.  Owns one thread for each mover. */
#include "tests/support/clock_mover.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "tests/support/asleep.h"
#include "tests/support/clock_fake.h"

struct clock_mover {
    struct clock *clock;
    pthread_t thread;
    atomic_bool stop;
    int moves; /* the thread's, until it has ended */
};

bool clock_let_pass(struct clock *c, int64_t most_ms)
{
    bool asleep =
        others_sleep(); /* first: the moment that they wait for stays the same afterwards */
    int64_t next_ms = clock_fake_next_ms(c);
    int64_t ahead_ms = next_ms == CLOCK_NEVER ? 0 : next_ms - clock_now_ms(c);

    if (asleep && ahead_ms > 0 && ahead_ms <= most_ms) {
        clock_fake_advance(c, ahead_ms);
        return true;
    }
    (void)poll(NULL, 0, 1);
    return false;
}

static void *run(void *arg)
{
    struct clock_mover *m = arg;

    while (!atomic_load(&m->stop)) {
        m->moves += clock_let_pass(m->clock, CLOCK_NEVER);
    }
    return NULL;
}

struct clock_mover *clock_mover_start(struct clock *c)
{
    struct clock_mover *m = xcalloc(1, sizeof(*m));

    m->clock = c;
    if (pthread_create(&m->thread, NULL, run, m) != 0) {
        abort(); /* the test would wait forever */
    }
    return m;
}

int clock_mover_stop(struct clock_mover *m)
{
    if (m == NULL) {
        return 0;
    }
    atomic_store(&m->stop, true);
    pthread_join(m->thread, NULL);
    int moves = m->moves;
    free(m);
    return moves;
}
