/* SPDX-License-Identifier: Apache-2.0 */
/* intern.h: byte strings that are kept once, however many records hold them.
 *
 * A record that is one of tens of thousands holds a pointer in place of a copy; two strings of one
 * table are equal when their pointers are.  Each pointer that intern_get() returns is given back
 * with intern_drop().  A table may be used from any thread. */
#ifndef TRIMTAB_BASE_INTERN_H
#define TRIMTAB_BASE_INTERN_H

#include "common/base/attr.h"
#include "common/base/index.h"

struct intern_table;
struct interned {
    uint32_t refs; /* by the table's lock */
    uint32_t n;    /* bytes */
    unsigned char data[];
};

struct intern_table *intern_table_new(void) _warn_unused_;
void intern_table_free(struct intern_table *t); /* all of its strings, too; NULL is fine */
const struct interned *intern_get(struct intern_table *t, const void *bytes,
                                  size_t n) _warn_unused_;
/* With its NUL; NULL for NULL. */
const struct interned *intern_text(struct intern_table *t, const char *text) _warn_unused_;
const struct interned *intern_again(struct intern_table *t,
                                    const struct interned *s) _warn_unused_; /* one more */
void intern_drop(struct intern_table *t, const struct interned *s);          /* NULL is fine */
/* For comparisons alone, since the caller does not hold it; NULL: no record does. */
const struct interned *intern_find_text(struct intern_table *t, const char *text);
const char *intern_str(const struct interned *s); /* of intern_text(); NULL for NULL */

/* Records whose first member is `const struct interned *`, by that; sorted as texts. */
extern const struct index_kind interned_text_kind;
/* The record with this text; NULL when absent. */
void *index_get_text(const struct index *x, struct intern_table *t, const char *text);

#endif
