/* SPDX-License-Identifier: Apache-2.0 */
/* lease_view.c: Leases as a watch shows them (lease_view.h). */
#include "providers/local/leases/lease_view.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* One beyond what a holder looks at, so that it notices that there are too many. */
#define KEPT_MAX (LOCAL_DIRECTORS_MAX + 1)

struct entry {
    struct arena *a; /* of everything that `lease` points to */
    struct local_lease lease;
};

struct local_lease_view {
    char *director;
    size_t n_groups;
    char *version; /* of the own Lease, as it was written or listed last; NULL: not yet */
    bool current;
    struct entry own; /* a NULL if there is none */
    struct entry others[KEPT_MAX];
    struct local_lease_seen seen[KEPT_MAX];
    size_t n;
};

struct local_lease_view *local_lease_view_new(const char *director, size_t n_groups)
{
    struct local_lease_view *v = xcalloc(1, sizeof *v);

    v->director = xstrdup(director);
    v->n_groups = n_groups;
    return v;
}

void local_lease_view_free(struct local_lease_view *v)
{
    if (v == NULL) {
        return;
    }
    for (size_t i = 0; i < v->n; i++) {
        arena_free(v->others[i].a);
    }
    arena_free(v->own.a);
    free(v->version);
    free(v->director);
    free(v);
}

static void keep(struct local_lease_view *v, struct entry *e, const struct local_lease *lease)
{
    struct arena *a = arena_new();
    struct local_lease copy = *lease;
    size_t sets = v->n_groups * sizeof *lease->seen.holds;

    copy.version = arena_strdup(a, lease->version);
    copy.machine = arena_strdup(a, lease->machine);
    copy.seen.name = arena_strdup(a, lease->seen.name);
    copy.seen.version = arena_strdup(a, lease->seen.version);
    copy.seen.holds =
        memcpy(ARENA_ARRAY(a, struct local_bucket_set, v->n_groups), lease->seen.holds, sets);
    copy.seen.near =
        memcpy(ARENA_ARRAY(a, bool, v->n_groups), lease->seen.near, v->n_groups * sizeof(bool));
    arena_free(e->a);
    *e = (struct entry){a, copy};
}

static struct entry *find(struct local_lease_view *v, const char *director)
{
    for (size_t i = 0; i < v->n; i++) {
        if (strcmp(v->others[i].lease.seen.name, director) == 0) {
            return &v->others[i];
        }
    }
    return NULL;
}

static void compare(struct local_lease_view *v)
{
    v->current = v->current || (v->own.a != NULL && str_eq(v->own.lease.version, v->version));
}

void local_lease_view_put(struct local_lease_view *v, const struct local_lease *lease)
{
    if (strcmp(lease->seen.name, v->director) == 0) {
        keep(v, &v->own, lease);
        compare(v);
        return;
    }
    struct entry *e = find(v, lease->seen.name);
    if (e == NULL && v->n < KEPT_MAX) {
        e = &v->others[v->n++];
    }
    if (e != NULL) {
        keep(v, e, lease);
    }
}

void local_lease_view_drop(struct local_lease_view *v, const char *director)
{
    struct entry *e = find(v, director);

    if (strcmp(director, v->director) == 0) {
        arena_free(v->own.a);
        v->own = (struct entry){0};
    } else if (e != NULL) {
        arena_free(e->a);
        *e = v->others[--v->n];
        v->others[v->n] = (struct entry){0};
    }
}

void local_lease_view_wrote(struct local_lease_view *v, const char *version)
{
    free(v->version);
    v->version = xstrdup(version);
    v->current = false;
    compare(v);
}

bool local_lease_view_is_current(const struct local_lease_view *v)
{
    return v->current;
}

const struct local_lease *local_lease_view_own(const struct local_lease_view *v)
{
    return v->own.a == NULL ? NULL : &v->own.lease;
}

const struct local_lease_seen *local_lease_view_others(struct local_lease_view *v, size_t *ret_n)
{
    for (size_t i = 0; i < v->n; i++) {
        v->seen[i] = v->others[i].lease.seen;
    }
    *ret_n = v->n;
    return v->seen;
}
