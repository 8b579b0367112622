/* SPDX-License-Identifier: Apache-2.0 */
/* wish.h: what a Service asks the provider `local` for by annotations, with those that other load
 * balancers read taken over.
 *
 * Own prefix local.trimtab.io/; the keys of MetalLB, kube-vip, PureLB, Cilium and LoxiLB mean the
 * same where they have the same meaning.  Two keys that disagree are an error, equal ones
 * are not. Pure. */
#ifndef TRIMTAB_LOCAL_MODEL_WISH_H
#define TRIMTAB_LOCAL_MODEL_WISH_H

#include "providers/local/model/config.h"

#include "common/lb/findings.h"

#include <trimtab/types.h>

#define LOCAL_PREFIX     "local.trimtab.io/"
#define LOCAL_CLASS      "trimtab.io/local"
#define LOCAL_POOL_GIVEN LOCAL_PREFIX "ip-allocated-from-pool" /* written by us */

struct local_health_wish {
    enum local_check kind; /* LOCAL_CHECK_AUTO: not asked */
    const char *path;      /* NULL: not asked */
    uint16_t port;         /* 0: not asked */
    int64_t interval_ms;   /* 0: not asked, as the following */
    int64_t timeout_ms;
    unsigned fall;
    unsigned rise;
};
/* Unset members are NULL, zero or …_AUTO; `has_…` where that would be a value. */
struct local_wish {
    bool ignore; /* leave the Service alone */
    const char *pool;
    struct ip_addr addrs[2]; /* at most one of each family, as written */
    size_t n_addrs;
    const char *addrs_key; /* annotation or field that they come from, for messages */
    const char *share;     /* never "" */
    bool has_mode;
    enum local_mode mode;
    enum local_scheduler scheduler;
    enum local_targets targets;
    bool has_snat;
    enum local_snat snat;
    bool has_drain_timeout;
    int64_t drain_timeout_ms;
    struct local_health_wish health;
    struct local_sorry sorry;
    const char *const
        *source_ranges;     /* of the Service's spec, else the annotation's; trimmed, as written */
    size_t n_source_ranges; /* 0: all clients may come */
    const char *const *interfaces;
    size_t n_interfaces;
    bool udp_one_packet;
    bool move;
};

/* ERR_INVALID for a value that cannot be meant, or two that disagree: the message names the keys
 * and what was found.  Pools are looked up in `config`. */
int local_wish_read(struct arena *a, const struct local_config *config, const struct tt_service *s,
                    struct local_wish *ret, struct err *err) _warn_unused_;
/* An annotation says what its targets are, so that they may be pods. */
bool local_wish_names_targets(const struct tt_service *s);
/* For findings about slips (common/lb/findings.h). */
extern const struct lb_annotation_keys local_annotation_keys;
/* Keys under which users write wishes; ends with NULL; "…*" stands for a prefix
 * (tt_provider.wish_annotations). */
extern const char *const local_wish_annotations[];

#endif
