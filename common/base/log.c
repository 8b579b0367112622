/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: where log lines go, and which ones are wanted.
 *
 * Holds the one piece of process-wide state that CONTRIBUTING.md allows: the log level and its
 * destination, set at start; the level may change later.  How a line looks is in log_line.c, who
 * writes it in log_writer.c: one write(2) has whole lines, so lines of several threads never mix.
 * Thread-safe, except that log_setup() and log_begin_writing() must not run while others log. */
#include "common/base/log.h"
#include "common/base/clock.h"
#include "common/base/log_line.h"
#include "common/base/log_writer.h"
#include "common/base/str.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define LAST_WORD_MS 1000 /* for a line after which the process ends */
#define USUAL_LINE   400  /* bytes; a buffer that grows to it would move several times */

static struct log_config config = {.format = LOG_TEXT, .fd = STDERR_FILENO};
static atomic_int verbosity;     /* config.verbosity at first; it may change at run time */
static struct log_writer writer; /* runs between log_begin_writing() and log_end_writing() */
static atomic_bool has_writer;   /* it was begun; false: its lock is not made yet */
static struct mutex limit_lock = MUTEX_INIT; /* the counters of every struct log_limit */

/* One "pattern=N" of a list.  False at its end and at a syntax error, which
 * *ret_bad tells apart. */
static bool vmodule_next(const char **list, char *pattern, size_t cap, int *ret_level,
                         bool *ret_bad);

void log_setup(const struct log_config *cfg)
{
    config = *cfg;
    log_set_verbosity(cfg->verbosity);
}

void log_set_verbosity(int v)
{
    atomic_store_explicit(&verbosity, v, memory_order_relaxed);
}

int log_verbosity(void)
{
    return atomic_load_explicit(&verbosity, memory_order_relaxed);
}

bool log_vmodule_valid(const char *vmodule)
{
    char pattern[128];
    int level;
    bool bad = false;
    while (vmodule_next(&vmodule, pattern, sizeof pattern, &level, &bad)) {
    }
    return !bad;
}

bool log_enabled(int v, const char *file)
{
    if (v <= log_verbosity()) {
        return true;
    }
    if (str_is_empty(config.vmodule)) {
        return false;
    }
    char module[128];
    log_module_of(file, module, sizeof module);
    const char *list = config.vmodule;
    char pattern[128];
    int level;
    bool bad = false;
    while (vmodule_next(&list, pattern, sizeof pattern, &level, &bad)) {
        if (str_glob(pattern, module)) {
            return v <= level;
        }
    }
    return false;
}

/* One system call for each line, and only the text form has the number. */
static int pid_shown(void)
{
    return config.format == LOG_TEXT ? (int)getpid() : 0;
}

static void append_line(struct str_buf *b, const struct log_line *l)
{
    if (config.format == LOG_JSON) {
        log_line_json(b, l);
    } else {
        log_line_text(b, l);
    }
}

void log_write(enum log_severity sev, int v, const char *file, int line, const char *err_text,
               const char *msg, const struct log_kv *kvs)
{
    struct str_buf text _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_buf_reserve(&text, USUAL_LINE);
    append_line(&text, &(struct log_line){
                           .severity = sev,
                           .v = v,
                           .file = file,
                           .line = line,
                           .err_text = err_text,
                           .msg = msg,
                           .kvs = kvs,
                           .wall_us = clock_wall_us(clock_real()),
                           .pid = pid_shown(),
                       });
    if (!atomic_load(&has_writer) || !log_writer_put(&writer, text.data, text.len)) {
        log_writer_write(config.fd, text.data, text.len);
    } else if (sev == LOG_FATAL) {
        (void)log_writer_flush(&writer, LAST_WORD_MS);
    }
}

void log_plain(const char *text)
{
    struct str_buf line _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_appendf(&line, "%s\n", text);
    if (!atomic_load(&has_writer) || !log_writer_put(&writer, line.data, line.len)) {
        log_writer_write(config.fd, line.data, line.len);
    }
}

static void tell_lost(struct str_buf *b, uint64_t n)
{
    const struct log_kv kvs[] = {LOG_I("lines", n), {0}};
    append_line(b, &(struct log_line){
                       .severity = LOG_WARNING,
                       .file = __FILE__,
                       .line = __LINE__,
                       .msg = "Log lines were dropped here, because the log was not read",
                       .kvs = kvs,
                       .wall_us = clock_wall_us(clock_real()),
                       .pid = pid_shown(),
                   });
}

int log_begin_writing(struct err *err)
{
    int rc = log_writer_begin(&writer, config.fd, tell_lost, err);
    atomic_store(&has_writer, rc == ERR_OK);
    return rc;
}

bool log_flush(int64_t patience_ms)
{
    return !atomic_load(&has_writer) || log_writer_flush(&writer, patience_ms);
}

bool log_end_writing(int64_t patience_ms)
{
    return !atomic_load(&has_writer) || log_writer_end(&writer, patience_ms);
}

uint64_t log_lost(void)
{
    return atomic_load(&has_writer) ? log_writer_lost(&writer) : 0;
}

/* A bucket of `burst` that refills by one per interval; used_until_ms is when the
 * next one comes. */
bool log_limit_ok(struct log_limit *l, int64_t now_ms)
{
    bool ok = true;
    mutex_lock(&limit_lock);
    if (l->spent < l->burst) {
        l->spent++;
        l->used_until_ms = now_ms + l->interval_ms;
    } else if (now_ms >= l->used_until_ms) {
        l->used_until_ms = now_ms + l->interval_ms;
    } else {
        ok = false;
    }
    mutex_unlock(&limit_lock);
    return ok;
}

static bool vmodule_next(const char **list, char *pattern, size_t cap, int *ret_level,
                         bool *ret_bad)
{
    while (*list != NULL && **list == ',') {
        (*list)++; /* empty items are skipped, as klog does */
    }
    if (str_is_empty(*list)) {
        return false;
    }
    const char *end = strchrnul(*list, ',');
    const char *equals = memchr(*list, '=', (size_t)(end - *list));
    int64_t level = 0;
    char number[16] = "";
    bool ok = equals != NULL && equals != *list && (size_t)(equals - *list) < cap &&
              (size_t)(end - equals - 1) < sizeof number;
    if (ok) {
        memcpy(number, equals + 1, (size_t)(end - equals - 1));
        ok = str_to_i64(number, &level) && level >= 0 && level <= INT32_MAX;
    }
    if (!ok) {
        *ret_bad = true;
        return false;
    }
    memcpy(pattern, *list, (size_t)(equals - *list));
    pattern[equals - *list] = '\0';
    *ret_level = (int)level;
    *list = end;
    return true;
}
