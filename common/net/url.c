/* SPDX-License-Identifier: Apache-2.0 */
/* url.c: taking URLs apart and putting them together (RFC 3986, escaping as Go's net/url).
 *
 * Owns the grammar of URLs for the HTTP client, the proxy rules, kubeconfig and the simulator's
 * routes. Messages never repeat the URL itself: it may carry a password or a signed query; a
 * caller that knows it to be harmless can prefix it.
 * Must not resolve names, normalise paths or decode them: "raw" members stay byte for byte what was
 * written, because a cloud may sign or compare them.  Pure and thread-safe. */
#include "common/net/url.h"

#include <ctype.h>
#include <string.h>

#include "common/base/ip.h"

/* Longest URL that is checked: more than any API here needs, less than what would hurt. */
#define URL_MAX_BYTES ((size_t)64 * 1024)

static int parse_authority(struct arena *a, const char *text, struct url *u, struct err *err);
static int parse_host_port(struct arena *a, const char *text, struct url *u, struct err *err);
static int parse_port(const char *text, struct url *u, struct err *err);
static bool host_is_name(const char *host);
static uint16_t scheme_port(const char *scheme);

/* --- taking apart ---------------------------------------------------------------------------- */

static bool scheme_is_valid(const char *s, size_t n)
{
    if (n == 0 || !isalpha((unsigned char)s[0])) {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) && strchr("+-.", s[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool has_blank_or_control(const char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s <= ' ' || *s == 0x7f) {
            return true;
        }
    }
    return false;
}

int url_parse(struct arena *a, const char *text, struct url *ret, struct err *err)
{
    if (str_is_empty(text)) {
        return err_set(err, ERR_INVALID, "URL is empty");
    }
    if (strnlen(text, URL_MAX_BYTES + 1) > URL_MAX_BYTES) {
        return err_set(err, ERR_INVALID, "URL is longer than %zu bytes", URL_MAX_BYTES);
    }
    if (has_blank_or_control(text)) {
        return err_set(err, ERR_INVALID, "URL has a blank or a control character in it");
    }
    const char *colon = strstr(text, "://");
    if (colon == NULL || !scheme_is_valid(text, (size_t)(colon - text))) {
        return err_set(err, ERR_INVALID, "URL has no scheme such as https://");
    }
    struct url u = {.scheme = str_lower(a, arena_strndup(a, text, (size_t)(colon - text)))};

    const char *authority = colon + 3;
    size_t authority_len = strcspn(authority, "/?#");
    int rc = parse_authority(a, arena_strndup(a, authority, authority_len), &u, err);
    if (rc != ERR_OK) {
        return rc;
    }
    /* The fragment is for browsers; no server ever sees it. */
    const char *path = authority + authority_len;
    size_t path_len = strcspn(path, "?#");
    u.path = arena_strndup(a, path, path_len);
    const char *query = path + path_len;
    if (*query == '?') {
        u.query = arena_strndup(a, query + 1, strcspn(query + 1, "#"));
    }
    *ret = u;
    return ERR_OK;
}

static int parse_authority(struct arena *a, const char *text, struct url *u, struct err *err)
{
    const char *at = strrchr(text, '@');
    if (at != NULL) {
        u->userinfo = arena_strndup(a, text, (size_t)(at - text));
        text = at + 1;
    }
    u->port = scheme_port(u->scheme);
    return parse_host_port(a, text, u, err);
}

static int parse_host_port(struct arena *a, const char *text, struct url *u, struct err *err)
{
    const char *after;
    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (close == NULL) {
            return err_set(err, ERR_INVALID, "URL has a '[' without ']' in its host");
        }
        u->host = str_lower(a, arena_strndup(a, text + 1, (size_t)(close - text - 1)));
        struct ip_addr ip;
        if (strchr(u->host, ':') == NULL || !ip_parse(u->host, &ip)) {
            return err_set(err, ERR_INVALID, "URL host in brackets is no IPv6 address");
        }
        after = close + 1;
    } else {
        size_t n = strcspn(text, ":");
        u->host = str_lower(a, arena_strndup(a, text, n));
        if (n == 0) {
            return err_set(err, ERR_INVALID, "URL has no host");
        }
        if (!host_is_name(u->host)) {
            return err_set(err, ERR_INVALID, "URL host has a character that no host name has");
        }
        after = text + n;
    }
    if (*after == '\0') {
        return ERR_OK;
    }
    if (*after != ':') {
        return err_set(err, ERR_INVALID, "URL has text between its host and its port");
    }
    return parse_port(after + 1, u, err);
}

static int parse_port(const char *text, struct url *u, struct err *err)
{
    if (*text == '\0') {
        return ERR_OK; /* "host:" is the default port, as in Go */
    }
    uint64_t port;
    if (!str_to_u64(text, &port) || port == 0 || port > 65535) {
        return err_set(err, ERR_INVALID, "URL port is not a number from 1 to 65535");
    }
    u->port = (uint16_t)port;
    u->has_port = true;
    return ERR_OK;
}

