/* SPDX-License-Identifier: Apache-2.0 */
/* reached.h: what serves and is still asked for continues to serve: who reaches what, looked at
 * after every call.
 *
 * After each of the controller's calls that changes the cloud, the simulator is asked who reaches
 * what (sim/reach), and
 *
 *     at every moment   a client that was served at a port, and that the Service still lets in
 *                       there, is served; a Service without an edit is served to the same
 *                       clients, neither fewer nor more
 *     at rest           each Service that has an address is served at its ports as its source
 *                       ranges say; no other port is open at an address that came into being
 *                       meanwhile
 *
 * A gap is allowed where a plan has said beforehand that traffic of that Service stops, until it is
 * served again; where its user changed who may come in by other means than source ranges, or asked
 * for another address that the cloud exchanges within one write (flow.swaps), until the status
 * names that one (else the address that the status names is served until it names another one); and
 * where another program than the controller acts (reached_pause()).  What was asked for since the
 * last rest (reached_calm()) counts together: a sync may be about any of it.  Filled in the
 * simulator's thread. */
#ifndef TRIMTAB_TESTS_FAULT_REACHED_H
#define TRIMTAB_TESTS_FAULT_REACHED_H

#include "common/base/err.h"
#include "tests/fault/probe.h"

#include <stdbool.h>

struct reached;

/* Takes probe_overhear() and rig_on_plan(); plans of controllers that are started from now on are
 * heard.  `others_admit`: the cluster's owner controls access, so that possibly no client is served
 * at rest. */
struct reached *reached_new(struct rig *r, struct probe *p, bool others_admit) _warn_unused_;
void reached_free(struct reached *w); /* the rig must be gone */
/* Makes the present state the reference; findings are dropped. */
void reached_begin(struct reached *w);
/* Another writer changes the cloud until reached_resume(): interruptions meanwhile are not
 * reported. */
void reached_pause(struct reached *w);
void reached_resume(struct reached *w);
/* Nothing is being done: each edit so far was seen, and its sync is over. */
void reached_calm(struct reached *w);
/* The user is about to ask for another address of the Service "default/web". */
void reached_may_move(struct reached *w, const char *key);
/* Everything is at rest, without a beginning: each Service whose key begins with `only`, and that
 * has an address, is served as it asks.  ERR_CONFLICT: the first that is not. */
int reached_rest(struct reached *w, const char *only, struct err *err) _warn_unused_;
/* Everything is at rest; nothing more is checked.  ERR_CONFLICT: the first finding since
 * reached_begin(). */
int reached_check(struct reached *w, struct err *err) _warn_unused_;

#endif
