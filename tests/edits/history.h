/* SPDX-License-Identifier: Apache-2.0 */
/* history.h: which clients reached which nodes after each of the controller's calls, as the
 * simulator saw it.
 *
 * A moment is kept if it differs from the moment before.  Filled in the simulator's thread; read
 * when the rig is at rest. */
#ifndef TRIMTAB_TESTS_EDITS_HISTORY_H
#define TRIMTAB_TESTS_EDITS_HISTORY_H

#include "common/data/json.h"
#include "tests/fault/probe.h"

struct moment {
    const char *after;         /* "compute.forwardingRules.delete /compute/v1/…"; "the start" */
    struct json_object *reach; /* GET /sim/reach */
    const char *told;          /* the address in the status of the Service "web"; NULL: none */
    int64_t at_ms;             /* by the fake clock */
};
struct history;

/* Watches from now on, instead of the former watcher of the probe. */
struct history *history_new(struct rig *r, struct probe *p) _warn_unused_;
void history_free(struct history *h);
/* Forgets all moments; the first one is now. */
void history_begin(struct history *h);
/* Reach as it is now; borrowed until the next call of history_begin(). */
struct json_object *history_now(struct history *h);
size_t history_len(const struct history *h);
const struct moment *history_at(const struct history *h, size_t i);

#endif
