/* SPDX-License-Identifier: Apache-2.0 */
/* aws_names.c: names of target groups and of NLBs' security groups.
 *
 * Both are "k8s-", eight characters of the namespace, eight of the Service's name, and ten hex
 * digits of a hash over what must tell things apart.  The hashes are upstream's, byte for byte, so
 * that its resources are found and taken over: the one of target groups is SHA-1 and begins with
 * the cluster id of the tags, the one of security groups is SHA-256 and begins with --cluster-name
 * (docs/spec/aws.md 5.7, 5.9; vectors 11.1, 11.2).  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include <openssl/sha.h>
#include <string.h>

#include "common/base/str.h"

#define PART_CHARS 8
#define HASH_BYTES 5

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters and digits of the text, eight at most. */
static const char *name_part(struct arena *a, const char *text)
{
    char out[PART_CHARS + 1];
    size_t n = 0;
    for (const char *p = str_nonnull(text); *p != '\0' && n < PART_CHARS; p++) {
        if (is_plain(*p)) {
            out[n++] = *p;
        }
    }
    out[n] = '\0';
    return arena_strdup(a, out);
}

static const char *hash_text(struct arena *a, const unsigned char *sum)
{
    static const char digits[] = "0123456789abcdef";
    char out[2 * HASH_BYTES + 1];
    for (size_t i = 0; i < HASH_BYTES; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[2 * HASH_BYTES] = '\0';
    return arena_strdup(a, out);
}

const char *aws_target_group_prefix(struct arena *a, const char *namespace_, const char *name)
{
    return arena_printf(a, "k8s-%s-%s-", name_part(a, namespace_), name_part(a, name));
}

const char *aws_target_group_name(struct arena *a, const struct aws_group_name_input *in)
{
    unsigned char sum[SHA_DIGEST_LENGTH];
    const char *text = arena_printf(
        a, "%s%s%s%d%d%sinstance%s%d", str_nonnull(in->cluster_id), str_nonnull(in->namespace_),
        str_nonnull(in->name), (int)in->port, (int)in->node_port, str_nonnull(in->traffic_protocol),
        str_nonnull(in->health_protocol), (int)in->interval);
    SHA1((const unsigned char *)text, strlen(text), sum);
    return arena_printf(a, "%s%s", aws_target_group_prefix(a, in->namespace_, in->name),
                        hash_text(a, sum));
}

const char *aws_nlb_group_name(struct arena *a, const char *cluster_name,
                               const struct tt_service *s)
{
    unsigned char sum[SHA256_DIGEST_LENGTH];
    const char *text = arena_printf(a, "%s%s%s%s", str_nonnull(cluster_name), str_nonnull(s->name),
                                    str_nonnull(s->ns), str_nonnull(s->uid));
    SHA256((const unsigned char *)text, strlen(text), sum);
    return arena_printf(a, "%s%s", aws_target_group_prefix(a, s->ns, s->name), hash_text(a, sum));
}
