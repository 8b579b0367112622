/* SPDX-License-Identifier: Apache-2.0 */
/* aws_stakes.h: which rules of security groups a sync needs, and which it takes away, while others
 * are under way.
 *
 * Groups of nodes are shared by all Services.  A sync decides what to take away by what it has read
 * and by what other Services say, and a rule that it finds there it does not add.  Both are wrong
 * if another sync takes away, or finds, the same rule meanwhile.  So each sync enters its stake in
 * this table when it plans:
 *
 *     look     from now on it reads Services and groups
 *     claim    what it needs and what it takes away; refused if another stake that may not be in
 *              what was read takes away the one or needs the other
 *     wait     after a refusal, until those other stakes are over; then it looks again
 *     over     its rules have come; its rules have left
 *
 * A stake that is over still counts for syncs that began to look before.  Who has claimed never
 * waits, so there is no deadlock; syncs whose rules differ do not notice each other.  What others
 * are about to take away counts as gone in a plan (aws_stake_leaving()), so that of two that go at
 * once the second takes what only both needed.
 * Thread-safe.  Source: docs/spec/aws.md 7.5; docs/adr/0066. */
#ifndef TRIMTAB_AWS_STAKES_H
#define TRIMTAB_AWS_STAKES_H

#include "common/base/attr.h"
#include "common/base/cancel.h"
#include "providers/aws/model/aws_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aws_stakes; /* of a provider */
struct aws_stakes *aws_stakes_new(void) _warn_unused_;
void aws_stakes_free(struct aws_stakes *t); /* NULL is fine; no stake may be in it */

/* A rule of a group. */
struct aws_staked {
    const char *group; /* id */
    struct aws_rule rule;
};
struct aws_staked_list {
    struct aws_staked *items;
    size_t n;
};

struct aws_stake_claim;
/* Of one sync; zeroes at first.  Members are the table's. */
struct aws_stake {
    struct aws_stakes *of; /* NULL: it is not in the table */
    uint64_t since;
    struct aws_stake_claim *claim;   /* the one in force, or NULL */
    struct aws_stake_claim *refused; /* the last one, if it was refused */
    struct aws_stake *next;
};
/* Enters it; what it claimed before is over. */
void aws_stake_look(struct aws_stakes *t, struct aws_stake *s);
/* One plan at a time from aws_stakes_plan() to aws_stakes_planned(): between them what is leaving
 * does not change.  No call that blocks may stand in between. */
void aws_stakes_plan(struct aws_stakes *t);
void aws_stakes_planned(struct aws_stakes *t);
/* Rules of the group that other syncs take away; in `a`. */
struct aws_rules aws_stake_leaving(const struct aws_stake *s, struct arena *a, const char *group);
/* False: refused.  Copies what it is given. */
bool aws_stake_claims(struct aws_stake *s, const struct aws_staked_list *needs,
                      const struct aws_staked_list *leaves) _warn_unused_;
/* Waits until no claim that is not over is against the refused one.  False: cancelled. */
bool aws_stake_wait(struct aws_stake *s, struct cancel *cancel);
void aws_stake_come(struct aws_stake *s); /* all rules that it adds are there */
void aws_stake_left(struct aws_stake *s); /* all rules that it takes away are gone */
/* Both are over, and it leaves the table.  Nothing to do for one that is not in it. */
void aws_stake_end(struct aws_stake *s);

#endif
