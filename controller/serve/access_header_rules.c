/* SPDX-License-Identifier: Apache-2.0 */
/* access_header_rules.c: see access_header_rules.h.  Pure; what it makes lives in
 * the request's arena. */
#include "controller/serve/access_header_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "common/net/url.h"

/* A header of the right prefix, on its way into extras. */
struct pair {
    const char *key;
    const char *value;
    size_t nth; /* order of arrival: sorting must be stable */
};

static const char *first_value(const struct access_request *req, const struct option_list *names)
{
    const char *full;
    for (size_t i = 0; i < names->n; i++) {
        const char *value = req->header(req->header_arg, names->items[i], false, 0, &full);
        if (!str_is_empty(value)) {
            return value;
        }
    }
    return "";
}

static int take_groups(const struct access_request *req, const struct option_list *names,
                       struct access_user *u, struct err *err)
{
    const char **groups = ARENA_ARRAY(req->a, const char *, ACCESS_GROUPS_MAX);
    size_t n = 0;
    const char *value;
    const char *full;
    for (size_t i = 0; i < names->n; i++) {
        for (size_t k = 0;
             (value = req->header(req->header_arg, names->items[i], false, k, &full)) != NULL;
             k++) {
            if (value[0] == '\0') {
                continue;
            }
            if (n == ACCESS_GROUPS_MAX) {
                return err_set(err, ERR_INVALID, "the proxy names more than %d groups",
                               ACCESS_GROUPS_MAX);
            }
            groups[n++] = value;
        }
    }
    u->groups = groups;
    u->n_groups = n;
    return ERR_OK;
}

static int by_key(const void *x, const void *y)
{
    const struct pair *a = x;
    const struct pair *b = y;
    int c = strcmp(a->key, b->key);
    return c != 0 ? c : (a->nth > b->nth) - (a->nth < b->nth);
}

/* %-coded in lower case; what cannot be decoded stands for itself. */
static const char *key_of(struct arena *a, const char *rest)
{
    const char *lower = str_lower(a, rest);
    const char *decoded = url_unescape(a, lower, false);
    return decoded == NULL ? lower : decoded;
}

static struct access_extra *grouped(struct arena *a, struct pair *pairs, size_t n, size_t *ret_n)
{
    struct access_extra *out = ARENA_ARRAY(a, struct access_extra, n);
    size_t used = 0;
    qsort(pairs, n, sizeof *pairs, by_key);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(pairs[end].key, pairs[i].key) == 0; end++) {
        }
        const char **values = ARENA_ARRAY(a, const char *, end - i);
        for (size_t k = i; k < end; k++) {
            values[k - i] = pairs[k].value;
        }
        out[used++] = (struct access_extra){.key = pairs[i].key, .values = values, .n = end - i};
    }
    *ret_n = used;
    return out;
}

static int take_extra(const struct access_request *req, const struct option_list *prefixes,
                      struct access_user *u, struct err *err)
{
    struct pair *pairs = ARENA_ARRAY(req->a, struct pair, ACCESS_GROUPS_MAX);
    size_t n = 0;
    const char *value;
    const char *full = "";
    for (size_t i = 0; i < prefixes->n; i++) {
        const char *prefix = prefixes->items[i];
        if (prefix[0] == '\0') { /* would be every header, credentials among them */
            continue;
        }
        for (size_t k = 0; (value = req->header(req->header_arg, prefix, true, k, &full)) != NULL;
             k++) {
            if (n == ACCESS_GROUPS_MAX) {
                return err_set(err, ERR_INVALID, "the proxy sends more than %d extra headers",
                               ACCESS_GROUPS_MAX);
            }
            pairs[n] = (struct pair){
                .key = key_of(req->a, full + strlen(prefix)), .value = value, .nth = n};
            n++;
        }
    }
    u->extra = grouped(req->a, pairs, n, &u->n_extra);
    return ERR_OK;
}

bool access_header_user(const struct access_request *req, const struct access_header_names *names,
                        struct access_user *ret, struct err *err)
{
    struct access_user u = {.name = first_value(req, &names->user),
                            .uid = first_value(req, &names->uid)};
    if (u.name[0] == '\0' || take_groups(req, &names->groups, &u, err) != ERR_OK ||
        take_extra(req, &names->extra, &u, err) != ERR_OK) {
        return false;
    }
    if (!access_user_fits(&u)) {
        (void)err_set(err, ERR_INVALID, "the proxy's headers name a user of more than is allowed");
        return false;
    }
    *ret = u;
    return true;
}

bool access_header_cn_allowed(const struct access_header_names *names, const char *cn)
{
    for (size_t i = 0; i < names->allowed.n; i++) {
        if (strcmp(names->allowed.items[i], cn) == 0) {
            return true;
        }
    }
    return names->allowed.n == 0;
}
