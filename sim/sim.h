/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h: the simulator's frame: one port, several APIs, faults, counts, logs and worlds.
 *
 * trimtab-sim is an independent judge: it refuses what a cluster and a cloud refuse, and shares no
 * code with providers (docs/architecture.md).  The frame owns the server, the clock, the seeded
 * randomness, the call log, the counts, the faults and /sim/…; each API (Kubernetes, Compute,
 * metadata) is a *module* behind `struct sim_module` and owns its state.  Everything runs in one
 * event loop and one thread; nothing blocks, waiting is a timer.  It is a library (tests link it
 * in) and a program (main.c).
 * Source: interfaces.md "trimtab-sim" fixes flags, paths, formats and counting. */
#ifndef TRIMTAB_SIM_SIM_H
#define TRIMTAB_SIM_SIM_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "common/net/http_server.h"
#include "common/net/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct sim;

enum sim_latency {
    SIM_LATENCY_NONE = 0,
    SIM_LATENCY_CLOUD,
};

/* The start; what the flags of interfaces.md say.  Zero values are the flags' defaults
 * where not noted. */
struct sim_config {
    uint16_t port;            /* 0: any free one (the flag's default, 8811, is main's) */
    bool tls;                 /* HTTPS with a throw-away CA */
    const char *cloud;        /* "gce", "azure", "aws", "none"; NULL: that of the world, else gce */
    const char *const *zones; /* NULL: us-central1-a, -b, -c; eastus-1, -2, -3; us-east-1a, b, c */
    size_t n_zones;
    int nodes;       /* how many at the start */
    int node_images; /* fake images per node (about 500 bytes each, as real nodes carry) */
    int services;    /* Services of type LoadBalancer at the start */
    const char *service_class; /* their class, or NULL */
    bool ipv4, ipv6;           /* cluster families; both false: IPv4 */
    bool ipv6_first;
    uint64_t seed;
    enum sim_latency latency;
    struct json_object *world; /* borrowed; NULL: none */
    const char *traffic_log;   /* file names; NULL: none */
    const char *kube_log;
    const char *rbac;           /* manifest to enforce; NULL: everything is allowed */
    struct clock *clock;        /* NULL: the real one */
    bool strict_address_delete; /* deleting an address that a rule uses is refused */
    const char *const *quotas;  /* "FIREWALLS=3" …; without one a quota is out of reach */
    size_t n_quotas;
};

/* One HTTP call on its way through a module.  Lives until it is answered, dropped or gone. */
struct sim_call {
    struct sim *sim;
    struct http_req *req;
    struct arena *arena; /* life of the request */
    const struct sim_module *module;
    void *module_state;
    const char *method;
    const char *path;         /* decoded once is the module's job; raw here */
    const char *target;       /* raw path with query */
    struct url_param *params; /* decoded query */
    size_t n_params;
    const char *body;
    size_t body_len;
    const char *op;   /* operation id: "compute.addresses.insert", "services.status.patch" */
    const char *user; /* who calls, for RBAC and 403 texts; set by the Kubernetes module */
    bool streaming;   /* a watch: answered in pieces */
    bool lose_answer; /* a fault: do it, but the client gets nothing */
    int status;       /* of the answer, also of one that is lost; 0 if there is none yet */
    struct json_object *fail; /* a fault: accept it, but its operation ends so; borrowed, or NULL */
    bool logged;
    void *private_data; /* the module's */
    bool pretty;        /* indent the answer, for people */
    /* Called when the client leaves before the answer; `call` is gone after it.  A module that
     * keeps a call sets it to cancel its timers.  (A watch may use http_req_on_gone() directly.) */
    void (*gone)(struct sim_call *call);
    void *batch;       /* the frame's: this call is part of a multipart request */
    void *batch_reply; /* the frame's: where its answer goes there */
};

