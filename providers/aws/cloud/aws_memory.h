/* SPDX-License-Identifier: Apache-2.0 */
/* aws_memory.h: what this process has found out about Services, so that the next look needs fewer
 * calls.
 *
 * Only hints: forgetting one costs a call, never correctness.  Kept by UID, dropped when the
 * Service's deletion ends well.  Thread-safe. */
#ifndef TRIMTAB_AWS_MEMORY_H
#define TRIMTAB_AWS_MEMORY_H

#include "common/base/arena.h"
#include "common/base/strset.h"

#include <stdbool.h>
#include <stdint.h>

#define AWS_KNOWS_NO_CLASSIC 0x1u /* both APIs were looked in, and there was no classic balancer */
#define AWS_KNOWS_NO_NLB     0x2u
#define AWS_KNOWS_FAILED     0x4u /* the last sync: lists may be older than what it did */
#define AWS_KNOWS_NO_CERT    0x8u /* SetLoadBalancerListenerSSLCertificate is forbidden */
/* UpdateSecurityGroupRuleDescriptionsIngress is forbidden */
#define AWS_KNOWS_NO_TEXTS 0x10u
/* An ensure has failed, and none has ended well since: what it made hangs on no balancer yet */
#define AWS_KNOWS_HALF 0x20u
/* This process has made its balancer: no other one has made something that lists do not show yet */
#define AWS_KNOWS_ALL 0x40u

struct aws_memory;
struct aws_memory *aws_memory_new(void);
void aws_memory_free(struct aws_memory *m); /* NULL is fine */
/* Bits AWS_KNOWS_…; 0 for a Service never seen. */
unsigned aws_memory_get(struct aws_memory *m, const char *uid);
/* Those of `mask` become what they are in `bits`. */
void aws_memory_set(struct aws_memory *m, const char *uid, unsigned mask, unsigned bits);
/* Since when (ms, by the clock) its security group has been in use although nothing of ours uses
 * it; the first call sets it to `now_ms`, _over() ends it. */
int64_t aws_memory_waits_since(struct aws_memory *m, const char *uid, int64_t now_ms);
void aws_memory_waits_over(struct aws_memory *m, const char *uid);
/* How many syncs in a row have ended with the wish to look again, this one not counted; without the
 * wish: 0 from now on. */
unsigned aws_memory_looks(struct aws_memory *m, const char *uid, bool again);
/* A security group that was just made for it (id is copied): EC2 may not show it yet.  Get: NULL
 * when there is none, or when it was made before `since_ms`; the text is in `a`.  Gone:
 * it was deleted. */
void aws_memory_group_made(struct aws_memory *m, const char *uid, const char *id, int64_t now_ms);
void aws_memory_group_gone(struct aws_memory *m, const char *uid, const char *id);
const char *aws_memory_group(struct aws_memory *m, struct arena *a, const char *uid,
                             int64_t since_ms);
/* The same for its target groups, by ARN.  Of both: "" is not kept, for an answer that did not name
 * it is no promise that it will be shown.  Unshown: one that was made since and is not among the
 * `shown`; NULL: none. */
void aws_memory_target_group_made(struct aws_memory *m, const char *uid, const char *arn,
                                  int64_t now_ms);
void aws_memory_target_group_gone(struct aws_memory *m, const char *uid, const char *arn);
const char *aws_memory_unshown_group(struct aws_memory *m, struct arena *a, const char *uid,
                                     int64_t since_ms, const struct str_set *shown);
/* A balancer was just made for it, or deleted: AWS may not show it yet.  Get: when it was made, 0:
 * it was not, or it has gone. */
void aws_memory_balancer_made(struct aws_memory *m, const char *uid, int64_t now_ms);
void aws_memory_balancer_gone(struct aws_memory *m, const char *uid);
int64_t aws_memory_balancer_made_ms(struct aws_memory *m, const char *uid);
/* Something of it was made or changed just now, not because it goes; when that was last, 0: never.
 * For some seconds AWS may show what was before. */
void aws_memory_wrote(struct aws_memory *m, const char *uid, int64_t now_ms);
int64_t aws_memory_wrote_ms(struct aws_memory *m, const char *uid);
/* Something may have been made for it just now: AWS did not answer.  When that was last; 0:
 * never. */
void aws_memory_unsure(struct aws_memory *m, const char *uid, int64_t now_ms);
int64_t aws_memory_unsure_ms(struct aws_memory *m, const char *uid);
/* When the first call of this process came that may change something; `now_ms` if this is it.
 * Another process may have changed something of any Service just before. */
int64_t aws_memory_began_ms(struct aws_memory *m, int64_t now_ms);
void aws_memory_drop(struct aws_memory *m, const char *uid);

#endif
