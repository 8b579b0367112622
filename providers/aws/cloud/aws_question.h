/* SPDX-License-Identifier: Apache-2.0 */
/* aws_question.h: how each kind of document of aws_cloud.h is asked for, and what its items are.
 *
 * One row per kind.  A key that names several things is asked for in parts, as many things at once
 * as AWS takes.  Pure. */
#ifndef TRIMTAB_AWS_QUESTION_H
#define TRIMTAB_AWS_QUESTION_H

#include "providers/aws/cloud/aws_cloud.h"
#include "providers/aws/cloud/aws_decode.h"

/* Kinds of our own.  Instances, by id, have a cache of their own (aws_instances.c); the others are
 * whole lists that only a saved state has. */
#define AWS_DOC_INSTANCES        (AWS_DOC_KINDS + 0)
#define AWS_DOC_TAGGED_INSTANCES (AWS_DOC_KINDS + 1)
#define AWS_DOC_ALL_GROUPS       (AWS_DOC_KINDS + 2)
#define AWS_DOC_ALL_TAGS         (AWS_DOC_KINDS + 3)
#define AWS_DOC_ALL_CLASSIC_TAGS (AWS_DOC_KINDS + 4)
#define AWS_DOC_ALL_KINDS        (AWS_DOC_KINDS + 5)

struct aws_question {
    enum aws_api api;
    const char *action;
    const char *items; /* path of the list in the answer */
    size_t size;       /* of an item's struct */
    aws_decode_fn *decode;
    size_t per_call;       /* things that one call asks for; 0: it has no key */
    const char *parameter; /* of the key; with %zu: of its parts, from 1 */
    const char *filter;    /* with which the key is a filter's values */
    bool by_vpc;           /* of the cluster's VPC only */
    bool by_tag;           /* with the cluster's tag only */
    const char *page;      /* parameter for the size of a page, or NULL */
    const char *page_size;
    int (*compare)(const void *x, const void *y); /* order of the items; NULL: the answer's */
    int list; /* kind that has this one's things, too, or -1 (aws_derive.c) */
};
extern const struct aws_question aws_questions[AWS_DOC_ALL_KINDS];

/* The parts of a key: n texts in *ret; one empty text when the kind has no key. */
size_t aws_question_keys(struct arena *a, int kind, const char *key, const char *const **ret);
/* Parameters of one call for these (at most per_call) keys. */
const struct aws_pair *aws_question_pairs(struct arena *a, int kind,
                                          const struct aws_naming *naming, const char *const *keys,
                                          size_t n_keys, size_t *ret_n);
/* The item is what was asked for: AWS' filters are not believed where it matters whose
 * a thing is. */
bool aws_question_takes(int kind, const struct aws_naming *naming, const void *item);

#endif