/* One API.  All functions run in the loop's thread. */
struct sim_module {
    /* key in /sim/calls and "api" in faults and logs: "kubernetes", "gce", "metadata" */
    const char *name;
    bool to_traffic_log; /* cloud APIs */
    bool to_kube_log;    /* the Kubernetes API */
    /* Makes the module's state.  The world (if any) is loaded later through load(). */
    int (*init)(struct sim *sim, void **ret_state, struct err *err);
    void (*done)(void *state);
    /* Does a request for this raw path belong to the module? */
    bool (*claims)(const void *state, const char *method, const char *path);
    /* Names the call (call->op) before faults and counts see it; unknown paths get "unknown".  It
     * may hand the call on to a module that is counted and logged elsewhere (call->module,
     * call->module_state). */
    void (*name_call)(void *state, struct sim_call *call);
    /* Serves it: answers now or keeps `call` and answers later. */
    void (*handle)(void *state, struct sim_call *call);
    /* The API's own form of an error body, for injected faults: {"error":…} or a
     * Status.  New reference. */
    struct json_object *(*error_body)(void *state, const struct sim_call *call, int status,
                                      const char *reason, const char *message);
    /* The same for an API whose errors are not JSON: answers the call itself.  `body`: what the
     * fault says (borrowed; an object), or NULL.  NULL: error_body and the fault's body are
     * JSON. */
    void (*refuse)(void *state, struct sim_call *call, int status, const char *reason,
                   const char *message, struct json_object *body);
    /* Replaces the state with / adds it to the members of a world that are this module's.  The
     * world comes from outside: loading does not validate. */
    int (*load)(void *state, struct json_object *world, struct err *err);
    void (*dump)(void *state, struct json_object *world); /* adds its members; sorted, stable */
    /* watch-cut, watch-expire, watch-silence on open watches that match; NULL: has none.  Path is a
     * glob (NULL: any).  Returns how many were hit. */
    int (*watch_fault)(void *state, const char *kind, const char *path_glob);
    /* PUT /sim/settings/NAME: takes new settings (borrowed; an object), which a world keeps at
     * "sim.NAME"; nothing else changes, and unknown ones are refused.  NULL: has none. */
    int (*configure)(void *state, struct json_object *settings, struct err *err);
};

/* Makes the simulator on `base` and listens.  The caller runs the loop. */
int sim_new(struct event_base *base, const struct sim_config *cfg, struct sim **ret,
            struct err *err) _warn_unused_;
void sim_free(struct sim *s);
/* Closes the call logs; further calls are not logged.  ERR_TRANSIENT with "cannot write FILE: …"
 * where a line was lost. */
int sim_logs_close(struct sim *s, struct err *err);
uint16_t sim_port(const struct sim *s);
const char *sim_url(const struct sim *s);    /* "http://127.0.0.1:8811" */
const char *sim_ca_pem(const struct sim *s); /* NULL without TLS */
const struct sim_config *sim_cfg(const struct sim *s);
struct clock *sim_clock(const struct sim *s);
struct rng *sim_rng(const struct sim *s);
/* A random UUID that no loaded world has. */
void sim_new_uuid(const struct sim *s, char out[37]);
/* Whether a loaded world has this identifier, a UUID or one of AWS: another one is to
 * be made then. */
bool sim_id_is_loaded(const struct sim *s, const char *id);
struct event_base *sim_event_base(const struct sim *s);

/* Answers a call: logs it, counts it, applies lose_answer.  `body` is taken over
 * (NULL: empty body). */
void sim_answer(struct sim_call *call, int status, struct json_object *body);
/* The same `ms` later (0: at once).  The module's `gone` and `private_data` are taken
 * for that time. */
