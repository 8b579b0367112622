/* SPDX-License-Identifier: Apache-2.0 */
/* status.h: what this process does and how each Service fares, as one value: for the page /status,
 * its JSON, and `trimtab status`.
 *
 *     status_look(&sources, a, &view);            copies what is in memory; no I/O
 *     status_json(&b, &view, &filter);            docs/operations.md has its members
 *     status_html(&b, &view, &filter);            serve/status_html.c
 *     status_read(json, a, &view, &err);          the way back, for `trimtab status`
 *     status_text(&b, &view, &filter);            for a terminal
 *
 * A view lives in its arena.  Services are sorted by what needs attention first: failed, retrying,
 * syncing, waiting, ready, elsewhere; by name among equals. */
#ifndef TRIMTAB_CONTROLLER_STATUS_H
#define TRIMTAB_CONTROLLER_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/str.h"
#include "common/data/json.h"
#include "controller/kube/store/store.h"
#include "controller/metrics/metrics.h"
#include "controller/queue/queue.h"
#include "controller/sync/board.h"
#include "controller/sync/sync_rules.h"

struct ks_inside; /* common/services/tell/inside.h */

#define STATUS_STATES 6 /* of enum board_state */

struct status_service {
    struct board_row row;                  /* WAITING when no sync has begun yet */
    const char *address;                   /* "203.0.113.10, 2001:db8::1"; "" none */
    const struct tt_condition *conditions; /* of the Service's status */
    uint32_t n_conditions;
};
/* The leader.  Texts borrowed. */
struct status_leader {
    bool elects;        /* false: no election, this process works alone */
    bool leads;         /* this process is the leader */
    const char *lease;  /* "kube-system/cloud-controller-manager" */
    const char *holder; /* "" none, or unknown */
};
/* Requests to one API since the start, and the limit that we keep ourselves; or those of one kind,
 * which the provider spaces out by what the cloud takes (common/net/budget.h). */
struct status_budget {
    const char *api;    /* "kubernetes", "gce" … */
    const char *kind;   /* "ec2 writes"; "": all requests of the API */
    uint64_t held;      /* with a kind: requests that waited for their turn */
    uint64_t requests;  /* 0 with a kind */
    uint64_t throttled; /* answered with 429 */
    double qps;         /* 0: no limit of ours */
    int burst;
};
/* How much is known of the endpoints of view.one. */
enum status_endpoints {
    STATUS_ENDPOINTS_UNREAD = 0, /* they were not looked at */
    STATUS_ENDPOINTS_UNWATCHED,  /* this process watches none */
    STATUS_ENDPOINTS_KNOWN,
};
struct status_view {
    /* set before looking: the Service whose page it is, "namespace/name"; NULL: none */
    const char *one;
    const char *version;
    const char *provider;
    const char *cluster;
    int64_t started_us; /* wall time */
    int64_t now_us;
    bool running; /* false: still starting (or a standby that waits) */
    struct status_leader leader;
    struct status_service *services;
    size_t n_services;
    size_t by_state[STATUS_STATES];
    struct queue_counts queue;
    bool at_rest;        /* all that was seen is done; keys may wait for a later moment */
    int64_t next_due_ms; /* until the first of them is due; -1: none waits, or it is not known */
    struct board_batch *batches;
    size_t n_batches;
    const struct status_budget *budgets;
    size_t n_budgets;
    const struct kube_snapshot *all; /* every Service of the cluster, ours or not; NULL: not read */
    enum status_endpoints endpoints;
    const struct ks_inside *inside; /* what is behind `one`; NULL: not known, or no slice */
};

/* Where it is read from.  NULL members are left out. */
struct status_sources {
    struct board *board;
    struct kube_store *services;
    struct kube_store *nodes;       /* with slices */
    struct kube_store *slices;      /* NULL: not watched */
    const struct sync_scope *scope; /* with services */
    struct queue *queue;
    struct clock *clock;
};
/* Fills services, counts, queue, batches and now_us, and what is behind ret->one; not at rest.  The
 * caller fills the rest. */
void status_look(const struct status_sources *from, struct arena *a, struct status_view *ret);

/* Fills budgets from the metrics: the API server's, whose limit of ours is given, each of the
 * cloud's APIs, and of these the kinds of requests that waited or were refused. */
void status_budgets(struct metrics *m, double kube_qps, int kube_burst, struct arena *a,
                    struct status_view *ret);

/* The wishes of a reader.  NULL and 0: everything. */
struct status_filter {
    const char *service; /* "namespace/name": this one, with its pending plan */
    const char *ns;
    const char *const *only; /* these, when `n_only` is not 0; "namespace/name" */
    size_t n_only;
    size_t most;        /* at most N Services; the rest is counted */
    const char *absent; /* of status_absent(), for status_html(); NULL: something is shown */
    bool not_read;      /* with absent: this process has not read the Services */
};
bool status_shows(const struct status_filter *f, const struct status_service *s);
/* Counts the Services that the filter passes by state, whatever `most` says; returns how
 * many they are. */
size_t status_count(const struct status_view *v, const struct status_filter *f,
                    size_t ret[STATUS_STATES]);
/* Whether the filter names something of which the view shows nothing.  ERR_OK: no.  ERR_NOT_FOUND:
 * "there is no Service demo/wep in the cluster; did you mean demo/web?", and other words for a
 * Service that exists but has no load balancer of ours; ERR_IN_PROGRESS: this process has not read
 * the Services.  For views of status_look(). */
int status_absent(const struct status_view *v, const struct status_filter *f, struct arena *a,
                  struct err *err) _warn_unused_;

/* --- words, for page and terminal (status_words.c) -------------------------------------------- */
/* The first line, which answers the question for the Services that the filter passes: "2 of 7 load
 * balancers need attention". */
void status_answer(struct str_buf *b, const struct status_view *v, const struct status_filter *f);
/* "At rest: the next work is due in 4 min."; for a view that is at rest. */
void status_rest(struct str_buf *b, const struct status_view *v);
/* "This process is the leader: it holds kube-system/….", and so on. */
void status_leads(struct str_buf *b, const struct status_leader *l);
/* "40 s", "12 min", "3 h", "2 d". */
void status_span(struct str_buf *b, int64_t us);

/* The same view with all texts as they may be shown (str_clean()); in `a`, or borrowed.  A plan
 * keeps its lines. */
struct status_view status_clean(struct arena *a, const struct status_view *v);

void status_json(struct str_buf *b, const struct status_view *v, const struct status_filter *f);
/* Reads what status_json() wrote, perhaps in another version: absent members are zero.  INVALID if
 * it is not such a document.  Texts are borrowed from `o`. */
int status_read(struct json_object *o, struct arena *a, struct status_view *ret,
                struct err *err) _warn_unused_;
/* Prints status_clean(v).  On a terminal at most b->columns wide where names allow it; elsewhere a
 * Service is a line. */
void status_text(struct str_buf *b, const struct status_view *v, const struct status_filter *f);
/* A whole HTML document, without scripts and without anything from elsewhere. */
void status_html(struct str_buf *b, const struct status_view *v, const struct status_filter *f);

#endif
