/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_manifest.h: Services from manifests, as the API server would store them.
 *
 * A manifest says what a person wants; the server fills in the rest (defaults, allocated ports and addresses, identity).  For
 * planning it is applied as kubectl would: what others have added to the cluster's object stays, what the last
 * apply had and the manifest lacks goes.  What only the server can choose gets a stand-in, and a note says so.
 * Pure but for reading files. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_MANIFEST_H
#define TRIMTAB_CONTROLLER_CMD_CMD_MANIFEST_H

#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/json.h"

struct cmd_manifest {
    const char *file; /* for messages */
    const char *ns;   /* metadata.namespace, or `default_ns` */
    const char *name;
    struct json_object *object; /* the document; arena */
};
/* The Services of a file (YAML or JSON, several documents, Lists); documents of other kinds are left out, but a file without
 * any Service is ERR_INVALID.  "-" is stdin. */
int cmd_manifest_read(struct arena *a, const char *file, const char *default_ns,
                      struct cmd_manifest **ret, size_t *ret_n, struct err *err) _warn_unused_;
/* Objects of `kind` ("Node") in a file: documents, a List, or a world's kubernetes.<plural>.  Trees in the arena. */
int cmd_objects_read(struct arena *a, const char *file, const char *kind, const char *plural,
                     struct json_object ***ret, size_t *ret_n, struct err *err) _warn_unused_;
/* The object as it would be stored; `live` is the cluster's, or NULL.  New reference.  *ret_note says what in it stands in
 * for the server's choice, or is NULL. */
struct json_object *cmd_manifest_complete(struct arena *a, const struct cmd_manifest *m,
                                          struct json_object *live, const char **ret_note);

#endif
