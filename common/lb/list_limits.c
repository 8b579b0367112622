/* SPDX-License-Identifier: Apache-2.0 */
/* list_limits.c: see list_limits.h. */
#include "common/lb/list_limits.h"

#include "common/lb/findings.h"

/* The number that no account exceeds; 0: not known. */
static size_t highest(const struct lb_limit *limit)
{
    return limit->adjustable ? limit->ever : limit->most;
}

const char *lb_limit_text(struct arena *a, const struct lb_limit *limit, const char *of, size_t is,
                          size_t then)
{
    size_t ever = highest(limit);
    if (then <= limit->most || then <= is) {
        return NULL;
    }
    if (ever > 0 && then > ever) {
        return arena_printf(a, "%s needs %zu %s; the limit is %zu for every account, and %s", of,
                            then, limit->list, ever, limit->beyond);
    }
    if (is > limit->most) {
        return NULL; /* raised: only the cloud knows how far */
    }
    return arena_printf(a, "%s needs %zu %s; the default quota is %zu, and %s unless it was raised",
                        of, then, limit->list, limit->most, limit->beyond);
}

void lb_limit_find(struct lb_sync *s, const struct lb_item *item, const struct lb_limit *limit,
                   const char *field, const char *of, size_t is, size_t then)
{
    const char *text = lb_limit_text(s->a, limit, of, is, then);
    if (text != NULL) {
        lb_finding(s, item, LB_FINDING_LIMIT, field, "%s", text);
    }
}
