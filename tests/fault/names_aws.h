/* SPDX-License-Identifier: Apache-2.0 */
/* names_aws.h: names for calls of AWS, whose path is always "/": what the form says of
 * the resource that they are about. */
#ifndef TRIMTAB_TESTS_FAULT_NAMES_AWS_H
#define TRIMTAB_TESTS_FAULT_NAMES_AWS_H

#include "sim/sim.h"

/* "/Name=a0123…,Port=80": what names a resource, without what AWS made up.  In the call's arena; to
 * be called in the simulator's thread, before the call is served. */
const char *names_aws_call(struct arena *a, const struct sim_call *call);

/* "targetgroup/k8s-default-web" of ".../targetgroup/k8s-default-web-0123456789/fedcba9876543210":
 * hashes are left out.  Other texts stay. */
const char *names_aws_plain(struct arena *a, const char *text);

#endif
