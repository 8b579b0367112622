/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_inside.h: what trace and render look at: Services, EndpointSlices, Nodes, Pods, and
 * kube-proxy's configuration.
 *
 * From files (-f: manifests, or what `kubectl get … -o json` printed), from a saved state
 * (--state), or from a cluster, which is only listed.  With a cluster and files together a file's
 * object stands in for the cluster's of the same name.  An object that cannot be read is left out,
 * with a warning; what was wrong is counted.  One thread. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_INSIDE_H
#define TRIMTAB_CONTROLLER_CMD_CMD_INSIDE_H

#include "common/base/map.h"
#include "common/services/tell/answer.h"
#include "controller/cmd/cmd_session.h"

/* The kinds of objects, and where they are found. */
enum cmd_inside_kind {
    CMD_INSIDE_SERVICE = 0,
    CMD_INSIDE_SLICE,
    CMD_INSIDE_NODE,
    CMD_INSIDE_POD,
    CMD_INSIDE_CONFIG_MAP,
    CMD_INSIDE_SERVICE_CIDR,
    CMD_INSIDE_KINDS,
};

struct cmd_inside_list {
    void const **items;
    size_t n;
    size_t cap;
};
struct cmd_inside {
    struct cmd_session *s;
    struct map *seen;   /* kind and name → index + 1 */
    struct map *doubts; /* "ns/name" of Services of which a slice cannot be read */
    struct cmd_inside_list lists[CMD_INSIDE_KINDS];
    size_t n_seen[CMD_INSIDE_KINDS]; /* also what could not be read */
    size_t n_other;                  /* objects of other kinds */
    size_t n_unread;
    struct ks_cluster cluster;
    struct ks_proxy proxy;
    const char *source;   /* "the files", "the cluster", "the saved state" */
    bool nodes_made;      /* there were no Nodes: they are taken from the EndpointSlices */
    bool proxy_is_broken; /* its ConfigMap cannot be read: a warning said so */
    bool behind; /* only what is behind Services, and the session's own lists stay as they are */
};

/* Reads everything that the flags name, and sorts it.  ERR_INVALID for files that cannot be parsed
 * or hold no Service. */
int cmd_inside_load(struct cmd_inside *in, struct cmd_session *s, struct err *err) _warn_unused_;
void cmd_inside_done(struct cmd_inside *in);
/* The name of the pod that --from names, and its namespace; NULL: it names none. */
const char *cmd_inside_client_pod(const struct cmd_inside *in, const char **ret_ns);
/* Reads what is behind the Services that the session is about, which has its Services and Nodes
 * already: EndpointSlices, Nodes with their CPU, and the Pods of files.  What cannot be read is
 * left out, with a note on stderr: it is not what the command is for.  Of a cluster it lists the
 * Services' own slices, and the Nodes where there are any. */
void cmd_inside_load_behind(struct cmd_inside *in, struct cmd_session *s);

/* --- cmd_inside_read.c ------------------------------------------------------------------------ */
/* Adds an object, of `kind` where the object itself does not say it (NULL: it must).
 * `place` is for warnings. */
void cmd_inside_add(struct cmd_inside *in, struct json_object *o, const char *kind,
                    const char *place);
/* Adds the objects of one file: documents, Lists, or a saved state. */
int cmd_inside_read_file(struct cmd_inside *in, const char *path, struct err *err) _warn_unused_;
/* Adds the objects of a saved state. */
void cmd_inside_read_world(struct cmd_inside *in, struct json_object *world, const char *place);

#endif
