/* SPDX-License-Identifier: Apache-2.0 */
/* trim.h: memory of the start that a long life does not need. */
#ifndef TRIMTAB_BASE_TRIM_H
#define TRIMTAB_BASE_TRIM_H

/* Gives back free pages of the heap, and takes code out of the process's memory: what ran at the
 * start alone (initialisation of libraries, options, configuration) is never mapped again, all
 * other code comes back page by page from the file.  To be called once, when the start is over.
 * Thread-safe. */
void trim_after_start(void);

#endif
