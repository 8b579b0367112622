/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h: the part of a long list of cases that one run takes, so that consecutive commits take
 * all of them.
 *
 *     struct sample s;
 *     sample_from_env(SWEEP_CI, SWEEP_QUICK, &s, &err);   N by TRIMTAB_SAMPLE: 1 takes every case
 *     sample_print(&s, stdout);                           "# sample: turn 804, part 4 of 20 …"
 *     if (sample_takes(&s, name)) { … }
 *
 * A case belongs to the part `hash(name) % N`; a run takes the part `turn % N`.  scripts/check sets
 * the turn to the number of the commit, so N consecutive commits, each of them checked, take every
 * case once.  Twin of tests/support/sample.py: both read the same variables, and
 * tests/data/sample/parts.txt holds them to the same hash.
 *
 *     TRIMTAB_SAMPLE        all, ci, quick, or the number N itself; unset: ci
 *     TRIMTAB_SAMPLE_TURN   the turn, a number from 0 on; unset: 0 */
#ifndef TRIMTAB_TESTS_SAMPLE_H
#define TRIMTAB_TESTS_SAMPLE_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sample {
    uint64_t parts; /* N, at least 1 */
    uint64_t turn;
    bool by_hand; /* the environment names no turn */
};

/* Reads the environment; `ci` and `quick` are the program's N in these modes.  ERR_INVALID: a
 * variable has no meaning. */
int sample_from_env(uint64_t ci, uint64_t quick, struct sample *ret, struct err *err) _warn_unused_;
/* For a test of random cases: the sample with N `parts` in every mode but "all", after printing its
 * comment.  Ends the process if a variable has no meaning. */
struct sample sample_of_test(uint64_t parts);
/* FNV-1a over the bytes of `name`, 64 bits, with the upper half folded into the lower one: the same
 * in every process. */
uint64_t sample_hash(const char *name);
/* Returns whether this run plays the case of that name. */
bool sample_takes(const struct sample *s, const char *name);
/* The same for cases that are numbered without gaps: parts differ by one case at most. */
bool sample_takes_number(const struct sample *s, uint64_t number);
/* Splits a sample of cases that stand in groups: *ret_groups takes a part of `groups` parts,
 * *ret_cases the cases of each group that is taken.  Where `s` has fewer parts than that, every
 * group is taken.  As many consecutive turns as `s` has parts, rounded down to a multiple of
 * `groups`, take every case once. */
void sample_split(const struct sample *s, uint64_t groups, struct sample *ret_groups,
                  struct sample *ret_cases);
/* Prints a TAP comment that says which part runs, and how to repeat it. */
void sample_print(const struct sample *s, FILE *to);

#endif
