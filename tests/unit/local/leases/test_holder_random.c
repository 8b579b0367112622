/* SPDX-License-Identifier: Apache-2.0 */
/* test_holder_random.c: directors, their Leases and their kernels in random interleavings, by seed.
 *
 * Half of the worlds have directors that watch Leases: events come in order, late, and not at all
 * for a while.  Requests are sent, carried out and answered at moments of their own, answers get
 * lost, processes are killed, stopped for a while, started again and told to end.  After every step
 * no address may be held by two kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "providers/local/leases/lease_view.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"

#define N           4
#define STEPS       10000
#define SEEDS       40
#define DURATION_MS 10000
#define RENEW_MS    3000
#define POLL_MS     500
#define LATE_MS     250  /* after a write: then it lists, as its watch is late */
#define EVENTS      8192 /* that a world remembers; a watch that is further behind begins again */

struct lease {
    bool there, ended, takes;
    unsigned version; /* goes up with each write */
    struct local_bucket_set holds;
};
enum request { NONE = 0, WRITE, LIST };
struct director {
    struct local_holder *h;
    char name[8];
    bool alive, leaving, cut;
    int64_t offset_ms; /* of its clock */
    int64_t stopped_until_ms;
    int64_t listed_ms;
    int64_t kernel_ms[LOCAL_BUCKETS]; /* lifetimes, by the world's clock */
    /* its request in progress */
    enum request request;
    bool done, lost;
    int64_t sent_ms, commit_ms, answer_ms;
    uint64_t turn;
    struct lease body;
    struct lease list[N];
    /* its watch */
    struct local_lease_view *view;
    unsigned event;    /* the next one that it gets */
    int64_t stream_ms; /* not before; by the world's clock */
    bool news;
    int64_t wrote_ms;
};
struct event {
    unsigned whose;
    struct lease lease;
};
struct world {
    uint64_t seed;
    int64_t now_ms;
    bool keep; /* apiLoss; then the API server is away for all or for none */
    bool away;
    bool watches;
    struct event *events;
    unsigned n_events;
    struct lease leases[N];
    struct director directors[N];
    unsigned takeovers, moves, lists, writes, looks;
};

static unsigned below(struct world *w, unsigned n)
{
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->seed >> 33) % n;
}

static bool chance(struct world *w, unsigned one_in)
{
    return below(w, one_in) == 0;
}

/* Its own clock. */
static int64_t clock_of(const struct world *w, const struct director *d)
{
    return w->now_ms + d->offset_ms;
}

static void begin_watch(struct world *w, struct director *d);

static void start(struct world *w, unsigned i)
{
    struct director *d = &w->directors[i];
    static const bool near = true;
    const struct local_holder_terms terms = {.name = d->name,
                                             .duration_ms = DURATION_MS,
                                             .renew_ms = RENEW_MS,
                                             .release = !w->keep,
                                             .n_groups = 1};

    d->h = local_holder_new(&terms);
    d->alive = true;
    d->leaving = d->cut = false;
    d->request = NONE;
    d->listed_ms = 0;
    d->stopped_until_ms = 0;
    memset(d->kernel_ms, 0, sizeof d->kernel_ms); /* a start lets go of what is left */
    local_holder_reach(d->h, &near);
    local_holder_ready(d->h, true);
    d->view = w->watches ? local_lease_view_new(d->name, 1) : NULL;
    d->wrote_ms = 0;
    begin_watch(w, d);
}

static void end(struct director *d)
{
    local_holder_free(d->h);
    d->h = NULL;
    local_lease_view_free(STEAL(d->view));
    d->alive = false;
}

/* ---- its watch ------------------------------------------------------------------------------- */

static void show(struct world *w, struct director *d, unsigned whose, const struct lease *lease)
{
    static const bool near = true;
    char version[16];

    (void)snprintf(version, sizeof version, "%u", lease->version);
    const struct local_lease shown = {.version = version,
                                      .machine = "",
                                      .seen = {.name = w->directors[whose].name,
                                               .version = version,
                                               .ended = lease->ended,
                                               .duration_ms = DURATION_MS,
                                               .takes = lease->takes,
                                               .holds = &lease->holds,
                                               .near = &near}};
    local_lease_view_put(d->view, &shown);
    d->news = true;
}

/* From the state on, as after a resourceVersion that is too old. */
static void begin_watch(struct world *w, struct director *d)
{
    d->event = w->n_events;
    for (unsigned i = 0; d->view != NULL && i < N; i++) {
        if (w->leases[i].there) {
            show(w, d, i, &w->leases[i]);
        }
    }
}

static void watch(struct world *w, struct director *d)
{
    if (w->away || d->cut || d->view == NULL || w->now_ms < d->stream_ms) {
        return;
    }
    if (w->n_events - d->event > EVENTS) {
        begin_watch(w, d);
    }
    for (; d->event < w->n_events && chance(w, 3); d->event++) {
        const struct event *e = &w->events[d->event % EVENTS];
        show(w, d, e->whose, &e->lease);
    }
    d->stream_ms = chance(w, 300) ? w->now_ms + below(w, 20000) : w->now_ms;
}

