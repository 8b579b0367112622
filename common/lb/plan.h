/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: what to do, as an ordered list of operations that can be printed before it is carried
 * out.
 *
 * A planner is a pure function that appends operations; the executor (exec.h) carries them out and
 * knows no flow.  What a flow needs beyond "one after the other" are attributes of an operation:
 *
 *   parallel   runs in the same wave as the operation before it
 *   after      the operations that it waits for, where its planner names them, instead of all waves
 *              before
 *   only_if    runs only when another operation ended in a certain way
 *   tolerate   outcomes that count as fine: ABSENT on delete, EXISTS on create, IN_USE, FORBIDDEN
 *              (→ event)
 *   sent_after beside another operation, but sent only when the cloud has taken that one up
 *   critical   a stop after it leaves something that must be resumed: all before it stands, and all
 *              behind it comes later
 *   fails_alone  a setting: when it fails, only what waits for it is not run
 *   finally    runs although the plan failed (ALWAYS), or at its end only when all went well (OK)
 *   refs       values that an earlier operation will produce; printed as "known after N"
 *   ask        a creation of what it takes away: the cloud is asked before the plan begins
 *   undo       how what the operation took away is put back as it was, should its replacement be
 *              refused
 *   awaits_status  takes away what the status may name: begins when that names what serves now
 *
 * If a flow seems to need an `if` in the executor, the planner lacks an attribute.  A plan is never
 * stored:  the cloud is the state.  Everything lives in the sync's arena and is const once
 * the plan is sealed. */
#ifndef TRIMTAB_LB_PLAN_H
#define TRIMTAB_LB_PLAN_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/strset.h"
#include "common/net/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

struct lb_op_run;

enum lb_verb {
    LB_CREATE = TT_OP_CREATE,
    LB_CHANGE = TT_OP_CHANGE,
    LB_DELETE = TT_OP_DELETE,
    LB_KEEP = TT_OP_KEEP,
};
#define LB_TOLERATE_ABSENT 0x1u /* NOT_FOUND is fine */
#define LB_TOLERATE_EXISTS 0x2u /* EXISTS is fine */
#define LB_TOLERATE_IN_USE 0x4u /* IN_USE is fine: others still need it */
#define LB_TOLERATE_FORBIDDEN                                                                      \
    0x8u /* FORBIDDEN is fine: op->on_forbidden tells the owner what to do by hand */

enum lb_finally {
    LB_FINALLY_NO = 0,
    LB_FINALLY_ALWAYS,
    LB_FINALLY_OK,
    /* As ALWAYS, but behind those that it names and not behind all ordinary ones: it puts right
     * what one of them has interrupted.  For operations that name others. */
    LB_FINALLY_IN_PLACE,
};

/* How an operation ended.  Bits, so that only_if can name several. */
#define LB_DONE      0x1u /* carried out */
#define LB_TOLERATED 0x2u /* ended in a tolerated outcome: nothing was changed */
#define LB_SKIPPED   0x4u /* its only_if did not hold */
#define LB_FAILED    0x8u
#define LB_NOT_RUN   0x10u

/* A value that is known now, or after an operation. */
struct lb_value {
    const char *text;   /* known value, or NULL */
    int op;             /* text NULL: index of the operation that yields it; -1: absent */
    const char *output; /* name of its output: "address" */
};
#define LB_VALUE(t)          ((struct lb_value){.text = (t), .op = -1})
#define LB_VALUE_OF(o, name) ((struct lb_value){.op = (o), .output = (name)})

/* One difference inside a resource; what lb_diff_*() (diff.h) makes. */
struct lb_field {
    const char *path;          /* "sourceRanges[2]", "allowed[0].ports" */
    const char *old_text;      /* NULL: added */
    struct lb_value new_value; /* text NULL and op -1: taken away */
};

/* How one kind of operation is carried out.  Exactly one of the three functions is set; each sets
 * run->err on failure and run outputs on success. */
