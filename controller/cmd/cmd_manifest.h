/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_manifest.h: Services from manifests, as the API server would store them.
 *
 * A manifest says what a person wants; the server fills in the rest (defaults, allocated ports and
 * addresses, identity).  For planning it is applied as kubectl would: what others have added to the
 * cluster's object stays, what the last apply had and the manifest lacks goes.  What only the
 * server can choose gets a stand-in, and a note says so.  Pure but for reading files. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_MANIFEST_H
#define TRIMTAB_CONTROLLER_CMD_CMD_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "controller/cmd/cmd_faults.h"

struct cmd_manifest {
    struct cmd_origin origin;   /* for messages */
    const char *ns;             /* metadata.namespace; NULL: it has none */
    const char *name;           /* never empty */
    struct json_object *object; /* the document; arena */
    bool is_sound;              /* its fields have the types of the API */
};
/* The manifests of one command, in the order of the files. */
struct cmd_manifests {
    struct arena *a;
    struct cmd_faults faults; /* of all files */
    struct cmd_manifest *items;
    size_t n, cap;
    const char **namespaces; /* names of the Namespaces in the files */
    size_t n_namespaces, cap_namespaces;
    /* documents of other kinds, in folders */
    const char **left_out; /* their kinds */
    size_t n_left_out, cap_left_out;
};
/* Adds the Services of a file (YAML or JSON, several documents, Lists) and the faults of its
 * fields; documents of other kinds are left out, but a file without any Service is a fault unless
 * it stands `in_folder`.  "-" is stdin; blocks until a pipe ends. */
int cmd_manifest_read(struct cmd_manifests *m, const char *file, bool in_folder,
                      struct err *err) _warn_unused_;
/* Nodes in a file: documents, a List, or a world's kubernetes.nodes, which is not
 * checked.  Trees in the arena. */
int cmd_nodes_read(struct arena *a, const char *file, struct cmd_faults *faults,
                   struct json_object ***ret, size_t *ret_n, struct err *err) _warn_unused_;
/* The object that the last kubectl apply of `live` sent, in the arena; NULL: none
 * is noted there. */
struct json_object *cmd_manifest_last_applied(struct arena *a, struct json_object *live);
/* Replaces the uid of an object that does not exist yet: by one that is the same in every run. */
void cmd_manifest_stand_in(struct arena *a, const struct cmd_manifest *m, struct json_object *o);
/* The object as it would be stored in namespace m->ns; `live` is the cluster's, or NULL.  New
 * reference.  *ret_note says what in it stands in for the server's choice, or is NULL. */
struct json_object *cmd_manifest_complete(struct arena *a, const struct cmd_manifest *m,
                                          struct json_object *live, const char **ret_note);

#endif
