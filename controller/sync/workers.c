/* SPDX-License-Identifier: Apache-2.0 */
/* workers.c: see workers.h.
 *
 * Owns the count of workers: how many there may be, which are late, how long each has been at its
 * batch.  The threads that carry them are carriers.c's.  Locks: `lock` is the innermost but for the
 * log's; no batch is processed under it. */
#include "controller/sync/workers.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/lock.h"
#include "common/base/log.h"
#include "controller/sync/carriers.h"
#include "controller/sync/late_calls.h"

/* A call is cancelled after its time-out; who is not back by then and this much later does
 * not come back. */
#define STUCK_GRACE_MS (2 * 60 * 1000)
/* No key costs more calls than this many (is there one, the old one's end, the work, another look):
 * a batch that takes longer than all of them hangs outside of calls. */
#define CALLS_PER_KEY 4

/* Keys after which free memory goes back to the kernel, once the queue is empty: fewer than in the
 * last batch of many, which leaves megabytes. */
#define TRIM_AFTER_KEYS 100

/* Between two attempts to start a worker after the system refused one. */
#define REFUSED_MS (10 * 1000)

/* State of one worker. */
struct busy {
    size_t n; /* keys; 0: it waits */
    int64_t since_ms;
};

struct workers {
    const struct syncer *syncer;
    unsigned most;
    struct mutex lock;
    struct cond ended_one;
    struct carriers *carriers _guarded_by_(lock);
    struct busy *busy _guarded_by_(lock); /* one for each of `room` workers */
    unsigned room _guarded_by_(lock);
    unsigned n _guarded_by_(lock);
    unsigned named _guarded_by_(lock); /* workers that have their place in `busy` */
    unsigned ended _guarded_by_(lock);
    bool ending _guarded_by_(lock);
    bool late_calls_run _guarded_by_(lock);
    int64_t refused_until_ms
        _guarded_by_(lock); /* until then no thread is asked for; 0: none was refused */
    unsigned late_seen _guarded_by_(lock); /* late calls at the last look */
    /* NULL: not watched; of the thread that starts and ends the workers */
    struct late_calls *late_calls;
    size_t untrimmed _guarded_by_(lock);         /* keys since the heap was trimmed */
    struct queue_counts told _guarded_by_(lock); /* what the counters stand at */
};

static void work(void *arg, struct carrier *c);

/* Number of workers in a call beyond its deadline that have a substitute. */
static unsigned late(const struct workers *w) _requires_(w->lock)
{
    unsigned n =
        w->late_calls_run ? host_calls_over(w->syncer->host, late_calls_grace_ms(w->syncer)) : 0;

    return n < w->syncer->late_max ? n : w->syncer->late_max;
}

/* Workers that can take work, or are at it in time. */
static unsigned able(const struct workers *w) _requires_(w->lock)
{
    unsigned alive = w->n - w->ended;
    unsigned n_late = late(w);

    return alive > n_late ? alive - n_late : 0;
}

static void make_room(struct workers *w) _requires_(w->lock)
{
    if (w->n < w->room) {
        return;
    }
    w->room = w->room * 2;
    w->busy = xrealloc(w->busy, w->room * sizeof(*w->busy));
    memset(&w->busy[w->n], 0, (w->room - w->n) * sizeof(*w->busy));
}

/* Returns TRANSIENT when the system refuses a thread.  `waits` lets it ask for half a second, with
 * the lock held. */
static int start_one(struct workers *w, bool waits, struct err *err) _requires_(w->lock)
{
    make_room(w);
    int rc = carriers_start(w->carriers, work, w, waits, err);

    w->n += rc == ERR_OK;
    return rc;
}

static void start_more(struct workers *w)
{
    struct err err = ERR_INIT;

    mutex_lock(&w->lock);
    int64_t now_ms = clock_now_ms(w->syncer->clock);
    if (able(w) < w->most && !w->ending && now_ms >= w->refused_until_ms) {
        bool refused = start_one(w, false, &err) != ERR_OK;
        if (refused) {
            log_error(err.message, "Fewer workers than wanted", LOG_I("workers", able(w)));
        }
        w->refused_until_ms = refused ? now_ms + REFUSED_MS : 0;
    }
    mutex_unlock(&w->lock);
}

/* From the thread that looks at calls, after each look: another thread for one that is lost, and
 * again while it is refused. */
