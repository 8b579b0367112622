/* SPDX-License-Identifier: Apache-2.0 */
/* aws_cloud_parts.h: what the files of the reading layer know of each other; no other file includes
 * it.
 *
 *     aws_question.c    how each kind is asked for
 *     aws_reading.c     asks several questions side by side, and makes documents of the answers
 *     aws_derive.c      answers a question from a document of another kind
 *     aws_cloud.c       keeps documents by age, one reader per question
 *     aws_instances.c   keeps instances by id
 *     aws_state.c       a saved state in place of the cloud
 *
 * One lock guards what is kept; it is never held during a read. */
#ifndef TRIMTAB_AWS_CLOUD_PARTS_H
#define TRIMTAB_AWS_CLOUD_PARTS_H

#include "common/base/lock.h"
#include "common/base/map.h"
#include "providers/aws/cloud/aws_question.h"

#include <stdatomic.h>

#define AWS_ITEMS_MAX 100000u                    /* of a document */
#define AWS_BYTES_MAX ((size_t)32 * 1024 * 1024) /* that a document keeps */

/* ---- documents ------------------------------------------------------------------------------- */

struct aws_document {
    struct aws_doc pub; /* first: aws_doc_ref() gets the rest from it */
    atomic_uint refs;
    struct arena *a;         /* of its key and its items' texts; owned; NULL: `of` has them */
    void *items;             /* owned */
    size_t bytes;            /* of what it keeps beside the items */
    struct aws_document *of; /* the list that it was taken from; a reference, or NULL */
    uint64_t seq;            /* order in which readings began */
};
/* A document under construction. */
struct aws_doc_draft {
    int kind;
    const struct aws_naming *naming;
    struct aws_decode decode;
    void *items;
    size_t n;
    size_t cap;
    size_t n_pages; /* items of pages that have come whole */
    size_t joined;  /* bytes of drafts that were joined to it */
};
void aws_draft_doc_init(struct aws_doc_draft *d, int kind, const struct aws_naming *naming);
void aws_draft_doc_done(struct aws_doc_draft *d); /* also after it became a document */
/* One item; ERR_INVALID: too many, or too much; ERR_TRANSIENT: it has no id, so that it
 * is no item. */
int aws_draft_doc_add(struct aws_doc_draft *d, const struct aws_node *item, struct err *err);
/* Takes over what `from`, a draft of the same kind that is done with that, has.  ERR_INVALID: too
 * many, or too much. */
int aws_draft_doc_join(struct aws_doc_draft *d, struct aws_doc_draft *from, struct err *err);
/* One reference, the caller's. */
struct aws_document *aws_draft_doc_take(struct aws_doc_draft *d, const char *key, int64_t read_ms,
                                        uint64_t seq);

/* The answer from a list of the kind aws_questions[kind].list; NULL when it cannot tell, because
 * the list does not have everything (`whole` false) and something of the key is not in it. */
struct aws_document *aws_derive(struct aws_document *list, int kind, const char *key, bool whole);

/* ---- readings -------------------------------------------------------------------------------- */

/* One question that is being asked. */
struct aws_reading {
    int kind;
    const char *key;
    int64_t began_ms;
    uint64_t seq;
    struct aws_document *doc; /* the answer; NULL: see err */
    struct err err;
};
struct aws_readings {
    struct aws_cloud *cloud;
    struct http *http;
    struct cancel *cancel;
    struct aws_reading *items;
    size_t n;
    unsigned requests; /* that were sent for all of them */
};
/* Blocks.  Failures are in each one's err. */
void aws_readings_run(struct aws_readings *r);

/* ---- what is kept ---------------------------------------------------------------------------- */

struct aws_known_instance; /* aws_instances.c */
struct aws_cloud {
    struct aws_client *client;
    struct clock *clock;
    struct rng *rng;
    const struct tt_host *host;
    const struct aws_naming *naming;
    struct mutex lock;
    struct cond changed; /* a reading has ended, or a waiter was cancelled */
    uint64_t seq _guarded_by_(lock);
    struct map *entries _guarded_by_(lock); /* "KIND KEY" → struct entry of aws_cloud.c; owned */
    int64_t swept_ms _guarded_by_(lock);
    struct map *instances _guarded_by_(lock); /* id → struct aws_known_instance, owned */
    bool reads_instances _guarded_by_(lock);
    int64_t instances_swept_ms _guarded_by_(lock);
};
/* Stores a document, taking the reference over. */
void aws_cloud_put(struct aws_cloud *c, struct aws_document *doc);
/* Wakes who waits for `changed`; for cancel_hook(). */
void aws_cloud_wake(void *cloud);
void aws_known_instance_free(void *known);
/* Stores instances; `ids` that are not among them are known to be absent. */
void aws_cloud_put_instances(struct aws_cloud *c, const struct aws_instance *items, size_t n,
                             struct aws_texts ids, int64_t read_ms, uint64_t seq);

#endif
