/* SPDX-License-Identifier: Apache-2.0 */
/* str_quote.c: strings as Go and as JSON write them, and base64.
 *
 * Log lines and error texts are compared with upstream's, so the Go form follows strconv.Quote to
 * the letter: printable characters of all scripts stay themselves.  Pure apart from
 * the buffer appended to. */
#include "common/base/plain_run.h"
#include "common/base/str.h"
#include "common/base/utf8.h"

#include <string.h>

static void append_go_rune(struct str_buf *b, uint32_t rune, const char *bytes, size_t len)
{
    char escape[STR_CLEAN_MAX];
    if (rune == '"' || rune == '\\') {
        str_append_c(b, '\\');
        str_append_c(b, (char)rune);
    } else if (unicode_is_print(rune)) {
        str_append_n(b, bytes, len);
    } else {
        str_append_n(b, escape, str_escape_rune(rune, escape));
    }
}

void str_append_go_quoted(struct str_buf *b, const char *s)
{
    size_t n = s != NULL ? strlen(s) : 0;
    str_append_c(b, '"');
    for (size_t i = 0; i < n;) {
        uint32_t rune;
        size_t len = utf8_decode(s + i, n - i, &rune);
        if (len == 0) {
            str_appendf(b, "\\x%02x", (unsigned)(unsigned char)s[i]);
            i++;
        } else {
            append_go_rune(b, rune, s + i, len);
            i += len;
        }
    }
    str_append_c(b, '"');
}

static void append_json_escape(struct str_buf *b, uint32_t rune)
{
    if (rune < 0x10000) {
        str_appendf(b, "\\u%04x", (unsigned)rune);
    } else { /* a pair of surrogates */
        str_appendf(b, "\\u%04x\\u%04x", 0xD800 + ((unsigned)(rune - 0x10000) >> 10),
                    0xDC00 + ((unsigned)(rune - 0x10000) & 0x3FF));
    }
}

static void append_json_rune(struct str_buf *b, uint32_t rune, const char *bytes, size_t len,
                             bool visible)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *at = rune != 0 && rune < 0x80 ? strchr(plain, (int)rune) : NULL;
    if (at != NULL) {
        str_append_c(b, '\\');
        str_append_c(b, letters[at - plain]);
    } else if (rune < 0x20 || (visible && !unicode_is_visible(rune))) {
        append_json_escape(b, rune);
    } else {
        str_append_n(b, bytes, len);
    }
}

void str_append_json_quoted(struct str_buf *b, const char *s)
{
    str_append_json_quoted_n(b, s, s != NULL ? strlen(s) : 0);
}

/* How many bytes from the start stand for themselves in JSON; nearly all of nearly
 * every text do. */
static size_t json_plain_run(const char *s, size_t n)
{
    size_t run = plain_run_ascii(s, n);
    const char *del = run > 0 ? memchr(s, 0x7f, run) : NULL;
    return del == NULL ? run : (size_t)(del - s);
}

static void append_json(struct str_buf *b, const char *s, size_t n, bool visible)
{
    str_buf_reserve(b, n + 2);
    char *at = b->data + b->len;
    size_t plain = json_plain_run(s, n);
    *at = '"';
    if (plain > 0) {
        memcpy(at + 1, s, plain);
    }
    b->len += plain + 1;
    for (size_t i = plain; i < n;) {
        size_t run = json_plain_run(s + i, n - i);
        if (run > 0) {
            str_append_n(b, s + i, run);
            i += run;
            continue;
        }
        uint32_t rune;
        size_t len = utf8_decode(s + i, n - i, &rune);
        if (len == 0) {
            str_append(b, "\xEF\xBF\xBD");
            i++;
        } else {
            append_json_rune(b, rune, s + i, len, visible);
            i += len;
        }
    }
    str_append_c(b, '"');
}

void str_append_json_quoted_n(struct str_buf *b, const char *s, size_t n)
{
    append_json(b, s, n, false);
}

void str_append_json_visible(struct str_buf *b, const char *s)
{
    str_append_json_visible_n(b, s, s != NULL ? strlen(s) : 0);
}

void str_append_json_visible_n(struct str_buf *b, const char *s, size_t n)
{
    append_json(b, s, n, true);
}

static const char base64_std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *str_base64_encode(struct arena *a, const void *p, size_t n, bool url)
{
    const unsigned char *s = p;
    const char *alphabet = url ? base64_url : base64_std;
    char *out = arena_alloc(a, (n + 2) / 3 * 4 + 1);
    size_t w = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i < 3 ? n - i : 3;
        uint32_t bits = (uint32_t)s[i] << 16;
        bits |= left > 1 ? (uint32_t)s[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)s[i + 2] : 0;
        for (size_t k = 0; k < 4; k++) {
            if (k <= left) {
                out[w++] = alphabet[bits >> (18 - 6 * k) & 63];
            } else if (!url) {
                out[w++] = '=';
            }
        }
    }
    return out;
}

static int base64_value(char c, const char *alphabet)
{
    const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
    return at != NULL ? (int)(at - alphabet) : -1;
}

/* Padding may only stand at the end, and only as much as completes the last group. */
static bool base64_padding_ok(const char *rest, size_t digits, bool url)
{
    size_t pads = 0;
    for (; *rest != '\0'; rest++) {
        if (*rest == '=') {
            pads++;
        } else if (*rest != '\r' && *rest != '\n') {
            return false;
        }
    }
    size_t want = (4 - digits % 4) % 4;
    return want != 3 && (pads == want || (url && pads == 0));
}

bool str_base64_decode(struct arena *a, const char *s, bool url, unsigned char **ret, size_t *ret_n)
{
    const char *alphabet = url ? base64_url : base64_std;
    unsigned char *out = arena_alloc(a, strlen(s) / 4 * 3 + 3);
    size_t w = 0;
    size_t digits = 0;
    uint32_t bits = 0;
    for (; *s != '\0' && *s != '='; s++) {
        if (*s == '\r' || *s == '\n') {
            continue; /* as Go's decoder: PEM-like wrapping is common in kubeconfig files */
        }
        int value = base64_value(*s, alphabet);
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        digits++;
        if (digits % 4 != 1) {
            out[w++] = (unsigned char)(bits >> (6 - 2 * ((digits - 1) % 4)));
        }
    }
    if (!base64_padding_ok(s, digits, url)) {
        return false;
    }
    *ret = out;
    *ret_n = w;
    return true;
}
