/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_rules.h: what a reflector asks next: list or watch, from which version, when.
 *
 * A state machine without I/O: the caller sends what reflector_next() says, tells what came of it, and asks again.
 *
 *      LIST ──ok──▶ WATCH ──closed──▶ WATCH (at once, from the last version)
 *       ▲             └──expired, error──▶ back-off ─┐
 *       └────────────────────────────────────────────┘ LIST "not older than the last version";
 *                                                      only if that has expired: LIST of the newest
 *
 * Source: controller.md §4.8 (LIST + WATCH; the streaming list is not used); vectors §6.10.
 * Differences to upstream, both cheaper for the server: a watch that could not be opened for any network reason is
 * tried again without a list, and a list of the newest state is read in pages.
 * Pure: `now` and randomness (`unit` in [0,1)) are parameters.  One thread. */
#ifndef TRIMTAB_KUBE_REFLECTOR_RULES_H
#define TRIMTAB_KUBE_REFLECTOR_RULES_H

#include "common/base/err.h"
#include "common/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REFLECTOR_RV_MAX 256 /* bytes of a resourceVersion with its NUL */

/* Why a list or a watch ended. */
enum reflector_end {
    REFLECTOR_END_OK =
        0, /* list page complete; watch closed by the server, or its connection cut */
    REFLECTOR_END_EXPIRED,   /* 410 Gone or Expired, as an answer or as an event */
    REFLECTOR_END_TOO_LARGE, /* the server's cache is behind our version */
    REFLECTOR_END_THROTTLED, /* 429 */
    REFLECTOR_END_NETWORK,   /* no answer at all */
    REFLECTOR_END_INTERNAL,  /* 500 InternalError */
    REFLECTOR_END_OTHER,
};
/* What the caller shall say about it. */
enum reflector_say {
    REFLECTOR_SAY_NOTHING = 0,
    REFLECTOR_SAY_EXPIRED, /* v 4 "Watch closed" */
    REFLECTOR_SAY_FAILED,  /* error "Failed to watch" */
    REFLECTOR_SAY_SHORT,   /* the same, with the text about very short watches */
    REFLECTOR_SAY_ENDED,   /* warning "Watch ended with error" */
};
enum reflector_ask {
    REFLECTOR_LIST = 0,
    REFLECTOR_WATCH,
};

struct reflector_request {
    enum reflector_ask ask;
    bool begins_list; /* the first page of a fresh list: forget what an unfinished one left */
    const char *rv;   /* resourceVersion; "" = the parameter is left out; borrowed from the rules */
    const char *token; /* continue, or NULL */
    int limit;         /* 0 = left out */
    int timeout_s;     /* of a watch */
    int64_t not_before_ms;
};

struct reflector_rules {
    int page_size;                    /* forced by the user; 0 = upstream's rule with 500 */
    int64_t min_watch_ms;             /* 5 min at least */
    int64_t internal_error_window_ms; /* how long watches survive InternalErrors; 0 = not */

    enum reflector_ask ask;
    char rv[REFLECTOR_RV_MAX]; /* last one seen; "" = never synced */
    bool rv_unavailable;       /* the server cannot serve from `rv` */
    bool paginated;            /* a list at "0" came in pages: there is no watch cache */

    char list_rv[REFLECTOR_RV_MAX]; /* what the current list asks for */
    struct str_buf token;           /* of the next page; empty = none */
    bool in_list;                   /* pages of it were read */
    bool full_list;                 /* a continuation expired: all in one answer now */

    int64_t watch_began_ms;
    size_t watch_events;
    int short_watches;         /* in a row, each under a second */
    int64_t internal_since_ms; /* first InternalError of a row; 0 = none */

    int64_t not_before_ms;
    int backoff_step;
    int64_t backoff_used_ms; /* when it last was; -1 = never */
};

/* page_size and min_watch_ms 0 = defaults. */
void reflector_rules_init(struct reflector_rules *r, int page_size, int64_t min_watch_ms);
void reflector_rules_done(struct reflector_rules *r);

/* The next request.  Tells the rules that it is being sent at `now_ms` (or at not_before_ms if later). */
void reflector_next(struct reflector_rules *r, int64_t now_ms, double unit,
                    struct reflector_request *ret);
/* A page was read whole.  `rv` and `token` are those of its metadata (token "" = the last page).  True when the
 * list is complete; the watch comes next. */
bool reflector_list_page(struct reflector_rules *r, const char *rv, const char *token);
/* A list request failed. */
enum reflector_say reflector_list_failed(struct reflector_rules *r, enum reflector_end why,
                                         int64_t now_ms, double unit);
/* An event of a watch; every type but ERROR. */
void reflector_watch_event(struct reflector_rules *r, const char *rv);
/* The watch is over.  `opened`: the server had begun to answer it. */
enum reflector_say reflector_watch_ended(struct reflector_rules *r, enum reflector_end why,
                                         bool opened, int64_t now_ms, double unit);
/* "resourceVersion=7&limit=500" for a request. */
void reflector_query(struct str_buf *b, const struct reflector_request *q,
                     const char *label_selector);
/* What an error means here. */
enum reflector_end reflector_classify(const struct err *err);
/* The next delay of the back-off: 0.8 s doubling to 30 s, times 1 to 2; starts anew after two quiet minutes. */
int64_t reflector_backoff(struct reflector_rules *r, int64_t now_ms, double unit);

#endif
