/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: what is to be done, as an ordered list of operations that can be printed before it is carried out.
 *
 * A planner is a pure function that appends operations; the executor (exec.h) carries them out and knows no
 * flow.  What a flow needs beyond "one after the other" are attributes of an operation:
 *
 *   parallel   runs in the same wave as the operation before it
 *   only_if    runs only when another operation ended in a certain way
 *   tolerate   outcomes that count as fine: ABSENT on delete, EXISTS on create, IN_USE, FORBIDDEN (→ event)
 *   sent_after beside another operation of the wave, but sent only when the cloud has taken that one up
 *   critical   from right before this operation is sent, a stop leaves something that must be resumed
 *   finally    runs although the plan failed: ALWAYS, only when all went well (OK), or when all went well or
 *              the failure came before the critical operation (OK_OR_BEFORE_CRITICAL)
 *   refs       values that an earlier operation will produce; printed as "known after N"
 *
 * If a flow seems to need an `if` in the executor, the planner lacks an attribute.  A plan is never stored:
 * the cloud is the state.  Everything lives in the sync's arena and is const once the plan is sealed. */
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
    LB_FINALLY_OK_OR_BEFORE_CRITICAL,
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

/* How one kind of operation is carried out: a job on the HTTP handle (net/http.h), asked for its next request
 * until it says HTTP_DONE.  The first call has resp NULL; the provider waits for long-running operations
 * by asking again.  It sets run->err on failure and run outputs on success. */
struct lb_op_type {
    const char *name;  /* "insert", "patch": for logs */
    size_t state_size; /* zeroed bytes at run->state */
    enum http_next (*step)(struct lb_op_run *run, const struct http_response *resp);
};

struct lb_op {
    /* identity */
    enum lb_verb verb;
    const char *kind; /* the cloud's word */
    const char *name;
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
    bool critical;
    bool gives_back;   /* deletes a reservation that was made for the time of a plan only */
    unsigned tolerate; /* LB_TOLERATE_… */
    enum lb_finally finally;
    int only_if_op; /* index, or -1 */
    /* Index of an earlier operation of the same wave, or -1: nothing is sent before the cloud has taken that one up
     * (lb_run_accepted(), exec.h), or it has ended well; both may then be in flight (a detach after its attach).
     * When it fails, or is not run itself, this one is not run. */
    int sent_after;
    unsigned only_if;             /* LB_DONE | … */
    const char *forbidden_event;  /* message of the event when FORBIDDEN is tolerated, or NULL */
    const char *forbidden_reason; /* its reason */
    /* carrying it out */
    const struct lb_op_type *type; /* NULL for LB_KEEP */
    const void *arg;               /* the provider's, arena-owned */
    unsigned calls;                /* requests expected, waiting included */
    /* set by lb_plan_seal() */
    int wave; /* 1…; 0 for KEEP */
};

/* What the plan says about one key. */
struct lb_plan_service {
    const char *key;
    const char *kind;     /* "external, target pool, us-central1" */
    const char *address;  /* or NULL */
    const char **because; /* sentences, grown by lb_plan_because() */
    size_t n_because;
    const char **effects;
    size_t n_effects;
    unsigned checked;
    const struct err *err; /* why it cannot be planned; NULL: it can */
};

struct lb_plan {
    struct arena *a;
    struct lb_op *ops; /* n_ops of them; index = identity of an operation inside the plan */
    size_t n_ops;
    size_t cap_ops;
    struct lb_plan_service *services;
    size_t n_services;
    struct map *by_key; /* the same from a number of them on: index + 1 of each; NULL before */
    int waves;          /* after lb_plan_seal() */
    unsigned reads;     /* requests made to plan it; set by the driver */
    bool sealed;
};

void lb_plan_init(struct lb_plan *p, struct arena *a);
/* The entry for `key`, made on first use. */
struct lb_plan_service *lb_plan_service(struct lb_plan *p, const char *key);
void lb_plan_because(struct lb_plan *p, const char *key, const char *fmt, ...) _printf_(3, 4);
void lb_plan_effect(struct lb_plan *p, const char *key, const char *fmt, ...) _printf_(3, 4);
/* Appends a copy of *op (owners {key} when op->owners is empty) and returns its index.  Pointers into `ops` move;
 * keep indexes. */
int lb_plan_add(struct lb_plan *p, const char *key, const struct lb_op *op);
/* An operation with the defaults: no only_if, no sent_after. */
#define LB_OP(...) ((struct lb_op){.only_if_op = -1, .sent_after = -1, __VA_ARGS__})
/* Checks the plan (refs and only_if point backwards, owners exist, a parallel operation does not depend on its own
 * wave, sent_after points backwards into it, why is set, at most one critical) and numbers the waves.  A broken plan is ERR_BUG. */
int lb_plan_seal(struct lb_plan *p, struct err *err) _warn_unused_;
/* Number of operations that change something. */
size_t lb_plan_changes(const struct lb_plan *p);
/* The ABI's view of a sealed plan, for host->report_plan(); lives in the plan's arena. */
const struct tt_plan *lb_plan_view(const struct lb_plan *p);

#endif
