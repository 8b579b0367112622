/* SPDX-License-Identifier: Apache-2.0 */
/* test_holder_rules.c: who holds which buckets, sequence by sequence.  Rows with a number are those
 * of the provider's specification (§14.7); one of them in a table is a script, and what the
 * directors hold after it.
 *
 * Commands, parted by blanks; D is 1, 2 or 3:
 *   +D  starts   ready, as all that are started     -D  is killed     .D  ends (SIGTERM)
 *   tN  N tenths of a second go by, in steps of 100 ms, in which each director does what is due
 *   cD, mD  its requests fail from now on; no more  CA, MA  those of all
 *   sD  it is stopped (SIGSTOP): for it no time goes by until wD (SIGCONT)
 *   fD  hears a frame that claims an address of bucket 0 from another MAC
 *   dD, eD  label drain is put on its Lease, and taken off      xD  it does not reach the clients;
 *           yD it does
 *   ?   adds how many buckets each one's kernel has: "120+136+0"   !  adds the answer to the
 *                                                                  last frame */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/str.h"
#include "providers/local/leases/holder_rules.h"
#include "tests/support/unit.h"

#define N        3
#define STEP_MS  100
#define START_MS 1000000
#define MINE     0 /* a bucket of d1, beside d2 and without it */

struct lease {
    bool there, ended, takes, near, drain;
    unsigned version;
    struct local_bucket_set holds;
};
struct director {
    struct local_holder *h;
    bool cut, stopped, ends, near;
    int64_t listed_ms;
    int64_t kernel_ms[LOCAL_BUCKETS];
};
struct scene {
    int64_t now_ms;
    bool release;
    struct lease leases[N];
    struct director d[N];
    enum local_claim_answer said;
    unsigned doubles; /* moments in which a bucket was in two kernels */
    struct str_buf out;
};
static const char *const names[N] = {"d1", "d2", "d3"};

/* ---- a director ------------------------------------------------------------------------------ */

static void write_lease(struct scene *s, unsigned i)
{
    struct director *d = &s->d[i];
    struct lease l = s->leases[i];
    uint64_t turn = local_holder_claims(d->h, &l.holds);

    l.there = true;
    l.version++;
    l.takes = local_holder_takes(d->h);
    l.near = d->near;
    l.ended = d->ends && local_bucket_set_count(&l.holds) == 0;
    if (d->cut) {
        local_holder_failed(d->h);
        return;
    }
    s->leases[i] = l;
    local_holder_wrote(d->h, turn, s->now_ms, s->now_ms);
    if (l.ended) {
        local_holder_free(d->h);
        d->h = NULL;
    }
}

static void list(struct scene *s, unsigned own)
{
    struct director *d = &s->d[own];
    struct local_lease_seen seen[N];
    char versions[N][16];
    size_t n = 0;

    d->listed_ms = s->now_ms;
    for (unsigned i = 0; i < N; i++) {
        const struct lease *l = &s->leases[i];
        if (l->there && i == own) {
            local_holder_drain(d->h, l->drain);
        } else if (l->there) {
            (void)snprintf(versions[n], sizeof versions[n], "%u", l->version);
            seen[n] = (struct local_lease_seen){.name = names[i],
                                                .version = versions[n],
                                                .ended = l->ended,
                                                .duration_ms = 10000,
                                                .takes = l->takes && !l->drain,
                                                .holds = &l->holds,
                                                .near = &l->near};
            n++;
        }
    }
    if (d->cut) {
        local_holder_failed(d->h);
    } else {
        local_holder_see(d->h, seen, n, s->now_ms, s->now_ms);
    }
}

static void change_kernel(struct scene *s, struct director *d)
{
    local_holder_turn(d->h, s->now_ms);
    local_holder_dropping(d->h);
    int64_t left_ms = (local_holder_until_ms(d->h) - s->now_ms) / 1000 * 1000;
    for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
        bool mine = local_holder_holds(d->h, 0, b) && left_ms > 0;
        d->kernel_ms[b] = mine ? s->now_ms + left_ms : 0;
    }
    local_holder_dropped(d->h);
}

