/* SPDX-License-Identifier: Apache-2.0 */
/* log.h: structured log lines, in klog's text form or as JSON.
 *
 * Text (upstream's default):  I1121 10:00:01.123456   1 sync.c:210] "Synced" service="demo/web"
 * JSON (--logging-format=json):
 * {"ts":…,"caller":"controller/sync/sync.c:210","msg":"Synced","v":0,"service":…} Spec:
 * controller.md §1.20.  A line is a constant message and key/value pairs; the service key comes
 * first.  Pure code and common/ log at debug (v >= 4) only; the code that handles an error logs it,
 * the code that returns it does not.  Values pass as LOG_S("key", text) …; a secret passes as
 * LOG_SECRET and prints ***.  Thread-safe: lines are written whole, by the caller or, after
 * log_begin_writing(), by a thread of its own. */
#ifndef TRIMTAB_BASE_LOG_H
#define TRIMTAB_BASE_LOG_H

#include "common/base/attr.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum log_severity {
    LOG_INFO = 0,
    LOG_WARNING,
    LOG_ERROR,
    LOG_FATAL,
};
enum log_format {
    LOG_TEXT = 0,
    LOG_JSON,
};

enum log_type {
    LOG_T_END = 0,
    LOG_T_STR,
    LOG_T_INT,
    LOG_T_BOOL,
    LOG_T_DURATION_MS,
    LOG_T_STRS,
    LOG_T_SECRET,
};
struct log_kv {
    const char *key; /* NULL ends the list */
    enum log_type type;
    const char *s; /* LOG_T_STR; NULL prints as "" */
    int64_t i;     /* LOG_T_INT, LOG_T_BOOL, LOG_T_DURATION_MS; number of items for LOG_T_STRS */
    const char *const *items; /* LOG_T_STRS */
};
#define LOG_S(k, v)  ((struct log_kv){.key = (k), .type = LOG_T_STR, .s = (v)})
#define LOG_I(k, v)  ((struct log_kv){.key = (k), .type = LOG_T_INT, .i = (int64_t)(v)})
#define LOG_B(k, v)  ((struct log_kv){.key = (k), .type = LOG_T_BOOL, .i = (v)})
#define LOG_MS(k, v) ((struct log_kv){.key = (k), .type = LOG_T_DURATION_MS, .i = (v)})
#define LOG_LIST(k, v, n)                                                                          \
    ((struct log_kv){.key = (k), .type = LOG_T_STRS, .items = (v), .i = (int64_t)(n)})
#define LOG_SECRET(k) ((struct log_kv){.key = (k), .type = LOG_T_SECRET})

/* Set at start; `vmodule` is klog's "pattern=N,…" or NULL (text only).  Tests may pass an fd. */
struct log_config {
    enum log_format format;
    int verbosity;       /* 0… */
    const char *vmodule; /* borrowed until the next log_setup() */
    int fd;              /* where lines go; 2 in production */
};
void log_setup(const struct log_config *cfg);
/* From here on a thread writes the lines, and callers never wait for the reader of the log
 * (log_writer.h).  After log_setup(), whose fd it uses.  TRANSIENT: there is no thread; lines are
 * written as before. */
int log_begin_writing(struct err *err) _warn_unused_;
/* One line as it is, without head, where the log goes: the error with which a program ends.  `text`
 * without its newline. */
void log_plain(const char *text);
/* Waits until the lines so far are written, at most `patience_ms`: for what is printed beside the
 * log.  False: they are not. */
bool log_flush(int64_t patience_ms);
/* The last lines get `patience_ms`; later callers write themselves.  Without a begin nothing
 * happens.  False: the reader does not read; what waits goes with the process. */
bool log_end_writing(int64_t patience_ms);
/* How many lines were dropped because the log was not read fast enough. */
uint64_t log_lost(void);
/* The verbosity alone may be changed while others log. */
void log_set_verbosity(int verbosity);
int log_verbosity(void);
/* False when the pattern list does not parse; NULL and "" do. */
bool log_vmodule_valid(const char *vmodule);
bool log_enabled(int v, const char *file);
/* Use the macros. */
void log_write(enum log_severity sev, int v, const char *file, int line, const char *err_text,
               const char *msg, const struct log_kv *kvs);

#define LOG_AT_(sev, v, err_text, msg, ...)                                                        \
    do {                                                                                           \
        if ((sev) != LOG_INFO || log_enabled((v), __FILE__)) {                                     \
            log_write((sev), (v), __FILE__, __LINE__, (err_text), (msg),                           \
                      (const struct log_kv[]){__VA_ARGS__ __VA_OPT__(, ){0}});                     \
        }                                                                                          \
    } while (0)
#define log_info(v, msg, ...)         LOG_AT_(LOG_INFO, v, NULL, msg, __VA_ARGS__)
#define log_warning(msg, ...)         LOG_AT_(LOG_WARNING, 0, NULL, msg, __VA_ARGS__)
#define log_error(err_text, msg, ...) LOG_AT_(LOG_ERROR, 0, err_text, msg, __VA_ARGS__)

/* Says yes at most `burst` times, then once per `interval_ms`: for warnings that repeat.  Declare
 * it static beside the call (the one exception to "no mutable file-scope state",
 * CONTRIBUTING.md). */
struct log_limit {
    int64_t interval_ms;
    int burst;
    int64_t used_until_ms; /* internal */
    int spent;             /* internal */
};
bool log_limit_ok(struct log_limit *l, int64_t now_ms);

#endif
