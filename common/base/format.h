/* SPDX-License-Identifier: Apache-2.0 */
/* format.h: printf for the formats that are used thousands of times a second.
 *
 * Names, paths and descriptions are put together with "%s/%s" and "%d"; libc needs 800 instructions
 * for such a text because its printf is made for floats, locales and wide characters, too.  This
 * one knows texts and whole numbers, and hands any other format to libc.  Pure. */
#ifndef TRIMTAB_BASE_FORMAT_H
#define TRIMTAB_BASE_FORMAT_H

#include "common/base/attr.h"

#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf(3): writes at most `room` bytes to `out`, the NUL included, and returns the length
 * of the whole text; negative when that is more than INT_MAX. */
int format_text(char *out, size_t room, const char *fmt, va_list ap) _printf_(3, 0);

#endif
