/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c: fault-sweep, which lets every call of every flow fail in every way, one at a time.
 *
 *     fault-sweep                        the points of this run's turn, a twentieth (sample.h:
 *                                        TRIMTAB_SAMPLE, TRIMTAB_SAMPLE_TURN);
 *                                        TRIMTAB_SAMPLE=quick: of a tenth of the flows
 *     fault-sweep --all                  every point, as TRIMTAB_SAMPLE=all
 *     fault-sweep --cloud azure          that cloud's flows (gce)
 *     fault-sweep --flow F               every point of one flow
 *     fault-sweep --flow F --call N --kind K    one point, with the controller's log when it fails
 *     fault-sweep --list [--flow F]      flows and kinds; with a flow its calls and their numbers
 *
 * TRIMTAB_SWEEP_WHOLE names clouds ("gce azure aws"): those that the change under test touches
 * (scripts/lib/change.py).  Their flows marked `whole` run all their points if it is one cloud, a
 * sixth of them if it is two, a twelfth if it is three (half of the flows and a third or a sixth of
 * their points), and all of them in as many consecutive turns.  The first comment of the output
 * says which part of the points runs, and how to repeat it; with --flow every point runs.
 *
 * Output is TAP, one test per flow, and without --flow two about all of them.  Each run counts a
 * flow's calls first, in a play without faults, then lets them fail.  A point is one child process;
 * play.c says what it checks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/str.h"
#include "common/net/http.h"
#include "tests/fault/play.h"
#include "tests/fault/pool.h"
#include "tests/support/sample.h"

#define PARALLEL   4 /* a point waits more than it works */
#define PART_CI    20
#define PART_QUICK 200
/* Learning a flow's calls costs more than its few points: divisor of the number of flows per
 * run. */
#define FLOWS_CI    2
#define FLOWS_QUICK 10
#define FEW                                                                                        \
    10 /* that none of these points was met may be chance: the part of a flow with hardly a call */
#define CODE_OK   0
#define CODE_BAD  1
#define CODE_PAST 3 /* the call did not come */

struct sweep {
    struct arena *a;
    const char *dir;
    const char *program;
    /* the command line */
    const char *cloud;
    const char *flow; /* NULL: all */
    const char *call; /* number or words; NULL: all */
    const char *kind; /* NULL: all */
    bool list;
    struct sample sample; /* of the environment */
    struct sample flows;  /* that are played; and of each */
    struct sample points;
    bool touched;               /* by the change under test; of flows marked `whole`: */
    struct sample whole_flows;  /* those that are played, */
    struct sample whole_points; /* and of each */
    unsigned parallel;
    /* counts */
    size_t n_flows;
    size_t n_failed;
    size_t n_points;
    size_t n_past; /* of these */
};

struct point {
    struct play_point play;
    size_t number; /* of the call, from 1 */
};

/* ---- children -------------------------------------------------------------------------------- */

struct prepare {
    const struct flow *flow;
    const char *dir;
};

static int prepare_child(void *arg)
{
    const struct prepare *p = arg;
    struct err err = ERR_INIT;
    if (play_prepare(p->flow, p->dir, &err) == ERR_OK) {
        return CODE_OK;
    }
    printf("%s\n", err.message);
    return CODE_BAD;
}

static int point_child(void *arg)
{
    const struct point *p = arg;
    struct err err = ERR_INIT;
    bool met = false;
    int rc = play_point(&p->play, &met, &err);
    if (rc != ERR_OK) {
        printf("%s\n", err.message);
        return CODE_BAD;
    }
    return met ? CODE_OK : CODE_PAST;
}

/* ---- one flow -------------------------------------------------------------------------------- */

struct tally {
    struct sweep *s;
    struct arena *a;         /* of this flow */
    struct play_model model; /* its flow is set from the start */
    size_t points;
    size_t past;
    size_t bad;
};

