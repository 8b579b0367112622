/* SPDX-License-Identifier: Apache-2.0 */
/* deed.h: compares the changes of a controller with the plan that `trimtab plan` printed before
 * (E5).
 *
 *     deed_begin(d)                       the state is as the plan will find it
 *     deed_plan(d, file, &err)            the program itself, with -o json, against the rig's
 *                                         simulator
 *     …the controller carries it out, the probe of the rig listens…
 *     deed_judge(d, ear)                  lines "E5: …"
 *
 * Compared are verb, kind and name of the resources, per cloud by a table of the API's operations
 * (deed_calls.c).  A call that is sent twice counts once, as does a resource that several Services
 * share; changes of one resource count once.  A refused change, and the changes of later waves than
 * its own, need not be made; then only a resource that the plan does not name is reported. */
#ifndef TRIMTAB_TESTS_EDITS_DEED_H
#define TRIMTAB_TESTS_EDITS_DEED_H

#include "common/base/err.h"
#include "tests/fault/probe.h"

struct deed;
struct deed_ear {
    void (*report)(void *arg, const char *line);
    void *arg;
};

/* Listens to the probe from now on.  `flags`: the controller's (NULL: none). */
struct deed *deed_new(struct rig *r, struct probe *p, const char *cloud, const char *const *flags);
void deed_free(struct deed *d); /* the rig must be gone; NULL is fine */
/* Forgets the changes so far. */
void deed_begin(struct deed *d);
/* Plans all Services of the cluster, or those of the manifest in `file`.  Blocks; asks the
 * simulator alone. */
int deed_plan(struct deed *d, const char *file, struct err *err) _warn_unused_;
/* Does the plan announce an interruption of that Service ("default/web")? */
bool deed_announces(const struct deed *d, const char *key);
/* The exit code fits the printed plan: 2 with operations, 1 with an error, else 0. */
void deed_judge_exit(struct deed *d, struct deed_ear ear);
/* Of the program that planned last; -1: it did not end by itself. */
int deed_exit(const struct deed *d);
/* Tells each planned change that was not made, and each other change.  The controller
 * is at rest. */
void deed_judge(struct deed *d, struct deed_ear ear);
/* The plan as it was printed; NULL before deed_plan(). */
struct json_object *deed_document(const struct deed *d);

/* ---- deed_calls.c: the effect of a call on a resource ---------------------------------------- */

/* "create forwarding rule web", or NULL: nothing that a plan speaks of.  In the call's arena. */
const char *deed_of_call(const struct sim_call *call);
/* The same text for an operation of a plan; arena. */
const char *deed_of_operation(struct arena *a, const char *cloud, struct json_object *op);

#endif
