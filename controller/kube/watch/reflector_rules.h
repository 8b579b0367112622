/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_rules.h: what a reflector asks next: list or watch, from which version, when.
 *
 * A state machine without I/O: the caller sends what reflector_next() says, tells what came of it,
 * and asks again.
 *
 *      WATCH_LIST ──end mark──▶ WATCH (same stream) ──closed──▶ WATCH (at once, from last version)
 *       │ ▲   │                  ▲   └──expired, error──▶ back-off ─┐
 *       │ │   └─refused, stalled─▶ LIST ──ok──┘                     │
 *       └─┴─────────────────────────────────────────────────────────┘
 *       a list "not older than the last version"; only if that has expired: the newest
 *
 * A round begins with a streaming list (one request: all objects as events, a bookmark that marks
 * their end, then changes), or with LIST where streaming is off.  What a streaming list meets
 * before its mark:
 *
 *      429; no connection                    back-off, again
 *      410, or our version is from the future   again at once, of the newest; LIST when that fails,
 *                                               too
 *      closed or cut                         again at once; the third in a row, or one that ended
 *                                            at once: LIST
 *      60 s without the mark and 30 s without a byte   LIST: something on the way swallows
 *                                                      bookmarks
 *      anything else (422: a server without it)        LIST
 *
 * LIST is for that round only; the next one streams again.
 * Source: controller.md §4.8; vectors §6.10, 203–212.
 * Differences to upstream, all cheaper for the server: a watch that could not be opened for any
 * network reason is tried again without a list; a list of the newest state is read in pages;
 * upstream streams again endlessly after the third cut, and waits for the mark forever.
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
    REFLECTOR_END_OTHER,     /* InternalErrors, too: upstream's default retries none */
};
/* The log message for the caller. */
enum reflector_say {
    REFLECTOR_SAY_NOTHING = 0,
    REFLECTOR_SAY_EXPIRED, /* v 4 "Watch closed" */
    REFLECTOR_SAY_FAILED,  /* error "Failed to watch" */
    REFLECTOR_SAY_SHORT,   /* the same, with the text about very short watches */
    REFLECTOR_SAY_ENDED,   /* warning "Watch ended with error" */
    REFLECTOR_SAY_LISTING, /* v 4: LIST instead of the streaming list */
    REFLECTOR_SAY_STALLED, /* warning: the same, because no end mark came */
};
enum reflector_ask {
    REFLECTOR_LIST = 0,
    REFLECTOR_WATCH,
    REFLECTOR_WATCH_LIST, /* a watch that begins with all objects */
};

struct reflector_request {
    enum reflector_ask ask;
    /* a streaming list, or the first page of a LIST: forget what an unfinished one left */
    bool begins_list;
    const char *rv; /* resourceVersion; "" = the parameter is left out; borrowed from the rules */
    const char *token; /* continue, or NULL */
    int limit;         /* 0 = left out */
    int timeout_s;     /* of a watch */
    int64_t not_before_ms;
};

struct reflector_rules {
    int page_size;        /* forced by the user; 0 = upstream's rule with 500 */
    int64_t min_watch_ms; /* 5 min at least */
    bool streams;         /* rounds begin with a streaming list */

    enum reflector_ask ask;
    char rv[REFLECTOR_RV_MAX]; /* last one seen; "" = never synced */
    bool rv_unavailable;       /* the server cannot serve from `rv` */
    bool paginated;            /* a list at "0" came in pages: there is no watch cache */

    char list_rv[REFLECTOR_RV_MAX]; /* what the current list asks for */
    struct str_buf token;           /* of the next page; empty = none */
    bool in_list;                   /* pages of it were read */
    bool full_list;                 /* a continuation expired: all in one answer now */

    int64_t watch_began_ms;
    int64_t watch_byte_ms; /* when its last byte came, or when it began */
    size_t watch_events;
    int cut_streams;   /* in a row, closed or cut before the end mark */
    int short_watches; /* in a row, each under a second */

    int64_t not_before_ms;
    int backoff_step;
    int64_t backoff_used_ms; /* when it last was; -1 = never */
};

/* page_size and min_watch_ms 0 = defaults. */
void reflector_rules_init(struct reflector_rules *r, int page_size, int64_t min_watch_ms);
void reflector_rules_done(struct reflector_rules *r);
/* Rounds begin with a streaming list.  Before the first request. */
void reflector_rules_stream(struct reflector_rules *r);

/* The next request.  Tells the rules that it is being sent at `now_ms` (or at
 * not_before_ms if later). */
void reflector_next(struct reflector_rules *r, int64_t now_ms, double unit,
                    struct reflector_request *ret);
/* A page was read whole.  `rv` and `token` are those of its metadata (token "" = the last page).
 * True when the list is complete; the watch comes next. */
bool reflector_list_page(struct reflector_rules *r, const char *rv, const char *token);
/* A list request failed. */
enum reflector_say reflector_list_failed(struct reflector_rules *r, enum reflector_end why,
                                         int64_t now_ms, double unit);
/* An event of a watch; every type but ERROR.  Before the end mark of a streaming list its version
 * counts for nothing: objects come in no order. */
void reflector_watch_event(struct reflector_rules *r, const char *rv);
/* The bookmark that marks the end of a streaming list's objects.  The stream continues
 * as a watch. */
void reflector_initial_end(struct reflector_rules *r, const char *rv);
/* A streaming list is in progress and its end mark has not come. */
bool reflector_is_collecting(const struct reflector_rules *r);
/* The request that reflector_next() gave is sent at `at_ms`, earlier than it said. */
void reflector_hurry(struct reflector_rules *r, int64_t at_ms);
/* Bytes of a watch came. */
void reflector_watch_bytes(struct reflector_rules *r, int64_t now_ms);
/* For how long a watch may be silent from now on, in ms. */
int64_t reflector_silence_ms(const struct reflector_rules *r, int64_t now_ms);
/* The watch or the streaming list is over.  `opened`: the server had begun to answer it. */
enum reflector_say reflector_watch_ended(struct reflector_rules *r, enum reflector_end why,
                                         bool opened, int64_t now_ms, double unit);
/* "resourceVersion=7&limit=500" for a request. */
void reflector_query(struct str_buf *b, const struct reflector_request *q,
                     const char *label_selector);
/* The reaction to an error. */
enum reflector_end reflector_classify(const struct err *err);
/* The next delay of the back-off: 0.8 s doubling to 30 s, times 1 to 2; starts again after two
 * quiet minutes. */
int64_t reflector_backoff(struct reflector_rules *r, int64_t now_ms, double unit);

#endif
