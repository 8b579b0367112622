/* SPDX-License-Identifier: Apache-2.0 */
/* aws_memory_internal.h: the members of an aws_memory.  Private to aws_memory.c and its tests. */
#ifndef TRIMTAB_AWS_MEMORY_INTERNAL_H
#define TRIMTAB_AWS_MEMORY_INTERNAL_H

#include "common/base/lock.h"
#include "common/base/map.h"
#include "providers/aws/cloud/aws_memory.h"

struct aws_memory {
    struct mutex lock;
    struct map *by_uid _guarded_by_(lock); /* → struct known, heap */
    bool has_begun _guarded_by_(lock);
    int64_t began_ms _guarded_by_(lock);
};

#endif