struct lb_op_type {
    const char *name;  /* "insert", "patch": for logs */
    size_t state_size; /* zeroed bytes at run->state */
    /* A job on the HTTP handle (net/http.h), asked for its next request until it says HTTP_DONE.
     * The first call has resp NULL; the provider waits for long-running operations
     * by asking again. */
    enum http_next (*step)(struct lb_op_run *run, const struct http_response *resp);
    /* Carries the operation out in this one call, without HTTP: for what answers at once, such
     * as a kernel. */
    void (*run)(struct lb_op_run *run);
    /* The same for all operations of the type that are ready at the same moment (today: those of a
     * wave), in the plan's order, so that they can be one transaction.  n is at least 1. */
    void (*run_many)(struct lb_op_run *const *runs, size_t n);
    bool again; /* TT_OP_AGAIN: each process does it for itself */
};
/* Exactly one of them is set. */
bool lb_op_type_is_whole(const struct lb_op_type *type);

/* How something that an operation takes away, or changes, is put back as it was.  It is owed from
 * the moment that the operation is done until a later one, which makes the replacement, is done,
 * too.  If the sync of an owner ends in between, the driver carries it out.  What it points to
 * stays as it is while the sync observes and plans again; a flow that forgets (driver.h) allocates
 * it in the life of the sync. */
struct lb_undo {
    enum lb_verb verb;      /* LB_CREATE: it stood before; LB_CHANGE: it stood otherwise */
    const char *kind;       /* the cloud's word for what is put back */
    const char *name;       /* of it */
    const char *until_kind; /* of the replacement: an operation of the plan that is not LB_DELETE */
    const char *until_name; /* its name */
    const char *until_part; /* its `part`, or NULL */
    const struct lb_op_type *type;
    const void *arg; /* the provider's */
    unsigned calls;  /* requests expected */
    /* LB_CHANGE: the operation takes something that works out of a resource that stays */
    bool takes_down;
    /* what follows it when it is carried out (its until_… are not read), or NULL */
    const struct lb_undo *then;
};

/* The operations that another one waits for: each has ended well, or in a tolerated outcome, or was
 * passed over by its only_if. */
struct lb_after {
    int *ops; /* indexes of earlier operations, each once; in the plan's arena */
    size_t n;
    bool given; /* false: it waits for every operation of the waves before its own */
};

