/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_wait.c: see cmd_wait.h.  `lock` guards what both threads use, and the line on the terminal:
 * the command never prints its answer into it. */
#include "controller/cmd/cmd_wait.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "controller/base/term.h"

#define TICK_MS   500
#define SILENT_MS 1000 /* shorter work shows no progress */

struct cmd_wait {
    int64_t timeout_ms;
    bool terminal; /* one on which a line can be taken back */
    size_t columns;
    struct cancel *cancel;
    pthread_t thread;
    bool started;
    struct mutex lock;
    struct cond changed;
    bool stopping _guarded_by_(&lock);
    bool expired _guarded_by_(&lock);
    bool shown _guarded_by_(&lock); /* a line stands on the terminal */
    bool busy _guarded_by_(&lock);
    int64_t drawn_ms _guarded_by_(&lock); /* when the line was drawn last */
    int64_t deadline_ms _guarded_by_(&lock);
    int64_t since_ms _guarded_by_(&lock);
    size_t done _guarded_by_(&lock), all _guarded_by_(&lock);
    char *what _guarded_by_(&lock); /* "" nothing yet */
};

static int64_t now(void)
{
    return clock_now_ms(clock_real());
}

/* --- the line --------------------------------------------------------------------------------- */

/* The bytes of `s` that take `columns` columns at most. */
static size_t bytes_of_columns(const char *s, size_t columns)
{
    size_t i = 0;
    for (; s[i] != '\0'; i++) {
        bool begins = ((unsigned char)s[i] & 0xC0) != 0x80;
        if (begins && columns-- == 0) {
            break;
        }
    }
    return i;
}

void cmd_wait_line(struct str_buf *b, const char *what, size_t done, size_t all, int64_t took_ms,
                   size_t columns)
{
    _cleanup_(str_buf_done) struct str_buf tail = STR_BUF_INIT;
    if (all > 0) {
        str_appendf(&tail, " %zu of %zu", done, all);
    }
    str_appendf(&tail, ", %lld s", (long long)(took_ms / 1000));
    if (columns == 0 || str_columns(what) + tail.len <= columns) {
        str_append(b, what);
    } else {
        size_t room = columns > tail.len + 1 ? columns - tail.len - 1 : 0;
        str_append_n(b, what, bytes_of_columns(what, room));
        str_append(b, "…");
    }
    str_append(b, str_buf_text(&tail));
}

bool cmd_wait_is_due(int64_t drawn_ms, int64_t now_ms)
{
    return now_ms - drawn_ms >= TICK_MS;
}

static void show(struct cmd_wait *w, int64_t now_ms) _requires_(&w->lock)
{
    int64_t took_ms = now_ms - w->since_ms;
    if (!w->terminal || !w->busy || took_ms < SILENT_MS ||
        (w->shown && !cmd_wait_is_due(w->drawn_ms, now_ms))) {
        return;
    }
    _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
    /* The last column stays free: some terminals go to the next line behind it. */
    cmd_wait_line(&line, w->what, w->done, w->all, took_ms, w->columns - 1);
    fprintf(stderr, "\r\033[K%s", str_buf_text(&line));
    w->drawn_ms = now_ms;
    w->shown = true;
}

