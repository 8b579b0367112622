/* SPDX-License-Identifier: Apache-2.0 */
/* event_rules.h: the correlator: which events are new, which are counted, merged or dropped.
 *
 * An event goes through three steps, each with a memory of the 4,096 keys used last:
 *     1 aggregate   ten different messages of one kind within ten minutes: one event stands for all
 *                   that follow
 *     2 count       the same event again: the first one is patched, count + 1
 *     3 spam        a token bucket per object and type: 25 at once, then one per 5 minutes
 * The third decides last, after the first two have counted, as upstream does.
 * An event is about a whole object, never about a field of it.
 * Source: controller.md §4.10, vectors §6.12 (176–186).  Pure: `now` is a
 * parameter.  One thread. */
#ifndef TRIMTAB_KUBE_EVENT_RULES_H
#define TRIMTAB_KUBE_EVENT_RULES_H

#include "common/base/arena.h"
#include "common/base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct event_rules;

struct event_rules_params {
    int burst;         /* 0: 25 */
    double per_second; /* 0: one per 300 s */
    int max_keys;      /* of each memory; 0: 4,096 */
};
/* A reported event.  Texts are borrowed; NULL counts as "". */
struct event_input {
    const char *component;
    const char *kind;
    const char *api_version;
    const char *ns;
    const char *name;
    const char *uid;
    const char *type; /* "Normal", "Warning" */
    const char *reason;
    const char *message;
};
/* The request to send. */
struct event_verdict {
    bool drop;      /* spam: nothing */
    bool patch;     /* count > 1: change the event of that name; else create it */
    bool aggregate; /* stands for several messages: reporting fields are left empty */
    int count;
    /* borrowed from the rules until the next call; NULL for a new event: the caller */
    const char *event_name;
    /* makes a name and tells it with event_rules_named() */
    const char *message; /* borrowed from the input or the rules, until the next call */
    int64_t first_us;    /* wall time of the first of them */
};

struct event_rules *event_rules_new(const struct event_rules_params *params) _warn_unused_;
void event_rules_free(struct event_rules *r);
/* `now_ms` monotonic, `wall_us` for first_us. */
void event_rules_see(struct event_rules *r, const struct event_input *in, int64_t now_ms,
                     int64_t wall_us, struct event_verdict *ret);
/* The name under which the event of the last event_rules_see() is created. */
void event_rules_named(struct event_rules *r, const char *event_name);

#endif
