/* SPDX-License-Identifier: Apache-2.0 */
/* play.h: one run of a flow in this process: a fresh rig, the edits, a call that fails, recovery,
 * and the judgement.
 *
 *     play_prepare()   once per flow, in a process of its own: makes the start, runs without
 *                      faults, writes calls and end
 *     play_load()      once per flow, in the parent of all points: reads what play_prepare() wrote
 *     play_point()     once per point, in a process of its own: the same run with one fault
 *     play_cold()      the edits are made while no controller runs, which then carries them out;
 *                      needs none of the others
 *
 * Files below one folder pass the results on: "FLOW.start" (a world), "FLOW.end" (world_text()),
 * "FLOW.calls" (one per line).  A point inherits them parsed.  play_prepare() and play_point() end
 * the rig that they made. */
#ifndef TRIMTAB_TESTS_FAULT_PLAY_H
#define TRIMTAB_TESTS_FAULT_PLAY_H

#include "common/base/err.h"
#include "tests/fault/flows.h"
#include "tests/fault/probe.h"

#include <stdbool.h>

/* *err says what was wrong: with the faultless run itself. */
int play_prepare(const struct flow *f, const char *dir, struct err *err) _warn_unused_;

/* The run without faults. */
struct play_model {
    const struct flow *flow;
    struct json_object *start; /* a point may change it: each is a process */
    const char *end;
    char **calls; /* sorted */
    size_t n_calls;
};
/* Everything is owned by `a`.  ERR_NOT_FOUND before play_prepare(). */
int play_load(struct arena *a, const struct flow *f, const char *dir, struct play_model *ret,
              struct err *err) _warn_unused_;

struct play_point {
    const struct play_model *model;
    const char *call; /* one of its calls */
    const struct fault_kind *kind;
    bool verbose; /* print the controller's log when it fails */
};
/* *ret_met: the call came, so the fault befell it. */
int play_point(const struct play_point *p, bool *ret_met, struct err *err) _warn_unused_;

struct stage;
/* Hook of a test between the edits and the start of the controller, and when it is at rest. */
struct play_ear {
    int (*edited)(void *arg, struct stage *s, struct err *err);
    int (*rested)(void *arg, struct stage *s, struct err *err);
    void *arg;
};
/* Returns whether all edits of a flow can be made while no controller runs: none waits for what
 * another one did. */
bool play_can_be_cold(const struct flow *f);
int play_cold(const struct flow *f, const struct play_ear *ear, struct err *err) _warn_unused_;

#endif
