/* SPDX-License-Identifier: Apache-2.0 */
/* config_findings.h: warnings about a cloud-config: their file and line, and the checks that hold
 * for every file of gcfg.
 *
 * A provider's config check reads the file as upstream does, and adds the lines and the words; this
 * is the part that does not depend on the keys.  Reports to host->report_finding().  One thread;
 * everything is in the arena. */
#ifndef TRIMTAB_CLOUD_CONFIG_FINDINGS_H
#define TRIMTAB_CLOUD_CONFIG_FINDINGS_H

#include "common/base/arena.h"
#include "common/data/gcfg.h"

#include <trimtab/provider.h>

struct config_findings {
    struct arena *a;
    const struct tt_open_args *args;
    /* The file once more, as a list of lines; none before config_findings_lines(). */
    const struct gcfg_entry *entries;
    size_t n_entries;
};

/* --cloud-config as the user wrote it; "cloud config" without one. */
const char *config_file(const struct tt_open_args *args);
/* "aws.conf:7"; the file alone for line 0. */
const char *config_line(struct arena *a, const char *file, int line);
/* "; did you mean \"near\"?", or "" for NULL. */
const char *config_near(struct arena *a, const char *near);
/* One finding; severity TT_LOG_…; `where` as config_line() gives it, or "". */
void config_finding(const struct tt_open_args *args, uint32_t severity, const char *where,
                    const char *text);

/* ---- files of gcfg --------------------------------------------------------------------------- */

/* Reads the file's lines, once more; an unreadable one has none. */
void config_findings_lines(struct config_findings *f);
/* "aws.conf:7", where a key of one of these sections (n of them) was set last; the file alone when
 * it was not. */
const char *config_where(const struct config_findings *f, const char *const *sections, size_t n,
                         const char *key);
/* Warns of keys with one value that are set again: the last one counts.  `is_list`: the entry may
 * stand several times. */
void config_check_repeated(const struct config_findings *f,
                           bool (*is_list)(const struct gcfg_entry *e));
/* Warns of `key =` with nothing behind it, which counts as not set, unless `may_be_empty`. */
void config_check_empty(const struct config_findings *f,
                        bool (*may_be_empty)(const struct gcfg_entry *e));

#endif
