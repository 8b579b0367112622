/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: what the files of this folder share: compact records, and the plan of one Service's
 * slices.
 *
 * Records are owned by `struct kube_pods` and replaced whole when their object changes; a plan
 * lives in the arena of one reconciliation. */
#ifndef TRIMTAB_SIM_KUBE_PODS_PARTS_H
#define TRIMTAB_SIM_KUBE_PODS_PARTS_H

#include "common/base/map.h"
#include "sim/kube/kube.h"
#include "sim/kube/pods/pods.h"

#define PODS_MANAGER      "endpointslice-controller.k8s.io"
#define PODS_MANAGED_BY   "endpointslice.kubernetes.io/managed-by"
#define PODS_SERVICE_NAME "kubernetes.io/service-name"
#define PODS_HEADLESS     "service.kubernetes.io/headless"
#define PODS_ZONE         "topology.kubernetes.io/zone"

/* One Pod as far as slices and the kubelet need it. */
struct pod {
    char *name;
    char *uid;
    char *node;                 /* "" before it is scheduled */
    char *hostname;             /* spec.hostname */
    char *subdomain;            /* spec.subdomain */
    char *ready_since;          /* lastTransitionTime of condition Ready, or "" */
    struct json_object *labels; /* NULL: none */
    struct json_object *ips;    /* array of addresses as Go prints them */
    /* array of {name, protocol, port}: the named ports that a Service may mean */
    struct json_object *ports;
    bool ready;        /* condition Ready is True */
    bool terminating;  /* deletionTimestamp is set */
    bool finished;     /* phase Succeeded or Failed */
    bool host_network; /* its address is the node's */
    int64_t end_us;    /* terminating: wall clock at which the kubelet is done; else 0 */
};

/* One Service with a selector. */
struct svc {
    struct json_object *selector;   /* NULL: none, so that it has no slices */
    struct map *members;            /* names of the pods that it selects */
    bool hinted;                    /* topology hints are on */
    struct map *hinted_per_zone[2]; /* IPv4, IPv6: zone → int64_t; NULL: none */
};

/* The contents of one namespace. */
struct space {
    struct map *pods;     /* name → struct pod */
    struct map *services; /* name → struct svc */
};

/* One Node as far as pods and hints need it. */
struct pod_node {
    char *zone;                    /* "" without label */
    struct json_object *cidrs;     /* spec.podCIDRs or NULL */
    struct json_object *addresses; /* internal ones, array */
    struct json_object *taints;    /* spec.taints or NULL */
    int64_t cpu_milli;             /* allocatable; 0 when absent */
    bool ready;
    bool cordoned;
    bool is_control_plane;
    size_t n_pods;
};

struct kube_pods {
    struct kube_state *st;
    bool awake;
    bool busy;             /* in a round: its own writes call for no other one */
    struct map *spaces;    /* namespace → struct space */
    struct map *nodes;     /* name → struct pod_node */
    struct map *addresses; /* in use by pods that have one of their own */
    struct map *starting;  /* "ns/name" of pods that the kubelet must look at */
    struct map *waiting;   /* "ns/name" of pods that no node takes */
    struct map *due;       /* "ns/name" of Services */
    struct map *lost;      /* names of nodes that went */
    bool nodes_changed;    /* since the last round: some may be overloaded now */
    bool shares_known;     /* zones.c: */
    struct map *shares;    /* zone → struct zone_share; NULL: no shares */
    struct sim_timer *timer;
    struct sim_timer *end_timer;
    int64_t end_due_us;
};

/* --- records.c -------------------------------------------------------------------------------- */
struct pod *pod_read(struct json_object *tree);
void pod_free(void *pod);
struct svc *svc_read(struct json_object *tree);
void svc_free(void *svc);
struct pod_node *pod_node_read(struct json_object *tree);
void pod_node_free(void *node);
struct space *space_new(void);
void space_free(void *space);
/* Does the selector (not NULL) take these labels (NULL: none)? */
bool selector_takes(struct json_object *selector, struct json_object *labels);
/* Milli units of a quantity, rounded up; 0 if it is not one or too large. */
int64_t quantity_milli(const char *text);

