/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h: a hostile text for annotations, and a check whether an output shows any of it.
 *
 * Header only; for tests of all that prints texts of others. */
#ifndef TRIMTAB_TESTS_SUPPORT_FOREIGN_H
#define TRIMTAB_TESTS_SUPPORT_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/base/utf8.h"

/* ESC, a line feed, a tab, DEL, U+009B (CSI), U+202E (right to left), U+2028 (line separator),
 * U+200B (zero width), U+E0041 (tag), and a byte that is not UTF-8. */
#define FOREIGN_TEXT                                                                               \
    "a\x1b[31m\nb\tc\x7f\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xE2\x80\x8B\xF3\xA0\x81\x81\xFFz"
/* How it is shown in a line. */
#define FOREIGN_SHOWN "a\\x1b[31m\\nb\\tc\\x7f\\u009b\\u202e\\u2028\\u200b\\U000e0041\\xffz"
/* How it is shown where breaks become blanks. */
#define FOREIGN_BLANK "a\\x1b[31m b c\\x7f\\u009b\\u202e\\u2028\\u200b\\U000e0041\\xffz"

/* All characters show something, but for `breaks` line feeds. */
static inline bool foreign_is_shown(const char *text, size_t breaks)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n;) {
        uint32_t rune;
        size_t len = utf8_decode(text + i, n - i, &rune);
        bool is_break = rune == '\n' && breaks > 0;
        if (len == 0 || !(unicode_is_visible(rune) || is_break)) {
            return false;
        }
        breaks -= is_break;
        i += len;
    }
    return breaks == 0;
}

#endif