/* RFC 3986 reg-name; bytes above 127 pass, a resolver with IDN may know them. */
static bool host_is_name(const char *host)
{
    for (; *host != '\0'; host++) {
        unsigned char c = (unsigned char)*host;
        if (c < 0x80 && !isalnum(c) && strchr("-._~!$&'()*+,;=%", c) == NULL) {
            return false;
        }
    }
    return true;
}

static uint16_t scheme_port(const char *scheme)
{
    static const struct {
        const char *scheme;
        uint16_t port;
    } known[] = {{"http", 80}, {"https", 443}, {"socks5", 1080}, {"socks5h", 1080}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(scheme, known[i].scheme)) {
            return known[i].port;
        }
    }
    return 0;
}

char *url_origin(struct arena *a, const struct url *u)
{
    bool v6 = strchr(u->host, ':') != NULL;
    const char *open = v6 ? "[" : "";
    const char *close = v6 ? "]" : "";
    if (!u->has_port) {
        return arena_printf(a, "%s://%s%s%s", u->scheme, open, u->host, close);
    }
    return arena_printf(a, "%s://%s%s%s:%u", u->scheme, open, u->host, close, u->port);
}

/* --- percent coding -------------------------------------------------------------------------- */

static void append_escaped(struct str_buf *b, const char *s, const char *kept, bool plus)
{
    static const char hex[] = "0123456789ABCDEF";
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == ' ' && plus) {
            str_append_c(b, '+');
        } else if (c < 0x80 && (isalnum(c) || strchr(kept, c) != NULL)) {
            str_append_c(b, (char)c);
        } else {
            str_append_c(b, '%');
            str_append_c(b, hex[c >> 4]);
            str_append_c(b, hex[c & 15]);
        }
    }
}

/* The two sets are those of net/url: what shouldEscape() lets through for encodePathSegment and
 * encodeQueryComponent. */
void url_append_path_escaped(struct str_buf *b, const char *segment)
{
    append_escaped(b, segment, "-_.~$&+:=@", false);
}

void url_append_query_escaped(struct str_buf *b, const char *value)
{
    append_escaped(b, value, "-_.~", true);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *unescape_n(struct arena *a, const char *s, size_t n, bool query)
{
    char *out = arena_alloc(a, n + 1);
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '+' && query) {
            out[len++] = ' ';
            continue;
        }
        if (s[i] != '%') {
            out[len++] = s[i];
            continue;
        }
        int hi = i + 2 < n ? hex_value(s[i + 1]) : -1;
        int lo = i + 2 < n ? hex_value(s[i + 2]) : -1;
        if (hi < 0 || lo < 0 || (hi == 0 && lo == 0)) {
            return NULL;
        }
        out[len++] = (char)(hi << 4 | lo);
        i += 2;
    }
    out[len] = '\0';
    return out;
}

char *url_unescape(struct arena *a, const char *s, bool query)
{
    return unescape_n(a, s, strlen(s), query);
}

/* --- queries --------------------------------------------------------------------------------- */

static bool parse_pair(struct arena *a, const char *pair, size_t n, struct url_param *ret)
{
    const char *eq = memchr(pair, '=', n);
    size_t name_len = eq == NULL ? n : (size_t)(eq - pair);
    ret->name = unescape_n(a, pair, name_len, true);
    ret->value = eq == NULL ? "" : unescape_n(a, eq + 1, n - name_len - 1, true);
    /* Go's ParseQuery refuses ';': some servers split there, and we must not disagree with them. */
    return ret->name != NULL && ret->value != NULL && memchr(pair, ';', n) == NULL;
}

int url_query_parse(struct arena *a, const char *query, struct url_param **ret, size_t *ret_n,
                    struct err *err)
{
    query = str_nonnull(query);
    size_t most = 1;
    for (const char *p = query; *p != '\0'; p++) {
        most += *p == '&';
    }
    struct url_param *params = ARENA_ARRAY(a, struct url_param, most);
    size_t n = 0;
    while (*query != '\0') {
        size_t len = strcspn(query, "&");
        if (len > 0 && !parse_pair(a, query, len, &params[n++])) {
            return err_set(err, ERR_INVALID, "query parameter %zu is malformed", n);
        }
        query += len + (query[len] == '&');
    }
    *ret = params;
    *ret_n = n;
    return ERR_OK;
}

const char *url_query_get(const struct url_param *p, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(p[i].name, name)) {
            return p[i].value;
        }
    }
    return NULL;
}

void url_append_param(struct str_buf *b, const char *name, const char *value)
{
    const char *text = str_buf_text(b);
    bool first = strchr(text, '?') == NULL;
    bool ready = b->len > 0 && strchr("?&", text[b->len - 1]) != NULL;
    if (!ready) {
        str_append_c(b, first ? '?' : '&');
    }
    url_append_query_escaped(b, name);
    str_append_c(b, '=');
    url_append_query_escaped(b, value);
}
