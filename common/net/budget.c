/* SPDX-License-Identifier: Apache-2.0 */
/* budget.c: see budget.h.
 *
 * struct budget must not read a clock or wait; struct budgets holds its lock for arithmetic only
 * and reports after it has let go of it. */
#include "common/net/budget.h"

#include "common/base/arena.h"
#include "common/base/lock.h"

#include <stdlib.h>

#define CUT_EVERY_MS 1000 /* requests sent together are refused together: that is one refusal */
#define CLOSED_MOST_MS                                                                             \
    10000               /* a longer Retry-After is for the caller, who says so and comes back */
#define LEAST_PART 0.05 /* of the documented rate: what is left of it at least */
#define MOST_TIMES 20.0 /* the documented rate: an account's own limit may be higher */
/* of a rate that was refused although it is the documented one or less */
#define CUT_TO_PART    0.7
#define GROWTH_PART    0.05  /* of the documented rate, per second */
#define GROWTH_MOST_MS 10000 /* that count at once: what lies further back was no shortage of now */
#define RESERVE_PART   0.25  /* of the bucket, for what a user waits for */
#define SHORT_PART     0.5
#define EMPTY_PART     0.1 /* requests come in waves */
#define MINUTE_MS      60000
#define MODEST_MS      60000 /* after the first refusal above the documented rate */
#define MODEST_MOST_MS 1800000

/* ---- one budget, pure ------------------------------------------------------------------------ */

void budget_init(struct budget *b, const struct budget_limit *limit, int64_t now_ms)
{
    *b = (struct budget){.limit = limit,
                         .cut_ms = now_ms,
                         .judged_ms = now_ms,
                         .saved_ms = now_ms,
                         .grown_ms = now_ms};
    ratelimit_init(&b->bucket, limit->per_second, limit->burst, now_ms);
}

/* The rate that the cloud documents, for what was sent before. */
static double documented_at(const struct budget *b, int64_t now_ms)
{
    bool lasts = b->limit->sustained > 0 && now_ms - b->saved_ms >= MINUTE_MS;
    return lasts ? b->limit->sustained : b->limit->per_second;
}

/* Tokens saved so far stay; what comes from now on comes at the new rate. */
static void set_rate(struct budget *b, double per_second, int64_t now_ms)
{
    double least = b->limit->per_second * LEAST_PART, most = b->limit->per_second * MOST_TIMES;
    double tokens = ratelimit_tokens(&b->bucket, now_ms);
    double rate = per_second < least ? least : per_second;
    b->bucket.per_second = rate > most ? most : rate;
    b->bucket.tokens = tokens;
    b->bucket.at_ms = now_ms > b->bucket.at_ms ? now_ms : b->bucket.at_ms;
}

/* A cut rate returns to the documented one by itself; beyond that it grows only while it
 * is short of tokens. */
static void grow(struct budget *b, int64_t now_ms)
{
    int64_t passed_ms = now_ms - b->grown_ms;
    if (passed_ms < CUT_EVERY_MS) {
        return;
    }
    passed_ms = passed_ms < GROWTH_MOST_MS ? passed_ms : GROWTH_MOST_MS;
    double documented = documented_at(b, now_ms), rate = b->bucket.per_second;
    double grown = rate + documented * GROWTH_PART * (double)passed_ms / 1000.0;
    bool modest = b->modest_ms > 0 && now_ms - b->cut_ms < b->modest_ms;
    bool beyond = b->short_of && !b->limit->fixed && !modest;
    double most = beyond ? documented * MOST_TIMES : documented;
    if (grown > most) {
        grown = most > rate ? most : rate;
    }
    if (rate > documented && rate <= b->limit->sustained) {
        grown = documented; /* tokens are saved again */
    }
    b->grown_ms = now_ms;
    b->short_of = false;
    set_rate(b, grown, now_ms);
}

/* The moment at which the bucket holds `want` tokens. */
static int64_t holds_at(const struct budget *b, double want, int64_t now_ms)
{
    double missing = want - ratelimit_tokens(&b->bucket, now_ms);
    return missing <= 0 ? now_ms : now_ms + 1 + (int64_t)(missing / b->bucket.per_second * 1000.0);
}

int64_t budget_take(struct budget *b, int64_t now_ms, bool background, bool *ret_again)
{
    int64_t at = now_ms;
    *ret_again = false;
    bool saves = ratelimit_tokens(&b->bucket, now_ms) > b->bucket.burst * EMPTY_PART;
    b->saved_ms = saves ? now_ms : b->saved_ms;
    grow(b, now_ms);
    if (background) {
        at = holds_at(b, 1.0 + b->bucket.burst * RESERVE_PART, now_ms);
        at = at < b->closed_until_ms ? b->closed_until_ms : at;
        *ret_again = at > now_ms;
    }
    if (!*ret_again) {
        at = ratelimit_take(&b->bucket, now_ms);
        at = at < b->closed_until_ms ? b->closed_until_ms : at;
    }
    if (!*ret_again && at > b->booked_ms) {
        b->booked_ms = at;
    }
    if (at > now_ms) {
        b->held++;
        b->short_of = true;
    }
    return at;
}

