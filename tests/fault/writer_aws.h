/* SPDX-License-Identifier: Apache-2.0 */
/* writer_aws.h: another writer that edits trimtab's resources in AWS: rules of groups, and tags.
 *
 * As other controllers and users do, right before trimtab's writes or while nothing happens: rules
 * of his own in the nodes' group, some of them those very rules that trimtab is about to make,
 * others that mention a balancer's group; rules in users' groups and in trimtab's; tags of
 * balancers and groups.  He takes some of his own rules away again.  Whatever he has left must
 * still be there at the end, as long as what he put it on is there (docs/spec/aws.md
 * 4.11, 5.11, 7.5). */
#ifndef TRIMTAB_TESTS_FAULT_WRITER_AWS_H
#define TRIMTAB_TESTS_FAULT_WRITER_AWS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "tests/support/rig.h"

#include <stdint.h>

struct writer_aws;

struct writer_aws *writer_aws_new(uint64_t seed) _warn_unused_;
void writer_aws_free(struct writer_aws *w);
/* For probe_listen(). */
void writer_aws_before_call(void *arg, const struct sim_call *call);
/* Edits something now; the rig may be at rest. */
void writer_aws_meddle(struct writer_aws *w, struct rig *r);
/* Makes no edits from now on but to let a group go, or does so again. */
void writer_aws_pause(struct writer_aws *w, struct rig *r, bool paused);
/* Everything that he left is there.  ERR_CONFLICT. */
int writer_aws_check(struct writer_aws *w, struct rig *r, struct arena *a,
                     struct err *err) _warn_unused_;
/* Takes it all back, and writes nothing more. */
void writer_aws_leave(struct writer_aws *w, struct rig *r);

#endif
