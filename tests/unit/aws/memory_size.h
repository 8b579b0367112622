/* SPDX-License-Identifier: Apache-2.0 */
/* memory_size.h: how many Services a memory knows something about. */
#ifndef TRIMTAB_TESTS_MEMORY_SIZE_H
#define TRIMTAB_TESTS_MEMORY_SIZE_H

#include "providers/aws/cloud/aws_memory_internal.h"

static inline size_t aws_memory_size(struct aws_memory *m)
{
    mutex_lock(&m->lock);
    size_t n = map_size(m->by_uid);
    mutex_unlock(&m->lock);
    return n;
}

#endif
