/* SPDX-License-Identifier: Apache-2.0 */
/* pods_fixture.h: Pods and Services of the namespace default, and their slices as one line of text
 * each.
 *
 * JSON is written with single quotes. */
#ifndef TRIMTAB_TESTS_SIM_PODS_FIXTURE_H
#define TRIMTAB_TESTS_SIM_PODS_FIXTURE_H

#include "tests/unit/sim/kube/kube_fixture.h"

#define PODS   "/api/v1/namespaces/default/pods"
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

/* A Pod with label app=web and a container whose port http is 8080; `more` are further members of
 * its spec (",'nodeName':'node-0'"), `status` is its status ("{…}"). */
const char *pf_pod(struct kf *f, const char *name, const char *more, const char *status);
/* Makes one and lets the loop work. */
void pf_make(struct kf *f, const char *name, const char *more, const char *status);
/* Makes a Service `web` that selects app=web, port http 80 to `target`; `more` are
 * further members of its spec. */
void pf_service(struct kf *f, const char *target, const char *more);
/* All slices of a Service, sorted: "IPv4 http:8080/TCP web-1@node-0=10.64.0.2(rs-)^zone~node …";
 * letters of conditions that are true, hints behind ^ and ~.  Slices are separated by " | ". */
const char *pf_slices(struct kf *f, const char *service);
/* "100 100 50": how many endpoints each slice has, largest first. */
const char *pf_sizes(struct kf *f, const char *service);

#endif
