/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h: the properties that hold during and after an edit of a Service, by reach alone
 * (trial.h).  Pure. */
#ifndef TRIMTAB_TESTS_EDITS_JUDGE_H
#define TRIMTAB_TESTS_EDITS_JUDGE_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "tests/edits/edits.h"
#include "tests/edits/history.h"

#include <stdbool.h>

struct judge {
    struct arena *a;
    struct history *history;
    struct json_object *before;       /* the Service before the edit */
    struct json_object *reach_before; /* owned */
    unsigned effects;                 /* enum edit_effect */
    void (*report)(void *arg, const char *line);
    void *arg;
};

/* E1: at every moment of the history, or only in its last one if a plan has announced an
 * interruption, clients that both Services allow are served; the address stays unless another one
 * was asked for. */
void judge_course(const struct judge *j, struct json_object *after, struct json_object *reach_after,
                  bool announced);
/* E1 on Google, where the right to make a resource was withdrawn after the cloud had answered that
 * it may be made: no order of requests helps then.  The address that was published is still in the
 * cloud (`world`), so that the Service has it again with the right. */
void judge_held(const struct judge *j, struct json_object *world);
/* E1, when the right to make listeners of classic load balancers is withdrawn on AWS in between: a
 * listener of a port cannot come before the former one has gone.  A port is let off that has no
 * listener, if a plan has announced the interruption, a listener on a spare port has asked for the
 * right before, and the load balancer is still there. */
void judge_torn(const struct judge *j, struct json_object *after, struct json_object *reach_after,
                bool announced);
/* The longest time in which a client that both Services allow was not served at a port, in
 * milliseconds of the fake clock from the call that takes to the call that serves again; 0: none;
 * -1: the history ends so.  *ret_port, in the arena, is that port ("TCP/80"). */
int64_t judge_gap(const struct judge *j, struct json_object *after, struct json_object *reach_after,
                  const char **ret_port);
/* E1: of the moments so far, in which the cloud has refused the replacement for good, at most one
 * try interrupts for it: not each retry. */
void judge_once(const struct judge *j, struct json_object *after, struct json_object *reach_after);
/* E6: in the end each port is served to exactly the allowed clients (`good`), and removed ports to
 * none. */
void judge_end(const struct judge *j, struct json_object *after, struct json_object *reach_after,
               bool good);
/* E6: the condition LoadBalancerServesNobody of the Service agrees with reach.  A Service of
 * Azure that names service tags, or whose owner writes the security rules, is not asked. */
void judge_nobody(const struct judge *j, struct json_object *after,
                  struct json_object *reach_after);
/* E8: an edit that is EDIT_UNSENT has made no write to the cloud, nor has a further try of it. */
void judge_unsent(const struct judge *j, const struct edit *e, int64_t writes);
/* E3: web has the nodes that near has, and these are others than `before`, which were near's; not
 * asked of an edit by which other nodes take part, or no port has a listener.
 * Returns near's. */
const char *judge_members(const struct judge *j, struct json_object *web, struct json_object *near,
                          struct json_object *reach, const char *when, const char *before);
/* E7: an edit of one field that is neither EDIT_SAME nor empty, and that has changed the Service
 * (`now`), has made a write to the cloud, or a Warning event for web that is in `after` and not in
 * `before` (judge_warnings()). */
void judge_heard(const struct judge *j, const struct edit *e, struct json_object *now,
                 int64_t writes, const char *before, const char *after);
/* E7: of an edit of one field that has changed the Service: one that is bad or impossible has made
 * a Warning, and a good one is not refused (edits.h). */
void judge_nature(const struct judge *j, const struct edit *e, struct json_object *now,
                  const char *before, const char *after);
/* The Warning events of web in an EventList, with how often each came; a text to compare. */
const char *judge_warnings(struct arena *a, struct json_object *events);
/* The nodes behind a Service, as judge_members() compares them. */
const char *judge_nodes(const struct judge *j, struct json_object *service,
                        struct json_object *reach);
/* E2: the edit has been taken back. */
void judge_back(const struct judge *j, struct json_object *after, struct json_object *reach_after);

/* The text of a world without the condition that keeps what a Service asked for before
 * (docs/adr/0030): a process that never saw it carried out cannot keep it. */
const char *judge_without_memory(struct arena *a, const char *text);
/* The same without the cluster's instance groups on Google, of a kind
 * with groups_stay (edits.h). */
char *judge_without_groups(struct arena *a, const char *text);
/* The same with the policies for private links of Azure's subnets as if no link had switched them
 * off: they stay so for links of others (docs/providers/azure.md). */
const char *judge_without_policies(struct arena *a, const char *text);

#endif
