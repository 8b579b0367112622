/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h: one run of an edit in this process, and its findings.
 *
 *     trial_start()   once per kind: makes web and near, and writes the world to "KIND.start"
 *     trial_nodes()   once per kind: a node comes and another goes, without an edit.  Writes
 *                     "KIND.nodes", the text of that world
 *     trial_edit()    once per edit: `trimtab plan -f` tells it (E5); without faults; further
 *                     tries write nothing (E8); nodes come and go; the edit is taken back.  Writes
 *                     "EDIT.end", "EDIT.reach", "EDIT.room", "EDIT.calls", "EDIT.asked"
 *     trial_cold()    once per edit: the same while no controller runs, which then starts and
 *                     carries out the plan of `trimtab plan` (E5)
 *     trial_new()     once per edit that is not good: the Service is made so; one that cannot be
 *                     served makes no writes when it is tried again
 *     trial_full()    once per edit: the same in a cloud that has room for the state before and for
 *                     the state asked for, and for no more
 *     trial_time()    once per good edit: in a cloud that takes its time.  Writes "EDIT.time":
 *                     "announced 4200 TCP/80"
 *     trial_fault()   once per call and kind of fault
 *
 * The properties (E1 to E8) stand where they are checked, in judge.h, deed.h and trial.c.  Each
 * finding is one line on stdout:
 *
 *     E1: TCP/80 of 203.0.113.1 is not served to ["0.0.0.0/0"] after compute.forwardingRules.delete
 *     …
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
    bool plans;                /* trial_edit() asks `trimtab plan -f` as well (E5) */
    /* trial_fault() only */
    const char *call;
    const struct fault_kind *fault;
};

extern const struct fault_kind edit_faults[]; /* ended by a row without a name */

enum trial_code trial_start(const struct edit_kind *k, const char *dir);
enum trial_code trial_nodes(const struct trial_args *args);
enum trial_code trial_edit(const struct trial_args *args);
enum trial_code trial_cold(const struct trial_args *args);
enum trial_code trial_new(const struct trial_args *args);
enum trial_code trial_full(const struct trial_args *args);
enum trial_code trial_time(const struct trial_args *args);
enum trial_code trial_fault(const struct trial_args *args);

#endif
