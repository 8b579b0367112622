/* SPDX-License-Identifier: Apache-2.0 */
/* gce_bs_case.h: golden cases of Google's balancers with a backend service.
 *
 * facts.json: kind (ilb-groups, ilb-negs, netlb-groups, netlb-negs, negs-only), and where they
 * differ from the defaults: verb (ensure, update, delete), flags ({name of struct gce_l4_flags:
 * bool}), project, network_project, node_tags, subnetwork (name that the annotation stands for),
 * others_want_shared_check, repair_adopted, log (of an L4LBConfig), members ({zone: [name or
 * endpoint]} of the NEGs), slices ([EndpointSlice]; left out: a pod on every node), legacy_network,
 * network, network_name (of the Network object of another one: VPC NAME-vpc, subnetwork NAME-sub;
 * of "blue" the first four nodes are), forbids_firewall, no_nodes, again (the next plan is not
 * empty, because another program must act first); and what happened before:
 *   before   syncs that are carried out in silence, each {service: merge patch of service.json,
 *            facts: merge patch, nodes:  so many of the nodes there were, nodes_are: these, stop:
 *            it ended after so many operations}
 *   left     what another program did then: {path: resource, or null}
 * observed.json: resources by path, "regions/us-central1/forwardingRules/NAME", before all that.
 * Without nodes.json there are six ready nodes in three zones.
 *
 * Cases adopt-*: what cloud-provider-gcp and ingress-gce left of a Service, recorded with
 * kube-apiserver 1.36.2 and public sources of August 2026; taking it over is nothing to do.
 *
 * plan.txt: the plan with its attributes; each write of carrying it out on
 * tests/golden/gce_model.h; what then stands; and the next plan, which shall be empty: if not, or
 * when a rule of gce-l4.md §9.5 was broken, the case fails whatever is in the file. */
#ifndef TRIMTAB_TESTS_GOLDEN_GCE_BS_CASE_H
#define TRIMTAB_TESTS_GOLDEN_GCE_BS_CASE_H

#include "tests/golden/golden.h"

/* Does the case ask for a balancer with a backend service? */
bool gce_bs_case_is_one(const struct golden_case *c);
void gce_bs_case_show(struct arena *a, const struct golden_case *c, struct str_buf *text);

#endif
