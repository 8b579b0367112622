/* SPDX-License-Identifier: Apache-2.0 */
/* uuid.h: names that are 128 bits as text (RFC 9562), as the API server makes UIDs: 37 bytes of
 * text, or 16 where there are tens of thousands of them.  Pure; in str_util.c. */
#ifndef TRIMTAB_BASE_UUID_H
#define TRIMTAB_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_BYTES 16
#define UUID_TEXT  37 /* with its NUL */

/* The text begins with "8-4-4-4-12" digits, lower case, so that bytes are in the order of texts;
 * something may follow.  False: it does not, and `ret` is undefined. */
bool uuid_read(const char *text, uint8_t ret[UUID_BYTES]);
void uuid_format(const uint8_t bytes[UUID_BYTES], char ret[UUID_TEXT]);

#endif
