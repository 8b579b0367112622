/* SPDX-License-Identifier: Apache-2.0 */
/* gcfg.h: the dialect of git-config in which gce.conf (and aws.conf) are written.
 *
 * Spec: gce-cloud-provider.md §1.1 and §17 rows 2; every row there is a test.  The scanner gives a
 * flat list of entries in file order; what keys mean, which are lists and which are unknown is the
 * caller's table.  Errors are ERR_INVALID and begin with "line:col: ". */
#ifndef TRIMTAB_BASE_GCFG_H
#define TRIMTAB_BASE_GCFG_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct gcfg_entry {
    const char *section;    /* as written; compare without case */
    const char *subsection; /* NULL when the section has none */
    const char *key;        /* as written; NULL for the entry that only opens a section */
    const char *value;      /* unquoted; "" for `key =`; NULL for a blank (`key` without =) */
    int line;               /* 1… */
    int column;             /* 1…, of the key */
};

int gcfg_parse(struct arena *a, const char *text, size_t n, struct gcfg_entry **ret, size_t *ret_n,
               struct err *err) _warn_unused_;
/* gcfg's words for true and false (true yes on 1 / false no off 0, any case); false if it
 * is not one. */
bool gcfg_bool(const char *value, bool *ret);

/* One key that a caller knows. */
enum gcfg_type {
    GCFG_STR = 1,
    GCFG_BOOL,
    GCFG_STRS,
    GCFG_INT,
    GCFG_DOUBLE,
};
struct gcfg_key {
    const char *section; /* compared without case */
    const char *key;     /* compared without case; NULL section ends the table */
    enum gcfg_type type;
    size_t offset; /* const char *, bool, struct gcfg_list, int64_t, double */
};
struct gcfg_list {
    const char **items;
    size_t n;
};
/* An unknown section or key: one per unknown section or key. */
struct gcfg_unknown {
    const char *section;
    const char *key;     /* NULL: the whole section is unknown */
    const char *nearest; /* a known key that it may be a slip of, or NULL */
    int line;
};
/* Parses and fills *out by `keys`; unknown ones are collected, not errors (upstream accepts them).
 * Errors as upstream: scanner errors, blanks and bad values for the type, ending in
 * `at section "global", variable "<key>"`. */
int gcfg_decode(struct arena *a, const char *text, size_t n, const struct gcfg_key *keys, void *out,
                struct gcfg_unknown **ret_unknown, size_t *ret_n_unknown,
                struct err *err) _warn_unused_;
/* The same of entries that gcfg_parse() gave: for a caller that treats some sections by itself. */
int gcfg_decode_entries(struct arena *a, const struct gcfg_entry *entries, size_t n,
                        const struct gcfg_key *keys, void *out, struct gcfg_unknown **ret_unknown,
                        size_t *ret_n_unknown, struct err *err) _warn_unused_;
/* Is that the name of a section or key?  `known` is ASCII; compared as upstream's
 * library folds case. */
bool gcfg_name_is(const char *known, const char *written);

#endif
