/* SPDX-License-Identifier: Apache-2.0 */
/* object_watch_rules.h: the next request of a watch of one object, and its time.
 *
 * A state machine without I/O: the caller sends what object_rules_next() says and tells what came
 * of it.
 *
 *      STREAM ──closed──▶ WATCH (at once, from the last version) ──closed──▶ WATCH …
 *        │ refused: the server streams no lists      │ 410, cut, silence, refused
 *        ▼                                           ▼
 *      READ ──▶ WATCH …                            back-off, READ, WATCH
 *
 * STREAM is a watch that begins with the state (sendInitialEvents), which is how upstream's
 * informers start; READ is a GET of the object.  Every failure leads to a READ, and the back-off
 * ends at a minute: a client that may read but not watch, or is behind a proxy that swallows
 * streams, polls once a minute.  Source: controller.md §4.8, §3.6 (C) "re-read every minute".
 * Pure: `now` and randomness are parameters.  One thread. */
#ifndef TRIMTAB_KUBE_OBJECT_WATCH_RULES_H
#define TRIMTAB_KUBE_OBJECT_WATCH_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

#define OBJECT_RV_MAX 256 /* bytes of a resourceVersion with its NUL */

enum object_ask {
    OBJECT_STREAM = 0,
    OBJECT_READ,
    OBJECT_WATCH,
};

struct object_rules {
    enum object_ask ask;
    char rv[OBJECT_RV_MAX]; /* last one seen; "": none */
    bool there;             /* this stream has shown the object */
    bool synced;            /* the state is known, however old */
    bool many;              /* a collection: one object is not the state */

    int64_t began_ms; /* when the watch in progress was sent */
    size_t events;    /* of it, bookmarks included */
    int64_t not_before_ms;
    int64_t delay_ms; /* of the back-off; 0: none so far */
};

struct object_request {
    enum object_ask ask;
    const char *rv;        /* WATCH: resourceVersion, "" = left out; borrowed from the rules */
    int timeout_s;         /* of a watch: 300 to 600 */
    int64_t not_before_ms; /* 0: at once */
};
/* Meaning of a watch event for the object's user. */
enum object_news {
    OBJECT_NO_NEWS = 0,
    OBJECT_IS, /* here it is */
    OBJECT_IS_NOT,
};

void object_rules_init(struct object_rules *r);
/* The next request; it counts as sent at `now_ms`, or at not_before_ms if that is later.
 * `unit` in [0,1). */
void object_rules_next(struct object_rules *r, int64_t now_ms, double unit,
                       struct object_request *ret);
/* "allowWatchBookmarks=true&fieldSelector=metadata.name%3Dx&…"; nothing for OBJECT_READ.  Without a
 * name the label selector, if there is one, for each request. */
void object_rules_query(struct str_buf *b, const struct object_request *q, const char *name,
                        const char *selector);

/* A READ has an answer: the object's version, or NULL when there is no such object. */
void object_rules_read(struct object_rules *r, const char *rv);
/* An event: ADDED, MODIFIED, DELETED, BOOKMARK; others are ignored.  `end_of_state`: a bookmark
 * that closes the state. */
enum object_news object_rules_event(struct object_rules *r, const char *type, const char *rv,
                                    bool end_of_state);
/* The request in progress is over.  `err` NULL: closed in order (a READ: see above).  `opened`: a
 * 200 had begun.  True when the error is worth a word. */
bool object_rules_ended(struct object_rules *r, const struct err *err, bool opened, int64_t now_ms,
                        double unit);

#endif
