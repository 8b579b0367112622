/* SPDX-License-Identifier: Apache-2.0 */
/* access_rules.c: see access_rules.h.  Pure; everything new lives in the arena. */
#include "controller/serve/access_rules.h"

#include <string.h>

#include "common/base/str.h"

static const char *const anonymous_groups[] = {ACCESS_UNAUTHENTICATED};

const struct access_user access_anonymous = {
    .name = ACCESS_ANONYMOUS,
    .uid = "",
    .groups = anonymous_groups,
    .n_groups = 1,
};

/* --- users ------------------------------------------------------------------------------------ */

bool access_in_group(const struct access_user *u, const char *group)
{
    for (size_t i = 0; i < u->n_groups; i++) {
        if (strcmp(u->groups[i], group) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const *strs_dup(struct arena *a, const char *const *items, size_t n)
{
    const char **out = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = arena_strdup(a, items[i]);
    }
    return out;
}

struct access_user access_user_dup(struct arena *a, const struct access_user *u)
{
    struct access_extra *extra = ARENA_ARRAY(a, struct access_extra, u->n_extra);
    for (size_t i = 0; i < u->n_extra; i++) {
        extra[i] = (struct access_extra){
            .key = arena_strdup(a, u->extra[i].key),
            .values = strs_dup(a, u->extra[i].values, u->extra[i].n),
            .n = u->extra[i].n,
        };
    }
    return (struct access_user){
        .name = arena_strdup(a, u->name),
        .uid = arena_strdup(a, u->uid),
        .groups = strs_dup(a, u->groups, u->n_groups),
        .n_groups = u->n_groups,
        .extra = extra,
        .n_extra = u->n_extra,
    };
}

struct access_user access_with_authenticated(struct arena *a, const struct access_user *u)
{
    struct access_user out = *u;
    if (access_in_group(u, ACCESS_AUTHENTICATED) || access_in_group(u, ACCESS_UNAUTHENTICATED)) {
        return out;
    }
    const char **groups = ARENA_ARRAY(a, const char *, u->n_groups + 1);
    for (size_t i = 0; i < u->n_groups; i++) {
        groups[i] = u->groups[i];
    }
    groups[u->n_groups] = ACCESS_AUTHENTICATED;
    out.groups = groups;
    out.n_groups++;
    return out;
}

static bool fits(const char *s)
{
    return strnlen(s, ACCESS_NAME_MAX + 1) <= ACCESS_NAME_MAX;
}

static bool all_fit(const char *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!fits(items[i])) {
            return false;
        }
    }
    return n <= ACCESS_GROUPS_MAX;
}

bool access_user_fits(const struct access_user *u)
{
    size_t values = 0;
    bool ok =
        u->name[0] != '\0' && fits(u->name) && fits(u->uid) && all_fit(u->groups, u->n_groups);
    for (size_t i = 0; ok && i < u->n_extra; i++) {
        values += u->extra[i].n + 1;
        ok = fits(u->extra[i].key) && all_fit(u->extra[i].values, u->extra[i].n);
    }
    return ok && values <= ACCESS_GROUPS_MAX;
}

const char *access_user_bucket(const char *name)
{
    static const char *const known[] = {"admin", "client", "kube_proxy", "kubelet",
                                        "system:serviceaccount:kube-system:default"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(name, known[i]) == 0) {
            return known[i];
        }
    }
    return strchr(name, '@') != NULL ? "email_id" : "other";
}

/* --- what was shown --------------------------------------------------------------------------- */

const char *access_bearer(struct arena *a, const char *authorization)
{
    static const char word[] = "bearer ";
    if (authorization == NULL) {
        return NULL;
    }
    const char *text = str_trim(a, authorization);
    for (size_t i = 0; i < sizeof word - 1; i++) {
        char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (c != word[i]) {
            return NULL;
        }
    }
    /* Up to the next blank, as upstream's; "Bearer  x" with two blanks is therefore no token. */
    text += sizeof word - 1;
    size_t n = strcspn(text, " ");
    return n == 0 ? NULL : arena_strndup(a, text, n);
}

/* --- paths ------------------------------------------------------------------------------------ */

static const char *without_slash(const char *path)
{
    return path[0] == '/' ? path + 1 : path;
}

int access_check_paths(const struct option_list *paths, struct err *err)
{
    for (size_t i = 0; i < paths->n; i++) {
        const char *star = strchr(paths->items[i], '*');
        if (star != NULL && star[1] != '\0') {
            return err_set(err, ERR_INVALID,
                           "--authorization-always-allow-paths: only trailing * allowed in \"%s\"",
                           paths->items[i]);
        }
    }
    return ERR_OK;
}

bool access_path_is_open(const struct option_list *paths, const char *path)
{
    path = without_slash(path);
    for (size_t i = 0; i < paths->n; i++) {
        const char *open = without_slash(paths->items[i]);
        size_t n = strlen(open);
        bool by_prefix = n > 0 && open[n - 1] == '*';
        if (by_prefix ? strncmp(path, open, n - 1) == 0 : strcmp(path, open) == 0) {
            return true;
        }
    }
    return false;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* The message may end up in a browser: upstream takes the three characters of HTML out of
 * what the client chose. */
static const char *sanitize(struct arena *a, const char *s)
{
    return str_replace(a, str_replace(a, str_replace(a, s, "&", "&amp;"), "<", "&lt;"), ">",
                       "&gt;");
}

const char *access_forbidden_text(struct arena *a, const char *user, const char *verb,
                                  const char *path, const char *reason)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "User ");
    str_append_go_quoted(&b, user);
    str_appendf(&b, " cannot %s path ", verb);
    str_append_go_quoted(&b, path);
    const char *safe = sanitize(a, str_buf_text(&b));
    if (str_is_empty(reason)) {
        return arena_printf(a, "forbidden: %s", safe);
    }
    return arena_printf(a, "forbidden: %s: %s", safe, reason);
}
