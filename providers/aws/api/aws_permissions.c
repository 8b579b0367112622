/* SPDX-License-Identifier: Apache-2.0 */
/* aws_permissions.c: see aws_permissions.h.
 *
 * A permission has protocol and ports, and lists of sources; each source is a rule.  The parameters
 * of one stand together, in the order of permission, list and number. */
#include "providers/aws/api/aws_permissions.h"

#include "common/base/str.h"

#include <string.h>

#define HEAD "IpPermissions."

/* A parameter taken apart: "IpPermissions.1.IpRanges.2.CidrIp" is permission "1", list "IpRanges",
 * source "2", "CidrIp". */
struct name {
    struct span {
        const char *text;
        size_t len;
    } permission, list, source;
    const char *field;
};

static struct span until_dot(const char **at)
{
    struct span s = {.text = *at, .len = strcspn(*at, ".")};
    *at += s.len + ((*at)[s.len] == '.');
    return s;
}

/* False: it belongs to no permission. */
static bool take_apart(const char *text, struct name *ret)
{
    *ret = (struct name){0};
    if (!str_has_prefix(text, HEAD)) {
        return false;
    }
    const char *at = text + strlen(HEAD);
    ret->permission = until_dot(&at);
    if (strchr(at, '.') != NULL) {
        ret->list = until_dot(&at);
        ret->source = until_dot(&at);
    }
    ret->field = at;
    return true;
}

static bool same(struct span x, struct span y)
{
    return x.len == y.len && (x.len == 0 || memcmp(x.text, y.text, x.len) == 0);
}

static bool same_rule(const struct name *x, const struct name *y)
{
    return same(x->permission, y->permission) && same(x->list, y->list) &&
           same(x->source, y->source);
}

/* The rule of that index.  Returns the number of rules up to it; `index` SIZE_MAX counts all. */
static size_t find(const struct aws_pair *pairs, size_t n, size_t index, struct name *ret)
{
    struct name last = {0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        struct name is;
        if (!take_apart(pairs[i].name, &is) || is.source.len == 0 || same_rule(&is, &last)) {
            continue;
        }
        last = is;
        if (count++ == index) {
            *ret = is;
            break;
        }
    }
    return count;
}

size_t aws_permissions_count(const struct aws_pair *pairs, size_t n)
{
    struct name none;
    return find(pairs, n, SIZE_MAX, &none);
}

size_t aws_permissions_one(struct arena *a, const struct aws_pair *pairs, size_t n, size_t index,
                           struct aws_pair **ret)
{
    struct aws_pair *out = ARENA_ARRAY(a, struct aws_pair, n + 1);
    struct name rule = {0};
    size_t count = 0;
    (void)find(pairs, n, index, &rule);
    for (size_t i = 0; i < n; i++) {
        struct name is;
        const char *name = pairs[i].name;
        if (take_apart(name, &is)) {
            bool head = is.source.len == 0 && same(is.permission, rule.permission);
            if (!head && !same_rule(&is, &rule)) {
                continue;
            }
            name = head ? arena_printf(a, HEAD "1.%s", is.field)
                        : arena_printf(a, HEAD "1.%.*s.1.%s", (int)is.list.len, is.list.text,
                                       is.field);
        }
        out[count++] = (struct aws_pair){name, pairs[i].value};
    }
    *ret = out;
    return count;
}
