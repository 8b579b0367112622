/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c: characters of UTF-8 text.
 *
 * Classes of characters are in unicode.c; this file only knows the encoding.  Pure. */
#include "common/base/utf8.h"

size_t utf8_decode(const char *p, size_t n, uint32_t *ret)
{
    const unsigned char *s = (const unsigned char *)p;
    *ret = UTF8_REPLACEMENT;
    if (n == 0) {
        return 0;
    }
    if (s[0] < 0x80) {
        *ret = s[0];
        return 1;
    }
    /* length, payload of the first byte, and the smallest code point that needs this length */
    size_t len = s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (len == 0 || n < len) {
        return 0;
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t rune = s[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
        rune = rune << 6 | (s[i] & 0x3Fu);
    }
    if (rune < smallest[len] || rune > 0x10FFFF || (rune >= 0xD800 && rune < 0xE000)) {
        return 0;
    }
    *ret = rune;
    return len;
}

size_t utf8_decode_last(const char *p, size_t n, uint32_t *ret)
{
    for (size_t len = 1; len <= UTF8_MAX_BYTES && len <= n; len++) {
        if (((unsigned char)p[n - len] & 0xC0) != 0x80) {
            size_t got = utf8_decode(p + n - len, len, ret);
            if (got == len) {
                return len;
            }
            break;
        }
    }
    *ret = UTF8_REPLACEMENT;
    return 0;
}

size_t utf8_encode(uint32_t rune, char *out)
{
    if (rune > 0x10FFFF || (rune >= 0xD800 && rune < 0xE000)) {
        rune = UTF8_REPLACEMENT;
    }
    if (rune < 0x80) {
        out[0] = (char)rune;
        return 1;
    }
    size_t len = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (rune & 0x3F));
        rune >>= 6;
    }
    out[0] = (char)(lead[len] | rune);
    return len;
}
