/* SPDX-License-Identifier: Apache-2.0 */
/* err.h: what a fallible function says when it fails.
 *
 * A fallible function returns an `enum err_code` as int (0 = fine) and takes `struct err *err`
 * last.  The codes are what a caller can act on; there are no others (CONTRIBUTING.md).  The caller
 * allocates the struct, nothing in it is owned.  Success never leaves text in it, failure always
 * does.  `err` may be NULL everywhere: then only the code is lost text.
 * The values are those of TT_* in trimtab/types.h (checked in common/lb). */
#ifndef TRIMTAB_BASE_ERR_H
#define TRIMTAB_BASE_ERR_H

#include "common/base/attr.h"

#include <stdarg.h>
#include <stdint.h>

/* X(NAME, value, "word printed in logs and metrics") */
#define ERR_CODES(X)                                                                               \
    X(OK, 0, "ok")                                                                                 \
    X(INVALID, 1, "invalid") /* the user's object is wrong; no fast retry */                       \
    X(IMPLEMENTED_ELSEWHERE, 2, "implemented-elsewhere") /* another controller's; not a failure */ \
    X(NOT_FOUND, 3, "not-found")                         /* the thing asked for is absent */       \
    X(CONFLICT, 4, "conflict")       /* stale observation: observe and plan again */               \
    X(IN_USE, 5, "in-use")           /* others still refer to it */                                \
    X(FORBIDDEN, 6, "forbidden")     /* permission is lacking */                                   \
    X(QUOTA, 7, "quota")             /* a limit of the cloud is reached */                         \
    X(THROTTLED, 8, "throttled")     /* too many requests; see retry_after_ms */                   \
    X(IN_PROGRESS, 9, "in-progress") /* started, not done; look again later */                     \
    X(AUTH, 10, "auth")              /* credentials are missing or refused */                      \
    X(TRANSIENT, 11, "transient")    /* network, 5xx, time-out: try again */                       \
    X(CANCELLED, 12, "cancelled")    /* we were asked to stop */                                   \
    X(BUG, 13, "bug")                /* broken invariant, here or in a plugin */                   \
    X(EXISTS, 14, "exists")          /* a create met the same name */

enum err_code {
#define X(name, value, word) ERR_##name = value,
    ERR_CODES(X)
#undef X
        ERR_MAX,
};

#define ERR_MESSAGE_MAX 1024

struct err {
    int code;               /* enum err_code; ERR_OK when nothing failed */
    int http_status;        /* status of the answer that caused it; 0 when there was none */
    int64_t retry_after_ms; /* what the server asked for; 0 = nothing asked */
    char reason[64];        /* machine word of the server ("quotaExceeded", "Conflict"), or "" */
    char message
        [ERR_MESSAGE_MAX]; /* one line, no trailing stop, visible UTF-8, cut at a character */
};

#define ERR_INIT ((struct err){0})

/* Fills *err (code, message; the other members become 0) and returns code, so that a function can
 * end in `return err_set(err, ERR_INVALID, "port %d …", p)`.  Line feeds and tabs of the text
 * become spaces, other characters that do not show become escapes ("\u202e", see
 * str_append_clean()); a trailing stop is dropped.  `code` must not be ERR_OK. */
int err_set(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);
int err_vset(struct err *err, int code, const char *fmt, va_list ap) _printf_(3, 0);
/* Puts "prefix: " before the message: context is added once per layer on the way up.  A prefix that
 * the message begins with is not said again.  Returns code. */
int err_prefix(struct err *err, const char *fmt, ...) _printf_(2, 3);
/* Copies *src over *dst (either may be NULL); returns src's code. */
int err_copy(struct err *dst, const struct err *src);
/* Puts "***" in place of `secret` in a message that quotes a server, also where the message ends in
 * the middle of it: a server that echoes credentials must not make us print them.  NULL and texts
 * of less than 8 bytes hide nothing. */
void err_mask(struct err *err, const char *secret);
/* Back to "nothing failed". */
void err_clear(struct err *err);
/* "not-found" …; "unknown" for other numbers. */
const char *err_code_name(int code);
/* The code of that word, or -1. */
int err_code_parse(const char *word);
/* True for codes after which the same call may succeed without any change. */
int err_is_retryable(int code);

#endif
