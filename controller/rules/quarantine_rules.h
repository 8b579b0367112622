/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine_rules.h: which Services a provider is not asked for any more, because the process died
 * of them.  Pure.
 *
 * The record is a short JSON text that outlives processes (quarantine.h says where).  It counts
 * deaths per Service, as the Service was: three in a row, each within an hour of the one before,
 * and the Service is quarantined until it is edited, the provider's version changes, or the flag is
 * off.  A death in a call for several Services counts under "*": then each Service is called for by
 * itself, so that the next one has a name, until one is quarantined or an hour has passed. */
#ifndef TRIMTAB_CONTROLLER_QUARANTINE_RULES_H
#define TRIMTAB_CONTROLLER_QUARANTINE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"

#define QUARANTINE_DEATHS     3
#define QUARANTINE_ROW_US     ((int64_t)60 * 60 * 1000000)
#define QUARANTINE_KEYS_MAX   100 /* the oldest go first */
#define QUARANTINE_SEVERAL    "*"
#define QUARANTINE_CONFIG_MAP "trimtab-quarantine" /* without election */

struct quarantine_entry {
    const char *key; /* "namespace/name" or QUARANTINE_SEVERAL */
    const char *call;
    uint64_t digest; /* quarantine_digest() of the Service that it died of */
    int64_t at_us;   /* the last death, wall time */
    int deaths;
};
/* Of one provider in one version; everything lives in an arena. */
struct quarantine_record {
    const char *provider;
    const char *version;
    struct quarantine_entry *entries;
    size_t n;
};

/* The provider's input: an edit of it changes the digest.  Annotations of ours and of the
 * provider's own do not count, nor does the status.  `deletes`: it is called to take the load
 * balancer away.  Never 0. */
uint64_t quarantine_digest(const struct tt_service *s, const struct tt_provider *desc,
                           bool deletes);
/* NULL, and a text that cannot be read, give an empty record. */
struct quarantine_record quarantine_parse(struct arena *a, const char *text);
const char *quarantine_print(struct arena *a, const struct quarantine_record *r);
/* Counts one death (`death->deaths` is not read).  What was recorded of another provider
 * or version goes. */
void quarantine_count(struct arena *a, struct quarantine_record *r, const struct tt_provider *desc,
                      const struct quarantine_entry *death);
/* NULL: it is not quarantined. */
const struct quarantine_entry *quarantine_find(const struct quarantine_record *r,
                                               const struct tt_provider *desc, const char *key,
                                               uint64_t digest);
/* Each Service is to be called for by itself: several died in one call, and that call's culprit is
 * neither quarantined since then, nor has it been quiet for QUARANTINE_ROW_US.
 * `now_us`: wall time. */
bool quarantine_wants_alone(const struct quarantine_record *r, const struct tt_provider *desc,
                            int64_t now_us);

#endif
