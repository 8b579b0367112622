/* SPDX-License-Identifier: Apache-2.0 */
/* lease_rules.c: the attempt of lease_rules.h, step by step as client-go takes it.
 *
 * Pure. */
#include "controller/kube/lease/lease_rules.h"

#include <stdio.h>
#include <string.h>

#include "common/base/str.h"

#define JITTER_FACTOR 1.2

int lease_terms_check(const struct lease_terms *terms, struct err *err)
{
    const char *problem = NULL;
    double jittered_ms = JITTER_FACTOR * (double)terms->retry_ms;
    if (terms->duration_ms < 1000) {
        problem = "leaseDuration must be a second or more";
        /* Others see whole seconds of it. */
    } else if (terms->duration_ms / 1000 * 1000 <= terms->renew_deadline_ms) {
        problem = "leaseDuration must be greater than renewDeadline";
    } else if ((double)terms->renew_deadline_ms <= jittered_ms) {
        problem = "renewDeadline must be greater than retryPeriod*JitterFactor";
    } else if (terms->retry_ms < 1) {
        problem = "retryPeriod must be greater than zero";
    } else if (str_is_empty(terms->identity)) {
        problem = "Lock identity is empty";
    } else if (strlen(terms->identity) >= LEASE_HOLDER_MAX) {
        problem = "Lock identity is too long";
    }
    return problem == NULL ? ERR_OK : err_set(err, ERR_INVALID, "%s", problem);
}

/* --- what is known ---------------------------------------------------------------------------- */

bool lease_is_ours(const struct lease_view *view, const struct lease_terms *terms)
{
    return view->has_observed && str_eq(view->observed.holder, terms->identity);
}

bool lease_is_others(const struct lease_view *view, const struct lease_terms *terms)
{
    return view->has_observed && view->observed.holder[0] != '\0' && !lease_is_ours(view, terms);
}

static bool is_valid(const struct lease_view *view, int64_t now_ms)
{
    return view->has_observed &&
           view->observed_ms + (int64_t)view->observed.duration_s * 1000 > now_ms;
}

static void observe(struct lease_view *view, const struct lease_record *record, int64_t now_ms)
{
    view->has_observed = true;
    view->observed = *record;
    view->observed_ms = now_ms;
}

/* Upstream compares whole seconds, so that of two renewals within one the second goes unseen and
 * the lease seems to run out up to a second early.  That matters where the renew deadline is close
 * to the duration. */
static bool looks_same(const struct lease_record *a, const struct lease_record *b)
{
    return str_eq(a->holder, b->holder) && a->duration_s == b->duration_s &&
           a->transitions == b->transitions && a->acquired_us == b->acquired_us &&
           a->renewed_us == b->renewed_us;
}

/* --- one attempt ------------------------------------------------------------------------------ */

void lease_try_begin(struct lease_try *t, const struct lease_terms *terms, struct lease_view *view,
                     int64_t now_ms, int64_t wall_us)
{
    *t = (struct lease_try){.terms = terms, .view = view, .began_ms = now_ms};
    t->wanted.duration_s = (int32_t)(terms->duration_ms / 1000);
    t->wanted.acquired_us = wall_us;
    t->wanted.renewed_us = wall_us;
    (void)snprintf(t->wanted.holder, sizeof t->wanted.holder, "%s", terms->identity);
    t->next = LEASE_GET;
    if (lease_is_ours(view, terms) && is_valid(view, now_ms)) {
        t->wanted.acquired_us = view->observed.acquired_us;
        t->wanted.transitions = view->observed.transitions;
        t->fast = true;
        t->next = LEASE_UPDATE;
    }
}

void lease_try_read(struct lease_try *t, const struct lease_record *found, int64_t now_ms)
{
    struct lease_view *view = t->view;
    if (found == NULL) {
        t->next = LEASE_CREATE;
        return;
    }
    if (!view->has_read || !looks_same(&view->read, found)) {
        observe(view, found, now_ms);
        view->has_read = true;
        view->read = *found;
    }
    bool ours = lease_is_ours(view, t->terms);
    /* Against the moment the attempt began: what was just seen counts as valid, even for no
     * time at all. */
    if (found->holder[0] != '\0' && is_valid(view, t->began_ms) && !ours) {
        t->next = LEASE_END;
        return;
    }
    if (ours) {
        t->wanted.acquired_us = found->acquired_us;
        t->wanted.transitions = found->transitions;
        t->slow_path = true;
    } else {
        t->wanted.transitions = found->transitions < INT32_MAX ? found->transitions + 1 : INT32_MAX;
    }
    t->next = LEASE_UPDATE;
}

void lease_try_written(struct lease_try *t, int64_t now_ms)
{
    observe(t->view, &t->wanted, now_ms);
    t->leads = true;
    t->next = LEASE_END;
}

void lease_try_failed(struct lease_try *t)
{
    t->next = t->fast ? LEASE_GET : LEASE_END;
    t->fast = false;
}

void lease_release_record(const struct lease_record *held, int64_t wall_us,
                          struct lease_record *ret)
{
    *ret = (struct lease_record){
        .duration_s = 1,
        .transitions = held->transitions,
        .acquired_us = wall_us,
        .renewed_us = wall_us,
    };
}

/* --- times ------------------------------------------------------------------------------------ */

int64_t lease_acquire_wait_ms(const struct lease_terms *terms, double unit)
{
    return terms->retry_ms + (int64_t)(unit * JITTER_FACTOR * (double)terms->retry_ms);
}

bool lease_is_healthy(bool held, int64_t renewed_ms, int64_t duration_ms, int64_t now_ms)
{
    return !held || now_ms - renewed_ms <= duration_ms + LEASE_HEALTH_SLACK_MS;
}
