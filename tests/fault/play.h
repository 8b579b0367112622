/* SPDX-License-Identifier: Apache-2.0 */
/* play.h: one run of a flow in this process: a fresh rig, the edits, a call that fails, recovery, and the judgement.
 *
 *     play_prepare()   once per flow: makes the start, runs without faults, writes down calls and end
 *     play_point()     once per point: the same with one fault
 *
 * What is found out is kept in files below one folder, so that a run may take place in a process of its own: "FLOW.start"
 * (a world), "FLOW.end" (world_text()), "FLOW.calls" (one per line).  Both functions end the rig that they made. */
#ifndef TRIMTAB_TESTS_FAULT_PLAY_H
#define TRIMTAB_TESTS_FAULT_PLAY_H

#include "common/base/err.h"
#include "tests/fault/flows.h"
#include "tests/fault/probe.h"

#include <stdbool.h>

/* *err says what was wrong: with the faultless run itself. */
int play_prepare(const struct flow *f, const char *dir, struct err *err) _warn_unused_;

struct play_point {
    const struct flow *flow;
    const char *call; /* a line of FLOW.calls */
    const struct fault_kind *kind;
    bool verbose; /* print the controller's log when it fails */
};
/* *ret_met: the call came, so the fault befell it. */
int play_point(const struct play_point *p, const char *dir, bool *ret_met,
               struct err *err) _warn_unused_;

/* The lines of FLOW.calls; ERR_NOT_FOUND before play_prepare(). */
int play_calls(struct arena *a, const struct flow *f, const char *dir, char ***ret, size_t *ret_n,
               struct err *err) _warn_unused_;

#endif