static void point_ended(void *arg, struct pool_job *job)
{
    struct tally *t = arg;
    const struct point *p = job->arg;
    t->points++;
    t->past += job->code == CODE_PAST;
    if (job->code != CODE_OK && job->code != CODE_PAST) {
        t->bad++;
        printf("# failed: fault-sweep --flow %s --call %zu --kind %s   (%s)\n", t->model.flow->name,
               p->number, p->play.kind->name, p->play.call);
        if (job->code >= 100) {
            printf("#   ended by signal %d\n", job->code - 100);
        }
        pool_print_story(job);
    }
    (void)unlink(job->file);
}

static bool is_chosen(const struct sweep *s, const struct flow *f, size_t number, const char *call,
                      const struct fault_kind *k)
{
    if (s->kind != NULL ? !str_eq(s->kind, k->name)
                        : strstr(str_nonnull(f->but), k->name) != NULL) {
        return false;
    }
    if (s->call != NULL) {
        uint64_t n = 0;
        return str_to_u64(s->call, &n) ? n == number : strstr(call, s->call) != NULL;
    }
    if (s->flow != NULL) {
        return true;
    }
    const struct sample *part = s->touched && f->whole ? &s->whole_points : &s->points;
    _cleanup_(str_buf_done) struct str_buf name = STR_BUF_INIT;
    str_appendf(&name, "%s %s %s", f->name, call, k->name);
    return sample_takes(part, str_buf_text(&name));
}

/* A run of few points plays few flows, other ones in each turn: all of them in this number of
 * turns, and all of their points after all parts of the points.  Of flows marked `whole` it plays
 * each point when the change under test touches this cloud alone; with others a part that keeps the
 * run short. */
static void choose_flows(struct sweep *s, unsigned clouds_touched)
{
    uint64_t parts = s->sample.parts;
    uint64_t flows = parts >= PART_QUICK ? FLOWS_QUICK : parts >= PART_CI ? FLOWS_CI : 1;
    uint64_t part_whole = clouds_touched <= 1 ? 1 : (uint64_t)clouds_touched * (clouds_touched + 1);
    struct sample whole = s->sample;
    whole.parts = part_whole < parts ? part_whole : parts;
    sample_split(&s->sample, flows, &s->flows, &s->points);
    sample_split(&whole, flows, &s->whole_flows, &s->whole_points);
}

static bool is_played(const struct sweep *s, const struct flow *f)
{
    return s->flow != NULL
               ? str_eq(s->flow, f->name)
               : sample_takes(s->touched && f->whole ? &s->whole_flows : &s->flows, f->name);
}

static void sweep_points(struct tally *t)
{
    struct sweep *s = t->s;
    const struct play_model *m = &t->model;
    struct pool_job *jobs = NULL;
    size_t n_jobs = 0;
    for (size_t i = 0; i < m->n_calls; i++) {
        for (const struct fault_kind *k = fault_kinds; k->name != NULL; k++) {
            if (!fault_kind_fits(k, m->calls[i]) || !is_chosen(s, m->flow, i + 1, m->calls[i], k)) {
                continue;
            }
            struct point *p = ARENA_NEW(t->a, struct point);
            *p = (struct point){.number = i + 1};
            p->play = (struct play_point){
                .model = m, .call = m->calls[i], .kind = k, .verbose = s->call != NULL};
            jobs = xrealloc(jobs, (n_jobs + 1) * sizeof(*jobs));
            jobs[n_jobs] = (struct pool_job){.fn = point_child, .arg = p};
            jobs[n_jobs].file = arena_printf(t->a, "%s/out.%zu", s->dir, n_jobs);
            n_jobs++;
        }
    }
    pool_run(jobs, n_jobs, s->parallel, point_ended, t);
    free(jobs);
}

static void prepare_ended(void *arg, struct pool_job *job)
{
    (void)arg;
    (void)job;
}

