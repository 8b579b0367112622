/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h: how many cases of each property a run of fault-edits tried on each kind of load
 * balancer, and how many failed.
 *
 * Properties are known by their digits: "126" are E1, E2 and E6. */
#ifndef TRIMTAB_TESTS_EDITS_TALLY_H
#define TRIMTAB_TESTS_EDITS_TALLY_H

#include "tests/edits/edits.h"

#define TALLY_KINDS      24 /* at most */
#define TALLY_PROPERTIES 10 /* digits */

struct tally_cell {
    size_t cases;
    size_t failures; /* known ones, too */
};
struct tally {
    struct tally_cell cells[TALLY_KINDS][TALLY_PROPERTIES];
};

/* One case of a kind of edit_kinds, of each of these properties. */
void tally_case(struct tally *t, const struct edit_kind *k, const char *properties);
void tally_failure(struct tally *t, const struct edit_kind *k, char property);
/* Prints the kinds that have cases as a table in TAP comments. */
void tally_print(const struct tally *t);

#endif