void budget_refused(struct budget *b, int64_t now_ms, int64_t retry_after_ms)
{
    b->refused++;
    int64_t closed_ms = retry_after_ms < CLOSED_MOST_MS ? retry_after_ms : CLOSED_MOST_MS;
    if (closed_ms > 0 && now_ms + closed_ms > b->closed_until_ms) {
        b->closed_until_ms = now_ms + closed_ms;
    }
    if (now_ms < b->judged_ms) {
        return;
    }
    double documented = documented_at(b, now_ms), rate = b->bucket.per_second;
    if (rate > documented) {
        b->modest_ms = b->modest_ms == 0 ? MODEST_MS : 2 * b->modest_ms;
        b->modest_ms = b->modest_ms < MODEST_MOST_MS ? b->modest_ms : MODEST_MOST_MS;
    }
    b->cut_ms = now_ms;
    b->judged_ms = (now_ms > b->booked_ms ? now_ms : b->booked_ms) + CUT_EVERY_MS;
    b->grown_ms = now_ms;
    b->short_of = false;
    set_rate(b, rate > documented ? documented : rate * CUT_TO_PART, now_ms);
    if (b->bucket.tokens > 0) {
        b->bucket.tokens = 0;
    }
}

/* ---- several, with a lock -------------------------------------------------------------------- */

struct budgets {
    struct clock *clock;
    budgets_report_fn *report;
    void *arg;
    size_t n;
    struct mutex lock;
    struct budget *all _guarded_by_(lock);
};

struct budgets *budgets_new(const struct budget_limit *limits, size_t n, struct clock *clock,
                            budgets_report_fn *report, void *arg)
{
    struct budgets *s = xcalloc(1, sizeof(*s));
    int64_t now = clock_now_ms(clock);
    s->clock = clock;
    s->report = report;
    s->arg = arg;
    s->n = n;
    mutex_init(&s->lock);
    mutex_lock(&s->lock);
    s->all = xcalloc(n + 1, sizeof(*s->all)); /* none is fine */
    for (size_t i = 0; i < n; i++) {
        budget_init(&s->all[i], &limits[i], now);
    }
    mutex_unlock(&s->lock);
    return s;
}

void budgets_free(struct budgets *s)
{
    if (s == NULL) {
        return;
    }
    mutex_lock(&s->lock);
    free(s->all);
    s->all = NULL;
    mutex_unlock(&s->lock);
    mutex_done(&s->lock);
    free(s);
}

static struct budget_view view_of(const struct budget *b)
{
    return (struct budget_view){.api = b->limit->api,
                                .kind = b->limit->kind,
                                .per_second = b->bucket.per_second,
                                .held = b->held,
                                .refused = b->refused};
}

static void report(struct budgets *s, enum budget_event event, const struct budget_view *now)
{
    if (s->report != NULL) {
        s->report(s->arg, event, now);
    }
}

bool budgets_are_short(struct budgets *s, size_t kind)
{
    if (s == NULL) {
        return false;
    }
    int64_t now = clock_now_ms(s->clock);
    mutex_lock(&s->lock);
    const struct budget *b = &s->all[kind];
    bool is = ratelimit_tokens(&b->bucket, now) < b->bucket.burst * SHORT_PART ||
              b->closed_until_ms > now;
    mutex_unlock(&s->lock);
    return is;
}

int64_t budgets_take(struct budgets *s, size_t kind, bool background, bool *ret_again)
{
    *ret_again = false;
    if (s == NULL) {
        return 0;
    }
    int64_t now = clock_now_ms(s->clock);
    mutex_lock(&s->lock);
    struct budget *b = &s->all[kind];
    double before = b->bucket.per_second;
    int64_t at = budget_take(b, now, background, ret_again);
    struct budget_view view = view_of(b);
    mutex_unlock(&s->lock);
    if (at > now || view.per_second != before) {
        report(s, at > now ? BUDGET_HELD : BUDGET_RATE, &view);
    }
    return at > now ? at : 0;
}

void budgets_refused(struct budgets *s, size_t kind, int64_t retry_after_ms)
{
    if (s == NULL) {
        return;
    }
    int64_t now = clock_now_ms(s->clock);
    mutex_lock(&s->lock);
    budget_refused(&s->all[kind], now, retry_after_ms);
    struct budget_view view = view_of(&s->all[kind]);
    mutex_unlock(&s->lock);
    report(s, BUDGET_REFUSED, &view);
}
