/* SPDX-License-Identifier: Apache-2.0 */
/* room.h: how much of each list with a limit a world uses, and limits that leave no room beyond it.
 * Pure.
 *
 * A full cloud takes a replacement only after the old resource has gone.  Limits of addresses are
 * left out: an address that is held for the time of an edit needs one more. */
#ifndef TRIMTAB_TESTS_EDITS_ROOM_H
#define TRIMTAB_TESTS_EDITS_ROOM_H

#include "common/base/arena.h"
#include "common/data/json.h"

/* NAME → number, as the settings of that cloud's simulator take it: the most that
 * either world uses.  Arena. */
struct json_object *room_both(struct arena *a, const char *cloud, struct json_object *one,
                              struct json_object *other);
/* The path of the settings and their body: "/sim/settings/gce" and {"quotas": …}; arena.  `room`
 * NULL: no limits but the simulator's own. */
const char *room_path(struct arena *a, const char *cloud);
const char *room_settings(struct arena *a, const char *cloud, struct json_object *room);

#endif
