/* SPDX-License-Identifier: Apache-2.0 */
/* fake_provider.h: a provider for tests: records each call and answers as the test sets it.
 *
 * A test fills the settings, hands fake->desc to the controller (or calls it through a syncer) and
 * reads the calls afterwards.  Calls may come from many threads.  One is open at a time per process
 * when the controller opens it (open() is given nothing by which it could tell); with
 * fake_provider_attach() any number. */
#ifndef TRIMTAB_TESTS_SUPPORT_FAKE_PROVIDER_H
#define TRIMTAB_TESTS_SUPPORT_FAKE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trimtab/provider.h>

#include "common/base/lock.h"

#define FAKE_GET       100u /* beside TT_VERB_… */
#define FAKE_CALLS_MAX 4096

struct fake_call {
    uint32_t verb; /* TT_VERB_… or FAKE_GET */
    uint32_t reasons;
    char key[128]; /* "namespace/name" */
    char uid[64];
    char nodes[600]; /* names of the eligible ones, joined by blanks */
    char batch_key[64];
    uint32_t n_items; /* of its batch */
    bool has_previous;
    char affinity[16]; /* spec.sessionAffinity */
    uint32_t flags;    /* TT_ITEM_… */
};

/* Results of the next calls of a verb, in order; after that TT_OK. */
struct fake_answer {
    uint32_t verb;
    int32_t code;
    const char *message;
    int64_t retry_after_ms;
    bool silent; /* returns the code, sets no result */
};

struct fake_provider {
    struct tt_provider desc;
    const struct tt_host *host;
    /* settings */
    bool exists;               /* what get_load_balancer says */
    bool sets_exists;          /* false: it forgets to */
    const char *ip;            /* of the ingress; NULL: ensure sets none */
    uint32_t plan_operations;  /* with TT_CAP_REPORTS_PLANS: how many a plan has; 0: an empty one */
    uint32_t operation_flags;  /* with it: TT_OP_… of each operation */
    bool fails_first;          /* with it: another operation fails before these are carried out */
    int32_t restore_code;      /* not TT_OK: then it is restored, which ends so */
    const char *finding;       /* with it: a finding of each plan; NULL: none */
    const char *serves_nobody; /* with it: why no client is served; NULL: clients are served */
    const char *stands_nobody; /* the same of what stands after a failure; NULL: not said */
    const char *hold;          /* with TT_CAP_HOLDS_FINALIZERS: a finalizer of its own, or NULL */
    bool lets_go;              /* with it: each ensure takes that finalizer off again */
    uint32_t own;              /* what it calls its own affair of each Service (TT_OWN_…) */
    int64_t again_ms;          /* when each Service is to be checked again; 0: not */
    bool skip_hold;            /* with it: this Service is another's, nothing is held */
    bool writes_on_open;       /* open() asks whether it may write, and fails when it may not */
    void (*on_refused)(void *arg, struct fake_provider *p); /* after that; may be NULL */
    void *on_refused_arg;
    bool leave_unsettled;       /* reconcile_batch forgets its items */
    int64_t endpoints_delay_ms; /* for tests that hand the question on */
    /* Called in each call, after it was written down and before it answers.  May be NULL. */
    void (*during)(void *arg, struct fake_provider *p, const struct tt_call *call,
                   const struct tt_item *item);
    void *during_arg;
    /* what happened */
    struct mutex lock;
    struct fake_answer answers[64];
    size_t n_answers;
    struct fake_call calls[FAKE_CALLS_MAX];
    size_t n_calls;
    int refused; /* opens that failed for that */
    int opened;
    int closed;
    char config[256];  /* what open() was given */
    char options[512]; /* "name=value name=value" */
};

/* capabilities: TT_CAP_…  Free with fake_provider_free(). */
struct fake_provider *fake_provider_new(uint32_t capabilities);
void fake_provider_free(struct fake_provider *p);
/* For tests that do not open it: the handle and the host. */
void fake_provider_attach(struct fake_provider *p, const struct tt_host *host);
/* batch_key and reconcile_batch: all Services of a namespace are one batch. */
void fake_provider_batches(struct fake_provider *p);
void fake_provider_answer(struct fake_provider *p, struct fake_answer answer);
size_t fake_provider_count(struct fake_provider *p, uint32_t verb);
/* A copy of the nth call of that verb (0…); verb 0 in it when there is none. */
struct fake_call fake_provider_call(struct fake_provider *p, uint32_t verb, size_t nth);
void fake_provider_forget(struct fake_provider *p); /* the calls */
/* "ensure demo/web, update demo/web": all calls in order, for messages and
 * comparisons; free() it. */
char *fake_provider_story(struct fake_provider *p);

#endif