static void step_of(struct scene *s, unsigned i)
{
    struct director *d = &s->d[i];

    if (d->h == NULL || d->stopped) {
        return;
    }
    local_holder_turn(d->h, s->now_ms);
    bool first = d->listed_ms == 0 || local_holder_is_tentative(d->h);
    if (first) {
        list(s, i);
    }
    if (local_holder_write_ms(d->h) <= s->now_ms) {
        write_lease(s, i);
    }
    if (d->h != NULL && s->now_ms - d->listed_ms >= 500) {
        list(s, i);
    } else if (d->h != NULL && local_holder_must_list(d->h)) {
        list(s, i);
    }
    if (d->h != NULL) {
        change_kernel(s, d);
    }
}

/* ---- the script ------------------------------------------------------------------------------ */

static unsigned kernels(const struct scene *s, unsigned bucket)
{
    unsigned n = 0;

    for (unsigned i = 0; i < N; i++) {
        n += s->d[i].kernel_ms[bucket] > s->now_ms;
    }
    return n;
}

static void pass(struct scene *s, unsigned steps)
{
    for (unsigned n = 0; n < steps; n++) {
        s->now_ms += STEP_MS;
        for (unsigned i = 0; i < N; i++) {
            step_of(s, i);
            for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
                s->doubles += kernels(s, b) > 1;
            }
        }
    }
}

static void start(struct scene *s, unsigned i)
{
    const struct local_holder_terms terms = {.name = names[i],
                                             .duration_ms = 10000,
                                             .renew_ms = 3000,
                                             .release = s->release,
                                             .n_groups = 1};

    s->d[i] = (struct director){.h = local_holder_new(&terms), .near = true};
    local_holder_reach(s->d[i].h, &s->d[i].near);
    local_holder_ready(s->d[i].h, true);
}

static void end(struct scene *s, unsigned i)
{
    local_holder_free(s->d[i].h);
    s->d[i].h = NULL;
}

static void count(struct scene *s)
{
    for (unsigned i = 0; i < N; i++) {
        unsigned n = 0;
        for (unsigned b = 0; b < LOCAL_BUCKETS; b++) {
            n += s->d[i].kernel_ms[b] > s->now_ms;
        }
        str_appendf(&s->out, "%s%u", i == 0 ? "" : "+", n);
    }
    str_append(&s->out, " ");
}

/* Those about one director; false: it is another one. */
static bool run_one(struct scene *s, char what, unsigned i)
{
    struct director *d = &s->d[i];

    switch (what) {
    case '+':
        start(s, i);
        return true;
    case '-':
        end(s, i);
        return true;
    case '.':
        d->ends = true;
        local_holder_leave(d->h);
        return true;
    case 'c':
    case 'm':
        d->cut = what == 'c';
        return true;
    case 's':
    case 'w':
        d->stopped = what == 's';
        return true;
    case 'd':
    case 'e':
        s->leases[i].drain = what == 'd';
        return true;
    case 'x':
    case 'y':
        d->near = what == 'y';
        local_holder_reach(d->h, &d->near);
        return true;
    case 'f':
        s->said = local_holder_heard(d->h, 0, MINE, s->now_ms);
        return true;
    default:
        return false;
    }
}

static void run(struct scene *s, const char *command)
{
    static const char *const said[] = {"ignored ", "defend ", "yielded "};
    bool all = command[1] == 'A';

    if (*command == '?') {
        count(s);
    } else if (*command == '!') {
        str_append(&s->out, said[s->said]);
    } else if (*command == 't') {
        pass(s, (unsigned)strtoul(command + 1, NULL, 10));
    } else if (all) {
        for (unsigned i = 0; i < N; i++) {
            s->d[i].cut = *command == 'C';
        }
    } else if (!run_one(s, *command, (unsigned)(command[1] - '1'))) {
        fail_msg("no command: %s", command);
    }
}

