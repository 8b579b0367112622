/* SPDX-License-Identifier: Apache-2.0 */
/* intern_internal.h: the members of an intern_table.  Private to intern.c and to tests that count
 * strings. */
#ifndef TRIMTAB_BASE_INTERN_INTERNAL_H
#define TRIMTAB_BASE_INTERN_INTERNAL_H

#include "common/base/intern.h"
#include "common/base/lock.h"

struct intern_table {
    struct mutex lock;
    /* by `lock` */
    struct index strings;
};

#endif
