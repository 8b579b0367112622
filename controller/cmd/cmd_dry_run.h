/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dry_run.h: --server-dry-run: the API server says what it would store of a manifest, without
 * storing it.
 *
 * The request is kubectl apply's: a create, or a strategic merge patch of an object that exists,
 * with dryRun=All.  So admission runs, webhooks included, and the kubeconfig's user needs the
 * rights to create and patch Services. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_DRY_RUN_H
#define TRIMTAB_CONTROLLER_CMD_CMD_DRY_RUN_H

#include "controller/cmd/cmd_manifest.h"
#include "controller/kube/client/client.h"

struct cmd_dry_run {
    struct arena *a;
    struct kube_client *client;
    enum cmd_validate validate;
    const char *lacking; /* out: the server's words when the user lacks the right, else NULL */
};
/* Asks about `m`; `live` is the cluster's object, or NULL.  On success *ret is a new reference, or
 * NULL when the right is lacking.  Of a new object the uid is a stand-in, the same in every run.
 * Blocks; the errors are the client's: INVALID, FORBIDDEN (admission), NOT_FOUND (the namespace),
 * CONFLICT are the server's refusals of the object. */
int cmd_dry_run_ask(struct cmd_dry_run *d, const struct cmd_manifest *m, struct json_object *live,
                    struct json_object **ret, struct err *err) _warn_unused_;
/* True for an error of cmd_dry_run_ask() that is about the object. */
bool cmd_dry_run_refuses(const struct err *err);
/* The body of the patch: the manifest, with null for what the last apply had and it lacks.  New
 * reference.  Pure. */
struct json_object *cmd_dry_run_patch(struct arena *a, const struct cmd_manifest *m,
                                      struct json_object *live);
/* Differences between the Service that a plan would take without the server
 * (cmd_manifest_complete()) and the server's, as notes for the plan; either may be NULL.  Pure. */
struct cmd_dry_run_notes {
    const char *filled;  /* members that the server filled in, or chose */
    const char *changed; /* members that it changed or took away */
};
struct cmd_dry_run_notes cmd_dry_run_compare(struct arena *a, struct json_object *ours,
                                             struct json_object *servers);

#endif
