/* SPDX-License-Identifier: Apache-2.0 */
/* ec2_fixture.h: EC2 of the simulated AWS without HTTP: an action's parameters in, its answer as
 * JSON out.
 *
 * The simulator is made, but its loop never runs; time is a fake clock.  Every answer is looked
 * through for members that the schema pack does not have: on the wire they would be missing without
 * a word.
 * The world: zones a, b, c and a local zone; VPC "main" (10.0.0.0/16) with gateway and subnets a
 * and b; a default VPC (172.31.0.0/16); group "nodes" with two instances that run in subnet a. */
#ifndef TRIMTAB_TESTS_SIM_EC2_FIXTURE_H
#define TRIMTAB_TESTS_SIM_EC2_FIXTURE_H

#include "sim/aws/ec2/ec2.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ABSENT(prefix) prefix "00000000000000000"
#define CLUSTER_TAG    "kubernetes.io/cluster/kubernetes"

struct ec2_test {
    struct arena *a;
    struct clock *clock;
    struct event_base *base;
    struct sim *sim;
    struct aws *aws;
    struct json_object *out; /* of the last action; the arena's */
    struct amz_refusal refusal;
    /* ids of the world */
    const char *vpc, *subnet_a, *subnet_b, *nodes, *other_vpc, *other_group, *instance[2];
};

struct ec2_test *ec2_test_start(void);
void ec2_test_stop(struct ec2_test *t);
/* A request as the form body of an action, with {name} for the ids: {vpc} {a} {b} {nodes}
 * {other_vpc} {other} {i0} {i1}. */
bool ec2_call(struct ec2_test *t, const char *request);
/* Asserts that it is served. */
void ec2_must(struct ec2_test *t, const char *request);
/* Asserts that it is refused with this code and text in the message (NULL: not looked at), and that
 * nothing changed. */
void ec2_refused(struct ec2_test *t, const char *what, const char *request, const char *code,
                 const char *text);
/* A text of the last answer by its path ("SecurityGroups.0.GroupName"), "" when absent; and the
 * length of a list. */
const char *ec2_text(struct ec2_test *t, const char *path);
size_t ec2_len(struct ec2_test *t, const char *path);
/* The last answer, or a part of it, as sorted JSON. */
const char *ec2_json(struct ec2_test *t, const char *path);
/* Sets a number of the settings, "quotas.tags" too. */
void ec2_setting(struct ec2_test *t, const char *name, int64_t value);
/* Makes a group in the main VPC and returns its id. */
const char *ec2_make_group(struct ec2_test *t, const char *name);
/* The whole state as text. */
const char *ec2_state(struct ec2_test *t);

#endif
