/* SPDX-License-Identifier: Apache-2.0 */
/* log_line.c: the two forms of a log line.
 *
 * Source: controller.md 1.20; klog's header and key/value form, component-base's JSON keys.  One
 * deviation:  klog spreads a value with line feeds over several lines, here every value is quoted
 * and a line stays a line.  Values longer than VALUE_MAX are cut, so that no object of a user can
 * flood the log. */
#include "common/base/log_line.h"
#include "common/base/clock.h"
#include "common/base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define VALUE_MAX ((size_t)16384)

typedef void (*quote_fn)(struct str_buf *b, const char *s, size_t n);

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void quote_go(struct str_buf *b, const char *s, size_t n)
{
    (void)n; /* up to the NUL */
    str_append_go_quoted(b, s);
}

/* zap's short caller: the folder and the file. */
static const char *folder_and_file(const char *path)
{
    const char *file = base_name(path);
    const char *at = file;
    while (at > path && (at == file || at[-1] != '/')) {
        at--;
    }
    return at;
}

void log_module_of(const char *file, char *out, size_t cap)
{
    const char *base = base_name(file);
    const char *dot = strrchr(base, '.');
    size_t n = dot != NULL ? (size_t)(dot - base) : strlen(base);
    (void)snprintf(out, cap, "%.*s", (int)n, base); /* longer names match no pattern */
}

static void append_cut(struct str_buf *b, const char *s, quote_fn quote)
{
    s = str_nonnull(s);
    size_t n = strnlen(s, VALUE_MAX + 1);
    if (n <= VALUE_MAX) {
        quote(b, s, n);
        return;
    }
    n = VALUE_MAX;
    uint32_t rune;
    for (size_t back = 0; back < UTF8_MAX_BYTES && utf8_decode_last(s, n, &rune) == 0; back++) {
        n--; /* not through a character */
    }
    struct str_buf cut _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append_n(&cut, s, n);
    str_append(&cut, "\xE2\x80\xA6");
    quote(b, str_buf_text(&cut), cut.len);
}

/* At least `least` digits.  printf() takes ten times as long, and each line has several numbers. */
static void append_digits(struct str_buf *b, uint64_t n, size_t least)
{
    char digits[20];
    size_t at = sizeof digits;
    while (n > 0 || sizeof digits - at < least) {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    }
    str_append_n(b, digits + at, sizeof digits - at);
}

static void append_int(struct str_buf *b, int64_t n)
{
    if (n < 0) {
        str_append_c(b, '-');
    }
    append_digits(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 1);
}

static void append_value(struct str_buf *b, const struct log_kv *kv, quote_fn quote)
{
    char duration[40];
    switch (kv->type) {
    case LOG_T_INT:
        append_int(b, kv->i);
        break;
    case LOG_T_BOOL:
        str_append(b, kv->i != 0 ? "true" : "false");
        break;
    case LOG_T_DURATION_MS: {
        int64_t ms = kv->i > INT64_MAX / 1000000   ? INT64_MAX / 1000000
                     : kv->i < INT64_MIN / 1000000 ? INT64_MIN / 1000000
                                                   : kv->i;
        duration_format(ms * 1000000, duration);
        quote(b, duration, strlen(duration));
        break;
    }
    case LOG_T_STRS:
        str_append_c(b, '[');
        for (int64_t i = 0; i < kv->i; i++) {
            str_append(b, i > 0 ? "," : "");
            append_cut(b, kv->items[i], quote);
        }
        str_append_c(b, ']');
        break;
    case LOG_T_SECRET:
        quote(b, "***", 3);
        break;
    case LOG_T_STR:
    case LOG_T_END:
        append_cut(b, kv->s, quote);
        break;
    }
}

void log_line_text(struct str_buf *b, const struct log_line *l)
{
    static const char letters[] = "IWEF";
    time_t seconds = (time_t)(l->wall_us / 1000000);
    struct tm tm = {0};
    (void)localtime_r(&seconds, &tm); /* stays zero for years that do not fit */
    str_appendf(b, "%c%02d%02d %02d:%02d:%02d.%06d %7d %s:%d] ", letters[l->severity],
                tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                (int)(l->wall_us % 1000000), l->pid, base_name(l->file), l->line);
    append_cut(b, l->msg, quote_go);
    if (l->err_text != NULL) {
        str_append(b, " err=");
        append_cut(b, l->err_text, quote_go);
    }
    for (const struct log_kv *kv = l->kvs; kv != NULL && kv->key != NULL; kv++) {
        str_append_c(b, ' ');
        str_append(b, kv->key);
        str_append_c(b, '=');
        append_value(b, kv, quote_go);
    }
    str_append_c(b, '\n');
}

void log_line_json(struct str_buf *b, const struct log_line *l)
{
    str_append(b, "{\"ts\":");
    append_int(b, l->wall_us / 1000);
    str_append_c(b, '.');
    append_digits(b, (uint64_t)(l->wall_us % 1000), 3);
    str_append(b, ",\"caller\":");
    str_append_json_visible(b, folder_and_file(l->file));
    b->data[--b->len] = '\0'; /* the line number goes inside the quotes */
    str_append_c(b, ':');
    append_int(b, l->line);
    str_append(b, "\",\"msg\":");
    append_cut(b, l->msg, str_append_json_visible_n);
    if (l->severity < LOG_ERROR) {
        str_append(b, ",\"v\":");
        append_int(b, l->v);
    }
    if (l->err_text != NULL) {
        str_append(b, ",\"err\":");
        append_cut(b, l->err_text, str_append_json_visible_n);
    }
    for (const struct log_kv *kv = l->kvs; kv != NULL && kv->key != NULL; kv++) {
        str_append_c(b, ',');
        str_append_json_visible(b, kv->key);
        str_append_c(b, ':');
        append_value(b, kv, str_append_json_visible_n);
    }
    str_append(b, "}\n");
}
