/* SPDX-License-Identifier: Apache-2.0 */
/* aws_target_rules.c: which targets of a target group come and which go.
 *
 * A target is an instance and a port.  One that is being deregistered already does not count as there: when it is wanted
 * again it is registered again.  Source: docs/spec/aws.md 5.6; vectors 245 to 249.  Part of aws_rules.h.  Pure. */
#include "providers/aws/aws_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* A target with the text that it is sorted by: "id:port". */
struct keyed {
    const char *key;
    struct aws_target target;
};

static int compare(const void *x, const void *y)
{
    return strcmp(((const struct keyed *)x)->key, ((const struct keyed *)y)->key);
}

/* Sorts, and keeps one of each. */
static size_t tidy(struct keyed *items, size_t n)
{
    size_t kept = 0;
    if (n > 0) {
        qsort(items, n, sizeof(*items), compare);
    }
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || !str_eq(items[kept - 1].key, items[i].key)) {
            items[kept++] = items[i];
        }
    }
    return kept;
}

static struct keyed keyed(struct arena *a, struct aws_target t)
{
    return (struct keyed){.key = arena_printf(a, "%s:%d", t.id, (int)t.port), .target = t};
}

static struct aws_targets minus(struct arena *a, const struct keyed *from, size_t n,
                                const struct keyed *less, size_t n_less)
{
    struct aws_target *items = ARENA_ARRAY(a, struct aws_target, n);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_less == 0 || bsearch(&from[i], less, n_less, sizeof(*less), compare) == NULL) {
            items[kept++] = from[i].target;
        }
    }
    return (struct aws_targets){.items = kept > 0 ? items : NULL, .n = kept};
}

struct aws_target_diff aws_targets_diff(struct arena *a, struct aws_texts instances, int32_t port,
                                        const struct aws_targets *actual)
{
    struct keyed *want = ARENA_ARRAY(a, struct keyed, instances.n);
    struct keyed *is = ARENA_ARRAY(a, struct keyed, actual->n);
    size_t n_is = 0;
    for (size_t i = 0; i < instances.n; i++) {
        want[i] = keyed(a, (struct aws_target){
                               .id = instances.items[i], .port = port, .state = "", .reason = ""});
    }
    for (size_t i = 0; i < actual->n; i++) {
        if (!str_eq(actual->items[i].reason, "Target.DeregistrationInProgress")) {
            is[n_is++] = keyed(a, actual->items[i]);
        }
    }
    size_t n_want = tidy(want, instances.n);
    n_is = tidy(is, n_is);
    return (struct aws_target_diff){.deregister = minus(a, is, n_is, want, n_want),
                                    .register_ = minus(a, want, n_want, is, n_is)};
}
