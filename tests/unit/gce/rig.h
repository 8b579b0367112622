/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h: the Google provider between a fake host and the simulator's cloud, all in one process.
 *
 * The host records its calls (events, finalizers, plans, calls to the cloud); the
 * simulator runs in a thread of its own.  A test opens the provider, syncs Services that it
 * writes as JSON, and looks at both sides. "Killing" the process at a mutation: from then on
 * nothing may be mutated, and the provider is opened again. */
#ifndef TRIMTAB_TESTS_GCE_RIG_H
#define TRIMTAB_TESTS_GCE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/data/json.h"

#include <stdbool.h>
#include <trimtab/provider.h>

#define RIG_TEXTS 64

/* One Service's outcome. */
struct tt_result {
    int32_t code;
    char message[TT_TEXT_MAX + 1];
    int64_t retry_after_ms;
    bool failed;
    bool done;
    int exists;           /* -1: not said */
    char ip[64];          /* "" when none was set */
    char condition[64];   /* "Type=Status" */
    char dropped[128];    /* finalizer */
    char annotation[256]; /* "key=value" of the last one */
    char text[4096];      /* explain */
    uint32_t own;         /* TT_OWN_… */
    int64_t again_ms;     /* 0: it need not be checked again */
    char nobody[256];     /* why what stands serves no client; "serves"; "": not said */
    unsigned served;      /* how often it said that it serves while the call went on */
};

struct rig;
struct rig_options {
    int nodes;                 /* instances and Nodes at the start; 0 = 6 */
    const char *config_more;   /* lines added to gce.conf */
    const char *config_less;   /* key whose line is left out ("node-tags") */
    const struct tt_kv *flags; /* provider options, sorted */
    size_t n_flags;
    struct json_object *world; /* borrowed; its config replaces ours */
    bool strict_address_delete;
    bool gke_classes; /* --controllers=*,gke-service-lb-controller */
};
struct rig *rig_start(const struct rig_options *opt); /* NULL: defaults */
void rig_stop(struct rig *r);
/* The status cannot be written while a call goes on: this code; TT_OK: it can again. */
void rig_unwritten(struct rig *r, int32_t code);
/* Opens the provider again, as a process that was started again; what the host noted stays. */
void rig_reopen(struct rig *r);
struct arena *rig_arena(struct rig *r);
void *rig_provider(struct rig *r);

/* ---- the cluster */
/* Adds or replaces a Service; metadata.namespace "default", type LoadBalancer and a uid made
 * from the name are filled in.  Finalizers that were held are kept. */
void rig_service(struct rig *r, const char *name, const char *json);
/* Merges into it ({"spec":{…}}); a member that is null goes. */
void rig_edit(struct rig *r, const char *name, const char *json);
void rig_service_deleted(struct rig *r, const char *name); /* deletionTimestamp */
void rig_service_gone(struct rig *r, const char *name);
struct json_object *rig_service_tree(struct rig *r, const char *name); /* new reference */
void rig_set_service_tree(struct rig *r, const char *name, struct json_object *tree);
const char *rig_lb_name(struct rig *r, const char *name); /* "a…" */
/* The Service has one pod on each of these nodes ("node-0 node-3"), in one slice; it
 * had none before. */
void rig_pods(struct rig *r, const char *name, const char *nodes);
/* Nodes with their instances. */
void rig_add_nodes(struct rig *r, int n);
void rig_give_addresses(
    struct rig *r); /* InternalIPs of their instances, to all of them; NEGs need them */
void rig_remove_node(struct rig *r, const char *name);
/* All of them take no part any more, by the label that excludes them; instances stay. */
void rig_exclude_nodes(struct rig *r);
void rig_keep_nodes(struct rig *r, size_t n); /* the first ones by name; instances stay */
/* PROJECT stands for the simulated one. */
void rig_add_node_without_instance(struct rig *r, const char *name, const char *provider_id);
/* The cluster's ConfigMap; NULL: absent. */
void rig_set_cluster_id(struct rig *r, const char *id);
void rig_set_configmap(struct rig *r, const char *json);
const char *rig_cluster_id(struct rig *r);

/* An object of the whole cluster besides Services and Nodes ("networks/blue"); NULL: absent. */
void rig_object(struct rig *r, const char *path, const char *json);
/* A second network: NAME-vpc with subnetwork NAME-sub is in the cloud, and these nodes ("node-0
 * node-3") have an interface there, node-0 172.16.0.1 and so on, of which their annotation tells.
 * Called again, more nodes have. */
