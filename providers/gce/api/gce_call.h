/* SPDX-License-Identifier: Apache-2.0 */
/* gce_call.h: what gce_api.c (names, URLs), gce_call.c (state machine) and gce_call_metrics.c
 * share.  Private to these and their tests. */
#ifndef TRIMTAB_GCE_CALL_H
#define TRIMTAB_GCE_CALL_H

#include "providers/gce/api/gce_api.h"

const char *gce_verb_method(enum gce_verb v); /* "POST" */
bool gce_verb_mutates(enum gce_verb v);
const char *gce_verb_body(enum gce_verb v);                 /* of POSTs that read; else NULL */
const char *gce_api_collection_name(enum gce_collection c); /* "forwardingRules" */
/* Path below the base, without query. */
const char *gce_call_path(struct arena *a, const struct gce_api *api,
                          const struct gce_call_spec *s);
const char *gce_wait_path(struct arena *a, const struct gce_api *api, const struct gce_call_spec *s,
                          const char *operation);
const char *gce_operations_id(enum gce_collection c); /* "compute.regionOperations.wait" */
/* Labels of cloudprovider_gce_api_request_*. */
const char *gce_metric_request(struct arena *a, enum gce_collection c, enum gce_verb v);
const char *gce_metric_region(const struct gce_api *api, enum gce_collection c);
/* Of gce_api_request_* ("ForwardingRule_create"); NULL: ingress-gce sends such a
 * call another way. */
const char *gce_metric_composite(struct arena *a, enum gce_collection c, enum gce_verb v);
/* A call has ended, its operation included; *err says how.  (gce_call_metrics.c) */
void gce_call_measure(const struct gce_call *c, const struct err *err);

#endif