static bool is_at_rest(const struct director *d, int64_t now_ms)
{
    return d->view != NULL && local_lease_view_is_current(d->view) &&
           now_ms < local_holder_rest_ms(d->h);
}

static void look_at_view(struct world *w, struct director *d)
{
    size_t n = 0;
    const struct local_lease_seen *others = local_lease_view_others(d->view, &n);

    w->looks++;
    d->news = false;
    local_holder_see_watched(d->h, others, n, d->wrote_ms, clock_of(w, d));
}

/* ---- one director ---------------------------------------------------------------------------- */

/* Slow for one alone is away for one alone, which apiLoss keep does not survive
 * without an overlap. */
static unsigned slowness(struct world *w)
{
    return !w->keep && chance(w, 12) ? 9000 : 60;
}

static void send(struct world *w, struct director *d, enum request request)
{
    w->lists += request == LIST;
    w->writes += request == WRITE;
    d->request = request;
    d->done = d->lost = false;
    d->sent_ms = clock_of(w, d);
    d->commit_ms = w->now_ms + below(w, slowness(w));
    d->answer_ms = d->commit_ms + below(w, slowness(w));
    if (request == WRITE) {
        d->turn = local_holder_claims(d->h, &d->body.holds);
        d->body.takes = local_holder_takes(d->h);
        d->body.ended = d->leaving && local_bucket_set_count(&d->body.holds) == 0;
    }
}

static void begin_request(struct world *w, struct director *d)
{
    int64_t now_ms = clock_of(w, d);

    local_holder_turn(d->h, now_ms);
    bool list_first = d->listed_ms == 0 || local_holder_is_tentative(d->h);
    if (list_first && d->listed_ms < now_ms - POLL_MS) {
        d->listed_ms = now_ms;
        send(w, d, LIST);
    } else if (now_ms >= local_holder_write_ms(d->h)) {
        send(w, d, WRITE);
    } else if (is_at_rest(d, now_ms)) {
        if (d->news) {
            look_at_view(w, d);
        }
    } else if (d->view != NULL && now_ms - d->wrote_ms < LATE_MS) {
        return;
    } else if (d->listed_ms < d->wrote_ms || now_ms - d->listed_ms >= POLL_MS) {
        d->listed_ms = now_ms;
        send(w, d, LIST);
    }
}

static void carry_out(struct world *w, unsigned i)
{
    struct director *d = &w->directors[i];

    d->done = true;
    d->lost = w->away || d->cut;
    if (d->lost) {
        return;
    }
    if (d->request == WRITE) {
        d->body.version = w->leases[i].version + 1;
        d->body.there = true;
        w->leases[i] = d->body;
        w->events[w->n_events++ % EVENTS] = (struct event){i, d->body};
    } else {
        memcpy(d->list, w->leases, sizeof d->list);
    }
    d->lost = !w->keep && chance(w, 50);
}

static void read_list(struct world *w, unsigned own)
{
    struct director *d = &w->directors[own];
    struct local_lease_seen seen[N];
    char versions[N][16];
    static const bool near = true;
    size_t n = 0;

    for (unsigned i = 0; i < N; i++) {
        const struct lease *l = &d->list[i];
        if (i != own && l->there) {
            (void)snprintf(versions[n], sizeof versions[n], "%u", l->version);
            seen[n] = (struct local_lease_seen){.name = w->directors[i].name,
                                                .version = versions[n],
                                                .ended = l->ended,
                                                .duration_ms = DURATION_MS,
                                                .takes = l->takes,
                                                .holds = &l->holds,
                                                .near = &near};
            n++;
        }
    }
    local_holder_see(d->h, seen, n, d->sent_ms, clock_of(w, d));
}

static void know_own(struct director *d, unsigned number)
{
    char version[16];

    if (d->view != NULL) {
        (void)snprintf(version, sizeof version, "%u", number);
        local_lease_view_wrote(d->view, version);
    }
}

static void hear_answer(struct world *w, unsigned i)
{
    struct director *d = &w->directors[i];
    bool ended = d->request == WRITE && d->body.ended;

    if (d->lost) {
        local_holder_failed(d->h);
    } else if (d->request == WRITE) {
        d->wrote_ms = clock_of(w, d);
        local_holder_wrote(d->h, d->turn, d->sent_ms, d->wrote_ms);
        know_own(d, d->body.version);
    } else {
        read_list(w, i);
        if (d->list[i].there) {
            know_own(d, d->list[i].version);
        }
    }
    d->request = NONE;
    if (ended && !d->lost) {
        end(d);
    }
}

