/* SPDX-License-Identifier: Apache-2.0 */
/* known.h: the known findings: the globs of known.txt over keys as "E1 KIND FIELD VALUE". */
#ifndef TRIMTAB_TESTS_EDITS_KNOWN_H
#define TRIMTAB_TESTS_EDITS_KNOWN_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct known {
    char **lines;
    size_t n;
    bool *met; /* which lines have matched a key so far */
};

/* Owned by the arena.  NULL: the file cannot be read, *err says why. */
struct known *known_read(struct arena *a, struct err *err) _warn_unused_;
/* Returns whether a line matches; each that does is met. */
bool known_has(struct known *k, const char *key);
/* Returns whether the i-th line is a glob, not empty and not a comment. */
bool known_is_glob(const struct known *k, size_t i);

#endif