struct lb_op {
    /* identity */
    enum lb_verb verb;
    const char *kind; /* the cloud's word */
    const char *name;
    const char *api_kind; /* as in struct tt_operation; or NULL */
    /* for people */
    const char *why;     /* ends "because …" */
    const char *summary; /* or NULL */
    const char *note;    /* or NULL */
    struct lb_field *fields;
    size_t n_fields;
    /* whose */
    struct str_set owners; /* keys; at least one */
    bool shared;
    /* order and hard rules */
    bool parallel;
    /* Grown by lb_plan_after() and, where it is given, by lb_plan_seal() with what fields and
     * only_if_op refer to.  One that is critical or has `finally` waits for more, as
     * the words above say. */
    struct lb_after after;
    /* waits for all that stand before it in the plan, and is waited for by all behind it */
    bool critical;
    bool serves_without; /* TT_OP_SERVES_WITHOUT */
    bool restores;       /* TT_OP_RESTORES (the driver's) */
    bool gives_back;     /* deletes a reservation that was made for the time of a plan only */
    /* takes away what no client uses any more, as a deletion does, although its verb is another:
     * it may be a tail (below) */
    bool tidies;
    /* Of a tail (below): clients may know by the Service's status what it takes away.  It begins
     * when the status names where its owners are served now; if that cannot be written, they fail,
     * and it is not run (driver_serves.c). */
    bool awaits_status;
    unsigned tolerate; /* LB_TOLERATE_… */
    /* Nothing that serves hangs on it: when it fails, the sync fails, but of the same part (below)
     * only what waits for it is not run. */
    bool fails_alone;
    enum lb_finally finally;
    int only_if_op; /* index, or -1 */
    /* Index of an earlier operation, or -1: nothing is sent before the cloud has taken that one up
     * (lb_run_accepted(), exec.h), or it has ended well; both may then be in flight (a detach after
     * its attach).  When it fails, or is not run itself, this one is not run.  It is one of the
     * same wave where `after` is not given. */
    int sent_after;
    unsigned only_if;             /* LB_DONE | … */
    const char *forbidden_event;  /* message of the event when FORBIDDEN is tolerated, or NULL */
    const char *forbidden_reason; /* its reason */
    const struct lb_undo *undo;   /* or NULL */
    /* of a LB_DELETE; or NULL.  Makes what stands, as it stands, so that a cloud that allows it
     * answers "exists"; its until_… and `then` are not read.  Sent before the plan begins, and only
     * an answer that forbids it, or none, keeps the plan from being carried out
     * (driver_ask.c). */
    const struct lb_undo *ask;
    /* Of one that takes something down; or NULL.  Requests that change nothing, and of which the
     * answers show the rights for it; until_… is not read.  A LB_DELETE deletes what is not there:
     * "not found".  A LB_CREATE makes what is there: "exists".  A LB_CHANGE writes over a state
     * that the resource does not have: "conflict", or "not found".  Sent only for
     * lb_asks_again(). */
    const struct lb_undo *proof;
    bool proves_all; /* `proof` asks for the replacement, too; else that has `asked` */
    /* of a LB_CREATE; or NULL: it needs what the plan finds out before.  Its request, under the
     * name of what goes for it: "exists" shows the right to make it, and nothing has changed. */
    const struct lb_undo *asked;
    /* what of the resource the operation makes, where several change it: "listeners"; or NULL */
    const char *part;
    /* carrying it out */
    const struct lb_op_type *type; /* NULL for LB_KEEP */
    const void *arg;               /* the provider's, arena-owned */
    unsigned calls;                /* requests expected, waiting included */
    /* set by lb_plan_seal() */
    int wave; /* 1…, one more than the longest chain of operations that it waits for; 0 for KEEP */
    int part_no; /* of the plan's parts (below); 0 for KEEP */
    /* It deletes, gives back or tidies, and no operation that does none of these waits for it: what
     * serves stands without it (driver.h, `serves`). */
    bool tail;
};

/* A few words of op->kind; what is beyond the last one is not kept. */
#define LB_KINDS_MAX 8
struct lb_kinds {
    const char *items[LB_KINDS_MAX];
    size_t n;
};
bool lb_kinds_have(const struct lb_kinds *k, const char *kind); /* NULL: none */
/* Makes *k when it is NULL, in `a`, as the copy of the word.  What is there already, or one too
 * many, changes nothing. */
void lb_kinds_add(struct arena *a, struct lb_kinds **k, const char *kind);

/* The plan of one key. */
struct lb_plan_service {
    const char *key;
    const char *kind;     /* "external, target pool, us-central1" */
    const char *address;  /* or NULL */
    const char **because; /* sentences, grown by lb_plan_because() */
    size_t n_because;
    const char **effects;
    size_t n_effects;
    const char **left;
    size_t n_left;
    unsigned checked;
    const struct err *err; /* why it cannot be planned; NULL: it can */
    /* set by the driver, of the item (findings.h) */
    const struct tt_finding *findings;
    size_t n_findings;
    const char *serves_nobody;
    /* Of limits; NULL: none.  Kinds, and kinds with names, of which the cloud has refused
     * something; those for which the planner would do otherwise then (lb_plan_makes_room()); and
     * whether an event says that it does. */
    const struct lb_kinds *full;
    struct lb_kinds *asks_room;
    bool makes_room;
    bool again; /* lb_plan_again() */
};

