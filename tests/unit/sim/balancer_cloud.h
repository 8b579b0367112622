/* SPDX-License-Identifier: Apache-2.0 */
/* balancer_cloud.h: a cloud in which all resources differ, for tests of what it takes and
 * refuses.
 *
 * Network "default" has the subnetworks "default" (10.128.0.0/20, internal IPv6), "second"
 * (10.64.0.0/20) and "public" (10.65.0.0/20, external IPv6); network "far" has "far"
 * (10.66.0.0/20), and "custom", of custom subnet mode, has none.  All nodes are in "default"; the
 * machines vm-second, vm-far and vm-two (default and second) are in zone a.  Checks, groups,
 * services and rules are made by balancer_cloud_fill(). */
#ifndef TRIMTAB_TESTS_SIM_BALANCER_CLOUD_H
#define TRIMTAB_TESTS_SIM_BALANCER_CLOUD_H

#include "tests/unit/sim/fixture.h"

/* Links as members of bodies. */
#define SUBNET(name)  "\"subnetwork\":\"regions/us-central1/subnetworks/" name "\""
#define NETWORK(name) "\"network\":\"global/networks/" name "\""
#define SERVICE(name) "\"backendService\":\"regions/us-central1/backendServices/" name "\""
#define GLOBAL_CHECK  "\"healthChecks\":[\"global/healthChecks/global\"]"
#define OWN_CHECK     "\"healthChecks\":[\"regions/us-central1/healthChecks/own\"]"
#define VM(name)      "{\"instance\":\"zones/us-central1-a/instances/" name "\"}"

/* A request and how it is answered; status 200 is a success. */
struct balancer_row {
    const char *what;
    const char *method, *path, *body;
    int status;
    const char *reason; /* NULL: not looked at */
    const char *text;   /* must be in the message; NULL: not looked at */
};

/* Six nodes and the machines above. */
struct fixture *balancer_cloud_start(void);
/* Checks "global" and "own" (regional), groups "ig" (node-0) and "empty", NEGs "neg" and "neg-b"
 * (zone b), services "int" (TCP), "int-all" (UNSPECIFIED), "ext" and "ext-all" with neg or nothing,
 * rules "fr" (int, 10.128.9.1:80) and "fre" (ext, 203.0.113.50:80). */
void balancer_cloud_fill(struct fixture *f);
/* Each of the requests is refused as its row says and changes nothing. */
void balancer_expect_refused(struct fixture *f, const struct balancer_row *rows, size_t n);
/* Each of the requests is taken; what a POST of a resource "x" made is deleted again. */
void balancer_expect_taken(struct fixture *f, const struct balancer_row *rows, size_t n);

#endif
