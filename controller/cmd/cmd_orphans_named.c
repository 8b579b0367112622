/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_orphans_named.c: the resources and Services that the command line names: each must be there,
 * a resource be an orphan.
 *
 * Nothing is listed or deleted when one of them is not: the slip of a pen is not an answer. */
#include <stdio.h>
#include <string.h>

#include "controller/cmd/cmd_orphans.h"

void orphans_note_name(struct orphans *o, const struct tt_owned *owned)
{
    bool used = (owned->flags & TT_OWNED_USED) != 0;

    o->owned = cmd_grow(o->s.a, o->owned, o->n_owned, &o->cap_owned, sizeof(*o->owned));
    o->owned[o->n_owned++] = (struct orphan_name){
        .name = arena_strdup(o->s.a, str_nonnull(owned->name)),
        .owner = arena_strdup(o->s.a, str_nonnull(owned->owner)),
        .used_by = used ? arena_strdup(o->s.a, str_nonnull(owned->owner)) : NULL,
    };
}

/* ERR_OK for an orphan, also where another resource of that name is in use. */
static int check_name(const struct orphans *o, const char *name, struct err *err)
{
    const struct orphan_name *in_use = NULL;

    for (size_t i = 0; i < o->n_owned; i++) {
        bool same = str_eq(o->owned[i].name, name);
        if (same && o->owned[i].used_by == NULL) {
            return ERR_OK;
        }
        in_use = same ? &o->owned[i] : in_use;
    }
    if (in_use != NULL) {
        return err_set(err, ERR_IN_USE, "%s is not an orphan: %s%s has it", name,
                       *in_use->used_by == '\0' ? "a Service" : "Service ", in_use->used_by);
    }
    const char **names = ARENA_ARRAY(o->s.a, const char *, o->n_owned + 1);
    for (size_t i = 0; i < o->n_owned; i++) {
        names[i] = o->owned[i].name;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "there is no resource %s among the resources of trimtab in the cloud%s", name,
                   str_near_hint(o->s.a, name, names, o->n_owned));
}

/* The cluster has it, or something in the cloud is of it. */
static bool is_service(const struct orphans *o, const char *key)
{
    bool found = cmd_session_service(&o->s, key) != NULL;

    for (size_t i = 0; !found && i < o->n_owned; i++) {
        found = str_eq(o->owned[i].owner, key);
    }
    return found;
}

static int no_service(const struct orphans *o, const char *key, struct err *err)
{
    const char **keys = ARENA_ARRAY(o->s.a, const char *, o->s.n_services + o->n_owned + 1);
    size_t n = 0;

    for (uint32_t i = 0; i < o->s.n_services; i++) {
        keys[n++] = arena_printf(o->s.a, "%s/%s", o->s.services[i]->ns, o->s.services[i]->name);
    }
    for (size_t i = 0; i < o->n_owned; i++) {
        keys[n++] = o->owned[i].owner;
    }
    return err_set(err, ERR_NOT_FOUND,
                   "there is no Service %s in the cluster, and nothing of one in the cloud%s", key,
                   str_near_hint(o->s.a, key, keys, n));
}

/* Where a word can be both, a Service comes first: nothing but its orphans is listed. */
static int check_word(const struct orphans *o, size_t i, struct err *err)
{
    const char *word = o->names.items[i];
    const char *key = o->keys[i];

    if (key != NULL && is_service(o, key)) {
        return ERR_OK;
    }
    return key != NULL && strchr(word, '/') != NULL ? no_service(o, key, err)
                                                    : check_name(o, word, err);
}

static const char *ns_of(struct arena *a, const char *key)
{
    return arena_strndup(a, key, strcspn(key, "/"));
}

const char *orphans_unknown_ns(const struct orphans *o)
{
    const char **names = ARENA_ARRAY(o->s.a, const char *, o->s.n_services + o->n_owned + 1);
    size_t n = 0;

    for (uint32_t i = 0; i < o->s.n_services; i++) {
        names[n++] = o->s.services[i]->ns;
    }
    for (size_t i = 0; i < o->n_owned; i++) {
        names[n++] = ns_of(o->s.a, o->owned[i].owner);
    }
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], o->ns)) {
            return NULL;
        }
    }
    return str_near_hint(o->s.a, o->ns, names, n);
}

int orphans_check_names(const struct orphans *o, struct err *err)
{
    int code = ERR_OK;

    for (size_t i = 0; i < o->names.n; i++) {
        struct err one = ERR_INIT;
        if (check_word(o, i, &one) == ERR_OK) {
            continue;
        }
        if (code != ERR_OK) {
            fprintf(stderr, "error: %s\n", err->message);
        }
        code = err_copy(err, &one);
    }
    return code;
}