void rig_add_network(struct rig *r, const char *name, const char *nodes);

/* ---- calls; the result is the rig's until the next one */
const struct tt_result *rig_sync(struct rig *r, uint32_t verb, const char *name);
const struct tt_result *rig_ensure(struct rig *r, const char *name);
/* Ensures it as the controller does after a refused edit: it is edited back before. */
const struct tt_result *rig_lead_back(struct rig *r, const char *name);
const struct tt_result *rig_delete(struct rig *r, const char *name); /* marks it deleted first */
const struct tt_result *rig_update(struct rig *r, const char *name);
const struct tt_result *rig_get(struct rig *r, const char *name);
const struct tt_result *rig_explain(struct rig *r, const char *name);
const struct tt_result *rig_validate(struct rig *r, const char *name);
/* Syncs these Services at the same time, on `threads` threads, until each has gone well once;
 * fails the test when one does not within 20 tries. */
void rig_sync_all(struct rig *r, uint32_t verb, const char *const *names, size_t n, size_t threads);
/* The same; those that are being deleted are deleted, the others ensured. */
void rig_sync_mixed(struct rig *r, const char *const *names, size_t n, size_t threads);
/* The plan as text; nothing is changed. */
const char *rig_plan(struct rig *r, const char *name);
const struct tt_result *rig_plan_result(struct rig *r, const char *name);
void rig_set_waiting(struct rig *r, unsigned waiting);
void rig_set_reasons(struct rig *r, uint32_t reasons); /* TT_REASON_… of calls from now on */
/* As it is now is as it was last synced, for calls from now on. */
void rig_remember(struct rig *r, const char *name);

/* ---- what happened */
unsigned rig_calls(struct rig *r, const char *op);   /* "compute.addresses.get"; glob; NULL: all */
unsigned rig_mutations(struct rig *r);               /* asked for by may_mutate */
void rig_forget(struct rig *r);                      /* counts, events, plans from here on */
bool rig_had_event(struct rig *r, const char *glob); /* "Normal Reason message" */
unsigned rig_events(struct rig *r);
const char *rig_events_text(struct rig *r); /* all of them, one per line */
const char *rig_findings(
    struct rig *r); /* "finding KEY MESSAGE" and "nobody KEY WHY" of the last plan, a line each */
const char *rig_last_plan(struct rig *r); /* text of the last plan that was reported */
bool rig_holds(struct rig *r, const char *name, const char *finalizer);
/* Counters, gauges, numbers of observations of all series "name{label=value,…}" that match (labels
 * in the table's order); -1 when there is none.  What a provider says of a metric that its table
 * does not hold so fails the test. */
double rig_metric(struct rig *r, const char *glob);

/* ---- the cloud */
struct json_object *rig_cloud(struct rig *r); /* path → resource; rig-owned until the next call */
struct json_object *rig_resource(struct rig *r, const char *path_end); /* NULL when absent */
/* Names of all load-balancer resources, sorted, one per line: "forwardingRules/a…". */
const char *rig_inventory(struct rig *r);
/* The same with all members that matter, for comparing states. */
const char *rig_fingerprint(struct rig *r);
struct json_object *rig_save(struct rig *r); /* new reference: the whole world */
void rig_load(struct rig *r, struct json_object *world);
void rig_fault(struct rig *r, const char *json); /* as POST /sim/faults */
void rig_no_faults(struct rig *r);
int64_t rig_fault_hits(struct rig *r); /* of all faults that are set */
void rig_set_flags(struct rig *r, const struct tt_kv *flags,
                   size_t n); /* for the next rig_reopen() */
/* The `nth` mutation from now is "refuse"d (403) or its answer is "lose"d; `for_good`: all after
 * it, too. */
void rig_break_mutation(struct rig *r, unsigned nth, const char *what, bool for_good);
/* A request to the cloud, as a user would make it; fails the test when refused. */
void rig_cloud_call(struct rig *r, const char *method, const char *path, const char *body);

/* ---- dying */
enum rig_death {
    RIG_LIVES = 0,
    RIG_DIES_BEFORE,
    RIG_DIES_AFTER,
};
/* At the `nth` mutation from now (1…). */
void rig_die_at(struct rig *r, enum rig_death how, unsigned nth);
bool rig_is_dead(struct rig *r);

#endif
