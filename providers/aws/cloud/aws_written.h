/* SPDX-License-Identifier: Apache-2.0 */
/* aws_written.h: rules of security groups that this process has just added or taken away.
 *
 * For some seconds EC2's lists may show a group as it was before.  A sync that believes them leaves
 * behind a rule that it added a moment ago, shuts out a client whose rule it has just taken away,
 * or takes the same rule away twice.  So a look corrects what a list shows by what was written
 * since, whichever Service it was for.  Only writes that AWS has answered are here:
 * aws_memory_unsure() has the others.
 * An entry counts for AWS_SETTLES_MS and is forgotten then.
 * Thread-safe.  Source: "Eventual consistency" in the EC2 API reference; docs/adr/0073. */
#ifndef TRIMTAB_AWS_WRITTEN_H
#define TRIMTAB_AWS_WRITTEN_H

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "providers/aws/model/aws_rules.h"

#include <stdbool.h>
#include <stdint.h>

/* So long AWS may show what was before a change, at most. */
#define AWS_SETTLES_MS 10000

struct aws_written; /* of a provider */
struct aws_written *aws_written_new(void) _warn_unused_;
void aws_written_free(struct aws_written *w); /* NULL is fine */
/* The rule was added to the group (by id), or was there already; else it was taken away.  Copies
 * what it is given. */
void aws_written_note(struct aws_written *w, const char *group, const struct aws_rule *rule,
                      bool there, int64_t now_ms);
/* The group's rules as they are, when a list shows those: sorted, in `a`, borrowing from `shown`;
 * `shown` itself when nothing differs. */
struct aws_rules aws_written_correct(struct aws_written *w, struct arena *a, const char *group,
                                     const struct aws_rules *shown, int64_t now_ms);

#endif
