/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h: how fast requests of one kind may be sent to an API, learnt from its refusals.
 *
 * A cloud counts requests per kind (reads and writes of EC2, mutations of Compute …) and refuses
 * those above a limit, which differs from account to account.  A budget begins with the documented
 * limit and adapts:
 *
 *     refused as too many    the rate falls to seven tenths, or from above to the documented one;
 *                            saved tokens are gone; not again before what was booked at the former
 *                            rate has been answered: that is refused with it, and says nothing of
 *                            the new rate
 *     Retry-After            nothing of this kind is sent before, for ten seconds at most: a caller
 *                            that is asked for more gives up and comes back by itself
 *     used up, not refused   the rate grows by a twentieth of the documented one per second,
 *                            to twenty times it at most: an account may have a higher limit.
 *                            After a refusal above the documented rate it stays there for a
 *                            minute, and twice as long after each further one: an account that
 *                            has the documented limit is not asked again and again
 *
 * A request without a waiting user (periodic look, drift) is background: it takes no token from
 * the last quarter of the bucket and never books ahead, so that a user's change passes it.
 *
 * struct budget is pure (`now` is a parameter); struct budgets puts a lock and a clock around
 * several of them and reports what changed.  The caller waits (http_request.not_before_ms).
 * Source: additive increase, multiplicative decrease as in TCP (RFC 5681); limits: see the tables
 * in gce_budget.c, aws_budget.c, azure_budget.c. */
#ifndef TRIMTAB_NET_BUDGET_H
#define TRIMTAB_NET_BUDGET_H

#include "common/base/attr.h"
#include "common/base/clock.h"
#include "common/net/ratelimit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A limit as documented. */
struct budget_limit {
    const char *api;   /* as in http_request.api: "gce"; static */
    const char *kind;  /* for people and labels: "ec2 writes"; static */
    double per_second; /* > 0 */
    int burst;         /* tokens of a full bucket; >= 1 */
    double sustained;  /* of a cloud that counts minutes: the rate once the bucket has been empty
                          for one, so that its burst counts no more; 0: as per_second */
    bool fixed;        /* set by a flag: it does not grow beyond per_second */
};

struct budget {
    const struct budget_limit *limit;
    struct ratelimit bucket; /* its per_second is the rate of the moment */
    int64_t closed_until_ms; /* Retry-After; 0: open */
    int64_t cut_ms;          /* the last time that the rate was cut */
    int64_t booked_ms;       /* the latest moment for which a token was given */
    int64_t judged_ms;       /* refusals from then on are of requests that go at the rate of now */
    int64_t saved_ms;        /* the last time that the bucket was not empty, give or take a tenth */
    int64_t grown_ms;        /* until when growth is accounted for */
    int64_t modest_ms;       /* how long the rate stays at the documented one after cut_ms */
    bool short_of;           /* a token was waited for since grown_ms */
    uint64_t held;           /* requests that had to wait */
    uint64_t refused;        /* requests that the API refused as too many */
};

void budget_init(struct budget *b, const struct budget_limit *limit, int64_t now_ms);
/* When a request may be sent: `now_ms`, or the later moment for which a token is booked.
 * Background:  true in *ret_again says that nothing is booked, and the caller asks again
 * at that moment. */
int64_t budget_take(struct budget *b, int64_t now_ms, bool background, bool *ret_again);
/* The API refused a request as too many; `retry_after_ms` 0: it did not say for how long. */
void budget_refused(struct budget *b, int64_t now_ms, int64_t retry_after_ms);

/* Several budgets of one provider.  Thread-safe; nothing blocks. */
struct budgets;
struct budget_view {
    const char *api;
    const char *kind;
    double per_second;
    uint64_t held;
    uint64_t refused;
};
/* Why a report is made. */
enum budget_event {
    BUDGET_RATE = 0, /* the rate alone has changed */
    BUDGET_HELD,     /* one more request waits */
    BUDGET_REFUSED,  /* one more was refused */
};
/* Called without the lock; must not block. */
typedef void budgets_report_fn(void *arg, enum budget_event event, const struct budget_view *now);
/* `limits` must outlive it.  `report` may be NULL. */
struct budgets *budgets_new(const struct budget_limit *limits, size_t n, struct clock *clock,
                            budgets_report_fn *report, void *arg) _warn_unused_;
void budgets_free(struct budgets *s); /* NULL is fine */
/* Is less than half of the bucket left?  Then requests that can wait had better do so. */
bool budgets_are_short(struct budgets *s, size_t kind);
/* As budget_take() and budget_refused(), of the `kind`th limit.  NULL: no budgets,
 * `now` at once. */
int64_t budgets_take(struct budgets *s, size_t kind, bool background, bool *ret_again);
void budgets_refused(struct budgets *s, size_t kind, int64_t retry_after_ms);

#endif
