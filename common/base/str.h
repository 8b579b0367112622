/* SPDX-License-Identifier: Apache-2.0 */
/* str.h: growing text and the few string helpers that libc lacks.
 *
 * A `struct str_buf` is always NUL-terminated at data[len] after its first use, also when empty;
 * data never is NULL after str_init() or STR_BUF_INIT's first append.  Appending aborts when memory
 * is out.  Nothing here depends on the locale. */
#ifndef TRIMTAB_BASE_STR_H
#define TRIMTAB_BASE_STR_H

#include "common/base/arena.h"
#include "common/base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str_buf {
    char *data; /* heap; owned; NUL-terminated; may hold further NULs */
    size_t len; /* bytes before the terminating NUL */
    size_t cap; /* allocated bytes */
    /* Where str_append_wrapped() ends lines: the terminal's width; 0: STR_COLUMNS. */
    size_t columns;
};

#define STR_BUF_INIT ((struct str_buf){0})

void str_buf_done(struct str_buf *b);  /* frees; leaves STR_BUF_INIT; for _cleanup_ too */
void str_buf_reset(struct str_buf *b); /* empties, keeps the memory */
void str_buf_reserve(struct str_buf *b, size_t n); /* room for n more bytes and the NUL */
void str_append(struct str_buf *b, const char *s); /* NULL appends nothing */
void str_append_n(struct str_buf *b, const void *p, size_t n);
void str_append_c(struct str_buf *b, char c);
void str_appendf(struct str_buf *b, const char *fmt, ...) _printf_(2, 3);
void str_vappendf(struct str_buf *b, const char *fmt, va_list ap) _printf_(2, 0);
const char *str_buf_text(const struct str_buf *b); /* "" when nothing was appended */
char *str_buf_steal(struct str_buf *b); /* the heap string ("" if empty); b becomes empty */
char *str_buf_to_arena(const struct str_buf *b, struct arena *a);
/* Appends `s` as Go's %q would print it: quotes, \" \\ \n \t \r \xNN \uNNNN for what
 * is not printable. */
void str_append_go_quoted(struct str_buf *b, const char *s);
/* Appends `s` as a JSON string with quotes; invalid UTF-8 becomes U+FFFD. */
void str_append_json_quoted(struct str_buf *b, const char *s);
void str_append_json_quoted_n(struct str_buf *b, const char *s, size_t n); /* may hold NULs */
/* The same for documents that a person may see on a terminal: characters that str_clean() escapes
 * become \uNNNN, which is the same JSON value. */
void str_append_json_visible(struct str_buf *b, const char *s);
void str_append_json_visible_n(struct str_buf *b, const char *s, size_t n); /* may hold NULs */

/* --- foreign text, for people (str_clean.c) --------------------------------------------------- */
/* Line breaks, tabs and the like (U+0009 to U+000D) in foreign text. */
enum str_breaks {
    STR_BREAKS_SHOWN = 0, /* "\n": the text is part of one line */
    STR_BREAKS_BLANK,     /* a blank */
    STR_BREAKS_KEPT,      /* a line feed stays: the text has lines of its own; others are shown */
};
#define STR_CLEAN_MAX 12 /* bytes of a character or its escape, and a NUL */
/* Appends `s` with all that unicode_is_visible() refuses, and bytes that are not UTF-8, as escapes
 * of Go's %q: "\x1b", "\u202e", "\U000e0001", "\xff".  Backslashes stay as they are.
 * NULL appends nothing. */
void str_append_clean(struct str_buf *b, const char *s, enum str_breaks breaks);
/* `s` itself when there is nothing to escape, else a copy in `a`, breaks shown; NULL for NULL. */
const char *str_clean(struct arena *a, const char *s);
const char *const *str_clean_all(struct arena *a, const char *const *items, size_t n);
/* One character of s[0..n), n > 0: *ret_len bytes of `out` show it, without a NUL.
 * Returns the bytes read. */
size_t str_clean_next(const char *s, size_t n, enum str_breaks breaks, char out[STR_CLEAN_MAX],
                      size_t *ret_len);
/* The escape of any character; returns its length. */
size_t str_escape_rune(uint32_t rune, char out[STR_CLEAN_MAX]);

bool str_eq(const char *a, const char *b);        /* NULL equals only NULL */
bool str_eq_nocase(const char *a, const char *b); /* ASCII case only */
bool str_is_empty(const char *s);                 /* NULL or "" */
bool str_has_prefix(const char *s, const char *prefix);
bool str_has_suffix(const char *s, const char *suffix);
const char *str_or(const char *s, const char *otherwise); /* s unless NULL or "" */
const char *str_nonnull(const char *s);                   /* s, or "" for NULL */
/* A copy without white space at both ends: ASCII blanks, or with Go's unicode.IsSpace set. */
char *str_trim(struct arena *a, const char *s);
char *str_trim_here(char *s); /* no copy: cuts the end of `s`, and returns where the rest begins */
char *str_trim_unicode(struct arena *a, const char *s);
/* Splits at every `sep` ("a,,b" gives 3 items, "" gives 1 empty one), like Go's strings.Split. */
char **str_split(struct arena *a, const char *s, char sep, size_t *ret_n);
char *str_join(struct arena *a, const char *const *items, size_t n, const char *sep);
char *str_count(struct arena *a, size_t n, const char *noun); /* "1 rule", "2 rules" */
char *str_lower(struct arena *a, const char *s);              /* ASCII */
char *str_upper(struct arena *a, const char *s);
char *str_replace(struct arena *a, const char *s, const char *from, const char *to); /* every one */
/* Decimal text, whole string, no blanks, no sign for the unsigned one; false if it is not one or
 * does not fit.  *ret is written only on success. */
bool str_to_i64(const char *s, int64_t *ret);
bool str_to_u64(const char *s, uint64_t *ret);
/* Go's strconv.ParseBool: 1 t T true TRUE True 0 f F false FALSE False. */
bool str_to_go_bool(const char *s, bool *ret);
bool str_is_utf8(const char *s, size_t n);
/* Shell-style match: `*` any run (also of '/'), `?` one byte, everything else itself. */
bool str_glob(const char *pattern, const char *s);
/* Edit distance, for "did you mean": letters put in, left out, replaced, and two neighbours in the
 * wrong order count 1. */
size_t str_distance(const char *a, const char *b);
/* The item nearest to `word` if it is near enough to be a slip, else NULL. */
const char *str_nearest(const char *word, const char *const *items, size_t n);
/* "; did you mean demo/web or prod/web?" with at most three names, the nearest first; "" when none
 * is near.  A name that differs only before its last '/' is near, too, behind all slips. */
char *str_near_hint(struct arena *a, const char *word, const char *const *items, size_t n);
#define STR_NEAR_ELSEWHERE 100

/* Text is this wide where no terminal says otherwise. */
#define STR_COLUMNS 100
/* b->columns, or what stands for 0. */
size_t str_buf_columns(const struct str_buf *b);
/* How many columns `s` takes; NULL takes none. */
size_t str_columns(const char *s);
/* Appends `text`, breaking lines between words so that they end before str_buf_columns(); the line
 * is at column `at` already, further ones begin at `indent`.  A word that is longer
 * stands by itself. */
void str_append_wrapped(struct str_buf *b, const char *text, size_t at, size_t indent);

/* base64 (RFC 4648).  `url` takes the URL alphabet, and writes no padding. */
char *str_base64_encode(struct arena *a, const void *p, size_t n, bool url);
bool str_base64_decode(struct arena *a, const char *s, bool url, unsigned char **ret,
                       size_t *ret_n);

#endif
