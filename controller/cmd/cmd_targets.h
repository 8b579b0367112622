/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_targets.h: the Services that plan, explain, status and orphans are asked about, read from the
 * command line in one way.
 *
 * As with kubectl: NAME, NAMESPACE/NAME, svc/NAME; -n NAMESPACE and -A; -f FILE, folder or -.
 * Nothing named means all Services, of the namespace where -n names one.  Reads files, makes no
 * request; everything lives in the arena. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_TARGETS_H
#define TRIMTAB_CONTROLLER_CMD_CMD_TARGETS_H

#include "controller/cmd/cmd_args.h"
#include "controller/cmd/cmd_manifest.h"

struct cmd_targets {
    const char *ns; /* -n; NULL: not given */
    bool all;       /* neither names nor -f */
    struct cmd_manifests manifests;
    struct cmd_list words; /* names, as they were written */
    enum cmd_validate validate;
};
/* Refuses what contradicts itself (-A with -n …), reads the manifests and prints what was left out,
 * and warnings, on stderr.  ERR_INVALID also for manifests with faults (cmd_faults_settle()). */
int cmd_targets_read(struct arena *a, const struct cmd_args *args, struct cmd_targets *ret,
                     struct err *err) _warn_unused_;
/* The same for commands that plan with the manifests: what the API server would refuse whatever the
 * cluster has is a fault. */
int cmd_targets_read_planned(struct arena *a, const struct cmd_args *args, struct cmd_targets *ret,
                             struct err *err) _warn_unused_;
/* Adds a fault for each manifest whose Service an earlier one has already; `ns` is the namespace of
 * those that name none. */
void cmd_targets_check_twice(const struct cmd_manifests *m, const char *ns,
                             struct cmd_faults *faults);
/* The namespace of what names none: -n, else the kubeconfig's (NULL: it has
 * none), else "default". */
const char *cmd_targets_ns(const struct cmd_targets *t, const char *config_ns);
/* The "namespace/name" of a word.  ERR_INVALID for "a/b/c", and for a namespace other than -n. */
int cmd_targets_key(struct arena *a, const struct cmd_targets *t, const char *word,
                    const char *config_ns, const char **ret, struct err *err) _warn_unused_;
/* The same for all words, and all manifests, in this order; *ret_n may be 0. */
int cmd_targets_keys(struct arena *a, const struct cmd_targets *t, const char *config_ns,
                     const char ***ret, size_t *ret_n, struct err *err) _warn_unused_;

#endif
