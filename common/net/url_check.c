/* SPDX-License-Identifier: Apache-2.0 */
/* url_check.c: the last look at a URL before the HTTP client sends it (url_check_sent() of
 * url_build.h).
 *
 * Builders refuse names; this refuses whole URLs, wherever they come from: a link that a server
 * sent, the target of a redirect, a constant with a slip.  Servers and proxies on the way resolve
 * dot segments, some of them after decoding, and a path that they resolve is another one than the
 * one that was checked, logged and allowed.  Must not repair: a URL that would have to be fixed is
 * not the one that was meant.  Pure. */
#include "common/net/url_build.h"

#include <string.h>

/* The byte at s[0..n), decoded once, and its length in the text (1 or 3).  A malformed escape
 * stands for itself. */
static unsigned char decoded(const char *s, size_t n, size_t *ret_len)
{
    static const char digits[] = "0123456789abcdef";
    *ret_len = 1;
    if (s[0] != '%' || n < 3) {
        return (unsigned char)s[0];
    }
    const char *high = strchr(digits, s[1] | 0x20);
    const char *low = strchr(digits, s[2] | 0x20);
    if (s[1] == '\0' || s[2] == '\0' || high == NULL || low == NULL) {
        return (unsigned char)s[0];
    }
    *ret_len = 3;
    return (unsigned char)((high - digits) << 4 | (low - digits));
}

/* The segment of a path that is being read: is it "." or ".."? */
struct segment {
    size_t dots;
    bool others;
};

static bool ends_as_dots(struct segment *s)
{
    bool dots = !s->others && (s->dots == 1 || s->dots == 2);
    *s = (struct segment){0};
    return dots;
}

static int check_path(const char *path, size_t n, struct err *err)
{
    struct segment now = {0};
    for (size_t at = 0; at < n;) {
        size_t len;
        unsigned char c = decoded(path + at, n - at, &len);
        if (c < 0x20 || c == 0x7f) {
            return err_set(err, ERR_INVALID, "URL has a control character in its path");
        }
        if (c == '/' || c == '\\') {
            if (ends_as_dots(&now)) {
                return err_set(err, ERR_INVALID, "URL has a dot segment in its path");
            }
        } else if (c == '.') {
            now.dots++;
        } else {
            now.others = true;
        }
        at += len;
    }
    return ends_as_dots(&now) ? err_set(err, ERR_INVALID, "URL has a dot segment in its path")
                              : ERR_OK;
}

int url_check_sent(const char *url, struct err *err)
{
    url = str_nonnull(url);
    for (const char *s = url; *s != '\0'; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f) {
            return err_set(err, ERR_INVALID, "URL has a control character in it");
        }
    }
    if (strchr(url, '#') != NULL) {
        return err_set(err, ERR_INVALID, "URL has a '#' in it");
    }
    const char *colon = strstr(url, "://");
    const char *authority = colon == NULL ? url : colon + 3;
    const char *path = authority + strcspn(authority, "/?");
    return check_path(path, strcspn(path, "?"), err);
}
