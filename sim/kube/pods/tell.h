/* SPDX-License-Identifier: Apache-2.0 */
/* tell.h: the events of the simulated EndpointSlice controller. */
#ifndef TRIMTAB_SIM_KUBE_PODS_TELL_H
#define TRIMTAB_SIM_KUBE_PODS_TELL_H

#include "sim/kube/pods/parts.h"

/* An event about the Service of the job; the same one again is counted. */
void tell_event(struct slice_job *j, const char *type, const char *reason, const char *message);

#endif
