/* SPDX-License-Identifier: Apache-2.0 */
/* word_rules.c: see word_rules.h. */
#include "controller/rules/word_rules.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

#define METRIC_MAX 200

/* Between 1 and `max` bytes, all of `set`. */
static bool is_of(const char *s, const char *set, size_t max)
{
    size_t n = s == NULL ? 0 : strnlen(s, max + 1);

    return n >= 1 && n <= max && strspn(s, set) >= n;
}

static bool is_alnum_at(const char *s, size_t i)
{
    return isalnum((unsigned char)s[i]) != 0;
}

bool word_is_metric(const char *s)
{
    return is_of(s, LOWER UPPER DIGITS "_:", METRIC_MAX) && isdigit((unsigned char)s[0]) == 0;
}

bool word_is_label(const char *s)
{
    return is_of(s, LOWER UPPER DIGITS "_", METRIC_MAX) && isdigit((unsigned char)s[0]) == 0 &&
           strncmp(s, "__", 2) != 0;
}

/* The first `n` bytes of s. */
static bool is_dns_label_n(const char *s, size_t n)
{
    return n >= 1 && n <= 63 && strspn(s, LOWER DIGITS "-") >= n && s[0] != '-' && s[n - 1] != '-';
}

static bool is_dns_subdomain_n(const char *s, size_t n)
{
    if (n < 1 || n > 253) {
        return false;
    }
    for (size_t at = 0; at <= n;) {
        size_t len = strcspn(s + at, ".");
        len = len < n - at ? len : n - at;
        if (!is_dns_label_n(s + at, len)) {
            return false;
        }
        at += len + 1;
    }
    return true;
}

bool word_is_dns_label(const char *s)
{
    return s != NULL && is_dns_label_n(s, strnlen(s, 64));
}

bool word_is_dns_subdomain(const char *s)
{
    return s != NULL && is_dns_subdomain_n(s, strnlen(s, 254));
}

bool word_is_qualified(const char *s)
{
    if (s == NULL || strnlen(s, 318) > 317) {
        return false;
    }
    const char *slash = strchr(s, '/');
    const char *name = slash == NULL ? s : slash + 1;
    size_t n = strlen(name);
    return (slash == NULL || is_dns_subdomain_n(s, (size_t)(slash - s))) &&
           is_of(name, LOWER UPPER DIGITS "-_.", 63) && is_alnum_at(name, 0) &&
           is_alnum_at(name, n - 1);
}

bool word_is_reason(const char *s)
{
    return is_of(s, LOWER UPPER DIGITS "_,:", 128) && isalpha((unsigned char)s[0]) != 0 &&
           strchr(",:", s[strlen(s) - 1]) == NULL;
}

bool word_is_hostname(const char *s)
{
    struct ip_addr ip;

    return word_is_dns_subdomain(s) && !ip_parse(s, &ip);
}

bool word_is_api_version(const char *s)
{
    if (s == NULL || strnlen(s, 318) > 317) {
        return false;
    }
    const char *slash = strchr(s, '/');
    const char *version = slash == NULL ? s : slash + 1;
    return (slash == NULL || is_dns_subdomain_n(s, (size_t)(slash - s))) &&
           word_is_dns_label(version);
}

bool word_is_resource(const char *s)
{
    if (s == NULL || strnlen(s, 318) > 317) {
        return false;
    }
    const char *slash = strchr(s, '/');
    size_t n = slash == NULL ? strlen(s) : (size_t)(slash - s);
    return is_dns_subdomain_n(s, n) && (slash == NULL || word_is_dns_label(slash + 1));
}
