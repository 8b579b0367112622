/* SPDX-License-Identifier: Apache-2.0 */
/* http_proxy.c: which proxy a URL goes through, by the rules of Go's
 * golang.org/x/net/http/httpproxy.
 *
 * Users who moved from the upstream controllers have NO_PROXY lists written for Go: CIDRs,
 * suffixes with and without a leading dot, ports.  libcurl's own reading of these variables
 * differs, so it is switched off and this file decides.
 * Rules: the variable goes by the URL's scheme; upper case wins over lower; localhost and loopback
 * addresses are never proxied; in a CGI environment HTTP_PROXY is the attacker's "Proxy:" header
 * and is ignored (CVE-2016-5385).
 * Pure but for the injected `env`. */
#include <string.h>

#include "common/base/ip.h"
#include "common/net/http.h"
#include "common/net/url.h"

/* Where a request goes, in the forms that the rules compare. */
struct target {
    const char *host; /* lower case, no brackets */
    const char *port; /* decimal */
    bool is_ip;
    struct ip_addr ip;
};

static bool excluded_by_list(struct arena *a, const struct target *t, const char *no_proxy);

typedef const char *(*env_fn)(const char *name, void *arg);

static const char *env_any(env_fn env, void *arg, const char *upper, const char *lower)
{
    const char *v = env(upper, arg);
    return str_is_empty(v) ? env(lower, arg) : v;
}

static bool is_loopback(const struct ip_addr *ip)
{
    static const uint8_t v6_one[16] = {[15] = 1};
    return ip->len == 4 ? ip->bytes[0] == 127 : memcmp(ip->bytes, v6_one, sizeof(v6_one)) == 0;
}

/* "host:port" without a scheme is read as an HTTP proxy.  NULL when it is no URL either way. */
static char *normal_proxy(struct arena *a, const char *text)
{
    struct url u;
    if (url_parse(a, text, &u, NULL) == ERR_OK) {
        return arena_strdup(a, text);
    }
    char *with_scheme = arena_printf(a, "http://%s", text);
    return url_parse(a, with_scheme, &u, NULL) == ERR_OK ? with_scheme : NULL;
}

char *http_proxy_for(struct arena *a, const char *url,
                     const char *(*env)(const char *name, void *arg), void *arg)
{
    struct url u;
    if (url_parse(a, url, &u, NULL) != ERR_OK) {
        return NULL;
    }
    const char *proxy = NULL;
    if (str_eq(u.scheme, "https")) {
        proxy = env_any(env, arg, "HTTPS_PROXY", "https_proxy");
    } else if (str_eq(u.scheme, "http") && str_is_empty(env("REQUEST_METHOD", arg))) {
        proxy = env_any(env, arg, "HTTP_PROXY", "http_proxy");
    }
    if (str_is_empty(proxy) || str_eq(u.host, "localhost")) {
        return NULL;
    }
    struct target t = {.host = u.host, .port = arena_printf(a, "%u", u.port)};
    t.is_ip = ip_parse(t.host, &t.ip);
    if (t.is_ip && is_loopback(&t.ip)) {
        return NULL;
    }
    const char *no_proxy = env_any(env, arg, "NO_PROXY", "no_proxy");
    return excluded_by_list(a, &t, str_nonnull(no_proxy)) ? NULL : normal_proxy(a, proxy);
}

/* --- NO_PROXY -------------------------------------------------------------------------------- */

/* Splits "host:port", "[v6]:port" or "host" in place as net.SplitHostPort would; *ret_port is ""
 * when there is none. */
static const char *split_entry(char *entry, const char **ret_port)
{
    *ret_port = "";
    if (entry[0] == '[') {
        char *close = strchr(entry, ']');
        if (close == NULL || close[1] != ':') {
            return entry;
        }
        *close = '\0';
        *ret_port = close + 2;
        return entry + 1;
    }
    char *colon = strchr(entry, ':');
    if (colon == NULL || strchr(colon + 1, ':') != NULL) {
        return entry; /* none, or an IPv6 address without brackets */
    }
    *colon = '\0';
    *ret_port = colon + 1;
    return entry;
}

/* ".example.com" and "*.example.com" match names below; "example.com" matches itself too. */
static bool domain_matches(const char *pattern, const char *host)
{
    if (str_has_prefix(pattern, "*.")) {
        pattern++;
    }
    if (pattern[0] == '.') {
        return str_has_suffix(host, pattern);
    }
    if (str_eq(host, pattern)) {
        return true;
    }
    size_t host_len = strlen(host);
    size_t len = strlen(pattern);
    return host_len > len && host[host_len - len - 1] == '.' && str_has_suffix(host, pattern);
}

static bool entry_matches(char *entry, const struct target *t)
{
    struct ip_net net;
    if (str_eq(entry, "*")) {
        return true;
    }
    if (ip_net_parse(entry, &net)) {
        return t->is_ip && ip_net_contains(&net, &t->ip);
    }
    const char *port;
    const char *host = split_entry(entry, &port);
    bool port_matches = *port == '\0' || str_eq(port, t->port);
    struct ip_addr ip;
    if (ip_parse(host, &ip)) {
        return port_matches && t->is_ip && ip_eq(&ip, &t->ip);
    }
    return port_matches && *host != '\0' && domain_matches(host, t->host);
}

static bool excluded_by_list(struct arena *a, const struct target *t, const char *no_proxy)
{
    size_t n;
    char **entries = str_split(a, str_lower(a, no_proxy), ',', &n);
    for (size_t i = 0; i < n; i++) {
        char *entry = str_trim(a, entries[i]);
        if (*entry != '\0' && entry_matches(entry, t)) {
            return true;
        }
    }
    return false;
}
