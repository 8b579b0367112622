/* SPDX-License-Identifier: Apache-2.0 */
/* aws_cloud.h: what has been read of the cloud: documents of known age that syncs share.
 *
 * A *document* is the decoded answer to one question ("all NLBs", "listeners of this ARN") with the
 * moment at which it was read.  It is immutable and counted: a sync holds the ones that it looks
 * at, a newer reading replaces the stored one.  A question that is being asked by one worker is
 * waited for by the others (one reading for all).  A question about one thing is answered from a
 * list of all of them when that list is young enough, or is just being read.  Nothing is ever older
 * than asked for, or than a quarter of an hour.  What AWS does not have is none, not an error.
 * Thread-safe.  Source: docs/spec/aws.md 6.3, 6.5, 9.3; docs/adr/0005. */
#ifndef TRIMTAB_AWS_CLOUD_H
#define TRIMTAB_AWS_CLOUD_H

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/net/http.h"
#include "providers/aws/api/aws_call.h"
#include "providers/aws/model/aws_model.h"
#include "providers/aws/model/aws_service.h"

/* The question; in comments: what `key` is, what the items are. */
enum aws_doc_kind {
    AWS_DOC_SUBNETS = 0,  /* –; struct aws_subnet, of the VPC */
    AWS_DOC_ROUTE_TABLES, /* –; struct aws_route_table, of the VPC */
    AWS_DOC_ZONES,        /* –; struct aws_zone */
    /* –; struct aws_group: of the VPC, those with the cluster's tag (new or legacy key: one filter
     * tag-key with both, checked here); rules are included */
    AWS_DOC_TAGGED_GROUPS,
    AWS_DOC_GROUPS, /* ids, sorted, comma separated; struct aws_group (absent ones are left out) */
    AWS_DOC_GROUPS_NAMED, /* names, likewise; struct aws_group of the VPC, with or without tags */
    AWS_DOC_GROUPS_REFERRING, /* group id; struct aws_group: those with a rule whose source it is */
    AWS_DOC_CLASSICS,         /* –; struct aws_classic, all of the region */
    AWS_DOC_CLASSIC,          /* name; 0 or 1 struct aws_classic */
    AWS_DOC_CLASSIC_ATTRIBUTES, /* name; 1 struct aws_classic_attributes */
    AWS_DOC_NLBS,               /* –; struct aws_nlb, all types, of the region */
    AWS_DOC_NLB,                /* name; 0 or 1 struct aws_nlb */
    AWS_DOC_NLB_ATTRIBUTES,     /* ARN; struct aws_tag */
    AWS_DOC_LISTENERS,          /* balancer's ARN; struct aws_listener, by port and protocol */
    AWS_DOC_TARGET_GROUPS,      /* –; struct aws_target_group, all of the region */
    /* balancer's ARN; struct aws_target_group ("TargetGroupNotFound" is none) */
    AWS_DOC_TARGET_GROUPS_OF,
    AWS_DOC_TARGET_GROUPS_BY,        /* ARNs, sorted, comma separated; struct aws_target_group */
    AWS_DOC_TARGET_GROUPS_NAMED,     /* names, likewise (absent ones are none) */
    AWS_DOC_TARGET_GROUP_ATTRIBUTES, /* ARN; struct aws_tag */
    AWS_DOC_TARGETS,                 /* target group's ARN; struct aws_target */
    AWS_DOC_TAGS,                    /* ARNs of v2 things, ≤ 20; struct aws_arn_tags */
    AWS_DOC_CLASSIC_TAGS,            /* names of classic balancers, ≤ 20; struct aws_arn_tags */
    AWS_DOC_KINDS,
};

/* The answer.  Hold it with aws_doc_ref() beyond the need that gave it. */
struct aws_doc {
    enum aws_doc_kind kind;
    const char *key;   /* "" when it has none */
    int64_t read_ms;   /* by the clock: when the reading began */
    const void *items; /* n of the kind's struct */
    size_t n;
};
const struct aws_doc *aws_doc_ref(const struct aws_doc *d);
void aws_doc_unref(const struct aws_doc *d); /* NULL is fine */

struct aws_cloud;
struct aws_cloud_config {
    struct aws_client *client; /* NULL: offline, only what was put in is there */
    struct clock *clock;
    struct rng *rng; /* jitter of attempts */
    const struct tt_host *host;
    const struct aws_naming *naming; /* VPC, cluster tag */
};
struct aws_cloud *aws_cloud_new(const struct aws_cloud_config *cfg) _warn_unused_;
void aws_cloud_free(struct aws_cloud *c);

/* One question of a wave. */
struct aws_need {
    enum aws_doc_kind kind;
    const char *key; /* NULL or "": none */
    /* by the clock: a document read at or after this moment will do; INT64_MAX: read it now */
    int64_t not_older_ms;
    /* instead: one whose reading began after this mark (aws_cloud_mark()); 0: by the clock */
    uint64_t after;
    /* answers */
    const struct aws_doc *doc; /* a reference of the caller's; NULL: see err */
    struct err err;
};
/* This moment, finer than any clock: it separates reads that began after it from earlier ones. */
uint64_t aws_cloud_mark(struct aws_cloud *c);
bool aws_doc_is_after(const struct aws_doc *d, uint64_t mark);
/* Answers them side by side; blocks.  Returns ERR_OK, or the code of the first that failed (its
 * text in *err; the others are answered all the same).  *ret_reads grows by the requests
 * that this caller sent. */
int aws_cloud_read(struct aws_cloud *c, struct http *http, struct cancel *cancel,
                   struct aws_need *needs, size_t n, unsigned *ret_reads, struct err *err);

/* Instances by id. */
struct aws_instances_need {
    struct aws_texts ids; /* may repeat */
    bool fresh;           /* ids that were not good are asked for again */
    /* answers */
    /* those in the cluster, in the order of `ids`, without doubles; stopped ones too: who registers
     * looks at the state */
    const struct aws_instance *items;
    size_t n;
    /* one sentence each: not there, without the cluster's tag, terminated, shutting down */
    struct aws_texts left_out;
    struct aws_texts left_out_ids; /* of these, in the same order */
};
/* Running ones are as of the last 10 minutes, others as of the last minute (6.3).  Blocks.
 * All in `a`. */
int aws_cloud_instances(struct aws_cloud *c, struct http *http, struct cancel *cancel,
                        struct arena *a, struct aws_instances_need *need, unsigned *ret_reads,
                        struct err *err);
/* Forgets what was stored about it, and what is being read of it now; readers keep what they hold.
 * Of a kind with a key:  lists that were read before do not answer it any more. */
void aws_cloud_drop(struct aws_cloud *c, enum aws_doc_kind kind, const char *key);
/* A saved state in place of the cloud: {"aws": {…}} of a world (docs/interfaces.md).  Only for a
 * cloud without client. */
int aws_cloud_load(struct aws_cloud *c, const char *text, size_t n, struct err *err);

#endif
