/* SPDX-License-Identifier: Apache-2.0 */
/* plan_kit.h: what tests of the AWS planners share: a world of three subnets and four instances, a
 * Service from a few lines, its plan, and the plan carried out.
 *
 * A test edits kit->world and kit->lines between plans, as people and AWS do.  Row numbers in tests
 * are those of docs/spec/aws.md. */
#ifndef TRIMTAB_TESTS_AWS_PLAN_KIT_H
#define TRIMTAB_TESTS_AWS_PLAN_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/aws_world.h"

struct kit {
    struct arena *a;
    struct aws_world world;
    struct aws_naming naming;
    bool repairs;
    const char *kind; /* of aws-load-balancer-type: "nlb" */
    /* Ports: "80:30080 443:30443/UDP". */
    const char *ports;
    /* Annotations, a line for each: "ssl-cert=arn:cert"; what comes after aws-load-balancer-. */
    const char *lines;
    /* Members of spec, with a comma in front: ",\"loadBalancerSourceRanges\":[…]"; or "". */
    const char *spec;
    struct aws_texts instances; /* targets */
    struct aws_texts subnets;
    /* after kit_begin() */
    const struct aws_service *service;
    const struct aws_observed *seen;
    const struct aws_surroundings *around;
    struct lb_plan plan;
    /* after kit_run() */
    struct aws_world_run run;
    struct str_buf log;
};
/* Service default/web, an NLB with port 80:30080; instances i-1 to i-3 are its targets. */
struct kit *kit_new(void);
void kit_free(struct kit *k);
/* kit->service as the lines say. */
void kit_read(struct kit *k);
/* Observes and begins: kit->service, seen, around, plan. */
struct aws_planning kit_begin(struct kit *k);
/* The desired AWS_NLB. */
struct aws_nlb_want kit_nlb_want(struct kit *k);
/* Plans the NLB alone, with its left target groups and, when it is managed, a security group of its
 * own that is made when it is not there. */
void kit_plan_nlb(struct kit *k);
/* Carries kit->plan out; fails the test when AWS refuses something. */
void kit_run(struct kit *k);
/* Both; and again: there is nothing to do then. */
void kit_settle_nlb(struct kit *k);

/* Plans the NLB, compares the waves, carries it out, and finds nothing to do.  kit->plan is the
 * first plan then. */
void kit_expect(struct kit *k, const char *waves);
/* A new kit whose Service has these ports and annotations, and is served. */
struct kit *kit_settled(const char *ports, const char *lines);
struct aws_world_target_group *kit_group_of_port(struct kit *k, int32_t port);

/* "1 CreateTargetGroup, CreateLoadBalancer; 2 …": waves with the actions in the order
 * of the plan. */
const char *kit_waves(struct kit *k);
/* Operation that calls this action, the nth (from 0); fails the test when there is none. */
const struct lb_op *kit_op(struct kit *k, const char *action, size_t nth);
/* "Port=30080 Protocol=TCP …" without the names of `but` ("ListenerArn,Tags"), late
 * values as "<action>". */
const char *kit_params(struct kit *k, const struct lb_op *op, const char *but);
/* "path: old -> new; …" */
const char *kit_fields(struct kit *k, const struct lb_op *op);
/* Sentences of the plan about the Service. */
const char *kit_because(struct kit *k);
struct aws_texts kit_texts(struct kit *k, const char *blank_separated);

#endif
