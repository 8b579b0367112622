/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_session.h: what plan, explain and check-config stand on: a provider opened for looking only,
 * Services and Nodes.
 *
 * Services come from manifests (-f), else from the cluster, else from a saved world; Nodes from
 * --nodes, else from the cluster, else from the world.  The host that the provider gets refuses
 * every write.  One thread drives it; the reflectors of a live cluster run only while the first
 * lists are read. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_SESSION_H
#define TRIMTAB_CONTROLLER_CMD_CMD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "controller/cmd/cmd_args.h"
#include "controller/cmd/cmd_plan_copy.h"
#include "controller/cmd/cmd_targets.h"
#include "controller/cmd/cmd_wait.h"
#include "controller/host/host.h"
#include "controller/host/plugin.h"
#include "controller/kube/client/client.h"
#include "controller/kube/store/object.h"
#include "controller/kube/store/store.h"
#include "controller/sync/sync_rules.h"

struct cmd_finding {
    uint32_t severity; /* TT_LOG_… */
    const char *where;
    const char *message;
};

struct cmd_session {
    struct arena *a;     /* life of the command */
    const char *command; /* "plan" */
    bool misused;        /* the command line is at fault: --help helps */
    struct cmd_args args;
    struct cmd_targets targets; /* of cmd_session_load() */
    struct plugin *plugin;
    struct cmd_wait *wait; /* from the command line's end on */
    /* the cluster */
    struct kube_config *config;
    struct kube_client *client;
    struct json_object *world;          /* --state; arena */
    const struct tt_service **services; /* all of them, sorted by key */
    uint32_t n_services;
    size_t cap_services;
    const struct tt_service **replaced; /* those that a manifest stands in for, sorted by key */
    uint32_t n_replaced;
    const struct tt_service **gone; /* not in the cluster any more (cmd_left.h) */
    size_t n_gone, cap_gone;
    const struct tt_node **nodes;
    uint32_t n_nodes;
    size_t cap_nodes; /* of cmd_load_node() */
    /* of a live cluster, where they concern what is asked about; else NULL */
    struct kube_store *slices;
    const char **wanted; /* keys that the command is about; sorted, each once */
    size_t n_wanted, cap_wanted;
    struct cmd_note *unreadable; /* Services of which something cannot be read, and what */
    size_t n_unreadable, cap_unreadable;
    struct cmd_note *notes; /* what stands in for what the API server would choose */
    size_t n_notes, cap_notes;
    bool told_no_create,
        told_no_patch; /* --server-dry-run: the user knows that the right is lacking */
    /* the provider */
    struct tt_host_ctx *host;
    void *provider;
    bool opened;
    struct tt_open_args open_args;
    bool writes; /* set before it is opened: calls may change something */
    /* list_owned: each resource, with this session as `arg`; NULL: they are not wanted */
    void (*on_resource)(void *arg, const struct tt_owned *owned);
    /* what it reported */
    const struct tt_plan **plans;
    size_t n_plans, cap_plans;
    struct cmd_finding *findings;
    size_t n_findings, cap_findings;
};

/* Reads the command line of `command`; finds the provider when one is named.  *ret_done is true
 * when the answer was printed already (--help). */
int cmd_session_begin(struct cmd_session *s, unsigned command, const char *usage, int argc,
                      char *const *argv, bool *ret_done, struct err *err) _warn_unused_;
/* Reads cluster, nodes, manifests and world as the flags say. */
int cmd_session_load(struct cmd_session *s, struct err *err) _warn_unused_;
/* Reads the EndpointSlices of a live cluster where the provider, which is open, wants them for what
 * is asked about. */
int cmd_session_load_slices(struct cmd_session *s, struct err *err) _warn_unused_;
/* Opens the provider, for planning only unless `writes` is set. */
int cmd_session_open(struct cmd_session *s, struct err *err) _warn_unused_;
void cmd_session_done(struct cmd_session *s);

/* Returns what the controller would count as its own with this provider. */
struct sync_scope cmd_session_scope(const struct cmd_session *s);
/* The Service of a key, also one that is gone; or NULL. */
const struct tt_service *cmd_session_service(const struct cmd_session *s, const char *key);
/* Is it one of s->gone? */
bool cmd_session_is_gone(const struct cmd_session *s, const struct tt_service *svc);
/* Returns the Service as the controller has synced it, for one whose manifest is an edit of it: the
 * cluster's (or the saved state's) object of the same UID that has an address.  NULL for others. */
const struct tt_service *cmd_session_previous(const struct cmd_session *s, const char *key);
/* False: something of it cannot be read, and it is not being deleted, so that the controller would
 * leave its load balancer as it is; *err says so. */
bool cmd_session_can_read(const struct cmd_session *s, const char *key, struct err *err);
/* Prints "error: …" to stderr, and after a misused command line where to look; returns 1. */
int cmd_session_fail(const struct cmd_session *s, const struct err *err);
/* The exit code of a command that printed its answer: `status`; says on stderr when the
 * deadline is why it is 1. */
int cmd_session_end(const struct cmd_session *s, int status);
/* The same as cmd_session_fail() for a command line that could not be read. */
int cmd_fail_usage(const char *command, const struct err *err);
/* Log lines go to stderr from --v=1 on; without it a command prints its answer and its
 * error, and nothing else. */
void cmd_log_setup(int64_t verbosity);
/* Room for one more in an array in the arena: grows by doubling. */
void *cmd_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t item_size);
/* Fills args for open() and check_config(); reads the configuration file. */
int cmd_session_open_args(struct cmd_session *s, struct err *err) _warn_unused_;
/* Makes the host, with the hooks that collect plans and findings. */
void cmd_session_host(struct cmd_session *s);

#endif
