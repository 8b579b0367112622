/* SPDX-License-Identifier: Apache-2.0 */
/* gce_options.h: the provider's flags: those of cloud-provider-gcp, those of ingress-gce's L4 and NEG
 * controllers, and two of our own.
 *
 * Names and defaults are upstream's, so that the command lines of both programs can be put
 * together; a flag that both have is one flag.  Flags that cannot do anything here are accepted
 * (docs/providers/gce.md says which).
 * Source: gce-cloud-provider.md §14.2; gce-l4.md §7.5.  Pure. */
#ifndef TRIMTAB_GCE_OPTIONS_H
#define TRIMTAB_GCE_OPTIONS_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/gce/api/gce_rates.h"
#include "providers/gce/decide/gce_decide.h"
#include "providers/gce/model/gce_l4_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

/* How often something is done; milliseconds. */
struct gce_periods {
    int64_t sync_ms;   /* --sync-period: members of NEGs and groups are listed again */
    int64_t neg_gc_ms; /* --neg-gc-period: read, nothing here needs it */
    int64_t
        legacy_race_ms; /* --prevent-legacy-race-l4-ilb: how old a new internal Service must be */
    int64_t
        provision_ms; /* --l4-netlb-provision-deadline: in error for so long, it is a persistent one */
};
struct gce_options {
    /* cloud-provider-gcp */
    bool rbs_default;    /* = switches.rbs_default */
    bool lb_annotations; /* --enable-l4-lb-annotations */
    bool deny_firewall;  /* --enable-l4-deny-firewall; = l4.deny_firewall */
    bool deny_cleanup;   /* --enable-l4-deny-firewall-rollback-cleanup; = l4.deny_cleanup */
    bool repair_adopted; /* --repair-adopted, the program's own */
    bool lenient_type;   /* --lenient-load-balancer-type */
    const char *const
        *lb_src_cidrs; /* --cloud-provider-gce-lb-src-cidrs; sources of health checks */
    size_t n_lb_src_cidrs;
    struct gce_rates rates; /* --gce-ratelimit */
    /* ingress-gce */
    struct gce_switches switches; /* ilb_subsets: without the alpha feature, which is in gce.conf */
    struct gce_l4_flags l4;
    struct gce_periods periods;
    int32_t max_ig_size; /* --max-ig-size: instances per zone and group */
    bool ig_controller;  /* --enable-ig-controller: members of the groups are ours to set */
    bool gate_l4;        /* --gate-l4-by-lock: l4-lb-controller-gce-lock is held */
    bool gate_neg;       /* --gate-neg-by-lock: ingress-gce-neg-lock is held */
};
#define GCE_OPTION_COUNT 59u
extern const struct tt_option gce_option_table[GCE_OPTION_COUNT];
/* What is not among `options` has its default.  ERR_INVALID: as upstream, the deny firewall without
 * its clean-up flag or without pinhole, the L3 rule without mixed protocols; a source range that is no CIDR; a number
 * that is out of range. */
int gce_options_parse(struct arena *a, const struct tt_kv *options, size_t n,
                      struct gce_options *ret, struct err *err) _warn_unused_;
/* Flags that do not go together, although the program starts: texts for people. */
struct gce_strs gce_options_doubts(struct arena *a, const struct tt_kv *options, size_t n);

#endif
