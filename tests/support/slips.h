/* SPDX-License-Identifier: Apache-2.0 */
/* slips.h: the slips that people make when they type a word: for tests of the
 * findings about them. */
#ifndef TRIMTAB_TESTS_SLIPS_H
#define TRIMTAB_TESTS_SLIPS_H

#include "common/base/arena.h"
#include "common/lb/findings.h"

#include <stddef.h>

/* Each slip of `word` once, in the arena: a letter missing, twice, another one, or exchanged with
 * the next; a capital letter, capitals throughout; "_" for "-"; a plural.  None of them is
 * the word itself. */
const char **slips_of(struct arena *a, const char *word, size_t *ret_n);

/* Fails the test unless each misspelling of the name of each known key is reported, and each of its
 * domain, with the intended key; and none of the keys that the table knows, and none of `more`
 * (ends with NULL), which are others' keys in full.  A run tries a part of the keys (sample.h). */
void slips_check_keys(const struct lb_annotation_keys *keys, const char *const *more);

#endif