static const struct row {
    const char *script, *want;
    bool release;     /* apiLoss */
    bool may_overlap; /* the specification allows it */
} rows[] = {
    /* R01: each bucket by one. */
    {"+1 +2 t30 ?", "120+136+0 "},
    /* R02: d1 is killed: gone ten seconds after its last renewal, taken by d2 a second later. */
    {"+1 +2 t30 -1 t60 ? t15 ? t15 ?", "120+136+0 0+136+0 0+256+0 "},
    /* R03: it ends. */
    {"+1 +2 t30 .1 t8 ?", "0+256+0 "},
    /* R04: 100 buckets move, all to d3, at once; and back when it is drained. */
    {"+1 +2 t30 +3 t20 ? d3 t20 ? e3 t20 ?", "72+84+100 120+136+0 72+84+100 "},
    /* R05: d1 is cut off from the API alone: it stays tentative, d2 takes over, a frame makes d1
     * yield the bucket. */
    {"+1 +2 t30 c1 t70 ? t30 ? f1 ! t1 ?", "120+136+0 120+256+0 yielded 119+256+0 ", false, true},
    /* … and with apiLoss release its addresses end. */
    {"+1 +2 t30 c1 t60 ? t15 ? t15 ?", "120+136+0 0+136+0 0+256+0 ", true, false},
    /* … when it is back it lets go of what others hold, and then gets its own back. */
    {"+1 +2 t30 c1 t150 m1 t1 ? t40 ?", "0+256+0 120+136+0 ", false, true},
    /* R06: the API server is away for all for ten minutes: no bucket moves, then neither. */
    {"+1 +2 t30 CA t6000 ? MA t60 ?", "120+136+0 120+136+0 "},
    /* … with apiLoss release all addresses end. */
    {"+1 +2 t30 CA t150 ? MA t150 ?", "0+0+0 120+136+0 ", true, false},
    /* R07: cut off from both: no frame is heard before it is back. */
    {"+1 +2 t30 c1 t150 f1 ! ?", "yielded 120+256+0 ", false, true},
    /* R08: stopped for 30 s. */
    {"+1 +2 t30 s1 t60 ? t15 ? t225 ? w1 t1 ? t40 ?",
     "120+136+0 0+136+0 0+256+0 0+256+0 120+136+0 "},
    /* A holder with a valid Lease defends; others ignore. */
    {"+1 +2 t30 f1 ! f2 !", "defend ignored "},
    /* A director that is drained without another one keeps all. */
    {"+1 t30 ? d1 t60 ?", "256+0+0 256+0+0 "},
    /* One that does not reach the clients gives all away, and gets them back. */
    {"+1 +2 t30 x1 t20 ? y1 t20 ?", "0+256+0 120+136+0 "},
    /* No director is left: nothing is held, and the first to come waits for the dead. */
    {"+1 +2 t30 -1 -2 t110 +1 t60 ? t60 ?", "120+0+0 256+0+0 "},
    /* A restart after a kill: its own buckets come back at once, since no other claims them. */
    {"+1 +2 t30 -1 t10 +1 t20 ?", "120+136+0 "},
};

static void holder__rows__buckets_in_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene s = {.now_ms = START_MS, .release = rows[i].release};
        char *script = xstrdup(rows[i].script);
        char *rest = script;
        for (char *word = strtok_r(script, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest)) {
            run(&s, word);
        }
        if (strcmp(str_buf_text(&s.out), rows[i].want) != 0) {
            fail_msg("%s\n  is   %s\n  want %s", rows[i].script, str_buf_text(&s.out),
                     rows[i].want);
        }
        if (rows[i].may_overlap != (s.doubles > 0)) {
            fail_msg("%s: %u moments with two kernels", rows[i].script, s.doubles);
        }
        for (unsigned d = 0; d < N; d++) {
            end(&s, d);
        }
        str_buf_done(&s.out);
        free(script);
    }
}