/* The director's thread. */
static void change_kernel(struct world *w, struct director *d)
{
    int64_t now_ms = clock_of(w, d);

    local_holder_turn(d->h, now_ms);
    local_holder_dropping(d->h);
    int64_t left_ms = (local_holder_until_ms(d->h) - now_ms) / 1000 * 1000;
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        bool mine = local_holder_holds(d->h, 0, b) && left_ms > 0;
        w->moves += mine != (d->kernel_ms[b] > w->now_ms);
        d->kernel_ms[b] = mine ? w->now_ms + left_ms : 0;
    }
    local_holder_dropped(d->h);
}

static void step_of(struct world *w, unsigned i)
{
    struct director *d = &w->directors[i];

    if (d->alive && d->request != NONE && !d->done && w->now_ms >= d->commit_ms) {
        carry_out(w, i);
    }
    if (!d->alive || w->now_ms < d->stopped_until_ms) {
        return;
    }
    watch(w, d);
    if (d->request != NONE && d->done && w->now_ms >= d->answer_ms && chance(w, 2)) {
        hear_answer(w, i);
    } else if (d->request == NONE && chance(w, 2)) {
        begin_request(w, d);
    } else if (chance(w, 2)) {
        change_kernel(w, d);
    }
}

/* ---- the world ------------------------------------------------------------------------------- */

static void happen(struct world *w)
{
    struct director *d = &w->directors[below(w, N)];

    switch (below(w, 400)) {
    case 0:
    case 1:
        if (d->alive) {
            w->takeovers += local_holder_count(d->h).taken_dead != 0;
            end(d); /* killed */
        }
        break;
    case 2:
        d->leaving = d->alive;
        if (d->alive) {
            local_holder_leave(d->h);
        }
        break;
    case 3:
        d->stopped_until_ms = w->now_ms + below(w, 30000);
        break;
    case 4:
        d->cut = !w->keep && !d->cut;
        break;
    case 5:
        w->away = w->keep && !w->away;
        break;
    case 6:
    case 7:
    case 8:
        if (!d->alive) {
            start(w, (unsigned)(d - w->directors));
        }
        break;
    default:
        break;
    }
}

static void check(const struct world *w)
{
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        unsigned holders = 0;
        for (unsigned i = 0; i < N; i++) {
            holders += w->directors[i].kernel_ms[b] > w->now_ms;
        }
        if (holders > 1) {
            fail_msg("bucket %u has %u holders at %lld ms", b, holders, (long long)w->now_ms);
        }
    }
}

static struct world play(uint64_t seed, bool keep, bool watches)
{
    struct world w = {.seed = seed, .keep = keep, .watches = watches};

    w.events = xcalloc(EVENTS, sizeof *w.events);

    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(w.directors[i].name, sizeof w.directors[i].name, "d%u", i + 1);
        w.directors[i].offset_ms = 1000000 + below(&w, 100000000);
        start(&w, i);
    }
    for (unsigned n = 0; n < STEPS; n++) {
        w.now_ms += 1 + below(&w, chance(&w, 20) ? 400 : 30);
        happen(&w);
        check(&w);
        step_of(&w, below(&w, N));
        check(&w);
    }
    for (unsigned i = 0; i < N; i++) {
        if (w.directors[i].alive) {
            end(&w.directors[i]);
        }
    }
    free(w.events);
    return w;
}

static void play_all(bool keep, bool watches)
{
    struct sample s = sample_of_test(4);
    unsigned moves = 0;
    unsigned takeovers = 0;
    unsigned lists = 0;
    unsigned writes = 0;
    unsigned looks = 0;

    for (unsigned i = 0; i < SEEDS; i++) {
        if (sample_takes_number(&s, i)) {
            struct world w = play(i + 1, keep, watches);
            moves += w.moves;
            takeovers += w.takeovers;
            lists += w.lists;
            writes += w.writes;
            looks += w.looks;
        }
    }
    print_message(
        "# %u takes and drops in kernels, %u killed that had taken over; %u writes, %u lists, "
        "%u looks at a watch\n",
        moves, takeovers, writes, lists, looks);
    assert_true(moves > 10000);
    assert_true(watches == (looks > 0));
    assert_true(keep || takeovers > 0);
}

static void holder__kills_stops_and_cuts__never_two_kernels(void **state)
{
    (void)state;
    play_all(false, false);
}

static void holder__api_server_away_for_all__never_two_kernels(void **state)
{
    (void)state;
    play_all(true, false);
}

static void holder__kills_stops_and_cuts_with_watches__never_two_kernels(void **state)
{
    (void)state;
    play_all(false, true);
}

static void holder__api_server_away_for_all_with_watches__never_two_kernels(void **state)
{
    (void)state;
    play_all(true, true);
}

UNIT_MAIN(holder_random)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holder__kills_stops_and_cuts__never_two_kernels),
        cmocka_unit_test(holder__api_server_away_for_all__never_two_kernels),
        cmocka_unit_test(holder__kills_stops_and_cuts_with_watches__never_two_kernels),
        cmocka_unit_test(holder__api_server_away_for_all_with_watches__never_two_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
