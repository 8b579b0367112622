/* SPDX-License-Identifier: Apache-2.0 */
/* log_writer.c: see log_writer.h.
 *
 * The thread takes all that waits at once and writes it without the lock.  `lost` counts what came
 * behind a full buffer, so its line belongs behind what was taken together with the count. */
#include "common/base/log_writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/limits.h"

#define LOOK_MS 20 /* between looks at whether a full descriptor has room again */

/* The descriptor may be non-blocking by another program's choice; the thread waits for it
 * anyway. */
static bool wait_for_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int rc;
    do {
        rc = poll(&p, 1, -1);
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

static void write_whole(int fd, const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, line, n);
        if (done > 0) {
            line += done;
            n -= (size_t)done;
        } else if (done == 0 || (errno != EINTR && !(errno == EAGAIN && wait_for_room(fd)))) {
            return;
        }
    }
}

/* The first line, and those behind it that fit into PIPE_BUF bytes with it. */
static size_t lines_at_once(const char *lines, size_t n)
{
    const char *first = memchr(lines, '\n', n);

    if (n <= PIPE_BUF || first == NULL) {
        return n;
    }
    const char *last = memrchr(lines, '\n', PIPE_BUF);
    return (size_t)((last != NULL ? last : first) - lines) + 1;
}

void log_writer_write(int fd, const char *lines, size_t n)
{
    while (n > 0) {
        size_t now = lines_at_once(lines, n);
        write_whole(fd, lines, now);
        lines += now;
        n -= now;
    }
}

static bool hurries(const struct log_writer *w) _requires_(w->lock)
{
    return w->ending || w->flushing > 0 || w->waiting.len >= LOG_WRITER_ENOUGH || w->lost > 0;
}

/* Waits for a first line, then for those that follow it at once. */
static void wait_for_lines(struct log_writer *w) _requires_(w->lock)
{
    w->asleep = true;
    while (w->waiting.len == 0 && w->lost == 0 && !w->ending) {
        clock_wait(clock_real(), &w->changed, &w->lock, CLOCK_NEVER);
    }
    w->asleep = false;
    int64_t now_ms = clock_now_ms(clock_real());
    int64_t until_ms = now_ms + LOG_WRITER_GATHER_MS;
    while (!hurries(w) && now_ms < until_ms) {
        clock_wait(clock_real(), &w->changed, &w->lock, until_ms);
        now_ms = clock_now_ms(clock_real());
    }
}

/* Blocks until there is something to write; false: nothing more will come. */
static bool take(struct log_writer *w, struct str_buf *ret)
{
    mutex_lock(&w->lock);
    w->writing = false;
    cond_broadcast(&w->changed);
    wait_for_lines(w);
    *ret = w->waiting;
    w->waiting = (struct str_buf)STR_BUF_INIT;
    uint64_t lost = w->lost;
    w->lost = 0;
    w->writing = ret->len > 0 || lost > 0;
    bool some = w->writing;
    mutex_unlock(&w->lock);
    if (lost > 0) {
        w->tell_lost(ret, lost);
    }
    return some;
}

static void *write_all(void *arg)
{
    struct log_writer *w = arg;
    struct str_buf lines = STR_BUF_INIT;
    while (take(w, &lines)) {
        log_writer_write(w->fd, str_buf_text(&lines), lines.len);
        str_buf_done(&lines);
    }
    str_buf_done(&lines);
    return NULL;
}

int log_writer_begin(struct log_writer *w, int fd, void (*tell_lost)(struct str_buf *b, uint64_t n),
                     struct err *err)
{
    sigset_t all;
    sigset_t before;
    mutex_init(&w->lock);
    cond_init(&w->changed);
    mutex_lock(&w->lock);
    w->fd = fd;
    w->tell_lost = tell_lost;
    w->ending = false;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = thread_start(&w->thread, write_all, w, "the log", err);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->running = rc == ERR_OK;
    mutex_unlock(&w->lock);
    return rc;
}

bool log_writer_put(struct log_writer *w, const char *line, size_t n)
{
    mutex_lock(&w->lock);
    bool running = w->running;
    bool hurried = hurries(w);
    if (running && w->lost == 0 && w->waiting.len + n <= LOG_WRITER_MAX) {
        str_append_n(&w->waiting, line, n);
    } else if (running) {
        w->lost++; /* lines that would fit are dropped, too, until a line tells the loss */
        w->lost_ever++;
    }
    bool wake = w->asleep || hurries(w) != hurried;
    mutex_unlock(&w->lock);
    if (wake) {
        cond_broadcast(&w->changed); /* the thread does not wake to wait for the lock */
    }
    return running;
}

static bool is_done(const struct log_writer *w) _requires_(w->lock)
{
    return !w->writing && w->waiting.len == 0 && w->lost == 0;
}

/* A full pipe has not; one without a reader is written into no more. */
static bool has_room(int fd)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};

    return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

static bool flush(struct log_writer *w, int64_t patience_ms) _requires_(w->lock)
{
    int64_t now_ms = clock_now_ms(clock_real());
    const int64_t until_ms = now_ms + patience_ms;
    const int64_t behind_ms = until_ms + LOG_WRITER_BEHIND_MS;

    w->flushing++;
    cond_broadcast(&w->changed);
    while (w->running && !is_done(w) &&
           (now_ms < until_ms || (now_ms < behind_ms && has_room(w->fd)))) {
        int64_t look_ms = now_ms + LOOK_MS;
        clock_wait(clock_real(), &w->changed, &w->lock, now_ms < until_ms ? until_ms : look_ms);
        now_ms = clock_now_ms(clock_real());
    }
    w->flushing--;
    return is_done(w);
}

bool log_writer_flush(struct log_writer *w, int64_t patience_ms)
{
    mutex_lock(&w->lock);
    bool all = flush(w, patience_ms);
    mutex_unlock(&w->lock);
    return all;
}

bool log_writer_end(struct log_writer *w, int64_t patience_ms)
{
    mutex_lock(&w->lock);
    bool ran = w->running;
    bool all = flush(w, patience_ms);
    w->running = false;
    w->ending = true;
    cond_broadcast(&w->changed);
    mutex_unlock(&w->lock);
    if (ran && all) {
        pthread_join(w->thread, NULL);
    } else if (ran) {
        pthread_detach(w->thread);
    }
    return all;
}

uint64_t log_writer_lost(struct log_writer *w)
{
    mutex_lock(&w->lock);
    uint64_t lost = w->lost_ever;
    mutex_unlock(&w->lock);
    return lost;
}
