/* SPDX-License-Identifier: Apache-2.0 */
/* writer_gce.h: another writer that edits trimtab's resources in Google's cloud, and checks the
 * order of its calls.
 *
 * Right before trimtab's calls it changes a description and a timeout of the backend service, so
 * that the write meets another fingerprint; takes a machine out of a NEG, or puts one in; makes
 * firewalls of its own.  What is its own must still be there at the end; what is ours must be as it
 * was meant to be, once trimtab has looked again (docs/spec/gce-l4.md 7.3, 9.6).
 * It also sees each detach: none may leave a Service's NEGs empty while the Service has nodes (9.5,
 * rules 7 and 8). */
#ifndef TRIMTAB_TESTS_FAULT_WRITER_GCE_H
#define TRIMTAB_TESTS_FAULT_WRITER_GCE_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "tests/support/rig.h"

#include <stdint.h>

struct writer_gce;

/* `busy`: it edits; else it only watches. */
struct writer_gce *writer_gce_new(uint64_t seed, bool busy) _warn_unused_;
void writer_gce_free(struct writer_gce *w);
/* For probe_listen(). */
void writer_gce_before_call(void *arg, const struct sim_call *call);
/* Edits a NEG of ours now; the rig may be at rest. */
void writer_gce_meddle(struct writer_gce *w, struct rig *r);
/* A node that was taken away or shut out once: who leaves because of that says
 * nothing about order. */
void writer_gce_unsteady(struct writer_gce *w, const char *node);
/* Makes no edits from now on, or does so again. */
void writer_gce_pause(struct writer_gce *w, struct rig *r, bool paused);
/* Everything of its own is there, and no detach came too early.  Then it takes its
 * things away. ERR_CONFLICT. */
int writer_gce_check(struct writer_gce *w, struct rig *r, struct arena *a,
                     struct err *err) _warn_unused_;

#endif
