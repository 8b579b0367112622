/* SPDX-License-Identifier: Apache-2.0 */
/* history.h: who could reach what after each of the controller's calls, as the simulator saw it.
 *
 * Only what differs from the moment before is kept.  Filled in the simulator's thread; read when the rig is at rest. */
#ifndef TRIMTAB_TESTS_EDITS_HISTORY_H
#define TRIMTAB_TESTS_EDITS_HISTORY_H

#include "common/base/json.h"
#include "tests/fault/probe.h"

struct moment {
    const char *after;         /* "compute.forwardingRules.delete /compute/v1/…"; "the start" */
    struct json_object *reach; /* GET /sim/reach */
};
struct history;

/* Watches from now on: replaces what else watched the probe. */
struct history *history_new(struct rig *r, struct probe *p) _warn_unused_;
void history_free(struct history *h);
/* Forgets what was; the first moment is now. */
void history_begin(struct history *h);
/* Reach as it is now; borrowed until the next call of history_begin(). */
struct json_object *history_now(struct history *h);
size_t history_len(const struct history *h);
const struct moment *history_at(const struct history *h, size_t i);

#endif
