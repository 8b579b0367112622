/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_word_rules.c: the shapes of names; see the header. */
#include "controller/cmd/cmd_word_rules.h"

#include <ctype.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/str.h"

#define LABEL_MAX     63
#define SUBDOMAIN_MAX 253
#define PORT_NAME_MAX 15

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static const char label_words[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
static const char subdomain_words[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
static const char name_words[] =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
static const char value_words[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

static void say(const struct cmd_say *to, const char *detail)
{
    to->say(to->arg, detail);
}

/* n bytes of letters, digits and `inner`, which may neither begin nor end them. */
static bool is_word(const char *s, size_t n, bool upper, const char *inner)
{
    if (n == 0) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool plain = isdigit(c) || islower(c) || (upper && isupper(c));
        bool edge = i == 0 || i == n - 1;
        if (!plain && (edge || c == '\0' || strchr(inner, c) == NULL)) {
            return false;
        }
    }
    return true;
}

static bool is_subdomain(const char *s)
{
    for (;;) {
        size_t n = strcspn(s, ".");
        if (!is_word(s, n, false, "-")) {
            return false;
        }
        if (s[n] == '\0') {
            return true;
        }
        s += n + 1;
    }
}

void cmd_check_label(const struct cmd_say *to, const char *s)
{
    if (strlen(s) > LABEL_MAX) {
        say(to, "must be no more than 63 characters");
    }
    if (!is_word(s, strlen(s), false, "-")) {
        say(to, is_subdomain(s) ? "must not contain dots" : label_words);
    }
}

void cmd_check_subdomain(const struct cmd_say *to, const char *s)
{
    if (strlen(s) > SUBDOMAIN_MAX) {
        say(to, "must be no more than 253 characters");
    }
    if (!is_subdomain(s)) {
        say(to, subdomain_words);
    }
}

static void check_prefix(const struct cmd_say *to, const char *prefix)
{
    if (*prefix == '\0') {
        say(to, "prefix part must be non-empty");
        return;
    }
    if (strlen(prefix) > SUBDOMAIN_MAX) {
        say(to, "prefix part must be no more than 253 bytes");
    }
    if (!is_subdomain(prefix)) {
        say(to, arena_printf(to->a, "prefix part %s", subdomain_words));
    }
}

void cmd_check_qualified(const struct cmd_say *to, const char *s)
{
    const char *slash = strchr(s, '/');
    const char *name = slash == NULL ? s : slash + 1;
    if (strchr(name, '/') != NULL) {
        say(to, arena_printf(to->a,
                             "a valid label key %s with an optional DNS subdomain prefix and '/' "
                             "(e.g. 'example.com/MyName')",
                             name_words));
        return;
    }
    if (slash != NULL) {
        check_prefix(to, arena_strndup(to->a, s, (size_t)(slash - s)));
    }
    if (*name == '\0') {
        say(to, "name part must be non-empty");
    } else if (strlen(name) > LABEL_MAX) {
        say(to, "name part must be no more than 63 bytes");
    }
    if (!is_word(name, strlen(name), true, "-_.")) {
        say(to, arena_printf(to->a, "name part %s", name_words));
    }
}

void cmd_check_label_value(const struct cmd_say *to, const char *s)
{
    if (strlen(s) > LABEL_MAX) {
        say(to, "must be no more than 63 bytes");
    }
    if (*s != '\0' && !is_word(s, strlen(s), true, "-_.")) {
        say(to, value_words);
    }
}

void cmd_check_port_name(const struct cmd_say *to, const char *s)
{
    size_t n = strlen(s);
    if (n > PORT_NAME_MAX) {
        say(to, "must be no more than 15 characters");
    }
    if (strspn(s, LOWER DIGITS "-") != n) {
        say(to, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if (strpbrk(s, LOWER) == NULL) {
        say(to, "must contain at least one letter (a-z)");
    }
    if (strstr(s, "--") != NULL) {
        say(to, "must not contain consecutive hyphens");
    }
    if (n > 0 && (s[0] == '-' || s[n - 1] == '-')) {
        say(to, "must not begin or end with a hyphen");
    }
}

const char *cmd_cidr_fault(const char *cidr)
{
    struct ip_net net;
    struct ip_net exact;
    const char *slash = strchr(cidr, '/');
    if (!ip_net_parse_sloppy(cidr, &net)) {
        return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    }
    if (net.was_mapped) {
        return "must not have an IPv4-mapped IPv6 address";
    }
    if (!ip_net_parse(cidr, &net) || (slash[1] == '0' && slash[2] != '\0')) {
        return "must not have leading 0s in IP or prefix length";
    }
    bool exactly = !ip_net_parse_host(cidr, &exact) || ip_eq(&exact.addr, &net.addr);
    return exactly ? NULL : "must not have bits set beyond the prefix length";
}