/* Learns the flow's calls and end.  False: the run without faults is no good. */
static bool prepare_flow(struct tally *t)
{
    struct sweep *s = t->s;
    const struct flow *f = t->model.flow;
    struct prepare p = {.flow = f, .dir = s->dir};
    struct pool_job job = {.fn = prepare_child, .arg = &p};
    struct err err = ERR_INIT;
    job.file = arena_printf(t->a, "%s/out.prepare", s->dir);
    pool_run(&job, 1, 1, prepare_ended, NULL);
    if (job.code != CODE_OK) {
        printf("# the run of %s without faults fails, code %d\n", f->name, job.code);
        pool_print_story(&job);
        return false;
    }
    if (play_load(t->a, f, s->dir, &t->model, &err) != ERR_OK) {
        printf("# the run of %s without faults: %s\n", f->name, err.message);
        return false;
    }
    return true;
}

static void sweep_flow(struct sweep *s, const struct flow *f)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct tally t = {.s = s, .a = a, .model = {.flow = f}};
    double cpu_s = pool_cpu_s();
    bool ok = prepare_flow(&t);
    if (ok && s->list) {
        for (size_t i = 0; i < t.model.n_calls; i++) {
            printf("%4zu  %s\n", i + 1, t.model.calls[i]);
        }
        return;
    }
    if (ok) {
        sweep_points(&t);
        ok = t.bad == 0 && (t.past < t.points || t.points < FEW);
    }
    s->n_flows++;
    s->n_points += t.points;
    s->n_past += t.past;
    s->n_failed += !ok;
    printf("# %s: %zu calls, %zu points, %zu failed, %zu did not come, %.1f CPU s\n", f->name,
           t.model.n_calls, t.points, t.bad, t.past, pool_cpu_s() - cpu_s);
    printf("%s %zu - %s\n", ok ? "ok" : "not ok", s->n_flows, f->name);
    (void)fflush(stdout);
}

/* ---- all flows ------------------------------------------------------------------------------- */

#define RUN_ROWS 2

static void say_row(struct sweep *s, bool ok, const char *name)
{
    s->n_flows++;
    s->n_failed += !ok;
    printf("%s %zu - %s\n", ok ? "ok" : "not ok", s->n_flows, name);
}

/* A few points may miss their calls by chance; all parts together do not. */
static void judge_run(struct sweep *s)
{
    bool any_whole = false;
    const struct flow *f = NULL;
    for (size_t i = 0; (f = flow_at(s->cloud, i)) != NULL; i++) {
        any_whole = any_whole || f->whole;
    }
    say_row(s, s->n_points < FEW || s->n_past < s->n_points, "some of the calls came");
    say_row(s, any_whole, "the cloud has a flow that is marked whole");
}

/* ---- the command line ------------------------------------------------------------------------ */

static const char *value_of(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc) {
        fprintf(stderr, "%s wants a value\n", argv[*i]);
        exit(2);
    }
    return argv[++*i];
}

/* Returns how many clouds the change under test touches, and sets whether this one is among them
 * (TRIMTAB_SWEEP_WHOLE). */
static unsigned count_touched(struct sweep *s)
{
    unsigned clouds_touched = 0;
    size_t n = 0;
    char **clouds = str_split(s->a, str_nonnull(getenv("TRIMTAB_SWEEP_WHOLE")), ' ', &n);
    for (size_t i = 0; i < n; i++) {
        if (*clouds[i] != '\0' && flow_at(clouds[i], 0) == NULL) {
            fprintf(stderr, "TRIMTAB_SWEEP_WHOLE: no cloud %s\n", clouds[i]);
            exit(2);
        }
        clouds_touched += *clouds[i] != '\0';
        s->touched = s->touched || str_eq(clouds[i], s->cloud);
    }
    return clouds_touched;
}

