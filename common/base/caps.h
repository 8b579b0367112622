/* SPDX-License-Identifier: Apache-2.0 */
/* caps.h: capabilities of Linux that a process was given, and does not use yet.
 *
 * A user who is not root gets capabilities from the file of the program.  That file cannot ask for
 * effective ones: where the container allows fewer, the kernel would refuse to start it.  So it has
 * permitted ones (deploy/image), and the program makes those effective that it got. */
#ifndef TRIMTAB_BASE_CAPS_H
#define TRIMTAB_BASE_CAPS_H

/* Makes all permitted capabilities effective.  Call it in main(), before the first thread: threads
 * inherit them, programs that are started later do not. */
void caps_take(void);

#endif
