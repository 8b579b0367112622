/* SPDX-License-Identifier: Apache-2.0 */
/* log_line.h: one log line as bytes.  Private to log.c and its tests.
 *
 * Everything a line shows comes in as a value, so that its form can be tested without a clock.
 * Pure but for the time zone, which text lines use as klog does. */
#ifndef TRIMTAB_BASE_LOG_LINE_H
#define TRIMTAB_BASE_LOG_LINE_H

#include "common/base/log.h"
#include "common/base/str.h"

struct log_line {
    enum log_severity severity;
    int v;
    const char *file; /* as __FILE__ gives it */
    int line;
    const char *err_text; /* NULL = none */
    const char *msg;
    const struct log_kv *kvs; /* ends with a NULL key */
    int64_t wall_us;
    int pid; /* of the text form */
};

/* Both append the line with its line feed. */
void log_line_text(struct str_buf *b, const struct log_line *l);
void log_line_json(struct str_buf *b, const struct log_line *l);
/* "controller/sync/sync.c" → "sync": what vmodule patterns are matched with. */
void log_module_of(const char *file, char *out, size_t cap);

#endif
