/* SPDX-License-Identifier: Apache-2.0 */
/* cores.h: keeps what is in memory, secrets among it, out of core files.
 *
 * A limit of 0 alone is not enough: the kernel ignores it where cores are piped to a program
 * (core_pattern "|…"), as on most hosts of containers.  A process that is not dumpable leaves no
 * core anywhere.  Only root may attach a debugger then. */
#ifndef TRIMTAB_BASE_CORES_H
#define TRIMTAB_BASE_CORES_H

/* Call it first in main().  Programs that are started later inherit the limit, and
 * are dumpable again. */
void cores_forbid(void);

#endif
