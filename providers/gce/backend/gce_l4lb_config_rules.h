/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4lb_config_rules.h: what an L4LBConfig says of logging, checked, and the findings of its
 * Service.
 *
 * A Service names one in its namespace by an annotation.  A config that is wrong or not there never
 * fails a sync: the backend service keeps the logging that it has, a condition and an event say
 * why.
 * Source: gce-l4.md §4.12.  Pure. */
#ifndef TRIMTAB_GCE_L4LB_CONFIG_RULES_H
#define TRIMTAB_GCE_L4LB_CONFIG_RULES_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "providers/gce/backend/gce_bs.h"

#include <stdbool.h>
#include <trimtab/types.h>

#define GCE_LOG_CONDITION "LoggingConfigManaged"

enum gce_log_state {
    GCE_LOG_UNMANAGED = 0, /* the flag is off, no annotation, or no spec.logging */
    GCE_LOG_MANAGED,
    GCE_LOG_MISSING,      /* there is no such object */
    GCE_LOG_FETCH_FAILED, /* it could not be read */
    GCE_LOG_BAD_MODE,
    GCE_LOG_BAD_VALUE,
};
/* All zero: UNMANAGED. */
struct gce_log_verdict {
    enum gce_log_state state;
    struct gce_l4_log log; /* MANAGED */
    const char *config;    /* the annotation's value; NULL if there is none */
    const char *message;   /* what is wrong with it; else "" or NULL */
};
/* The name in the annotation, or NULL. */
const char *gce_log_config_name(const struct tt_service *s);
/* `object`: the L4LBConfig as the API server has it. */
void gce_log_read(struct arena *a, struct json_object *object, struct gce_log_verdict *ret);
/* Value of gce_bs_input.log: NULL unless MANAGED. */
const struct gce_l4_log *gce_log_of(const struct gce_log_verdict *v);
/* The condition of the Service.  `failure` not NULL: the backend service could not be written, so
 * what is asked for is not so.  False: nothing is to be said (never managed). */
bool gce_log_condition(const struct tt_service *s, const struct gce_log_verdict *v,
                       const char *failure, struct tt_condition *ret);
/* The reason of the event, with *ret_message; NULL: none. */
const char *gce_log_event(struct arena *a, const struct tt_service *s,
                          const struct gce_log_verdict *v, const char **ret_message);

#endif
