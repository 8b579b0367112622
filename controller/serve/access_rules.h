/* SPDX-License-Identifier: Apache-2.0 */
/* access_rules.h: a user's identity, the open paths, and the text of a refusal.
 *
 * Rules of delegated authentication and authorization that look at nothing but their arguments.
 * Source: controller.md §3.6;
 * apiserver/pkg/authorization/path, apiserver/pkg/authentication/group. Pure. */
#ifndef TRIMTAB_SERVE_ACCESS_RULES_H
#define TRIMTAB_SERVE_ACCESS_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "controller/options/options.h"

#define ACCESS_GROUPS_MAX 1000 /* of one user; values of extras are counted likewise */
#define ACCESS_NAME_MAX   4096 /* bytes of a name, a UID, a group, a key, a value */
#define ACCESS_TOKEN_MAX  ((size_t)64 << 10)

#define ACCESS_ANONYMOUS       "system:anonymous"
#define ACCESS_UNAUTHENTICATED "system:unauthenticated"
#define ACCESS_AUTHENTICATED   "system:authenticated"
#define ACCESS_MASTERS         "system:masters"

struct access_extra {
    const char *key;
    const char *const *values;
    size_t n;
};
/* The user of a request.  Everything is borrowed from one owner: an arena, or an answer
 * that is kept. */
struct access_user {
    const char *name; /* never "" */
    const char *uid;  /* or "" */
    const char *const *groups;
    size_t n_groups;
    const struct access_extra *extra; /* sorted by key, keys are unique */
    size_t n_extra;
};

/* The user without credentials. */
extern const struct access_user access_anonymous;

/* With system:authenticated behind the groups, unless that or system:unauthenticated is among them;
 * shares the rest. */
struct access_user access_with_authenticated(struct arena *a, const struct access_user *u);
/* A deep copy. */
struct access_user access_user_dup(struct arena *a, const struct access_user *u);
bool access_in_group(const struct access_user *u, const char *group);
/* True when the user is within the caps above. */
bool access_user_fits(const struct access_user *u);

/* The token of an Authorization header: "Bearer TOKEN", the word in any case.  NULL: none is there,
 * or another scheme. */
const char *access_bearer(struct arena *a, const char *authorization);

/* --authorization-always-allow-paths.  INVALID: a '*' that is not the last character. */
int access_check_paths(const struct option_list *paths, struct err *err) _warn_unused_;
/* Exact, or by prefix with a trailing '*'; one leading '/' does not count, on either side. */
bool access_path_is_open(const struct option_list *paths, const char *path);

/* `forbidden: User "x" cannot get path "/metrics"`, with ": REASON" when there is one. */
const char *access_forbidden_text(struct arena *a, const char *user, const char *verb,
                                  const char *path, const char *reason);
/* The value of label `username`: a few well-known names, "email_id", "other". */
const char *access_user_bucket(const char *name);

#endif
