/* SPDX-License-Identifier: Apache-2.0 */
/* wish_internal.h: one wish of a Service, found under the own annotation or under those of other
 * load balancers.  Private to this room. */
#ifndef TRIMTAB_LOCAL_MODEL_WISH_INTERNAL_H
#define TRIMTAB_LOCAL_MODEL_WISH_INTERNAL_H

#include "providers/local/model/wish.h"

/* A value in own words. */
struct local_found {
    const char *key;   /* whole annotation, or LOCAL_KEY_LB_IP; NULL: not asked */
    const char *value; /* trimmed, not empty */
    bool own;          /* under an own annotation */
};
#define LOCAL_KEY_LB_IP "spec.loadBalancerIP"

enum local_wish_key {
    LOCAL_WISH_POOL,
    LOCAL_WISH_ADDRESSES,
    LOCAL_WISH_SHARE,
    LOCAL_WISH_MODE,
    LOCAL_WISH_SCHEDULER,
    LOCAL_WISH_TARGETS,
    LOCAL_WISH_SNAT,
    LOCAL_WISH_DRAIN_TIMEOUT,
    LOCAL_WISH_HEALTH_CHECK,
    LOCAL_WISH_HEALTH_PATH,
    LOCAL_WISH_HEALTH_PORT,
    LOCAL_WISH_HEALTH_INTERVAL,
    LOCAL_WISH_HEALTH_TIMEOUT,
    LOCAL_WISH_HEALTH_FALL,
    LOCAL_WISH_HEALTH_RISE,
    LOCAL_WISH_SORRY,
    LOCAL_WISH_SOURCE_RANGES,
    LOCAL_WISH_INTERFACES,
    LOCAL_WISH_UDP_ONE_PACKET,
    LOCAL_WISH_MOVE,
    LOCAL_WISH_IGNORE,
};

/* Looks under all keys of the wish.  ERR_INVALID when two say different things, or a foreign
 * value has no counterpart. */
int local_wish_find(struct arena *a, const struct tt_service *s, enum local_wish_key which,
                    struct local_found *ret, struct err *err) _warn_unused_;
/* The items of a comma list, trimmed. */
const char **local_list_split(struct arena *a, const char *text, size_t *ret_n);
/* Puts the key before a message that does not begin with the name of the wish. */
int local_wish_refuse(struct err *err, const struct local_found *f, const char *fmt, ...)
    _printf_(3, 4);

#endif
