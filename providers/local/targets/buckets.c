/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c: which director holds a VIP: 256 buckets of addresses, and the director with the
 * greatest hash for a bucket.
 *
 * A director that joins takes about 256/n buckets, and no other bucket moves.  Pure. */
#include "providers/local/targets/slots.h"

#include <assert.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

static_assert(SHA256_DIGEST_LENGTH == LOCAL_SCORE_BYTES, "a score is a sum");
#define TEXT_MAX_ 512 /* of a name; those of directors have at most 200 bytes */

uint8_t local_bucket(const struct ip_addr *vip)
{
    unsigned char bytes[16] = {0};
    unsigned char sum[SHA256_DIGEST_LENGTH];
    if (vip->len == 4) {
        bytes[10] = bytes[11] = 0xff;
        memcpy(bytes + 12, vip->bytes, 4);
    } else {
        memcpy(bytes, vip->bytes, 16);
    }
    SHA256(bytes, sizeof(bytes), sum);
    return sum[0];
}

void local_bucket_score(const char *name, uint8_t bucket, uint8_t ret[LOCAL_SCORE_BYTES])
{
    char text[TEXT_MAX_];

    (void)snprintf(text, sizeof(text), "%.*s/%u", TEXT_MAX_ - 8, name, (unsigned)bucket);
    SHA256((const unsigned char *)text, strlen(text), ret);
}
