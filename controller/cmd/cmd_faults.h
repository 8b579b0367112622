/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_faults.h: the faults of manifests, collected so that a person sees all of them at once.
 *
 * A soft fault is one that --validate decides about, as with kubectl: a field that the API does not
 * know, a key that stands twice.  A hard one would make the API server refuse the object whatever
 * --validate says.  Everything lives in the arena. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_FAULTS_H
#define TRIMTAB_CONTROLLER_CMD_CMD_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/err.h"

#define CMD_FAULTS_SHOWN 10

enum cmd_validate {
    CMD_VALIDATE_STRICT = 0, /* soft faults are errors */
    CMD_VALIDATE_WARN,       /* they are printed on stderr */
    CMD_VALIDATE_IGNORE,     /* they are passed over */
};
/* Reads the value of --validate: true, strict, warn, ignore, false, as kubectl spells them;
 * NULL is strict. */
int cmd_validate_parse(const char *text, enum cmd_validate *ret, struct err *err) _warn_unused_;

/* Where in which file an object stands. */
struct cmd_origin {
    const char *file;         /* for messages */
    const char *text;         /* of the file; NULL: lines are not known */
    size_t text_len;          /* bytes */
    size_t doc, n_docs;       /* the document of it, from 0; how many there are */
    const char *const *steps; /* from the document to the object: "items", "3" */
    size_t n_steps;
    const char *subject; /* "Service demo/web" */
};

/* "web.yaml:7", the line where the object begins. */
char *cmd_origin_place(struct arena *a, const struct cmd_origin *origin);

/* A place below the object: a list of steps, each pointing to the one above; NULL is
 * the object itself. */
struct cmd_path {
    const struct cmd_path *up;
    const char *name; /* of a member; NULL: an item of a list */
    size_t index;
};
/* "spec.ports[2].name" */
char *cmd_path_text(struct arena *a, const struct cmd_path *path);

struct cmd_fault {
    const char *text; /* "web.yaml:7: Service demo/web: …" */
    bool hard;
};
struct cmd_faults {
    struct arena *a;
    struct cmd_fault *items;
    size_t n, cap;
};
/* Adds a fault at `path` of the object at `origin`. */
void cmd_faults_add(struct cmd_faults *f, const struct cmd_origin *origin,
                    const struct cmd_path *path, bool hard, const char *fmt, ...) _printf_(5, 6);
/* Adds a soft fault of a known line (0: not known). */
void cmd_faults_add_line(struct cmd_faults *f, const struct cmd_origin *origin, size_t line,
                         const char *text);
/* How many of them are hard. */
size_t cmd_faults_hard(const struct cmd_faults *f);
/* Prints warnings on stderr as `how` says.  ERR_INVALID when there are errors: of several all but
 * the summary, which goes to *err, are printed, CMD_FAULTS_SHOWN at most. */
int cmd_faults_settle(const struct cmd_faults *f, enum cmd_validate how,
                      struct err *err) _warn_unused_;

#endif
