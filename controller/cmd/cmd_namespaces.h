/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_namespaces.h: namespaces that do not exist, and those that are being deleted.
 *
 * The API server creates no Service in them.  One request for each namespace; blocks. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_NAMESPACES_H
#define TRIMTAB_CONTROLLER_CMD_CMD_NAMESPACES_H

#include "controller/cmd/cmd_session.h"

/* The namespaces that a command has asked about. */
struct cmd_namespaces {
    struct cmd_session *s;
    struct cmd_namespace *items; /* in the session's arena */
    size_t n, cap;
};

/* Adds a fault for a new Service whose namespace the cluster does not have, unless a manifest of
 * the command makes that namespace, or whose namespace is being deleted.  Without a cluster, or
 * without the right to read namespaces, it adds none. */
int cmd_namespaces_check(struct cmd_namespaces *all, const struct cmd_manifest *m,
                         struct cmd_faults *faults, struct err *err) _warn_unused_;

/* Refuses a command about all Services of a namespace (-n NAME and no more) that the cluster does
 * not have: a slip would look like a namespace in which nothing is to be done.  NOT_FOUND then. */
int cmd_namespaces_check_asked(struct cmd_session *s, struct err *err) _warn_unused_;

#endif
