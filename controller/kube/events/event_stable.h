/* SPDX-License-Identifier: Apache-2.0 */
/* event_stable.h: texts of failures without their parts that differ from one try to the next.
 *
 * A cloud's error names the request, the operation and the moment.  An event with such a text is a
 * new object at each try instead of a count, after ten of them they are merged, and after 25 none
 * is written for minutes; a condition with it is a write at each try.  The log has the whole text.
 * Pure. */
#ifndef TRIMTAB_KUBE_EVENT_STABLE_H
#define TRIMTAB_KUBE_EVENT_STABLE_H

#include "common/base/arena.h"

/* `text`, or a copy in `a` in which
 *     left out    a label with its value: "Request ID: 1a", "tracking id '1a'",
 *                 "\"trace_id\":\"1\"", "Timestamp: 2026-11-28 17:00:00Z",
 *                 "Encoded authorization failure message: x";
 *                 "(request 1a)"; a UUID alone in brackets; Google's "(Code: '-123')"
 *     replaced    by "…": other moments, the name of an operation ("…/operations/1a",
 *                 "operation-1713392345-1a"), the number in "after 13 seconds".
 * UUIDs elsewhere stay: they name subscriptions, clients, resources. */
const char *event_stable(struct arena *a, const char *text);

#endif
