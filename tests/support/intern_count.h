/* SPDX-License-Identifier: Apache-2.0 */
/* intern_count.h: how many strings a table of interned strings holds. */
#ifndef TRIMTAB_TESTS_INTERN_COUNT_H
#define TRIMTAB_TESTS_INTERN_COUNT_H

#include "common/base/intern_internal.h"

static inline size_t intern_count(struct intern_table *t)
{
    mutex_lock(&t->lock);
    size_t n = t->strings.n;
    mutex_unlock(&t->lock);
    return n;
}

#endif