/* R12 and R13: only the monotonic clock counts, and another machine of the same name makes
 * it hold nothing. */
static void holder__halted__lets_go_and_takes_again(void **state)
{
    struct scene s = {.now_ms = START_MS};

    (void)state;
    start(&s, 0);
    pass(&s, 30);
    local_holder_halt(s.d[0].h, true);
    pass(&s, 5);
    count(&s);
    local_holder_halt(s.d[0].h, false);
    pass(&s, 20);
    count(&s);
    assert_string_equal(str_buf_text(&s.out), "0+0+0 256+0+0 ");
    end(&s, 0);
    str_buf_done(&s.out);
}

/* One that holds everything, whose last Lease was sent and written at *ret_now. */
static struct local_holder *alone(int64_t *ret_now)
{
    struct scene s = {.now_ms = START_MS};

    start(&s, 0);
    pass(&s, 5);
    int64_t now_ms = s.now_ms;
    struct local_bucket_set claims;
    uint64_t turn = local_holder_claims(s.d[0].h, &claims);
    assert_int_equal(local_bucket_set_count(&claims), LOCAL_BUCKETS);
    local_holder_wrote(s.d[0].h, turn, now_ms, now_ms);
    assert_int_equal(local_holder_until_ms(s.d[0].h), now_ms + 10000);
    *ret_now = now_ms;
    return s.d[0].h;
}

/* Others count from when they saw the Lease, which may be long before its writer
 * hears the answer. */
static void holder__answer_late__lifetimes_count_from_sending(void **state)
{
    int64_t now_ms = 0;
    struct local_holder *h = alone(&now_ms);
    struct local_bucket_set claims;
    uint64_t turn = local_holder_claims(h, &claims);

    (void)state;
    local_holder_wrote(h, turn, now_ms + 3000, now_ms + 8000);
    assert_int_equal(local_holder_until_ms(h), now_ms + 13000);
    assert_true(local_holder_holds(h, 0, MINE));
    local_holder_free(h);
}

/* The write may have been carried out after others took over: it renews nothing. */
static void holder__answer_after_the_lifetimes__holds_nothing(void **state)
{
    int64_t now_ms = 0;
    struct local_holder *h = alone(&now_ms);
    struct local_bucket_set claims;
    uint64_t turn = local_holder_claims(h, &claims);

    (void)state;
    local_holder_wrote(h, turn, now_ms + 9900, now_ms + 12000);
    assert_false(local_holder_holds(h, 0, MINE));
    assert_true(local_holder_write_ms(h) <= now_ms + 12000); /* its Lease still claims them */
    (void)local_holder_claims(h, &claims);
    assert_int_equal(local_bucket_set_count(&claims), 0);
    local_holder_free(h);
}

static void holder__counts__say_why_buckets_were_taken(void **state)
{
    struct scene s = {.now_ms = START_MS};

    (void)state;
    start(&s, 0);
    start(&s, 1);
    pass(&s, 30);
    end(&s, 0);
    pass(&s, 150);
    struct local_holder_counts c = local_holder_count(s.d[1].h);
    assert_int_equal(c.held, 256);
    assert_int_equal(c.taken_free, 136);
    assert_int_equal(c.taken_dead, 120);
    assert_int_equal(c.others, 0);
    assert_int_equal(c.lost, 0);
    end(&s, 1);
}

UNIT_MAIN(holder_rules)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holder__rows__buckets_in_kernels),
        cmocka_unit_test(holder__halted__lets_go_and_takes_again),
        cmocka_unit_test(holder__answer_late__lifetimes_count_from_sending),
        cmocka_unit_test(holder__answer_after_the_lifetimes__holds_nothing),
        cmocka_unit_test(holder__counts__say_why_buckets_were_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
