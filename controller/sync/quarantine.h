/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine.h: where deaths in a plugin are counted, so that the next process knows of them.
 *
 * The record (quarantine_rules.h) is an annotation of the election's lease, or without election the
 * ConfigMap trimtab-quarantine in the lease's namespace.  It is read once, when a process that uses
 * a plugin begins to work, and written only by the program that a dying process starts (guard.h):
 * as long as nothing dies, nothing is written.  docs/adr/0027. */
#ifndef TRIMTAB_CONTROLLER_QUARANTINE_H
#define TRIMTAB_CONTROLLER_QUARANTINE_H

#include "common/base/cancel.h"
#include "controller/kube/client/client.h"
#include "controller/options/options.h"
#include "controller/rules/quarantine_rules.h"

#define QUARANTINE_ANNOTATION "trimtab.io/quarantine" /* of the lease */
#define QUARANTINE_KEY        "record"                /* of the ConfigMap */

/* Where the flags put the record.  The client speaks as the process itself, not for Services. */
struct quarantine_place {
    const struct options *options;
    struct kube_client *client;
    struct cancel *cancel; /* may be NULL */
};

/* An object that is not there, and one without a record, give an empty record.  In
 * the arena. Blocks. */
int quarantine_read(const struct quarantine_place *place, struct arena *a,
                    struct quarantine_record *ret, struct err *err) _warn_unused_;
/* Counts a death: reads, adds, writes; again when another writes in between.  Blocks. */
int quarantine_note(const struct quarantine_place *place, const struct tt_provider *desc,
                    const struct quarantine_entry *death, struct err *err) _warn_unused_;
/* The whole work of the program that a dying process started with GUARD_DEATH_ENV=`death`.  Returns
 * its exit code. */
int quarantine_report(const struct options *o, const struct tt_provider *desc, const char *death);

#endif
