/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h: one run of an edit in this process, and what it shows.
 *
 *     trial_start()   once per kind: makes web and near, and writes the world to "KIND.start"
 *     trial_edit()    once per edit: without faults; nodes come and go; the edit is taken back.  Writes "EDIT.end", "EDIT.reach", "EDIT.calls"
 *     trial_cold()    once per edit: the same while no controller runs, which then starts
 *     trial_fault()   once per call and kind of fault
 *
 * The properties (E1 to E6) stand where they are checked, in judge.h and trial.c.  Each finding is one line on stdout:
 *
 *     E1: TCP/80 of 203.0.113.1 is not served to ["0.0.0.0/0"] after compute.forwardingRules.delete …
 *
 * A trial ends its rig.  Files lie in one folder; a process of its own for each. */
#ifndef TRIMTAB_TESTS_EDITS_TRIAL_H
#define TRIMTAB_TESTS_EDITS_TRIAL_H

#include "common/base/err.h"
#include "tests/edits/edits.h"
#include "tests/fault/probe.h"

enum trial_code {
    TRIAL_OK = 0,
    TRIAL_FOUND = 1,   /* findings were printed */
    TRIAL_BROKEN = 2,  /* the run itself failed; printed */
    TRIAL_REFUSED = 3, /* the API server does not take the edit */
    TRIAL_PAST = 4,    /* the call did not come */
};

struct trial_args {
    const char *dir;
    struct edit edit;
    const char *file;          /* of the edit: files "FILE.end", … */
    struct json_object *start; /* the kind's world; changed */
    bool verbose;              /* print the controller's log */
    /* trial_fault() only */
    const char *call;
    const struct fault_kind *fault;
};

extern const struct fault_kind edit_faults[]; /* ended by a row without a name */

enum trial_code trial_start(const struct edit_kind *k, const char *dir);
enum trial_code trial_edit(const struct trial_args *args);
enum trial_code trial_cold(const struct trial_args *args);
enum trial_code trial_fault(const struct trial_args *args);

#endif
