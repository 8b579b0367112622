/* SPDX-License-Identifier: Apache-2.0 */
/* reflector_internal.h: the two halves of the reflectors.
 *
 *   reflector.c        the thread, waiting for sync, what is said about an unreachable server
 *   reflector_job.c    one kind: requests out, bytes in (an http_job that never ends)
 *   reflector_items.c  one kind: items and events into the store
 * Everything but what `lock` guards belongs to the reflector thread. */
#ifndef TRIMTAB_KUBE_REFLECTOR_INTERNAL_H
#define TRIMTAB_KUBE_REFLECTOR_INTERNAL_H

#include "common/base/lock.h"
#include "common/data/json_splitter.h"
#include "common/net/http.h"
#include "controller/kube/client/client.h"
#include "controller/kube/client/client_rules.h"
#include "controller/kube/client/credentials.h"
#include "controller/kube/watch/reflector.h"
#include "controller/kube/watch/reflector_rules.h"

#include <pthread.h>
#include <stdatomic.h>

#define REFLECTORS_MAX   8
#define SKIPPED_SAID_MAX 20 /* objects of one list that are named in the log */
/* Ten times what a Kubernetes cluster is built for: a list with more of them, or more pages, is a
 * server gone wrong. */
#define LIST_ITEMS_MAX 100000u
#define LIST_PAGES_MAX 10000u

/* One kind. */
struct reflector {
    struct http_job job;
    struct kube_reflectors *all;
    struct kube_store *store;
    char *selector; /* label selector, or NULL */
    struct reflector_rules rules;
    struct reflector_request ask; /* what is in progress */
    struct client_rules retries;  /* repetitions of this very request */
    struct json_splitter *list_cutter;
    struct json_splitter *watch_cutter;
    struct arena *arena;      /* of the request in progress */
    struct arena *item_arena; /* of the item or event that is being read; kept for the next one */
    struct kube_credentials creds;
    bool awaits_credentials; /* the request in progress waits for them, see send_ask() */
    int64_t send_at_ms;      /* then it is not sent before this moment */
    bool opened;             /* bytes of a 200 came */
    bool replacing;          /* a list, or a streaming one, is going into the store */
    size_t skipped;          /* objects of this list that could not be read */
    /* objects of this list so far, over its pages; those of a stream are counted as they come */
    size_t listed;
    size_t pages;
    struct err stream_err; /* what the stream itself said or broke */
};

/* An unreachable server is one trouble of all reflectors, not one of each. */
struct reach {
    int64_t since_ms; /* first failure of the row; 0 = reachable */
    int64_t tries;
    int64_t said_ms;  /* when it was last logged */
    int64_t every_ms; /* before it is logged again; doubles */
};

struct kube_reflectors {
    struct kube_reflectors_args args; /* user_agent is a copy */
    struct reflector items[REFLECTORS_MAX];
    size_t n;
    struct http *http;     /* the thread's from start on */
    struct cancel *cancel; /* ours: ends all transfers */
    pthread_t thread;
    bool started;
    atomic_bool stop;
    struct reach reach;

    struct mutex lock;
    struct cond changed;
    struct err last_err
        _guarded_by_(&lock);          /* the last trouble; OK when the last answer was fine */
    bool gave_up _guarded_by_(&lock); /* last_err is final, and stays */
};

/* reflector.c */
double reflectors_unit(struct kube_reflectors *r);
int64_t reflectors_now(struct kube_reflectors *r);
/* When the next request of `x` may be sent, if its own back-off says `wanted_ms`.  While the server
 * cannot be reached, the first reflector looks every few seconds, for all of them. */
int64_t reflectors_not_before(struct kube_reflectors *r, struct reflector *x, int64_t wanted_ms);
/* A request had an answer, or failed with *err; `unreached`: no byte of an answer came. */
void reflectors_reached(struct kube_reflectors *r);
void reflectors_failed(struct kube_reflectors *r, const struct err *err, bool unreached);
/* With gives_up, after reflectors_failed(): true when the work ends here. */
bool reflectors_end_at(struct kube_reflectors *r, const struct err *err);
void reflectors_wake_waiters(struct kube_reflectors *r);

/* reflector_job.c */
void reflector_init(struct reflector *x, struct kube_reflectors *all, struct kube_store *store,
                    const char *selector);
void reflector_done(struct reflector *x);
enum http_next reflector_step(struct http_job *job, const struct http_response *resp);
bool reflector_on_body(struct http_job *job, int status, const char *bytes, size_t n);
/* The end mark of a streaming list came: what is staged becomes the store's content. */
void reflector_streamed(struct reflector *x, const char *rv);

/* reflector_items.c: the cutters' callbacks. */
bool reflector_on_item(void *arg, const struct cutter_item *item);
bool reflector_on_event(void *arg, const struct cutter_item *item);
extern const char *const reflector_event_members[];
extern const char *const reflector_head_members[];

#endif
