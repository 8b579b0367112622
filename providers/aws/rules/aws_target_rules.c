/* SPDX-License-Identifier: Apache-2.0 */
/* aws_target_rules.c: which targets of a target group come and which go.
 *
 * A target is an instance and a port.  One that is being deregistered already does not count as
 * there: when it is wanted again it is registered again.  Source: docs/spec/aws.md 5.6; vectors 245
 * to 249.  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* "…:loadbalancer/net/NAME/HASH" */
static bool is_of_name(const char *arn, const char *name)
{
    const char *hash = strrchr(arn, '/');
    size_t len = strlen(name);
    return hash != NULL && (size_t)(hash - arn) > len && hash[-(ptrdiff_t)len - 1] == '/' &&
           strncmp(hash - len, name, len) == 0;
}

const char *aws_target_group_other_user(const struct aws_target_group *g, const char *nlb,
                                        const char *lb_name)
{
    for (size_t i = 0; i < g->balancers.n; i++) {
        const char *arn = g->balancers.items[i];
        if (!str_eq(arn, nlb) && !is_of_name(arn, lb_name)) {
            return arn;
        }
    }
    return NULL;
}

/* Targets to be sorted; borrowed. */
struct sorted {
    const struct aws_target **items;
    size_t n;
};

/* The order of the texts "id:port", which are not written for it: a group has thousands. */
static int compare_targets(const struct aws_target *x, const struct aws_target *y)
{
    size_t i = 0;
    while (x->id[i] != '\0' && x->id[i] == y->id[i]) {
        i++;
    }
    if (x->id[i] != y->id[i]) { /* an id that ends continues with the colon */
        int cx = x->id[i] != '\0' ? (unsigned char)x->id[i] : ':';
        int cy = y->id[i] != '\0' ? (unsigned char)y->id[i] : ':';
        return cx != cy ? cx - cy : x->id[i] == '\0' ? -1 : 1;
    }
    if (x->port == y->port) {
        return 0;
    }
    char a[16];
    char b[16];
    (void)snprintf(a, sizeof(a), "%d", (int)x->port);
    (void)snprintf(b, sizeof(b), "%d", (int)y->port);
    return strcmp(a, b);
}

static int compare(const void *x, const void *y)
{
    return compare_targets(*(const struct aws_target *const *)x,
                           *(const struct aws_target *const *)y);
}

/* Sorts, and keeps one of each. */
static void tidy(struct sorted *s)
{
    size_t kept = 0;
    if (s->n > 0) {
        qsort(s->items, s->n, sizeof(const struct aws_target *), compare);
    }
    for (size_t i = 0; i < s->n; i++) {
        if (kept == 0 || compare_targets(s->items[kept - 1], s->items[i]) != 0) {
            s->items[kept++] = s->items[i];
        }
    }
    s->n = kept;
}

/* Those of `from` that `less` has not, into `ret` when there is one; how many. */
static size_t pick(const struct sorted *from, const struct sorted *less, struct aws_target *ret)
{
    size_t n = 0;
    size_t k = 0;
    for (size_t i = 0; i < from->n; i++) {
        int order = 1;
        while (k < less->n && (order = compare_targets(less->items[k], from->items[i])) < 0) {
            k++;
        }
        if (k == less->n || order != 0) {
            if (ret != NULL) {
                ret[n] = *from->items[i];
            }
            n++;
        }
    }
    return n;
}

static struct aws_targets minus(struct arena *a, const struct sorted *from,
                                const struct sorted *less)
{
    size_t n = pick(from, less, NULL);
    if (n == 0) {
        return (struct aws_targets){0};
    }
    struct aws_target *items = ARENA_ARRAY(a, struct aws_target, n);
    (void)pick(from, less, items);
    return (struct aws_targets){.items = items, .n = n};
}

struct aws_target_diff aws_targets_diff(struct arena *a, struct aws_texts instances, int32_t port,
                                        const struct aws_targets *actual)
{
    struct aws_target *wanted = ARENA_ARRAY(a, struct aws_target, instances.n);
    struct sorted want = {.items = ARENA_ARRAY(a, const struct aws_target *, instances.n),
                          .n = instances.n};
    struct sorted is = {.items = ARENA_ARRAY(a, const struct aws_target *, actual->n)};
    for (size_t i = 0; i < instances.n; i++) {
        wanted[i] =
            (struct aws_target){.id = instances.items[i], .port = port, .state = "", .reason = ""};
        want.items[i] = &wanted[i];
    }
    for (size_t i = 0; i < actual->n; i++) {
        if (!str_eq(actual->items[i].reason, "Target.DeregistrationInProgress")) {
            is.items[is.n++] = &actual->items[i];
        }
    }
    tidy(&want);
    tidy(&is);
    return (struct aws_target_diff){.deregister = minus(a, &is, &want),
                                    .register_ = minus(a, &want, &is)};
}
