/* SPDX-License-Identifier: Apache-2.0 */
/* aws_world.h: AWS in memory, as strict as AWS: what a plan's operations do to it, and what a
 * Service sees of it.
 *
 * For tests of planners.  aws_world_run() carries out the operations of a sealed plan, wave by
 * wave, those of one wave in an order that the test may turn round; each `struct aws_write` is
 * refused as AWS would refuse it (with AWS' code in err->reason), and beyond that:
 *
 *     BUG   a parameter that the action does not have, one that is missing, a value that is not
 *           known yet
 *     BUG   a call that changes nothing, while `strict` is on: the planner should have left it out
 *
 * State is the provider's own structs (aws_model.h), replaced and never edited in place, so that
 * what a test has observed stays what it was.  One file for each API: aws_world_ec2.c,
 * aws_world_elb.c, aws_world_elbv2.c.  Everything lives in the arena. */
#ifndef TRIMTAB_TESTS_SUPPORT_AWS_WORLD_H
#define TRIMTAB_TESTS_SUPPORT_AWS_WORLD_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "providers/aws/plan/aws_plan.h"

#define AWS_WORLD_MAX 64 /* of each kind */

struct aws_world_nlb {
    struct aws_nlb nlb;
    struct aws_tags tags;
    struct aws_tags attributes;
};
struct aws_world_target_group {
    struct aws_target_group group; /* `balancers` is made when it is observed */
    struct aws_tags tags;
    struct aws_tags attributes;
    struct aws_targets targets; /* by "id:port" */
};
struct aws_world_group {
    struct aws_group group;
};
struct aws_world {
    struct arena *a;
    const char *vpc;
    bool strict;   /* refuses calls that change nothing; on */
    bool drains;   /* deregistered targets of a group that is in use stay, as draining; on */
    int next;      /* number of the next id */
    int max_rules; /* of a security group: 60 */
    struct aws_subnet subnets[AWS_WORLD_MAX];
    size_t n_subnets;
    const struct aws_route_table *tables; /* NULL: none */
    size_t n_tables;
    const struct aws_zone *zones; /* NULL: none */
    size_t n_zones;
    struct aws_instance instances[AWS_WORLD_MAX * 4];
    size_t n_instances;
    struct aws_world_group groups[AWS_WORLD_MAX];
    size_t n_groups;
    struct aws_world_nlb nlbs[AWS_WORLD_MAX];
    size_t n_nlbs;
    struct aws_listener listeners[AWS_WORLD_MAX];
    struct aws_tags listener_tags[AWS_WORLD_MAX]; /* of the listener with the same index */
    size_t n_listeners;
    struct aws_world_target_group target_groups[AWS_WORLD_MAX];
    size_t n_target_groups;
    struct aws_classic classics[AWS_WORLD_MAX];
    struct aws_tags classic_tags[AWS_WORLD_MAX];
    struct aws_classic_attributes classic_attributes[AWS_WORLD_MAX];
    size_t n_classics;
};
void aws_world_init(struct aws_world *w, struct arena *a);

/* ---- calls ----------------------------------------------------------------------------------- */

struct aws_world_call {
    struct aws_world *w;
    enum aws_api api;
    const char *action;
    const struct aws_pair *pairs; /* values are known */
    bool *used;                   /* pairs that were read */
    size_t n_pairs;
    struct aws_pair outputs[4]; /* path in the answer, value */
    size_t n_outputs;
    bool changed; /* it made a difference */
    struct err *err;
};
/* Text of a parameter or NULL; the first one that is missing though it must be there
 * is an error. */
const char *aws_world_param(struct aws_world_call *c, const char *name);
const char *aws_world_needed(struct aws_world_call *c, const char *name);
/* *ret is left alone when it is not there; false: it is no number. */
bool aws_world_int(struct aws_world_call *c, const char *name, int32_t *ret);
/* `fmt` has one %zu; items from 1 without a gap. */
struct aws_texts aws_world_list(struct aws_world_call *c, const char *fmt);
/* "PREFIX.N.Key", "PREFIX.N.Value"; sorted. */
struct aws_tags aws_world_pairs(struct aws_world_call *c, const char *prefix);
void aws_world_output(struct aws_world_call *c, const char *path, const char *value);
/* Refuses: sets the call's error with AWS' code.  Returns the code. */
int aws_world_refuse(struct aws_world_call *c, int code, const char *reason, const char *fmt, ...)
    _printf_(4, 5);
bool aws_world_failed(const struct aws_world_call *c);
/* Pairs of `base` with those of `over` in their place; sorted. */
struct aws_tags aws_world_merged(struct arena *a, const struct aws_tags *base,
                                 const struct aws_tags *over);
struct aws_texts aws_world_sorted(struct arena *a, struct aws_texts items);
const struct aws_world_group *aws_world_group(const struct aws_world *w, const char *id);
const struct aws_subnet *aws_world_subnet(const struct aws_world *w, const char *id);
const struct aws_instance *aws_world_instance(const struct aws_world *w, const char *id);

/* One call of each API. */
void aws_world_ec2(struct aws_world_call *c);
void aws_world_elb(struct aws_world_call *c);
void aws_world_elbv2(struct aws_world_call *c);

/* ---- running plans --------------------------------------------------------------------------- */

struct aws_world_run {
    bool backwards;      /* operations of a wave from the last to the first */
    int stop_after;      /* number of calls, as if the process were killed; -1: no limit */
    struct str_buf *log; /* a line for each call and its parameters; NULL: none */
    /* After each call; may be NULL. */
    void (*after)(void *arg);
    void *arg;
    unsigned calls;
    int failed_op; /* -1: none */
};
/* Returns the code of the first operation that failed and was not tolerated. */
int aws_world_run(struct aws_world *w, const struct lb_plan *plan, struct aws_world_run *run,
                  struct err *err);

/* ---- looking --------------------------------------------------------------------------------- */

/* A Service's view of it, by the rules of the provider: balancers by name, groups by listener, by
 * balancer, and left ones by tags. */
const struct aws_observed *aws_world_observe(const struct aws_world *w,
                                             const struct aws_naming *naming,
                                             const struct aws_service *s);
/* Groups with the cluster's tag and those of instances; all instances; nothing
 * of other Services. */
const struct aws_surroundings *aws_world_surroundings(const struct aws_world *w,
                                                      const struct aws_naming *naming);
/* The state as text, for comparing and for failures. */
char *aws_world_text(const struct aws_world *w, struct arena *a);

#endif
