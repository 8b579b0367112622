/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: the shapes of names: DNS labels and subdomains, qualified names, label values, keys,
 * port names.
 *
 * Pure.  Each adds every complaint that the API server has, in its order and words: a text that is
 * too long and has a wrong character gets two complaints.  Source: apimachinery util/validation;
 * recorded 038 and tests/data/kube-answers. */
#include "sim/kube/rules/rules.h"

#include "common/base/str.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES      63
#define SUBDOMAIN_MAX_BYTES 253
#define PORT_NAME_MAX       15

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

static const char label_text[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

static const char subdomain_text[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

static const char name_part_text[] =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation "
    "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

static const char label_value_text[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

static bool is_subdomain(const char *s)
{
    for (const char *p = s;; p++) {
        size_t n = strcspn(p, ".");
        if (!is_label(p, n)) {
            return false;
        }
        p += n;
        if (*p == '\0') {
            return true;
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

void kube_check_dns_label(struct kube_causes *c, const char *field, const char *s)
{
    if (strlen(s) > NAME_MAX_BYTES) {
        kube_invalid(c, field, s, "must be no more than 63 characters");
    }
    if (!is_label(s, strlen(s))) {
        kube_invalid(c, field, s, is_subdomain(s) ? "must not contain dots" : label_text);
    }
}

void kube_check_dns_subdomain(struct kube_causes *c, const char *field, const char *s)
{
    if (strlen(s) > SUBDOMAIN_MAX_BYTES) {
        kube_invalid(c, field, s, "must be no more than 253 characters");
    }
    if (!is_subdomain(s)) {
        kube_invalid(c, field, s, subdomain_text);
    }
}

/* The part before the slash of a qualified name. */
static void check_prefix(struct kube_causes *c, const char *field, const char *shown,
                         const char *prefix)
{
    if (!*prefix) {
        kube_invalid(c, field, shown, "prefix part must be non-empty");
        return;
    }
    if (strlen(prefix) > SUBDOMAIN_MAX_BYTES) {
        kube_invalid(c, field, shown, "prefix part must be no more than 253 bytes");
    }
    if (!is_subdomain(prefix)) {
        kube_invalid(c, field, shown, arena_printf(c->arena, "prefix part %s", subdomain_text));
    }
}

/* `shown` is the value as it was written, `s` what is judged: annotations are judged
 * in lower case. */
static void check_qualified(struct kube_causes *c, const char *field, const char *shown,
                            const char *s)
{
    const char *slash = strchr(s, '/');
    const char *name = slash ? slash + 1 : s;
    if (strchr(name, '/')) {
        kube_invalid(c, field, shown,
                     arena_printf(c->arena,
                                  "a valid label key %s with an optional DNS subdomain prefix and "
                                  "'/' (e.g. 'example.com/MyName')",
                                  name_part_text));
        return;
    }
    if (slash) {
        check_prefix(c, field, shown, arena_strndup(c->arena, s, (size_t)(slash - s)));
    }
    if (!*name) {
        kube_invalid(c, field, shown, "name part must be non-empty");
    } else if (strlen(name) > NAME_MAX_BYTES) {
        kube_invalid(c, field, shown, "name part must be no more than 63 bytes");
    }
    if (!is_name_part(name)) {
        kube_invalid(c, field, shown, arena_printf(c->arena, "name part %s", name_part_text));
    }
}

void kube_check_qualified_name(struct kube_causes *c, const char *field, const char *s)
{
    check_qualified(c, field, s, s);
}

void kube_check_annotation_key(struct kube_causes *c, const char *field, const char *s)
{
    check_qualified(c, field, s, str_lower(c->arena, s));
}

void kube_check_label_value(struct kube_causes *c, const char *field, const char *s)
{
    if (strlen(s) > NAME_MAX_BYTES) {
        kube_invalid(c, field, s, "must be no more than 63 bytes");
    }
    if (*s && !is_name_part(s)) {
        kube_invalid(c, field, s, label_value_text);
    }
}

void kube_check_config_key(struct kube_causes *c, const char *field, const char *s)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    size_t n = strlen(s);
    if (n > SUBDOMAIN_MAX_BYTES) {
        kube_invalid(c, field, s, "must be no more than 253 characters");
    }
    if (n == 0 || strspn(s, allowed) != n) {
        kube_invalid(
            c, field, s,
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
            "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
            "'[-._a-zA-Z0-9]+')");
    }
    if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0) {
        kube_invalid(c, field, s, arena_printf(c->arena, "must not be '%s'", s));
    } else if (n > 2 && strncmp(s, "..", 2) == 0) {
        kube_invalid(c, field, s, "must not start with '..'");
    }
}

void kube_check_port_name(struct kube_causes *c, const char *field, const char *s)
{
    size_t n = strlen(s);
    if (n > PORT_NAME_MAX) {
        kube_invalid(c, field, s, "must be no more than 15 characters");
    }
    if (strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != n) {
        kube_invalid(c, field, s,
                     "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if (!strpbrk(s, "abcdefghijklmnopqrstuvwxyz")) {
        kube_invalid(c, field, s, "must contain at least one letter (a-z)");
    }
    if (strstr(s, "--")) {
        kube_invalid(c, field, s, "must not contain consecutive hyphens");
    }
    if (n > 0 && (s[0] == '-' || s[n - 1] == '-')) {
        kube_invalid(c, field, s, "must not begin or end with a hyphen");
    }
}
