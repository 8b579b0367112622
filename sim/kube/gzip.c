/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.c: writes the envelope of gzip.h.
 *
 * Stored blocks hold at most 65,535 bytes each; the trailer is CRC-32 and length, little-endian. */
#include "sim/kube/gzip.h"

#include <stdint.h>

#define STORED_MAX 65535u

static uint32_t crc32_of(const char *p, size_t n)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) {
            c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        }
        table[i] = c;
    }
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc = table[(crc ^ (unsigned char)p[i]) & 0xFF] ^ (crc >> 8);
    }
    return crc ^ 0xFFFFFFFFu;
}

static void append_le(struct str_buf *b, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        str_append_c(b, (char)(v >> (8 * i)));
    }
}

void kube_gzip_append(struct str_buf *b, const char *text, size_t n)
{
    static const char head[10] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
    str_append_n(b, head, sizeof(head));
    size_t done = 0;
    do {
        size_t len = n - done < STORED_MAX ? n - done : STORED_MAX;
        str_append_c(b, done + len == n ? 1 : 0);
        append_le(b, (uint32_t)len, 2);
        append_le(b, ~(uint32_t)len & 0xFFFFu, 2);
        str_append_n(b, text + done, len);
        done += len;
    } while (done < n);
    append_le(b, crc32_of(text, n), 4);
    append_le(b, (uint32_t)n, 4);
}
