/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h: another writer that edits trimtab's resources, right before trimtab does.
 *
 * As AKS and users do: a tag, a NAT rule and other outbound ports on the balancer, a rule in the
 * security group, a tag on the public IP, each time something new.  It acts in the simulator's
 * thread, between what the controller has read and what it writes, so that write meets another etag
 * (docs/spec/azure.md 3.4, 12.6).  Whatever it has written must still be there at the end. */
#ifndef TRIMTAB_TESTS_FAULT_WRITER_H
#define TRIMTAB_TESTS_FAULT_WRITER_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "tests/support/rig.h"

#include <stdint.h>

struct writer;

struct writer *writer_new(uint64_t seed) _warn_unused_;
void writer_free(struct writer *w);
/* For probe_listen(). */
void writer_before_call(void *arg, const struct sim_call *call);
/* Everything that it wrote is there.  ERR_CONFLICT; ERR_BUG: it never wrote. */
int writer_check(struct writer *w, struct arena *a, struct json_object *world,
                 struct err *err) _warn_unused_;
/* Takes it all back, and writes nothing more. */
void writer_leave(struct writer *w, struct rig *r);

#endif
