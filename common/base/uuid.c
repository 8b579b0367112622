/* SPDX-License-Identifier: Apache-2.0 */
/* uuid.c: see uuid.h. */
#include "common/base/uuid.h"

#include <stddef.h>

static const char digits[] = "0123456789abcdef";

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool dash_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

bool uuid_read(const char *text, uint8_t ret[UUID_BYTES])
{
    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (dash_before(i) && *text++ != '-') {
            return false;
        }
        int high = digit_of(text[0]);
        int low = high < 0 ? -1 : digit_of(text[1]);
        if (low < 0) {
            return false;
        }
        ret[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    return true;
}

void uuid_format(const uint8_t bytes[UUID_BYTES], char ret[UUID_TEXT])
{
    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (dash_before(i)) {
            *ret++ = '-';
        }
        *ret++ = digits[bytes[i] >> 4];
        *ret++ = digits[bytes[i] & 15];
    }
    *ret = '\0';
}
