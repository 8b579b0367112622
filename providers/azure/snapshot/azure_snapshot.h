/* SPDX-License-Identifier: Apache-2.0 */
/* azure_snapshot.h: what was read of the cloud, and when: lists of documents by kind and scope.
 *
 * A scope is the ID of a resource group's collection, or of a single resource (a list of none or
 * one).  Lists are immutable once they are handed out: a write of ours makes a new list that shares
 * the other documents, so a holder of the old one is not disturbed; further writes go into that
 * one until it is handed out, too.  Of a thousand instances only those members are kept that
 * trimtab reads.  "Nothing to do" may be said from a list of bounded age; before anything is
 * written it is read again (docs/adr/0005).
 * JSON trees do not cross threads: one call at a time (the descriptor says max_parallel 1). */
#ifndef TRIMTAB_AZURE_SNAPSHOT_H
#define TRIMTAB_AZURE_SNAPSHOT_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/data/json.h"
#include "providers/azure/arm/azure_arm.h"

#include <stdbool.h>

struct azure_snapshot;
struct azure_snapshot *azure_snapshot_new(struct clock *clock);
void azure_snapshot_free(struct azure_snapshot *s);
/* Takes a reference of `array`, which counts as handed out; its documents lose what is not kept. */
void azure_snapshot_put_list(struct azure_snapshot *s, enum azure_kind k, const char *scope,
                             struct json_object *array);
/* The list, alive as long as the arena; NULL when it is not known or older than `max_age_ms`. */
struct json_object *azure_snapshot_list(struct azure_snapshot *s, enum azure_kind k,
                                        const char *scope, int64_t max_age_ms, struct arena *a);
/* Is that the list in which a document of that ID stands: its own ID, the ID without the name, or
 * the kind's list of the whole subscription? */
bool azure_snapshot_holds(const char *scope, const char *id);
/* One document of a known list: new, changed, or (NULL) gone.  Its scope is found by its ID. */
void azure_snapshot_put(struct azure_snapshot *s, enum azure_kind k, const char *id,
                        struct json_object *doc);
/* The same, however old, and also when it was forgotten since: with all later writes.  Nothing is
 * decided by it.  Only of balancers, public IPs and security groups. */
struct json_object *azure_snapshot_last(struct azure_snapshot *s, enum azure_kind k,
                                        const char *scope, struct arena *a);
/* Lists of a kind; `scope` NULL: all of them.  azure_snapshot_list() knows them no more. */
void azure_snapshot_forget(struct azure_snapshot *s, enum azure_kind k, const char *scope);

#endif
