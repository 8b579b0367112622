/* SPDX-License-Identifier: Apache-2.0 */
/* err.c: filling and extending error messages.
 *
 * Every message that leaves this file keeps the promises of err.h: one line, visible characters
 * only, cut at a character, no trailing stop, never empty.  Texts of servers pass through here, so
 * nothing in them is trusted.  Pure but for the struct it is given; thread-safe. */
#include "common/base/err.h"
#include "common/base/plain_run.h"
#include "common/base/str.h"
#include "common/base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void message_tidy(char message[ERR_MESSAGE_MAX]);

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_vset(err, code, fmt, ap);
    va_end(ap);
    return code;
}

int err_vset(struct err *err, int code, const char *fmt, va_list ap)
{
    assert(code != ERR_OK);
    if (err != NULL) {
        /* The arguments may point into *err itself, so the text is made beside it. */
        char text[ERR_MESSAGE_MAX];
        (void)vsnprintf(text, sizeof text, fmt, ap); /* too long is cut on purpose */
        message_tidy(text);
        *err = ERR_INIT;
        err->code = code;
        memcpy(err->message, text, sizeof text);
    }
    return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    if (err == NULL) {
        return ERR_BUG; /* the code is not known here: callers that pass NULL keep it themselves */
    }
    char prefix[ERR_MESSAGE_MAX];
    char text[2 * ERR_MESSAGE_MAX + 2];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(prefix, sizeof prefix, fmt, ap); /* too long is cut on purpose */
    va_end(ap);
    size_t n = strlen(prefix);
    if (strncmp(err->message, prefix, n) == 0 && err->message[n] == ':') {
        return err->code; /* a layer below has said the same */
    }
    (void)snprintf(text, sizeof text, "%s: %s", prefix, err->message);
    message_tidy(text);
    memcpy(err->message, text, ERR_MESSAGE_MAX);
    return err->code;
}

int err_copy(struct err *dst, const struct err *src)
{
    if (dst != NULL && src != NULL && dst != src) {
        *dst = *src;
    } else if (dst != NULL && src == NULL) {
        *dst = ERR_INIT;
    }
    return src == NULL ? ERR_OK : src->code;
}

#define SECRET_MIN 8 /* shorter texts may be words */

/* How much of the secret begins at `at`: all of it, or what was left before the message ended. */
static size_t secret_at(const char *at, const char *secret, size_t n)
{
    size_t same = 0;
    while (same < n && at[same] == secret[same]) {
        same++;
    }
    return same == n || (same >= SECRET_MIN && at[same] == '\0') ? same : 0;
}

void err_mask(struct err *err, const char *secret)
{
    static const char stars[] = "***";
    size_t n = secret == NULL ? 0 : strlen(secret);
    if (err == NULL || n < SECRET_MIN) {
        return;
    }
    for (char *at = err->message; *at != '\0'; at++) {
        size_t found = secret_at(at, secret, n);
        if (found > 0) {
            memmove(at + 3, at + found, strlen(at + found) + 1);
            memcpy(at, stars, 3);
            at += 2;
        }
    }
    for (const char *at = err->reason; *at != '\0'; at++) {
        if (secret_at(at, secret, n) > 0) {
            err->reason[0] = '\0';
        }
    }
}

void err_clear(struct err *err)
{
    if (err != NULL) {
        *err = ERR_INIT;
    }
}

const char *err_code_name(int code)
{
    switch (code) {
#define X(name, value, word)                                                                       \
    case ERR_##name:                                                                               \
        return word;
        ERR_CODES(X)
#undef X
    default:
        return "unknown";
    }
}

int err_code_parse(const char *word)
{
    for (int code = 0; word != NULL && code < ERR_MAX; code++) {
        if (strcmp(word, err_code_name(code)) == 0) {
            return code;
        }
    }
    return -1;
}

int err_is_retryable(int code)
{
    switch (code) {
    case ERR_CONFLICT:
    case ERR_IN_USE:
    case ERR_QUOTA:
    case ERR_THROTTLED:
    case ERR_IN_PROGRESS:
    case ERR_AUTH:
    case ERR_TRANSIENT:
        return 1;
    default:
        return 0;
    }
}

/* Copies the characters of `from` into *to as they may be shown; a cut goes before a
 * character or its escape. */
static size_t copy_clean(const char *from, size_t n, bool was_cut, char *to, size_t cap)
{
    size_t w = 0;
    for (size_t r = 0; r < n;) {
        char out[STR_CLEAN_MAX];
        size_t len = plain_run_visible(from + r, n - r);
        uint32_t rune;
        if (len > 0) {
            size_t take = len < cap - 1 - w ? len : cap - 1 - w;
            memcpy(to + w, from + r, take);
            w += take;
            r += len;
            if (take < len) {
                break;
            }
            continue;
        }
        if (was_cut && n - r < UTF8_MAX_BYTES && utf8_decode(from + r, n - r, &rune) == 0) {
            break; /* the cut went through this character */
        }
        r += str_clean_next(from + r, n - r, STR_BREAKS_BLANK, out, &len);
        if (w + len >= cap) {
            break;
        }
        memcpy(to + w, out, len);
        w += len;
    }
    return w;
}

/* Works in place: all that is not visible becomes an escape or a blank. */
static void message_tidy(char message[ERR_MESSAGE_MAX])
{
    char clean[ERR_MESSAGE_MAX];
    size_t n = strnlen(message, ERR_MESSAGE_MAX - 1);
    size_t w = copy_clean(message, n, n == ERR_MESSAGE_MAX - 1, clean, sizeof clean);
    while (w > 0 && (clean[w - 1] == ' ' || clean[w - 1] == '.')) {
        w--;
    }
    memset(message, 0, ERR_MESSAGE_MAX);
    memcpy(message, clean, w);
    if (w == 0) {
        (void)snprintf(message, ERR_MESSAGE_MAX, "no details");
    }
}
