/* SPDX-License-Identifier: Apache-2.0 */
/* gce_firewall_diff.h: is a firewall, or a health check, as it should be?
 *
 * Three comparisons, because upstream has three: that of the traffic firewall (which looks at
 * some members only), that of the health-check firewall, and the full one of the deny firewall.
 * What upstream does not look at but we do (protocol, tags) is asked apart, so that the caller
 * can decide whether it may be fixed on what others made.
 * Source: gce-cloud-provider.md §4.6,
 * §4.7, §4.13, §17; vectors §9.9, §9.11.  Pure. */
#ifndef TRIMTAB_GCE_FIREWALL_DIFF_H
#define TRIMTAB_GCE_FIREWALL_DIFF_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "common/lb/diff.h"
#include "providers/gce/model/gce_resources.h"

#include <stdbool.h>
#include <stdint.h>

#define GCE_PRIORITY_DEFAULT 1000
#define GCE_PRIORITY_ABOVE_DENY                                                                    \
    999 /* allow rules, where a deny rule of 1000 may stand beside them */

/* "80" or "443-8080" as Go reads it: "+80" and "080" are numbers, the order of the two is free. */
int gce_firewall_port_parse(struct arena *a, const char *port, int64_t *ret_first,
                            int64_t *ret_last, struct err *err) _warn_unused_;

/* Traffic firewall (§4.6).  `wanted` has its description, destinations, one allowed entry with
 * merged ports, and priority; `plain_ports` are the same ports one by one, which counts as
 * equal.  Sources are CIDR sets. */
bool gce_firewall_traffic_differs(struct arena *a, const struct gce_firewall *found,
                                  const struct gce_firewall *wanted,
                                  const struct gce_strs *plain_ports);
/* Returns why the priority changes from `is` to `want`, or NULL where it does not, or `want` does
 * not name any (0).  Pure. */
const char *gce_firewall_priority_why(int32_t is, int32_t want);
/* Ours (§15 rows 6, 7): the protocol, and the tags when both are known. */
bool gce_firewall_protocol_differs(const struct gce_firewall *found,
                                   const struct gce_firewall *wanted);
bool gce_firewall_tags_differ(struct arena *a, const struct gce_firewall *found,
                              const struct gce_firewall *wanted);
/* Health-check firewall (§4.7): description, allowed, sources as text, priority. */
bool gce_firewall_check_differs(struct arena *a, const struct gce_firewall *found,
                                const struct gce_firewall *wanted);
/* Can one firewall let clients in to the load balancer that goes and to the one of another kind
 * that comes, with both addresses as destinations?  `found` as it is for the former one. */
bool gce_firewall_serves_both(struct arena *a, const struct gce_firewall *found,
                              const struct gce_firewall *wanted);
/* Deny firewall (§4.13): everything but tags.  ERR_INVALID when a range or port that is reached
 * does not parse. */
int gce_firewall_equal(struct arena *a, const struct gce_firewall *x, const struct gce_firewall *y,
                       bool *ret, struct err *err) _warn_unused_;
/* Same ports of the same protocols, in whatever ranges and order, allowed as well as denied.
 * ERR_INVALID when a port that is reached does not parse. */
int gce_firewall_traffic_equal(struct arena *a, const struct gce_firewall *x,
                               const struct gce_firewall *y, bool *ret,
                               struct err *err) _warn_unused_;
/* The printed fields: every member in which the two differ. */
void gce_firewall_fields(struct lb_diff *d, const struct gce_firewall *found,
                         const struct gce_firewall *wanted);

/* Health checks (§4.7): port, path or description differ, or a number is below its default. */
bool gce_check_differs(const struct gce_check *found, const struct gce_check *wanted);
/* The body to send: `wanted` with the larger numbers of `found`. */
struct gce_check gce_check_merge(const struct gce_check *found, const struct gce_check *wanted);
void gce_check_fields(struct lb_diff *d, const struct gce_check *found,
                      const struct gce_check *wanted);
/* The check that upstream makes: 8 s, 1 s, 1, 3. */
struct gce_check gce_check_default(const char *name, const char *description, const char *path,
                                   int32_t port);

#endif