void sim_answer_after(struct sim_call *call, int64_t ms, int status, struct json_object *body);
/* The same with text that is not JSON (or JSON that is already printed). */
void sim_answer_text(struct sim_call *call, int status, const char *content_type, const char *text);
/* The call's body as JSON; answers 400 in the module's form and returns false if it is not one. */
bool sim_call_json(struct sim_call *call, struct json_object **ret);
const char *sim_call_param(const struct sim_call *call, const char *name); /* NULL when absent */
/* The same `ms` later; copies `text`, `content_type` is static. */
void sim_answer_text_after(struct sim_call *call, int64_t ms, int status, const char *content_type,
                           const char *text);
/* Logs a call that the module answers in pieces itself; sim_answer() does it for the others.
 * `response` is borrowed and may be NULL. */
void sim_call_log(struct sim_call *call, int status, struct json_object *response);
/* Runs fn(arg) after `ms` (by the simulator's clock; 0 = in the next round of the loop).  Returns a
 * timer to cancel; it frees itself after it ran. */
struct sim_timer;
struct sim_timer *sim_after(struct sim *s, int64_t ms, void (*fn)(void *arg), void *arg);
void sim_timer_cancel(struct sim_timer *t); /* NULL is fine */

/* Counts as GET /sim/calls prints them; new reference. */
struct json_object *sim_counts(struct sim *s);
void sim_counts_reset(struct sim *s);
/* The whole world, as GET /sim/state; new reference.  sim_load replaces it (PUT /sim/state). */
struct json_object *sim_dump(struct sim *s);
int sim_load(struct sim *s, struct json_object *world, struct err *err) _warn_unused_;
/* Adds a fault (as POST /sim/faults); *ret_id for sim_fault_remove(). */
int sim_fault_add(struct sim *s, struct json_object *fault, int64_t *ret_id,
                  struct err *err) _warn_unused_;
void sim_fault_remove(struct sim *s, int64_t id); /* 0: all */

/* --- between modules -------------------------------------------------------------------------- */
/* The built-in modules. */
extern const struct sim_module sim_kube_module;
extern const struct sim_module sim_compute_module;
extern const struct sim_module sim_metadata_module;
extern const struct sim_module sim_arm_module;
extern const struct sim_module sim_arm_identity_module;
extern const struct sim_module sim_aws_module;
extern const struct sim_module sim_aws_metadata_module;

/* A module's state by name, for those that hang together (nodes and instances);
 * NULL when absent. */
void *sim_module_state(struct sim *s, const char *name);
/* A node with its instance: the frame calls both at the start and for POST /sim/nodes. */
struct sim_node {
    const char *name;         /* node-0 … */
    const char *zone;         /* NULL: no cloud, no zones */
    const char *internal_ip;  /* 10.128.x.y */
    const char *internal_ip6; /* "" when the cluster has no IPv6 */
    const char *provider_id;  /* gce://PROJECT/ZONE/NAME; NULL: no cloud */
    const char *subnetwork;   /* name; NULL: the cluster's own.  Google only */
    int index;
};
int sim_kube_add_node(void *kube_state, const struct sim_node *node, int images, struct err *err);
int sim_kube_remove_node(void *kube_state, const char *name, struct err *err); /* NOT_FOUND */
int sim_kube_add_service(void *kube_state, const char *namespace, const char *name,
                         const char *lb_class, struct err *err);
/* PUT /sim/pods: which nodes have how many ready pods of a Service; writes EndpointSlices.  EXISTS
 * when the Service selects Pod objects, which then decide. */
int sim_kube_set_pods(void *kube_state, const char *namespace, const char *service,
                      struct json_object *pods_per_node, struct err *err);
/* The backends of load balancers, as a part of a world: Nodes, Services and EndpointSlices; a new
 * reference.  NULL where no pods are known: there is no EndpointSlice. */
struct json_object *sim_kube_behind(void *kube_state);
/* DELETE /sim/pods: the Service's slices follow from Pod objects again.
 * NOT_FOUND without counts. */
int sim_kube_drop_pods(void *kube_state, const char *namespace, const char *service,
                       struct err *err);
