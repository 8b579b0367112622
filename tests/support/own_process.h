/* SPDX-License-Identifier: Apache-2.0 */
/* own_process.h: what a test may want to know of the process that it runs in. */
#ifndef TRIMTAB_TESTS_SUPPORT_OWN_PROCESS_H
#define TRIMTAB_TESTS_SUPPORT_OWN_PROCESS_H

#include <stdbool.h>

/* Resident memory in KiB; 0: /proc cannot be read. */
long own_rss_kib(void);
/* Resident KiB of the mapping that holds `address`, such as a stack; 0: it is not found. */
long own_mapping_kib(const void *address);
/* True under valgrind, which keeps file descriptors for itself, and whose posix_spawn() does not
 * tell that a program is missing. */
bool own_is_valgrind(void);

#endif
