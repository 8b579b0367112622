/* SPDX-License-Identifier: Apache-2.0 */
/* watch_rules.h: when the director looks whether others have changed what is ours.  Pure; moments
 * are monotonic.
 *
 * The kernel tells of changes to nftables, routes, addresses and links, so that a look follows at
 * once; IPVS tells nothing, and events can be lost, so that each look also comes without a cause.
 * A look that takes long, or that fails, is followed by a pause:  others who write all the time
 * cost a tenth of the thread's time at most. */
#ifndef TRIMTAB_LOCAL_DIRECTOR_WATCH_RULES_H
#define TRIMTAB_LOCAL_DIRECTOR_WATCH_RULES_H

#include "providers/local/kernel/kernel.h"

enum local_look {
    LOCAL_LOOK_TABLE = 0, /* all of our table */
    LOCAL_LOOK_HOLDS,     /* routes and addresses of ours, all of them */
    LOCAL_LOOK_ROUND,     /* one of LOCAL_ROUND_PARTS of the Services, IPVS too */
    LOCAL_LOOK_MACHINE,   /* what must be right on this machine: sysctls */
    LOCAL_LOOK_FIGURES,   /* metrics */
    LOCAL_LOOKS,
};
#define LOCAL_ROUND_PARTS   600
#define LOCAL_ROUND_MS      1000
#define LOCAL_ALL_MS        (LOCAL_ROUND_PARTS * LOCAL_ROUND_MS)
#define LOCAL_FIGURES_MS    10000
#define LOCAL_LOOK_PAUSE_MS 1000  /* after a look that a change caused */
#define LOCAL_LOOK_WAIT_MS  60000 /* the longest pause after failures */

struct local_watch_due {
    bool told[LOCAL_LOOKS];     /* a change causes it */
    int64_t at_ms[LOCAL_LOOKS]; /* when it comes without a cause; LOCAL_WATCH_NEVER: it does not */
    int64_t not_before_ms[LOCAL_LOOKS];
    unsigned failed[LOCAL_LOOKS]; /* in a row */
};
#define LOCAL_WATCH_NEVER INT64_MAX

void local_watch_begin(struct local_watch_due *w, int64_t now_ms);
/* The kernel has told of this. */
void local_watch_told(struct local_watch_due *w, enum local_event_kind kind);
/* Is this look due? */
bool local_watch_is_due(const struct local_watch_due *w, enum local_look what, int64_t now_ms);
/* It was made. */
void local_watch_did(struct local_watch_due *w, enum local_look what, bool well, int64_t began_ms,
                     int64_t ended_ms);
/* When one is due next. */
int64_t local_watch_next_ms(const struct local_watch_due *w);

#endif