/* Fills in the addresses (arena) of a node of this name, zone, subnetwork and index, and notes them
 * in `taken`, which begins as sim_compute_addresses(): all that are in use, as a set that the
 * caller frees.  NOT_FOUND, INVALID (full). */
struct map;
struct map *sim_compute_addresses(const void *compute_state);
int sim_compute_place(void *compute_state, struct arena *a, bool ipv6, struct map *taken,
                      struct sim_node *node, struct err *err);
int sim_compute_add_instance(void *compute_state, const struct sim_node *node, struct err *err);
int sim_compute_remove_instance(void *compute_state, const char *name, struct err *err);
/* The cloud's project and (arena) its zones: where new nodes go. */
const char *sim_compute_project(const void *compute_state);
const char **sim_compute_zones(const void *compute_state, struct arena *a, size_t *ret_n);
/* The network and subnetwork names and the tag that nodes carry. */
#define SIM_NETWORK  "default"
#define SIM_NODE_TAG "node"
/* A token of the metadata server that lives `lifetime_s`, for files that people use. */
char *sim_compute_new_token(void *compute_state, struct arena *a, int64_t lifetime_s);
/* A credentials file of type service_account (its key signs for /token), or authorized_user. */
char *sim_compute_credentials(void *compute_state, struct arena *a, const char *type);
/* Members of a setting of a cloud: of `value` (NULL: there are none) each is one of `names` (ends
 * with NULL) and a number from 0 on; each is one of `names` and {"bucket", "per_second"}; of `list`
 * each is a text, one of `words` unless that is NULL.  ERR_INVALID otherwise. (core/settings.c) */
int sim_settings_numbers(const char *setting, struct json_object *value, const char *const *names,
                         struct err *err);
int sim_settings_buckets(const char *setting, struct json_object *value, const char *const *names,
                         struct err *err);
int sim_settings_texts(const char *setting, struct json_object *list, const char *const *words,
                       struct err *err);
/* The same for Azure: makes an instance of the scale set (or a machine of the availability set) and
 * fills *ret, texts in the arena; takes one away by its computer name; names the one with that
 * number, or NULL. */
int sim_arm_add_node(void *arm_state, struct arena *a, struct sim_node *ret, struct err *err);
int sim_arm_remove_node(void *arm_state, const char *name, struct err *err);
char *sim_arm_node_name(void *arm_state, struct arena *a, int64_t number);
/* azure.json for this cloud, and a token of its directory. */
char *sim_arm_cloud_config(void *arm_state, struct arena *a);
char *sim_arm_new_token(void *arm_state, struct arena *a, int64_t lifetime_s);
/* Credentials that clients of the simulated directory and of managed identities must present. */
#define SIM_ARM_CLIENT_SECRET   "sim-client-secret"
#define SIM_ARM_IDENTITY_HEADER "sim-identity-header"
/* The same for AWS.  sim_aws_add_node() takes a number (index) and perhaps a zone in *node and
 * fills in the rest, with an address that is not in `taken`, which begins as sim_aws_addresses()
 * and is the caller's. */
struct map *sim_aws_addresses(const void *aws_state);
int sim_aws_next_node(const void *aws_state);
int sim_aws_add_node(void *aws_state, struct arena *a, bool ipv6, struct map *taken,
                     struct sim_node *node, struct err *err);
int sim_aws_remove_node(void *aws_state, const char *name, struct err *err); /* NOT_FOUND */
const char *sim_aws_node_name(const void *aws_state, int64_t number);        /* NULL: none */
/* aws.conf for this cloud; and what clients find in their environment (`ca_file` NULL: no TLS). */
char *sim_aws_cloud_config(void *aws_state, struct arena *a);
char *sim_aws_env(void *aws_state, struct arena *a, const char *ca_file);
/* Writes gce.conf for this cloud (project, zone, network, tags, endpoint, token-url). */
char *sim_compute_cloud_config(void *compute_state, struct arena *a);

#endif