struct lb_plan {
    struct arena *a;
    struct lb_op *ops; /* n_ops of them; index = identity of an operation inside the plan */
    size_t n_ops;
    size_t cap_ops;
    struct lb_plan_service *services;
    size_t n_services;
    struct map *by_key; /* the same from a number of them on: index + 1 of each; NULL before */
    /* after lb_plan_seal() */
    int waves;
    /* stretches of the plan of which each begins when the one before is over; within
     * one, `after` decides */
    int parts;
    unsigned reads; /* requests made to plan it; set by the driver */
    bool sealed;
};

void lb_plan_init(struct lb_plan *p, struct arena *a);
/* The entry for `key`, made on first use. */
struct lb_plan_service *lb_plan_service(struct lb_plan *p, const char *key);
void lb_plan_because(struct lb_plan *p, const char *key, const char *fmt, ...) _printf_(3, 4);
void lb_plan_effect(struct lb_plan *p, const char *key, const char *fmt, ...) _printf_(3, 4);
/* Asked where both something comes to a list of a limited length and something leaves it; `what` is
 * the kind of the operation that makes what comes, or, where each resource has a limit of its own,
 * its kind and name ("security group nodes").  Returns true if what leaves must go first: in this
 * stage the cloud has refused such an operation for a limit (ERR_QUOTA).  The effect
 * says so, once. */
bool lb_plan_makes_room(struct lb_plan *p, const char *key, const char *what);
/* Once the plan is carried out the Service is observed and planned once more in this sync: what the
 * cloud had no room for before may have come at the end of it. */
void lb_plan_again(struct lb_plan *p, const char *key);
/* All that is known of limits, and was asked and told about them, holds for `key` in `to` as in
 * `from`: a plan that is a part of another one. */
void lb_plan_room_like(struct lb_plan *to, struct lb_plan *from, const char *key);
/* A value that the Service names and that is left as it was taken over (lb_puts_right() says no): a
 * sentence without the full stop.  What to do about it is added. */
void lb_plan_left(struct lb_plan *p, const char *key, const char *fmt, ...) _printf_(3, 4);
/* Appends a copy of *op (owners {key} when op->owners is empty) and returns its index.  Pointers
 * into `ops` move; keep indexes. */
int lb_plan_add(struct lb_plan *p, const char *key, const struct lb_op *op);
/* Operation `op` waits for `on`, and no longer for whole waves.  -1: for nothing beyond
 * what it refers to. */
void lb_plan_after(struct lb_plan *p, int op, int on);
/* Does operation `op` wait, itself or by way of others, until `on` is over?  Of a sealed plan. */
bool lb_plan_waits_for(const struct lb_plan *p, int op, int on);
/* Is the operation the replacement until which that is owed? */
bool lb_op_ends_undo(const struct lb_op *op, const struct lb_undo *u);
/* Does the operation take down something that works, for a replacement? */
bool lb_op_takes_down(const struct lb_op *op);
/* Is some Service an owner of both? */
bool lb_ops_share_owner(const struct lb_op *x, const struct lb_op *y);
/* An operation with the defaults: no only_if, no sent_after. */
#define LB_OP(...) ((struct lb_op){.only_if_op = -1, .sent_after = -1, __VA_ARGS__})
/* Checks the plan (refs, only_if and after point backwards, owners exist, a parallel operation does
 * not depend on its own wave, sent_after points backwards, why is set, the replacement that ends an
 * undo comes later, at most one critical) and numbers the waves.  A broken plan is ERR_BUG. */
int lb_plan_seal(struct lb_plan *p, struct err *err) _warn_unused_;
/* Number of operations that change something. */
size_t lb_plan_changes(const struct lb_plan *p);
/* The ABI's view of a sealed plan, for host->report_plan(); lives in the plan's arena. */
const struct tt_plan *lb_plan_view(const struct lb_plan *p);

#endif
