/* SPDX-License-Identifier: Apache-2.0 */
/* flows.h: what the sweep walks through: from which state, by which edits, to what end.
 *
 * A flow is data.  Its start state is made once, by a faultless controller (or it is a world that
 * upstream left), and every sweep point begins there again.  Then the edits happen, one call fails,
 * and after recovery the world must be that of the faultless run.  A new flow is a new row in a
 * table of its cloud. */
#ifndef TRIMTAB_TESTS_FAULT_FLOWS_H
#define TRIMTAB_TESTS_FAULT_FLOWS_H

#include <stdbool.h>
#include <stddef.h>

#define FLOW_SERVICES_MAX 10
#define FLOW_STEPS_MAX    14
#define FLOW_ENDS_MAX     6

/* A Service of namespace "default". */
struct flow_service {
    const char *name; /* NULL ends the list */
    /* JSON of spec; type LoadBalancer is added.  Its member `notes` becomes the annotations */
    const char *spec;
};

enum step_do {
    STEP_END = 0,
    STEP_CREATE,       /* Service `what` with spec `body`, in which "<web>" is the address of web */
    STEP_PATCH,        /* Service `what`, merge patch `body`; the same */
    STEP_DELETE,       /* Service `what` */
    STEP_ADD_NODES,    /* `what` of them */
    STEP_REMOVE_NODE,  /* of that name */
    STEP_REST,         /* until all is done that can be; each Service but `what` is served then */
    STEP_PODS,         /* of Service `what`, per node: body */
    STEP_FORGET_POOLS, /* the test removes the Azure resource `what` from all pools */
};

struct step {
    enum step_do act;
    const char *what;
    const char *body;
};

struct flow {
    const char *name;
    const char *cloud; /* "azure", "aws"; NULL: Google's */
    /* start */
    const char *world; /* a recorded world below tests/data; NULL: ours, with six nodes */
    const char *site;  /* of site.h, Azure only; NULL: the simulator's own */
    bool alone;        /* no user has put anything into the balancer that is ours */
    struct flow_service start[FLOW_SERVICES_MAX];
    const char *const *start_flags; /* of the controller that makes the start; NULL: none */
    /* and members of its cloud-config beside those of the site (AWS, Google: lines of
     * [Global]); NULL: none */
    const char *start_config;
    const char *settings; /* AWS only: the world's "sim.aws", JSON; NULL: none */
    /* Google only: the cluster has both families, and this is the IPv6 access of its subnetwork;
     * NULL: IPv4 alone */
    const char *both;
    /* what happens */
    const char *const *flags; /* of the controller that meets the fault; NULL: none */
    const char *config;       /* as start_config */
    /* Azure refuses each document that holds this text, and does not say why; NULL: none */
    const char *poison;
    bool cold; /* it starts when the flow begins: its first calls are swept, too */
    struct step steps[FLOW_STEPS_MAX];
    /* what must hold */
    /* the addresses of these Services may change: their users asked for it; blank
     * separated; NULL: none's */
    const char *moves;
    /* the cloud exchanges their address within one write, or the owner has said that it may go, so
     * that the former one, which the status still names, serves no more; else it serves until the
     * status names another one */
    bool swaps;
    const char *ends
        /* texts that occur in what world_text() says of the end; "!text" does not */
        [FLOW_ENDS_MAX];
    bool quiet;      /* nothing at all is written */
    const char *but; /* the kind that is left out, for a reason that stands there; NULL: none */
    /* how much of it the default sweep covers */
    /* more points if the change under test touches the cloud (sweep.c); else sampled as others */
    bool whole;
};

/* Each ended by a row without a name. */
extern const struct flow flows_gce[];
extern const struct flow flows_gce_l4[];
extern const struct flow flows_azure[];
extern const struct flow flows_azure_addresses[];
extern const struct flow flows_azure_batches[];
extern const struct flow flows_azure_blind[];
extern const struct flow flows_azure_machines[];
extern const struct flow flows_azure_moves[];
extern const struct flow flows_azure_links[];
extern const struct flow flows_aws[];
extern const struct flow flows_aws_edits[];
extern const struct flow flows_aws_many[];
extern const struct flow flows_aws_options[];

/* The i-th flow of a cloud: "gce" (or NULL), "azure", "aws"; NULL: there are no more. */
const struct flow *flow_at(const char *cloud, size_t i);
const struct flow *flow_find(const char *name); /* NULL: no such flow */

#endif
