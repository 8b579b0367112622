/* SPDX-License-Identifier: Apache-2.0 */
/* aws_stands.c: does what stands now serve clients, whatever was planned (docs/adr/0093)?
 *
 * Asked of a Service whose sync has failed, or is only planned.  Listeners and targets answer, as
 * the sync has seen them; once it has changed some, the next sync tells.  Targets of a group
 * that only listeners of former ports need are not read, and then nothing is said, as long as no
 * other group has some.  Whether targets are healthy AWS' checks know.  Pure. */
#include "common/base/str.h"
#include "providers/aws/aws_sync.h"

static const struct aws_observed_group *group_of(const struct aws_observed *seen, const char *arn)
{
    for (size_t i = 0; i < seen->n_groups; i++) {
        if (str_eq(seen->groups[i].group->arn, arn)) {
            return &seen->groups[i];
        }
    }
    return NULL;
}

static bool has_target(const struct aws_targets *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (!str_eq(t->items[i].state, "draining")) {
            return true;
        }
    }
    return false;
}

/* NULL: some client is served, or (*ret_unknown) that is not known. */
static const char *of_nlb(struct arena *a, const struct aws_observed *seen, bool *ret_unknown)
{
    const char *empty = NULL;
    for (size_t i = 0; i < seen->n_listeners; i++) {
        const struct aws_observed_group *g = group_of(seen, seen->listeners[i].target_group);
        if (g != NULL && g->has_targets && has_target(&g->targets)) {
            *ret_unknown = false;
            return NULL;
        }
        *ret_unknown = *ret_unknown || g == NULL || !g->has_targets;
        empty = g == NULL ? empty : g->group->name;
    }
    if (*ret_unknown) {
        return NULL;
    }
    return seen->n_listeners == 0
               ? arena_printf(a, "load balancer %s has no listener", seen->nlb->name)
               : arena_printf(a, "target group %s has no targets", empty);
}

static const char *of_classic(struct arena *a, const struct aws_classic *classic)
{
    if (classic->n_listeners == 0) {
        return arena_printf(a, "load balancer %s has no listener", classic->name);
    }
    return classic->instances.n == 0
               ? arena_printf(a, "load balancer %s has no instances", classic->name)
               : NULL;
}

const char *aws_stands(const struct lb_sync *s, const struct lb_item *item)
{
    const struct aws_sync *y = s->data;
    const struct aws_item *it = y != NULL ? &y->items[item - s->items] : NULL;
    bool unknown = false;
    if (it == NULL || !it->looked || it->touched || !it->want ||
        it->service->kind == AWS_ELSEWHERE) {
        return NULL;
    }
    const struct aws_observed *seen = &it->seen;
    const char *why = seen->nlb != NULL       ? of_nlb(s->a, seen, &unknown)
                      : seen->classic != NULL ? of_classic(s->a, seen->classic)
                                              : "it has no load balancer";
    if (why != NULL || unknown || item->serves_nobody != NULL) {
        return why; /* ranges or groups that let no client in may be asked for alone, or in force */
    }
    return "";
}
