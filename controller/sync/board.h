/* SPDX-License-Identifier: Apache-2.0 */
/* board.h: how the last sync of each Service ended, and what is pending: what /status shows.
 *
 * Syncs write it down as they go; readers copy.  Nothing is decided by it: losing it loses a page,
 * nothing else.  A row is made when a Service's first sync begins and goes with its load balancer;
 * what can be read off the Service itself (address, conditions) is not kept.  Texts of failures and
 * pending plans are there only as long as they are true.  Thread-safe; one lock (row 4 of
 * common/base/lock.h), held for a few instructions, while all rows are copied as well. */
#ifndef TRIMTAB_CONTROLLER_BOARD_H
#define TRIMTAB_CONTROLLER_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/clock.h"

#define BOARD_PLAN_MAX    2048 /* bytes of a pending plan's text; what is longer ends in "…" */
#define BOARD_MESSAGE_MAX 1024

enum board_state {
    BOARD_WAITING = 0, /* not looked at yet */
    BOARD_SYNCING,
    BOARD_READY,
    BOARD_RETRYING,  /* something is in the way; it is tried again at `next_us` */
    BOARD_FAILED,    /* the same, and only a change of the Service will help */
    BOARD_ELSEWHERE, /* another program serves it */
};
#define BOARD_STATES (BOARD_ELSEWHERE + 1)
/* "Ready", "Syncing" … for people and programs. */
const char *board_state_word(enum board_state state);

struct board_row {
    const char *key;  /* "namespace/name" */
    const char *kind; /* "external, target pool, us-central1"; "" as long as no plan said so */
    enum board_state state;
    const char *verb;  /* of the last sync: "ensure", "update", "delete"; "" before */
    int64_t synced_us; /* wall time of its end; 0: none ended yet */
    int64_t began_us;  /* SYNCING: since when */
    int64_t took_ms;
    unsigned calls;                   /* requests to the cloud that it (or its batch) made */
    int32_t code;                     /* TT_OK, or why the last sync failed */
    const char *message;              /* with code; "" */
    int64_t failing_us;               /* since when it fails; 0: it does not */
    unsigned failures;                /* in a row */
    int64_t next_us;                  /* when it is tried again; 0: not by itself */
    unsigned create, change, delete_; /* operations of the pending plan */
    const char *plan; /* their lines: "+ firewall k8s-fw-…  because …\n"; "" nothing is pending */
    const char *findings; /* of the last plan, a line each: wishes without effect; "" none */
    /* why the load balancer serves no client; "" it does, or not known */
    const char *serves_nobody;
    const char *left; /* lines about values that its last ensure left as they were taken over; "" */
};
/* Services that are being dealt with together. */
struct board_batch {
    const char *batch_key; /* "": a single Service */
    size_t n;
    int64_t began_us;
};
/* A copy; everything in the arena. */
struct board_view {
    struct board_row *rows; /* sorted by key */
    size_t n_rows;
    struct board_batch *batches; /* being processed; the oldest first */
    size_t n_batches;
    int64_t wall_us; /* now */
};

struct board;

struct board *board_new(struct clock *clock) _warn_unused_;
void board_free(struct board *b); /* NULL is fine */

/* --- the syncs -------------------------------------------------------------------------------- */
/* A batch is taken up; `n` Services under `batch_key` ("" for one without).  Returns its number for
 * board_batch_end(). */
uint64_t board_batch_begin(struct board *b, const char *batch_key, size_t n);
void board_batch_end(struct board *b, uint64_t batch);
/* A sync that will call the provider begins. */
void board_begin(struct board *b, const char *key, const char *verb);
/* The plan of each of its Services; replaces the former pending one. */
void board_plan(struct board *b, const struct tt_plan *plan);
/* How a sync ended.  `delay_ms` from now until it is tried again by itself; < 0: not. */
struct board_end {
    enum board_state state; /* READY, RETRYING, FAILED, ELSEWHERE; SYNCING: the cloud is at work */
    int64_t took_ms;
    unsigned calls;
    int32_t code;
    const char *message; /* NULL with TT_OK */
    const char *nobody;  /* why what stands serves no client; "": it does; NULL: as planned */
    int64_t delay_ms;
    bool part; /* with READY: only its backends were dealt with; what failed before still does */
};
void board_end(struct board *b, const char *key, const struct board_end *how);
/* The sync that runs does not come back: shown as something that needs attention until it ends. */
void board_late(struct board *b, const char *key, const char *message);
/* It has no load balancer any more, and wants none. */
void board_drop(struct board *b, const char *key);

/* --- readers ---------------------------------------------------------------------------------- */
/* How many Services are in each state. */
void board_counts(struct board *b, size_t ret[BOARD_STATES]);
void board_look(struct board *b, struct arena *a, struct board_view *ret);

#endif
