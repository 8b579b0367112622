/* SPDX-License-Identifier: Apache-2.0 */
/* keep.h: memory of records that stay for long, of which there are tens of thousands.
 *
 * malloc() adds 8 to 23 bytes to each of them, and lays them between blocks of plans and texts that
 * go a moment later, so that a whole page stays for one record.  Here records of one size lie side
 * by side, without heads; 32 KiB whose records have all gone are the kernel's again.  Who gives a
 * record back says its size, as who asked for it did.  One memory for the process, as malloc's
 * (docs/adr/0051).  Thread-safe.  With a sanitizer it is malloc's. */
#ifndef TRIMTAB_BASE_KEEP_H
#define TRIMTAB_BASE_KEEP_H

#include "common/base/attr.h"

#include <stddef.h>

/* `size` zeroed bytes, aligned for pointers and 64-bit numbers; above 512 bytes malloc's.  Never
 * NULL. */
void *keep_alloc(size_t size) _warn_unused_;
/* `size` is that of keep_alloc().  NULL is fine. */
void keep_free(void *p, size_t size);
/* A record of `size` bytes that begins as `p` of `old` bytes did; what is new is zero.  Frees p;
 * NULL for a size of 0. */
void *keep_resize(void *p, size_t old, size_t size) _warn_unused_;
/* Bytes of all records that were not given back; without those above 512 bytes. */
size_t keep_used(void);

#endif