static void clear(struct cmd_wait *w) _requires_(&w->lock)
{
    if (w->shown) {
        fputs("\r\033[K", stderr);
        w->shown = false;
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

static int64_t next_moment(struct cmd_wait *w, int64_t now_ms) _requires_(&w->lock)
{
    int64_t deadline_ms = w->expired ? CLOCK_NEVER : w->deadline_ms;
    int64_t tick_ms = w->terminal && w->busy ? now_ms + TICK_MS : CLOCK_NEVER;
    return tick_ms < deadline_ms ? tick_ms : deadline_ms;
}

static void *thread_main(void *arg)
{
    struct cmd_wait *w = arg;
    mutex_lock(&w->lock);
    while (!w->stopping) {
        int64_t now_ms = now();
        if (!w->expired && now_ms >= w->deadline_ms) {
            w->expired = true;
            mutex_unlock(&w->lock);
            cancel_fire(w->cancel); /* hooks may take other locks */
            mutex_lock(&w->lock);
            continue;
        }
        show(w, now_ms);
        clock_wait(clock_real(), &w->changed, &w->lock, next_moment(w, now_ms));
    }
    mutex_unlock(&w->lock);
    return NULL;
}

struct cmd_wait *cmd_wait_new(int64_t timeout_ms)
{
    struct cmd_wait *w = xcalloc(1, sizeof *w);
    w->timeout_ms = timeout_ms < 1 ? 1 : timeout_ms;
    const struct term term = term_of(STDERR_FILENO, false);
    w->terminal = term.moves;
    w->columns = term.columns;
    w->cancel = cancel_new(NULL);
    mutex_init(&w->lock);
    cond_init(&w->changed);
    mutex_lock(&w->lock);
    w->what = xstrdup("");
    w->deadline_ms = now() + w->timeout_ms;
    mutex_unlock(&w->lock);
    w->started = pthread_create(&w->thread, NULL, thread_main, w) == 0;
    return w;
}

void cmd_wait_free(struct cmd_wait *w)
{
    if (w == NULL) {
        return;
    }
    mutex_lock(&w->lock);
    w->stopping = true;
    clear(w);
    cond_broadcast(&w->changed);
    mutex_unlock(&w->lock);
    if (w->started) {
        (void)pthread_join(w->thread, NULL);
    }
    mutex_lock(&w->lock);
    free(w->what);
    mutex_unlock(&w->lock);
    cancel_free(w->cancel);
    cond_done(&w->changed);
    mutex_done(&w->lock);
    free(w);
}

/* The names of Services in it may come from a manifest. */
static char *clean_copy(const char *what)
{
    struct str_buf b = STR_BUF_INIT;
    str_append_clean(&b, what, STR_BREAKS_SHOWN);
    return str_buf_steal(&b);
}

/* --- what the command says of itself ---------------------------------------------------------- */

void cmd_wait_for(struct cmd_wait *w, const char *what)
{
    mutex_lock(&w->lock);
    clear(w);
    free(w->what);
    w->what = clean_copy(what);
    w->busy = what != NULL;
    w->since_ms = now();
    w->done = w->all = 0;
    cond_broadcast(&w->changed);
    mutex_unlock(&w->lock);
}

void cmd_wait_count(struct cmd_wait *w, size_t done, size_t all)
{
    mutex_lock(&w->lock);
    w->done = done;
    w->all = all;
    show(w, now());
    mutex_unlock(&w->lock);
}

void cmd_wait_end(struct cmd_wait *w)
{
    mutex_lock(&w->lock);
    clear(w);
    w->busy = false;
    mutex_unlock(&w->lock);
}

void cmd_wait_extend(struct cmd_wait *w, int64_t ms)
{
    mutex_lock(&w->lock);
    w->deadline_ms += ms;
    cond_broadcast(&w->changed);
    mutex_unlock(&w->lock);
}

struct cancel *cmd_wait_cancel(struct cmd_wait *w)
{
    return w->cancel;
}

int64_t cmd_wait_left_ms(struct cmd_wait *w)
{
    mutex_lock(&w->lock);
    int64_t left_ms = w->deadline_ms - now();
    mutex_unlock(&w->lock);
    return left_ms < 1 ? 1 : left_ms;
}

bool cmd_wait_expired(struct cmd_wait *w)
{
    mutex_lock(&w->lock);
    bool expired = w->expired;
    mutex_unlock(&w->lock);
    return expired;
}

int cmd_wait_blame(struct cmd_wait *w, struct err *err)
{
    struct err why = *err;
    char after[40];
    if (!cmd_wait_expired(w)) {
        return err->code;
    }
    duration_format(w->timeout_ms * 1000000, after);
    mutex_lock(&w->lock);
    bool told = why.code != ERR_OK && why.code != ERR_CANCELLED;
    int code =
        err_set(err, ERR_TRANSIENT, "timed out after %s (--timeout) while %s%s%.700s", after,
                *w->what == '\0' ? "starting" : w->what, told ? ": " : "", told ? why.message : "");
    mutex_unlock(&w->lock);
    return code;
}
