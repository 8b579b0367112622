/* SPDX-License-Identifier: Apache-2.0 */
/* log_writer.h: a thread that writes log lines, so that callers never wait for the reader of the
 * log.
 *
 *     struct log_writer w = {…};                        zero, but for what log_writer_begin() sets
 *     rc = log_writer_begin(&w, STDERR_FILENO, lost);
 *     log_writer_put(&w, line, n);                      from any thread; returns at once
 *     log_writer_end(&w, 500);                          the last lines get half a second
 *
 * Lines wait in a buffer of LOG_WRITER_MAX bytes.  What comes when it is full is dropped and
 * counted; a line that says how many stands where they would have stood, as soon as the reader
 * continues.  Why: a pipe whose reader stopped would stop every thread that logs, and with them a
 * leader that keeps its lease.
 *
 * The lines of a sync come within a few milliseconds.  The thread lets them gather for
 * LOG_WRITER_GATHER_MS after the first, so that it wakes once for all of them.
 * log.c owns the one that the process uses; tests make their own.  Thread-safe. */
#ifndef TRIMTAB_BASE_LOG_WRITER_H
#define TRIMTAB_BASE_LOG_WRITER_H

#include "common/base/attr.h"
#include "common/base/err.h"
#include "common/base/lock.h"
#include "common/base/str.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_WRITER_MAX       ((size_t)1024 * 1024)
#define LOG_WRITER_GATHER_MS 5
#define LOG_WRITER_ENOUGH    ((size_t)64 * 1024) /* bytes; this many are written at once */
#define LOG_WRITER_BEHIND_MS 2000                /* for a thread that has room and had no turn */

struct log_writer {
    int fd;
    /* Appends the line that says that `n` lines were dropped. */
    void (*tell_lost)(struct str_buf *b, uint64_t n);
    pthread_t thread;
    struct mutex lock;
    struct cond changed;
    struct str_buf waiting _guarded_by_(lock); /* lines, each with its newline */
    uint64_t lost _guarded_by_(lock);          /* since the last line that said so */
    uint64_t lost_ever _guarded_by_(lock);
    unsigned flushing _guarded_by_(lock); /* callers that wait until all is written */
    bool asleep _guarded_by_(lock);       /* the thread waits for a first line */
    bool writing _guarded_by_(lock);
    bool running _guarded_by_(lock);
    bool ending _guarded_by_(lock);
};

/* Starts the thread, which blocks all signals.  `fd` is borrowed until the end.  TRANSIENT: there
 * is no thread to have; the writer is as before and can be begun again. */
int log_writer_begin(struct log_writer *w, int fd, void (*tell_lost)(struct str_buf *b, uint64_t n),
                     struct err *err) _warn_unused_;
/* Hands over one line.  False when the writer does not run (any more): the caller writes
 * the line himself. */
bool log_writer_put(struct log_writer *w, const char *line, size_t n);
/* Waits until all that was handed over is written, at most `patience_ms` of real time; false:
 * it is not.  Patience is for the reader: as long as the descriptor has room, only the thread is
 * behind, on a busy machine, and gets LOG_WRITER_BEHIND_MS more. */
bool log_writer_flush(struct log_writer *w, int64_t patience_ms);
/* Flushes and ends the thread.  False: a write still hangs, and the thread with it; the writer must
 * not be freed then. */
bool log_writer_end(struct log_writer *w, int64_t patience_ms);
/* How many lines were dropped since the beginning. */
uint64_t log_writer_lost(struct log_writer *w);
/* One write(2) for as many whole lines as a pipe takes without those of another process in between
 * (PIPE_BUF), or for one longer line, and the rest where a write was short; an error drops the
 * lines of that write, for there is nowhere to say so.  Blocks. */
void log_writer_write(int fd, const char *lines, size_t n);

#endif