static void late_seen(void *arg, unsigned n)
{
    struct workers *w = arg;

    mutex_lock(&w->lock);
    /* One may have come back, and its stand-in ended, since the last look: the number
     * alone would not tell. */
    bool more = n > w->late_seen || (n > 0 && able(w) == 0) || w->refused_until_ms > 0;
    w->late_seen = n;
    mutex_unlock(&w->lock);
    if (more) {
        start_more(w);
    }
}

static void count_ended(struct workers *w, struct carrier *c) _requires_(w->lock)
{
    w->ended++;
    carriers_ended(c);
    cond_broadcast(&w->ended_one);
}

/* Whether this worker is one too many, because a late one came back.  Then it is counted out at
 * once: of two that ask, one stays. */
static bool is_surplus(struct workers *w, struct carrier *c)
{
    mutex_lock(&w->lock);
    bool surplus = able(w) > w->most;
    if (surplus) {
        count_ended(w, c);
    }
    mutex_unlock(&w->lock);
    return surplus;
}

static void observe(struct workers *w, int64_t since_ms, const char *metric)
{
    static const struct tt_kv service_queue[] = {{"name", "service"}};
    double s = (double)(clock_now_ms(w->syncer->clock) - since_ms) / 1000;

    metrics_observe(w->syncer->metrics, metric, service_queue, 1, s);
}

static void set_busy(struct workers *w, unsigned me, size_t n, int64_t since_ms)
{
    mutex_lock(&w->lock);
    w->busy[me].n = n;
    w->busy[me].since_ms = since_ms;
    mutex_unlock(&w->lock);
}

struct work_ages workers_ages(struct workers *w)
{
    int64_t now_ms = clock_now_ms(w->syncer->clock);
    struct work_ages ret = {0};

    int64_t stuck_ms = host_calls_stuck_ms(w->syncer->host, STUCK_GRACE_MS);
    mutex_lock(&w->lock);
    /* Others work in their place, unless the system refuses threads. */
    bool replaced = w->late_calls_run && late(w) < w->syncer->late_max &&
                    (able(w) > 0 || w->refused_until_ms == 0);
    ret.stuck_ms = replaced ? 0 : stuck_ms;
    for (unsigned i = 0; i < w->named; i++) {
        int64_t age_ms = w->busy[i].n > 0 ? now_ms - w->busy[i].since_ms : 0;
        ret.sum_ms += age_ms * (int64_t)w->busy[i].n;
        ret.longest_ms = age_ms > ret.longest_ms ? age_ms : ret.longest_ms;
        int64_t calls = (int64_t)w->busy[i].n * CALLS_PER_KEY;
        if (!replaced && age_ms > calls * sync_call_timeout_ms(w->syncer) + STUCK_GRACE_MS &&
            age_ms > ret.stuck_ms) {
            ret.stuck_ms = age_ms;
        }
    }
    mutex_unlock(&w->lock);
    return ret;
}

static void count_reasons(struct workers *w, const struct queue_batch *batch)
{
    static const struct {
        uint32_t bit;
        const char *word;
    } reasons[] = {{TT_REASON_SPEC, "spec"},
                   {TT_REASON_NODES, "nodes"},
                   {TT_REASON_ENDPOINTS, "endpoints"},
                   {TT_REASON_RESYNC, "resync"},
                   {TT_REASON_CLEANUP, "cleanup"}};

    for (size_t r = 0; r < ARRAY_LEN(reasons); r++) {
        const struct tt_kv reason = {"reason", reasons[r].word};
        size_t n = 0;
        for (size_t i = 0; i < batch->n; i++) {
            n += (batch->items[i].reasons & reasons[r].bit) != 0;
        }
        if (n > 0) {
            metrics_add(w->syncer->metrics, METRIC_QUEUE_TAKEN, &reason, 1, (double)n);
        }
    }
}

void workers_publish(struct workers *w)
{
    static const struct tt_kv name[] = {{"name", "service"}};
    struct metrics *m = w->syncer->metrics;

    struct queue_counts now = queue_counts(w->syncer->queue);

    metrics_set(m, METRIC_QUEUE_DEPTH, name, 1, (double)now.waiting);
    mutex_lock(&w->lock);
    if (now.adds >= w->told.adds && now.retries >= w->told.retries) { /* else another was faster */
        metrics_add(m, METRIC_QUEUE_ADDS, name, 1, (double)(now.adds - w->told.adds));
        metrics_add(m, METRIC_QUEUE_RETRIES, name, 1, (double)(now.retries - w->told.retries));
        w->told = now;
    }
    mutex_unlock(&w->lock);
}