/* --- pods.c ----------------------------------------------------------------------------------- */
/* Asks for a round of the loop. */
void pods_call(struct kube_pods *p);
struct space *pods_space(struct kube_pods *p, const char *ns); /* made when absent */

/* --- kubelet.c -------------------------------------------------------------------------------- */
/* Schedules and starts what has to be started, takes away what a lost node had. */
void kubelet_round(struct kube_pods *p);
/* A pod is over at that time of the wall clock. */
void kubelet_arm_at(struct kube_pods *p, int64_t end_us);

/* --- endpoints.c ------------------------------------------------------------------------------ */
/* All that one reconciliation of one Service works on. */
struct slice_job {
    struct kube_pods *p;
    struct arena *arena;
    const char *ns, *name;
    struct json_object *service;
    struct svc *svc;
    struct space *space;
    bool is_headless;
    bool is_deleting;
    bool publishes_unready;
    const char *trigger; /* last-change-trigger-time, or NULL */
};

/* A new tree, or NULL when the pod has no address of the family or its node is unknown. */
struct json_object *endpoint_make(struct slice_job *j, const struct pod *pod, bool v6);
/* The ports of the Service at this pod; new array. */
struct json_object *endpoint_ports(struct slice_job *j, const struct pod *pod);
/* The key of a list of ports: the same text for the same ports in any order. */
const char *ports_key(struct arena *a, struct json_object *ports);
/* The owner of an endpoint; and what may differ between two of one identity, hints apart. */
const char *endpoint_identity(struct arena *a, struct json_object *endpoint);
const char *endpoint_content(struct arena *a, struct json_object *endpoint);
bool endpoint_is_ready(struct json_object *endpoint);

/* --- groups.c --------------------------------------------------------------------------------- */
enum slice_fate { SLICE_KEEP = 0, SLICE_UPDATE, SLICE_CREATE, SLICE_DELETE };

struct slice {
    const char *name;              /* NULL: not stored yet */
    struct json_object *was;       /* stored tree, owned; NULL: new */
    struct json_object *endpoints; /* array, owned */
    struct json_object *ports;     /* array, owned */
    const char *key;
    bool is_owned;
    enum slice_fate fate;
};

/* The slices of one family, stored ones and new ones. */
struct slice_plan {
    struct slice *items;
    size_t n, room;
    bool v6;
};

struct slice *plan_add(struct slice_plan *plan);
void plan_done(struct slice_plan *plan);
/* Decides for every stored slice what becomes of it and adds what has to be made. */
void plan_groups(struct slice_job *j, struct slice_plan *plan);

/* --- write.c ---------------------------------------------------------------------------------- */
/* All stored slices of the Service that this controller manages, those of the other
 * family in *others. */
void slices_read(struct slice_job *j, struct slice_plan *plans, size_t n_plans,
                 struct slice_plan *others);
bool slice_labels_fit(struct slice_job *j, struct json_object *stored);
/* Creates, updates, deletes, in that order. */
void slices_write(struct slice_job *j, struct slice_plan *plan);

/* --- reconcile.c ------------------------------------------------------------------------------ */
void reconcile_service(struct kube_pods *p, const char *ns, const char *name);

/* --- hints.c, zones.c ------------------------------------------------------------------------- */
void hints_apply(struct slice_job *j, struct slice_plan *plan);
void hints_remove(struct slice_plan *plan);
void hint_set(struct json_object *endpoint, const char *zone, const char *node);
/* Topology hints of one family; tells an event when they continue or off. */
void zones_apply(struct slice_job *j, struct slice_plan *plan);
/* The annotation is gone: forgets, and tells it when hints were on. */
void zones_off(struct slice_job *j);
/* Nodes changed: Services that are overloaded now become due. */
void zones_recheck(struct kube_pods *p);
void zones_free(struct kube_pods *p);

#endif