static void parse(struct sweep *s, int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (sample_from_env(PART_CI, PART_QUICK, &s->sample, &err) != ERR_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(2);
    }
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--flow")) {
            s->flow = value_of(argc, argv, &i);
        } else if (str_eq(argv[i], "--cloud")) {
            s->cloud = value_of(argc, argv, &i);
        } else if (str_eq(argv[i], "--call")) {
            s->call = value_of(argc, argv, &i);
        } else if (str_eq(argv[i], "--kind")) {
            s->kind = value_of(argc, argv, &i);
        } else if (str_eq(argv[i], "--jobs")) {
            s->parallel = (unsigned)strtoul(value_of(argc, argv, &i), NULL, 10);
        } else if (str_eq(argv[i], "--all")) {
            s->sample.parts = 1;
        } else if (str_eq(argv[i], "--list")) {
            s->list = true;
        } else {
            fprintf(stderr, "unknown argument %s\n", argv[i]);
            exit(2);
        }
    }
    const struct flow *only = s->flow == NULL ? NULL : flow_find(s->flow);
    s->cloud = only == NULL ? s->cloud : str_or(only->cloud, "gce");
    bool known = flow_at(s->cloud, 0) != NULL && (s->flow == NULL || only != NULL) &&
                 (s->kind == NULL || fault_kind_find(s->kind) != NULL) && s->parallel > 0;
    if (!known) {
        fprintf(stderr, "no such cloud, flow or kind; see --list\n");
        exit(2);
    }
    choose_flows(s, count_touched(s));
}

static void list_names(const struct sweep *s)
{
    const struct flow *f = NULL;
    for (size_t i = 0; (f = flow_at(s->cloud, i)) != NULL; i++) {
        printf("flow %s\n", f->name);
    }
    for (const struct fault_kind *k = fault_kinds; k->name != NULL; k++) {
        printf("kind %s\n", k->name);
    }
}

static void say_which(const struct sweep *s)
{
    if (s->flow != NULL) {
        return;
    }
    sample_print(&s->sample, stdout);
    if (s->flows.parts > 1) {
        printf("# flows: part %llu of %llu; of each, points: part %llu of %llu\n",
               (unsigned long long)(s->flows.turn % s->flows.parts),
               (unsigned long long)s->flows.parts,
               (unsigned long long)(s->points.turn % s->points.parts),
               (unsigned long long)s->points.parts);
    }
    if (!s->touched || s->sample.parts <= s->whole_flows.parts * s->whole_points.parts) {
        return; /* flows marked whole are like the others */
    }
    if (s->whole_flows.parts * s->whole_points.parts == 1) {
        printf("# the change touches %s alone: its flows marked whole run every point\n", s->cloud);
    } else {
        printf("# the change touches %s and others: of its flows marked whole part %llu of %llu "
               "runs, and part %llu of %llu of their points\n",
               s->cloud, (unsigned long long)(s->whole_flows.turn % s->whole_flows.parts),
               (unsigned long long)s->whole_flows.parts,
               (unsigned long long)(s->whole_points.turn % s->whole_points.parts),
               (unsigned long long)s->whole_points.parts);
    }
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/trimtab-sweep-XXXXXX";
    struct sweep s = {.a = arena_new(), .parallel = PARALLEL, .cloud = "gce"};
    const struct flow *f = NULL;
    size_t planned = 0;
    parse(&s, argc, argv);
    (void)setenv("TRIMTAB_TEST_DATA", TRIMTAB_TEST_DATA, 0); /* meson test has set it */
    if (s.list && s.flow == NULL) {
        list_names(&s);
        arena_free(s.a);
        return 0;
    }
    if (http_global_init(NULL) != ERR_OK || mkdtemp(dir) == NULL) { /* once for all children */
        perror(dir);
        return 1;
    }
    s.dir = dir;
    for (size_t i = 0; (f = flow_at(s.cloud, i)) != NULL; i++) {
        planned += is_played(&s, f);
    }
    planned += s.flow == NULL ? RUN_ROWS : 0;
    if (!s.list) {
        printf("1..%zu\n", planned);
        say_which(&s);
    }
    for (size_t i = 0; (f = flow_at(s.cloud, i)) != NULL; i++) {
        if (is_played(&s, f)) {
            sweep_flow(&s, f);
        }
    }
    if (s.flow == NULL) {
        judge_run(&s);
    }
    if (!s.list) {
        printf("# %zu points, %.1f CPU s\n", s.n_points, pool_cpu_s());
    }
    pool_remove_dir(dir);
    arena_free(s.a);
    return s.n_failed == 0 ? 0 : 1;
}
