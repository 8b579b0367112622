/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: decoding and encoding of single UTF-8 characters, and the Unicode classes that Go's
 * parsers use.
 *
 * The one place that knows what valid UTF-8 is (RFC 3629: no over-long forms, no surrogates,
 * nothing above U+10FFFF).  The classes are those of Go's package unicode, because config files and
 * object names must be read as upstream reads them.  Pure. */
#ifndef TRIMTAB_BASE_UTF8_H
#define TRIMTAB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xFFFDu
#define UTF8_MAX_BYTES   4

/* Reads one character from p[0..n).  Returns its length in bytes (1 to 4) and the code point in
 * *ret, or 0 when n is 0 or the bytes are not valid UTF-8 (then *ret is UTF8_REPLACEMENT). */
size_t utf8_decode(const char *p, size_t n, uint32_t *ret);
/* Reads the character that ends at p[n-1]; as above. */
size_t utf8_decode_last(const char *p, size_t n, uint32_t *ret);
/* Writes `rune` (what cannot be encoded becomes U+FFFD); returns the length, at most
 * UTF8_MAX_BYTES. */
size_t utf8_encode(uint32_t rune, char *out);

bool unicode_is_space(uint32_t rune);  /* Go unicode.IsSpace */
bool unicode_is_letter(uint32_t rune); /* Go unicode.IsLetter: category L */
bool unicode_is_digit(uint32_t rune);  /* Go unicode.IsDigit: category Nd */
bool unicode_is_print(uint32_t rune);  /* Go unicode.IsPrint: L, M, N, P, S and the ASCII space */
/* True for printable characters that also show something: not for fillers and variation selectors,
 * which Unicode counts among letters and marks.  Controls, marks of direction, breaks and joiners
 * are not printable in the first place. */
bool unicode_is_visible(uint32_t rune);

#endif
