/* SPDX-License-Identifier: Apache-2.0 */
/* flow_faults.h: the fault sweep over scripts of flow_kit.h: in each flow the kernel refuses step
 * k, loses the answer to step k, or the process is killed before step k, for every k; then the same
 * process, or another one, runs until nothing is left to do.  The invariants hold after every step
 * of the kernel, in the end it has what it has when nothing goes wrong, and a process that plans
 * then plans nothing. */
#ifndef TESTS_UNIT_LOCAL_FLOW_FAULTS_H
#define TESTS_UNIT_LOCAL_FLOW_FAULTS_H

#include "tests/support/sample.h"
#include "tests/unit/local/flow/flow_kit.h"

struct flow_row {
    const char *name, *before, *change;
};

/* Plays each flow whole, and its faults as far as the sample takes them; returns how many failed,
 * each told on stderr. */
unsigned flow_faults_sweep(const struct flow_row *flows, size_t n, const struct sample *sample);

#endif
