/* SPDX-License-Identifier: Apache-2.0 */
/* gce_gauges.h: how many load balancers there are, of which sort and in which state: the gauges of
 * both upstream programs (gce-l4.md §7.6; gce-cloud-provider.md §14.1).
 *
 *     Service ──▶ 24 bits ──▶ its series ──▶ −1 in series that it leaves, +1 in new ones
 *
 * Upstream keeps every Service's state and counts all of them every ten minutes.  Here a Service is
 * one word (its bits, and since when it is in error), and a sync changes the few series that it
 * moves between: what is scraped is exact.  A series without Services stays, at 0.
 * A Service that is in error for longer than --l4-netlb-provision-deadline becomes PersistentError.
 * No thread waits for that: the next sync of any Service finds it out, and one in error is synced
 * again itself.  gce_gauges_rules.c is pure; gce_gauges.c counts, thread-safe. */
#ifndef TRIMTAB_GCE_GAUGES_H
#define TRIMTAB_GCE_GAUGES_H

#include "providers/gce/decide/gce_decide.h"
#include "providers/gce/model/gce_l4_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

/* ---- rules (gce_gauges_rules.c) -------------------------------------------------------------- */
enum gce_status {
    GCE_STATUS_SUCCESS = 0,
    GCE_STATUS_USER_ERROR, /* the owner must fix it (§4.14) */
    GCE_STATUS_ERROR,
    GCE_STATUS_PERSISTENT_ERROR, /* for longer than the deadline */
    GCE_STATUS_MAX,
};
/* Parts of a Service's bits. */
enum gce_gauge_field {
    GCE_GAUGE_KIND = 0, /* enum gce_kind; NONE: it counts nowhere */
    GCE_GAUGE_STATUS,   /* enum gce_status */
    GCE_GAUGE_STRONG,   /* the others: index of a label's value, or 0 and 1 */
    GCE_GAUGE_WEIGHTED,
    GCE_GAUGE_ZONAL,
    GCE_GAUGE_PROTOCOL,
    GCE_GAUGE_LOGGING,
    GCE_GAUGE_DENY,
    GCE_GAUGE_GLOBAL_ACCESS,
    GCE_GAUGE_SUBNET,
    GCE_GAUGE_PREMIUM,
    GCE_GAUGE_MANAGED_IP,
    GCE_GAUGE_FAMILIES,
    GCE_GAUGE_POLICY,
    GCE_GAUGE_MULTINET,
    GCE_GAUGE_FIELDS,
};
#define GCE_GAUGE_BITS 24
unsigned gce_gauge_get(uint32_t bits, enum gce_gauge_field f);
uint32_t gce_gauge_with(uint32_t bits, enum gce_gauge_field f, unsigned value);
/* Labels of a Service of this kind.  `logging`: logging is on by an L4LBConfig. */
uint32_t gce_gauge_bits(const struct tt_service *s, enum gce_kind kind, enum gce_status status,
                        bool logging, const struct gce_l4_flags *f);

#define GCE_GAUGE_LABELS_MAX 8
#define GCE_GAUGE_SERIES_MAX 8
/* One series. */
struct gce_gauge_series {
    uint32_t id; /* the same for the same metric and labels */
    const char *metric;
    struct tt_kv labels[GCE_GAUGE_LABELS_MAX]; /* static texts */
    uint32_t n_labels;
};
/* Those in which a Service of these bits counts; returns how many. */
size_t gce_gauge_series_of(uint32_t bits, const struct gce_l4_flags *f,
                           struct gce_gauge_series ret[GCE_GAUGE_SERIES_MAX]);
/* Value of one of its labels: "TCP", "NEG", "IPv4,IPv6"; of logging and its like
 * "true" and "false". */
const char *gce_gauge_word(uint32_t bits, enum gce_gauge_field f);

/* ---- counts (gce_gauges.c) ------------------------------------------------------------------- */
struct gce_gauges;
/* `f` is borrowed. */
struct gce_gauges *gce_gauges_new(const struct gce_l4_flags *f, int64_t deadline_ms) _warn_unused_;
void gce_gauges_free(struct gce_gauges *g); /* NULL is fine */
/* The Service of this key ("namespace/name") counts as `bits` from now on; 0: it is gone, or no
 * longer served here.  Sets the gauges that change, also of others whose deadline is over.
 * Monotonic time. */
void gce_gauges_set(struct gce_gauges *g, const struct tt_host *host, const char *key,
                    uint32_t bits, int64_t now_ms);
/* As what it counts; 0: nowhere. */
uint32_t gce_gauges_get(struct gce_gauges *g, const char *key);

#endif
