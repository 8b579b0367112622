/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: the shapes of names: DNS labels and subdomains, qualified names, label values.
 *
 * Pure.  Each returns NULL when the text is fine, else the API server's sentence.
 * Source: apimachinery util/validation; recorded 038. */
#include "sim/kube/rules.h"

#include "common/base/str.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES      63
#define SUBDOMAIN_MAX_BYTES 253

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *s, size_t n)
{
    if (n == 0 || !is_lower_alnum(s[0]) || !is_lower_alnum(s[n - 1])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_lower_alnum(s[i]) && s[i] != '-') {
            return false;
        }
    }
    return true;
}

const char *kube_dns_label_error(const char *s)
{
    size_t n = strlen(s);
    if (n > NAME_MAX_BYTES) {
        return "must be no more than 63 bytes";
    }
    return is_label(s, n)
               ? NULL
               : "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                 "characters or '-', and must start and end with an alphanumeric character "
                 "(e.g. 'my-name',  or '123-abc', regex used for validation is "
                 "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

static const char subdomain_text[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation "
    "is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const char *kube_dns_subdomain_error(const char *s)
{
    if (strlen(s) > SUBDOMAIN_MAX_BYTES) {
        return "must be no more than 253 bytes";
    }
    for (const char *p = s;; p++) {
        size_t n = strcspn(p, ".");
        if (!is_label(p, n)) {
            return subdomain_text;
        }
        p += n;
        if (*p == '\0') {
            return NULL;
        }
    }
}

static bool is_name_part(const char *s)
{
    size_t n = strlen(s);
    if (n == 0 || !isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[n - 1])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) && !strchr("-_.", s[i])) {
            return false;
        }
    }
    return true;
}

static const char name_part_text[] =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const char *kube_qualified_name_error(struct arena *a, const char *s)
{
    const char *slash = strchr(s, '/');
    const char *name = s;
    if (slash) {
        if (strchr(slash + 1, '/')) {
            return arena_printf(
                a,
                "a qualified name %s with an optional DNS subdomain prefix and '/' (e.g. "
                "'example.com/MyName')",
                name_part_text);
        }
        const char *prefix = arena_strndup(a, s, (size_t)(slash - s));
        if (!*prefix) {
            return "prefix part must be non-empty";
        }
        const char *error = kube_dns_subdomain_error(prefix);
        if (error) {
            return arena_printf(a, "prefix part %s", error);
        }
        name = slash + 1;
    }
    if (!*name) {
        return "name part must be non-empty";
    }
    if (strlen(name) > NAME_MAX_BYTES) {
        return "name part must be no more than 63 bytes";
    }
    return is_name_part(name) ? NULL : arena_printf(a, "name part %s", name_part_text);
}

const char *kube_label_value_error(const char *s)
{
    if (strlen(s) > NAME_MAX_BYTES) {
        return "must be no more than 63 bytes";
    }
    if (*s == '\0' || is_name_part(s)) {
        return NULL;
    }
    return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
           "or '.', and "
           "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
           "'12345', "
           "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}