/* Thousands of plans leave holes between what is kept of each Service: a sixth of the
 * heap among 20,000. */
static void trim_heap(struct workers *w, size_t n)
{
    bool idle = queue_is_idle(w->syncer->queue);

    mutex_lock(&w->lock);
    w->untrimmed += n;
    bool trim = idle && w->untrimmed >= TRIM_AFTER_KEYS;
    w->untrimmed = trim ? 0 : w->untrimmed;
    mutex_unlock(&w->lock);
    if (trim) {
        (void)malloc_trim(0);
    }
}

/* One worker, in a thread or a task. */
static void work(void *arg, struct carrier *c)
{
    struct workers *w = arg;
    struct queue *q = w->syncer->queue;
    struct queue_batch batch = {0};
    bool others_idle = false;

    mutex_lock(&w->lock);
    unsigned me = w->named++;
    mutex_unlock(&w->lock);
    while (true) {
        if (is_surplus(w, c)) {
            return;
        }
        if (!queue_get(q, &batch, &others_idle)) {
            break;
        }
        int64_t taken_ms = clock_now_ms(w->syncer->clock);
        if (!others_idle) {
            start_more(w);
        }
        observe(w, batch.oldest_ms, METRIC_QUEUE_DURATION);
        count_reasons(w, &batch);
        set_busy(w, me, batch.n, taken_ms);
        syncer_process(w->syncer, &batch);
        progress_note(w->syncer->progress);
        set_busy(w, me, 0, 0);
        size_t n = batch.n;
        queue_done(q, &batch);
        queue_batch_clear(&batch);
        trim_heap(w, n);
        observe(w, taken_ms, METRIC_WORK_DURATION);
        workers_publish(w);
    }
    mutex_lock(&w->lock);
    count_ended(w, c);
    mutex_unlock(&w->lock);
}

struct workers *workers_new(const struct syncer *syncer, unsigned most)
{
    struct workers *w = xcalloc(1, sizeof(*w));

    w->syncer = syncer;
    w->most = most == 0 ? 1 : most;
    mutex_init(&w->lock);
    cond_init(&w->ended_one);
    mutex_lock(&w->lock);
    /* A plugin blocks its thread; and a single worker needs no turns. */
    w->carriers = carriers_new(syncer->late_max == 0 && w->most > 1);
    w->room = w->most;
    w->busy = xcalloc(w->room, sizeof(*w->busy));
    mutex_unlock(&w->lock);
    return w;
}

int workers_start(struct workers *w, struct err *err)
{
    const struct late_calls_args args = {.syncer = w->syncer, .late = late_seen, .arg = w};

    mutex_lock(&w->lock);
    int rc = start_one(w, true, err); /* nothing else wants the lock yet */
    mutex_unlock(&w->lock);
    if (rc == ERR_OK && w->syncer->late_max > 0) {
        rc = late_calls_start(&args, &w->late_calls, err);
        mutex_lock(&w->lock);
        w->late_calls_run = rc == ERR_OK;
        mutex_unlock(&w->lock);
    }
    return rc;
}

unsigned workers_threads(struct workers *w)
{
    mutex_lock(&w->lock);
    unsigned n = carriers_threads(w->carriers);
    mutex_unlock(&w->lock);
    return n;
}

bool workers_end(struct workers *w, int64_t real_until_ms)
{
    if (w == NULL) {
        return true;
    }
    late_calls_end(STEAL(w->late_calls));
    mutex_lock(&w->lock);
    w->ending = true;
    while (w->ended < w->n && clock_now_ms(clock_real()) < real_until_ms) {
        clock_wait(clock_real(), &w->ended_one, &w->lock, real_until_ms);
    }
    bool all = w->ended == w->n;
    if (!all) {
        carriers_join_ended(w->carriers);
        mutex_unlock(&w->lock);
        return false;
    }
    carriers_free(w->carriers);
    free(w->busy);
    mutex_unlock(&w->lock);
    cond_done(&w->ended_one);
    mutex_done(&w->lock);
    free(w);
    return true;
}
