/* SPDX-License-Identifier: Apache-2.0 */
/* director.c: the director's thread and its turns (director.h). */
#include "providers/local/director/director_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "common/base/log.h"

#define TURN_MIN_MS 20 /* what is due within it is done in one turn */

struct local_director *local_director_new(const struct local_director_args *args)
{
    struct local_director *d = xcalloc(1, sizeof *d);

    d->args = *args;
    d->a = arena_new();
    mutex_init(&d->lock);
    d->own_texts = args->texts == NULL ? intern_table_new() : NULL;
    d->texts = args->texts == NULL ? d->own_texts : args->texts;
    local_announcements_init(d);
    d->holds = local_holds_new();
    d->drains = local_drains_new();
    local_checks_init(d);
    if (pipe2(d->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        d->wake[0] = d->wake[1] = -1; /* the thread then sees orders at its next turn */
    }
    return d;
}

void local_director_free(struct local_director *d)
{
    if (d == NULL) {
        return;
    }
    if (d->started) {
        mutex_lock(&d->lock);
        d->stop = true;
        mutex_unlock(&d->lock);
        local_director_wake(d);
        (void)pthread_join(d->thread, NULL); /* started, so it can be joined */
    }
    for (int i = 0; i < 2; i++) {
        if (d->wake[i] >= 0) {
            close(d->wake[i]);
        }
    }
    local_announcements_done(d);
    map_free(d->holds);
    map_free(d->drains);
    local_checks_done(d);
    intern_table_free(d->own_texts);
    free(d->paces);
    free(d->answering);
    arena_free(d->links_a);
    arena_free(d->a);
    mutex_done(&d->lock);
    d->args.kernel->ops->free(d->args.kernel);
    free(d);
}

const struct local_kernel *local_director_kernel(const struct local_director *d)
{
    return d == NULL ? NULL : d->args.kernel;
}

void local_director_wake(struct local_director *d)
{
    if (d->wake[1] >= 0) {
        (void)!write(d->wake[1], "", 1); /* a full pipe wakes as well */
    }
}

/* ---- announcements and reports --------------------------------------------------------------- */

void local_director_note(struct local_director *d, const struct local_news *head, const char *fmt,
                         ...)
{
    va_list ap;

    if (d->n_news == d->cap_news) {
        size_t cap = d->cap_news * 2 + 8;
        struct local_news *more = ARENA_ARRAY(d->a, struct local_news, cap);
        if (d->n_news > 0) {
            memcpy(more, d->news, d->n_news * sizeof *more);
        }
        d->news = more;
        d->cap_news = cap;
    }
    struct local_news *news = &d->news[d->n_news++];
    *news = *head;
    news->service = head->service == NULL ? NULL : arena_strdup(d->a, head->service);
    va_start(ap, fmt);
    news->text = fmt == NULL ? NULL : arena_vprintf(d->a, fmt, ap);
    va_end(ap);
}

void local_director_count(const struct local_director *d, const char *counter, const char *first,
                          const char *second, unsigned n)
{
    if (d->args.count != NULL && n > 0) {
        d->args.count(d->args.arg, counter, first, second, n);
    }
}

static void tell(struct local_director *d)
{
    for (size_t i = 0; d->args.tell != NULL && i < d->n_news; i++) {
        d->args.tell(d->args.arg, &d->news[i]);
    }
    d->news = NULL;
    d->n_news = d->cap_news = 0;
    arena_reset(d->a);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t local_director_turn(struct local_director *d)
{
    int64_t now_ms = clock_now_ms(d->args.clock);
    int64_t watch_ms = local_watch_turn(d, now_ms);

    mutex_lock(&d->lock);
    int64_t next_ms = earlier(watch_ms, local_links_turn(d, now_ms));
    next_ms = earlier(next_ms, local_holds_turn(d, now_ms));
    next_ms = earlier(next_ms, local_announcements_turn(d, now_ms));
    next_ms = earlier(next_ms, local_responses_turn(d, now_ms));
    next_ms = earlier(next_ms, local_drains_turn(d, now_ms));
    next_ms = earlier(next_ms, local_checks_turn(d, now_ms));
    mutex_unlock(&d->lock);
    next_ms = earlier(next_ms, local_checks_tell(d, now_ms));
    tell(d);
    return next_ms;
}

static void wait_for_turn(struct local_director *d, int64_t next_ms)
{
    char bytes[64];
    int64_t wait_ms = next_ms - clock_now_ms(d->args.clock);

    local_director_wait(d, wait_ms < TURN_MIN_MS ? TURN_MIN_MS : wait_ms);
    while (d->wake[0] >= 0 && read(d->wake[0], bytes, sizeof bytes) > 0) {
    }
}

static void *run(void *arg)
{
    struct local_director *d = arg;
    bool stop = false;

    while (!stop) {
        wait_for_turn(d, local_director_turn(d));
        mutex_lock(&d->lock);
        stop = d->stop;
        mutex_unlock(&d->lock);
    }
    return NULL;
}

int local_director_start(struct local_director *d, struct err *err)
{
    int rc = thread_start(&d->thread, run, d, "the director", err);

    d->started = rc == ERR_OK;
    return rc;
}
