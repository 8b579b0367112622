/* SPDX-License-Identifier: Apache-2.0 */
/* aws_decode.h: from one item of an answer to one struct of aws_model.h.
 *
 * An answer is taken apart item by item, so that a list never exists as a tree beside its structs.
 * What repeats in long lists (VPC, zone, protocol, tag keys, instances and whole lists of them) is
 * kept once.  Text that is missing becomes "", a number 0, unless the member in aws_model.h says
 * otherwise.  Of tags these are kept:
 *     subnets     kubernetes.io/cluster/…, KubernetesCluster, kubernetes.io/role/…, Name
 *     groups      all: those that a Service's annotation asks for are compared
 *     instances   none, only whether one of them is the cluster's
 *     AWS_DOC_TAGS, AWS_DOC_CLASSIC_TAGS   all
 * Source: docs/spec/aws.md 3.2, 3.5.  Pure. */
#ifndef TRIMTAB_AWS_DECODE_H
#define TRIMTAB_AWS_DECODE_H

#include "common/base/arena.h"
#include "providers/aws/model/aws_model.h"
#include "providers/aws/model/aws_service.h"
#include "providers/aws/model/aws_xml.h"

#define AWS_DECODE_LISTS 8

struct aws_decode {
    struct arena *a;                 /* of the document; has all below */
    const struct aws_naming *naming; /* whose tags count */
    const char **shared;             /* texts that came, by hash; a power of two of places */
    size_t n_places;
    size_t n_shared;
    /* Long lists that came lately, by hash; a thousand balancers may have the
     * same thousand instances. */
    struct aws_decode_list {
        const char *const *came; /* shared texts, as they came; NULL: no list */
        struct aws_texts texts;
    } lists[AWS_DECODE_LISTS];
};

/* `ret` is the struct, zeroed.  False: an item without an id, which is none. */
typedef bool aws_decode_fn(struct aws_decode *d, const struct aws_node *n, void *ret);
aws_decode_fn aws_decode_subnet, aws_decode_route_table, aws_decode_zone, aws_decode_group,
    aws_decode_instance, aws_decode_classic, aws_decode_classic_attributes, aws_decode_nlb,
    aws_decode_listener, aws_decode_target_group, aws_decode_target, aws_decode_attribute,
    aws_decode_arn_tags;

/* For the decoders themselves: texts in the document's arena; never NULL.  The second
 * keeps equal ones once. */
const char *aws_decode_text(struct aws_decode *d, const struct aws_node *n, const char *path);
const char *aws_decode_shared(struct aws_decode *d, const struct aws_node *n, const char *path);
/* A number that fits; `otherwise` when it is missing or does not. */
int32_t aws_decode_int(const struct aws_node *n, const char *path, int32_t otherwise);
/* The texts of the list at `path` (each one's own, or with `member` that of this child),
 * sorted if asked for. */
struct aws_texts aws_decode_texts(struct aws_decode *d, const struct aws_node *n, const char *path,
                                  const char *member, bool sorted);
/* The same for lists that may be long and equal, sorted: equal ones are kept once. */
struct aws_texts aws_decode_shared_texts(struct aws_decode *d, const struct aws_node *n,
                                         const char *path, const char *member);
/* Lists of key and value, in either API's spelling; `keep` may be NULL. */
struct aws_tags aws_decode_tags(struct aws_decode *d, const struct aws_node *n, const char *path,
                                bool (*keep)(const char *key));

#endif
