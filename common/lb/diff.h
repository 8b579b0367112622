/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h: field differences between what is and what should be, for plans.  Pure.
 *
 * Two ways in: lists of strings compared as sets (one field with - and + lines in print), and two
 * JSON trees of which the members named in a table are compared.  Numbers as text compare as
 * numbers.  The result is appended to a growing array in the arena. */
#ifndef TRIMTAB_LB_DIFF_H
#define TRIMTAB_LB_DIFF_H

#include "common/base/arena.h"
#include "common/base/strset.h"
#include "common/data/json.h"
#include "common/lb/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct lb_diff {
    struct arena *a;
    struct lb_field *fields;
    size_t n;
    size_t cap;
};
void lb_diff_init(struct lb_diff *d, struct arena *a);
/* Room for so many more fields, for long lists whose length is known. */
void lb_diff_reserve(struct lb_diff *d, size_t n);
/* Each returns true when it found a difference.  NULL and "" are the same text. */
bool lb_diff_text(struct lb_diff *d, const char *path, const char *old_text, const char *new_text);
bool lb_diff_value(struct lb_diff *d, const char *path, const char *old_text, struct lb_value v);
bool lb_diff_int(struct lb_diff *d, const char *path, int64_t old_value, int64_t new_value);
/* One field per item that is only on one side, all with the same path. */
bool lb_diff_set(struct lb_diff *d, const char *path, const struct str_set *old_set,
                 const struct str_set *new_set);
/* Compares every member of `wanted` with `found` (deep; members only in `found` are not ours and
 * are ignored; lists are compared in order). */
bool lb_diff_json(struct lb_diff *d, const char *path, struct json_object *found,
                  struct json_object *wanted);

#endif
