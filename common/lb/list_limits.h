/* SPDX-License-Identifier: Apache-2.0 */
/* list_limits.h: what a plan asks for beyond the number that a cloud takes, said before it is sent.
 *
 *     static const struct lb_limit rules = {.list = "inbound rules of IPv4", .most = 60,
 *                                           .adjustable = true, .ever = 1000,
 *                                           .beyond = "AWS refuses more"};
 *     lb_limit_text(a, &rules, "security group nodes (sg-1)", is, then)
 *
 * Each cloud has a table of such rows with the numbers that it documents.  A quota may have been
 * raised for the account, which only the cloud knows: a finding says what is needed and what is
 * documented, and nothing is refused for it (docs/adr/0103).  A list that has more than the default
 * already shows that its quota was raised.  Pure. */
#ifndef TRIMTAB_LB_LIST_LIMITS_H
#define TRIMTAB_LB_LIST_LIMITS_H

#include "common/base/arena.h"
#include "common/lb/driver.h"

#include <stdbool.h>
#include <stddef.h>

#define LB_FINDING_LIMIT "AboveLimit"

struct lb_limit {
    const char *list;   /* what is counted, behind its number: "inbound rules of IPv4" */
    size_t most;        /* documented for an account that has asked for nothing */
    bool adjustable;    /* the cloud raises it on request; else no account has more */
    size_t ever;        /* adjustable: no account gets more than this; 0: not documented */
    const char *beyond; /* a clause: what the cloud does with more, "AWS refuses more" */
};
/* A sentence if a list that holds `is` now, and `then` once the plan is carried out, may not be
 * taken: NULL if it fits, shrinks, or its quota was raised as far as is known.  `of`: whose list it
 * is, the subject of the sentence.  The text does not depend on `is`. */
const char *lb_limit_text(struct arena *a, const struct lb_limit *limit, const char *of, size_t is,
                          size_t then);
/* The same as a finding of the item, reason LB_FINDING_LIMIT.  `field` may be NULL. */
void lb_limit_find(struct lb_sync *s, const struct lb_item *item, const struct lb_limit *limit,
                   const char *field, const char *of, size_t is, size_t then);

#endif
