/* SPDX-License-Identifier: Apache-2.0 */
/* lb_fixture.h: the load balancers of the simulated AWS without HTTP, on the world of
 * ec2_fixture.h.
 *
 * A request is a form body with {name} for ids: those of the world, and whatever a test kept from
 * an answer.  The world has besides: subnet {a2} in zone a and {c} in zone c; {o} in the other VPC;
 * group {g} for balancers; instance {stopped}; elastic IPs {ip1} and {ip2}; an application balancer
 * {alb} that was put there by hand.  lb_make_nlb() and lb_make_clb() make the balancers of which
 * the tests speak. */
#ifndef TRIMTAB_TESTS_SIM_LB_FIXTURE_H
#define TRIMTAB_TESTS_SIM_LB_FIXTURE_H

#include "tests/unit/sim/ec2/ec2_fixture.h"

#define CERT "arn:aws:acm:us-east-1:" AMZ_ACCOUNT ":certificate/one"
#define TG   "Action=CreateTargetGroup&Protocol=TCP&Port=30080&VpcId={vpc}"

struct lb_test {
    struct ec2_test *e;
    struct map *names; /* name → text, heap */
};

/* A request that must change nothing. */
struct lb_row {
    const char *what;
    const char *request;
    const char *code;
    const char *text; /* must be in the message; NULL: not looked at */
};

struct lb_test *lb_start(void);
void lb_stop(struct lb_test *t);
/* {name} stands for this text from now on. */
void lb_name(struct lb_test *t, const char *name, const char *text);
/* {name} stands for the text at this path of the last answer. */
void lb_keep(struct lb_test *t, const char *name, const char *path);
bool lb_call(struct lb_test *t, enum amz_service service, const char *request);
/* Asserts that it is served: by v2, by the classic service. */
void v2(struct lb_test *t, const char *request);
void v1(struct lb_test *t, const char *request);
/* Asserts for each row that it is refused with code, declared status and text, and
 * that nothing changed. */
void lb_refused(struct lb_test *t, enum amz_service service, const struct lb_row *rows, size_t n);
/* A text of the last answer; lists by number; and a text with its names filled in. */
const char *lb_text(struct lb_test *t, const char *path);
size_t lb_len(struct lb_test *t, const char *path);
const char *lb_filled(struct lb_test *t, const char *text);
/* Value of a Key in the list at this path. */
const char *lb_value(struct lb_test *t, const char *path, const char *key);

/* {nlb}: internet-facing in subnets a and b with group {g}; {tg}: TCP 30080 with instance {i0};
 * {l}: TCP 80 to {tg}; {bare}: internal in subnet a, without groups. */
void lb_make_nlb(struct lb_test *t);
/* "clb" in subnet a with group {g}, listeners TCP 80 to 30080 and SSL 443 to 30443,
 * and instance {i0}. */
void lb_make_clb(struct lb_test *t);

#endif
