/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_orphans.h: what `trimtab orphans` keeps between listing, printing and deleting.  Private to
 * cmd_orphans*.c. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_ORPHANS_H
#define TRIMTAB_CONTROLLER_CMD_CMD_ORPHANS_H

#include "controller/cmd/cmd_session.h"

/* A resource without a Service; texts in the session's arena. */
struct orphan {
    const char *kind;
    const char *name;
    const char *place;                  /* "" nothing to say */
    const char *owner;                  /* "ns/name"; "" unknown */
    const char *cost;                   /* "" unknown */
    const char *command;                /* "" none */
    int64_t created_us;                 /* 0: unknown */
    bool unsure;                        /* may be another cluster's */
    const struct tt_service *remove_as; /* NULL: by hand */
    bool chosen;                        /* --delete takes it away */
};

/* A resource of ours, for the check of names. */
struct orphan_name {
    const char *name;
    const char *owner;   /* "ns/name"; "" unknown */
    const char *used_by; /* "ns/name", or "" if the provider does not name it; NULL: an orphan */
};

struct orphans {
    struct cmd_session s;  /* first: it is the hook's argument */
    struct cmd_list names; /* words of the command line: resources or Services */
    const char **keys; /* of each word: the "ns/name" that it would be as a Service; NULL: none */
    const char **services; /* those, and the Services of -f */
    size_t n_services;
    const char *ns; /* -n: of this namespace only; NULL: of all */
    struct orphan_name *owned;
    size_t n_owned, cap_owned;
    struct orphan *items; /* sorted: those with an owner first, by owner, kind, name */
    size_t n, cap;
    size_t n_chosen;
    size_t n_deleted; /* --delete: of the chosen ones, those that are gone */
    bool tried;       /* --delete was carried out */
    /* findings of the session from here on are of the last list: what could not be read */
    size_t first_finding;
};

/* --- cmd_orphans.c ---------------------------------------------------------------------------- */
/* Lists, and chooses what --delete would take away.  What was there before is forgotten. */
int orphans_list(struct orphans *o, struct err *err) _warn_unused_;
/* Do the resources of these two Services go with one deletion?  By uid, and where neither
 * has one, by name. */
bool orphans_go_together(const struct tt_service *a, const struct tt_service *b);

/* --- cmd_orphans_named.c ---------------------------------------------------------------------- */
/* Keeps the name of a resource that the provider listed. */
void orphans_note_name(struct orphans *o, const struct tt_owned *owned);
/* "; did you mean demo?" where neither the cluster nor the cloud has anything of a Service of the
 * namespace o->ns, "" when none is near; NULL: something is of it. */
const char *orphans_unknown_ns(const struct orphans *o);
/* ERR_NOT_FOUND with the nearest names, or ERR_IN_USE with the Service, for the last bad name of
 * the command line; those before it are printed to stderr. */
int orphans_check_names(const struct orphans *o, struct err *err) _warn_unused_;

/* --- cmd_orphans_print.c ---------------------------------------------------------------------- */
void orphans_print_text(const struct orphans *o, int64_t now_us);
void orphans_print_json(const struct orphans *o, int64_t now_us);
/* "3d", "5h", "12m", "7s"; "" for a moment that is not known. */
const char *orphans_age(struct arena *a, int64_t created_us, int64_t now_us);

/* --- cmd_orphans_delete.c --------------------------------------------------------------------- */
/* May it be done now?  Refuses a saved state, and a controller that is running, and asks the
 * person.  CANCELLED: the answer was no. */
int orphans_may_delete(struct orphans *o, struct err *err) _warn_unused_;
/* Deletes what is chosen, Service by Service, and lists again.  The first failure; the others are
 * tried all the same. */
int orphans_delete(struct orphans *o, struct err *err) _warn_unused_;

#endif
