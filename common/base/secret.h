/* SPDX-License-Identifier: Apache-2.0 */
/* secret.h: text that must not stay in memory: tokens, keys, passwords.
 *
 * A secret is a NUL-terminated heap string.  Its bytes are overwritten before its memory is given
 * back, and the compiler cannot leave that out.  Copies in an arena are not covered: an arena does
 * not know which of its bytes are secret. */
#ifndef TRIMTAB_BASE_SECRET_H
#define TRIMTAB_BASE_SECRET_H

/* Overwrites the text with NULs and keeps the memory.  NULL is allowed. */
void secret_wipe(char *text);
/* secret_wipe(), then free().  NULL is allowed. */
void secret_free(char *text);
/* Replaces *slot, which may be NULL, by a heap copy of `text` (NULL: by NULL); wipes the old text.
 * `text` must not point into *slot. */
void secret_set(char **slot, const char *text);

#endif
