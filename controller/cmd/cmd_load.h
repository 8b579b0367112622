/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_load.h: reading objects: what cmd_load.c, cmd_load_manifests.c and cmd_inside*.c share.
 * Private to them. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_LOAD_H
#define TRIMTAB_CONTROLLER_CMD_CMD_LOAD_H

#include "controller/cmd/cmd_session.h"

/* --- cmd_load.c ------------------------------------------------------------------------------- */
/* Decodes an object as the controller would; the session owns it. */
int cmd_load_decode(struct cmd_session *s, enum kube_kind kind, struct json_object *o,
                    struct kube_object **ret, struct err *err) _warn_unused_;
/* Adds a Service to those that exist; one that is added later wins over an earlier one of
 * the same name. */
void cmd_load_service(struct cmd_session *s, const struct tt_service *svc);
/* Adds a Node. */
void cmd_load_node(struct cmd_session *s, const struct tt_node *node);
/* The command is about the Service "namespace/name". */
void cmd_load_want(struct cmd_session *s, const char *key);
/* Sorts s->wanted; each key stays once. */
void cmd_load_sort_wanted(struct cmd_session *s);

/* No flag names a cluster. */
bool cmd_load_names_no_cluster(const struct cmd_args *a);
/* Reads --state into s->world.  Blocks. */
int cmd_load_state(struct cmd_session *s, struct err *err) _warn_unused_;
/* Makes s->config and s->client as the flags and the environment say; asks the
 * server nothing yet. */
int cmd_load_connect(struct cmd_session *s, struct err *err) _warn_unused_;
/* Sorts s->services (of the same key the one that was added last stays) and s->nodes. */
void cmd_load_sort(struct cmd_session *s);

/* --- cmd_load_manifests.c --------------------------------------------------------------------- */
/* The namespace of the kubeconfig's context; NULL: there is no cluster. */
const char *cmd_load_config_ns(const struct cmd_session *s);
/* A line for "because" of the plan of that Service; both texts are kept. */
void cmd_load_note(struct cmd_session *s, const char *key, const char *text);
/* Notes for the plan of a Service of another type than LoadBalancer why it is empty; `is_default`:
 * no file says the type. */
void cmd_load_note_type(struct cmd_session *s, const char *key, const struct tt_service *svc,
                        bool is_default);
/* Adds the Services of s->targets.manifests.  Reads the cluster's objects of the same names; with
 * --server-dry-run it asks the API server.  Blocks. */
int cmd_load_manifests(struct cmd_session *s, struct err *err) _warn_unused_;

#endif
