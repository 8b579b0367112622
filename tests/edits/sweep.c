/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c: fault-edits, which edits working Services in every way, also while calls fail.
 *
 *     fault-edits                        this run's part: a twentieth of the edits, a small part of
 *                                        their faults (sample.h)
 *     fault-edits --all                  everything, as TRIMTAB_SAMPLE=all
 *     fault-edits --cloud azure          that cloud's kinds (gce)
 *     fault-edits --kind K [--field GLOB] [--value TEXT]   all of that, without faults
 *     fault-edits … --and-field GLOB [--and-value TEXT]    each of these together with each of
 *                                                          those
 *     fault-edits … --fault NAME [--call N]                with that fault at every call, or at
 *                                                          one; "all" are all faults
 *     fault-edits … --fault cold|full|new                  while no controller runs, in a full
 *                                                          cloud, as a new Service (trial.h) alone
 *     fault-edits --time                 good edits alone, in a cloud that takes its time: how long
 *                                        each interrupts (docs/edits.md)
 *     fault-edits … --pairs N            N random pairs of each kind instead of single edits;
 *                                        TRIMTAB_SAMPLE_TURN is the seed
 *     fault-edits … --jobs N             N processes at a time (default: 4)
 *     fault-edits … --verbose            with the controller's log
 *     fault-edits --list                 kinds, fields, values and faults
 *     fault-edits --count                cases of all edits without faults, by kind and property
 *                                        (docs/edits-tests.md)
 *
 * known.txt names the known findings, by globs over "E1 KIND FIELD VALUE [+ FAULT]"; it may only
 * shrink: with --all a line that nothing meets is a failure.  The properties are in trial.h and
 * judge.h.  Output is TAP, one test per kind, and in the end the counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/str.h"
#include "tests/edits/known.h"
#include "tests/edits/tally.h"
#include "tests/edits/trial.h"
#include "tests/fault/pool.h"
#include "tests/support/sample.h"

#define PARALLEL      4
#define PART_CI       20
#define PART_QUICK    200
#define FAULTS_FACTOR 20 /* divisor of the number of faults tried per edit */
#define PAIRS         2  /* of each kind in a run */
#define PAIRS_ALL     200
#define STORY_MAX     (4 << 20)
#define WORLD_MAX     (64 << 20)

struct sweep {
    struct arena *a;
    const char *dir;
    const char *cloud, *kind, *field, *value, *field2, *value2, *fault, *call, *pairs, *jobs;
    bool list, count, verbose, all, time;
    unsigned parallel;
    struct sample edits, faults;
    struct known *known;
    struct tally tally;
    /* of the kind that is tried */
    struct json_object *start;
    size_t bad;
    /* of all */
    size_t n_kinds, n_failed_kinds, n_edits, n_refused, n_points, n_past, n_found, n_known_found;
};

enum job_what { JOB_START, JOB_NODES, JOB_EDIT, JOB_COLD, JOB_FULL, JOB_NEW, JOB_TIME, JOB_FAULT };
struct job {
    struct sweep *s;
    enum job_what what;
    struct trial_args args;
    size_t number; /* of the call, from 1 */
};

/* ---- children -------------------------------------------------------------------------------- */

static int child(void *arg)
{
    const struct job *j = arg;
    switch (j->what) {
    case JOB_START:
        return trial_start(j->args.edit.kind, j->args.dir);
    case JOB_NODES:
        return trial_nodes(&j->args);
    case JOB_EDIT:
        return trial_edit(&j->args);
    case JOB_COLD:
        return trial_cold(&j->args);
    case JOB_FULL:
        return trial_full(&j->args);
    case JOB_NEW:
        return trial_new(&j->args);
    case JOB_TIME:
        return trial_time(&j->args);
    case JOB_FAULT:
        return trial_fault(&j->args);
    }
    return TRIAL_BROKEN;
}

/* ---- findings -------------------------------------------------------------------------------- */

static const char *name_of(const struct job *j)
{
    const char *name = edit_name(j->s->a, &j->args.edit);
    if (j->what == JOB_FULL || j->what == JOB_NEW) {
        return arena_printf(j->s->a, "%s + %s", name, j->what == JOB_FULL ? "full" : "new");
    }
    if (j->what == JOB_FAULT) {
        return arena_printf(j->s->a, "%s + %s", name, j->args.fault->name);
    }
    return name;
}

static void say_again(const struct job *j)
{
    const struct edit *e = &j->args.edit;
    printf("#   again: fault-edits --kind %s --field '%s' --value '%s'", e->kind->name,
           e->field->name, e->value->json);
    if (e->field2 != NULL) {
        printf(" --and-field '%s' --and-value '%s'", e->field2->name, e->value2->json);
    }
    if (j->what == JOB_FAULT) {
        printf(" --fault %s --call %zu", j->args.fault->name, j->number);
    }
    printf("\n");
}

static void take_line(struct sweep *s, const struct job *j, const char *line)
{
    bool finding = line[0] == 'E' && line[1] >= '1' && line[1] <= '8' && line[2] == ':';
    if (!finding) {
        return;
    }
    const char *key = arena_printf(s->a, "%.2s %s", line, name_of(j));
    bool known = known_has(s->known, key);
    s->n_found += !known;
    s->n_known_found += known;
    s->bad += !known;
    tally_failure(&s->tally, j->args.edit.kind, line[1]);
    printf("# %s%s:%s\n", known ? "known: " : "FOUND: ", key, line + 3);
    if (!known) {
        say_again(j);
    }
}

/* The properties that a job has asserted. */
static const char *asserted(const struct job *j)
{
    bool leaves = (edit_effects(&j->args.edit) & EDIT_LEAVES) != 0;
    switch (j->what) {
    case JOB_START:
    case JOB_NODES:
        break;
    case JOB_EDIT:
        return j->args.plans ? leaves ? "15678" : "1235678" : leaves ? "1678" : "123678";
    case JOB_COLD:
        return leaves ? "45" : "345";
    case JOB_FULL:
        return leaves ? "14" : "134";
    case JOB_NEW:
        return "8";
    case JOB_TIME:
        return "1";
    case JOB_FAULT:
        return "148";
    }
    return "";
}

/* "announced 4200 TCP/80", as trial_time() has written it. */
static void take_time(struct sweep *s, const struct job *j)
{
    char *text = NULL;
    size_t n = 0;
    const char *path = arena_printf(s->a, "%s/%s.time", s->dir, j->args.file);
    if (file_read(s->a, path, STORY_MAX, &text, &n, NULL) != ERR_OK) {
        return; /* refused, or broken */
    }
    const struct edit *e = &j->args.edit;
    printf("# time\t%s\t%s\t%s\t%s\n", e->kind->name, e->field->name, e->value->json, text);
    if (str_has_prefix(text, "silent ") && !str_has_prefix(text, "silent 0 ")) {
        take_line(s, j, arena_printf(s->a, "E1: no plan announced: %s", text));
    }
}

static void job_ended(void *arg, struct pool_job *pj)
{
    struct sweep *s = arg;
    const struct job *j = pj->arg;
    char *text = NULL;
    size_t n = 0;
    s->n_past += pj->code == TRIAL_PAST;
    s->n_refused += pj->code == TRIAL_REFUSED && j->what == JOB_EDIT;
    if (pj->code == TRIAL_FOUND &&
        file_read(s->a, pj->file, STORY_MAX, &text, &n, NULL) == ERR_OK) {
        size_t n_lines = 0;
        char **lines = str_split(s->a, text, '\n', &n_lines);
        for (size_t i = 0; i < n_lines; i++) {
            take_line(s, j, lines[i]);
        }
    }
    if (pj->code == TRIAL_OK || pj->code == TRIAL_FOUND) {
        tally_case(&s->tally, j->args.edit.kind, asserted(j));
    }
    if (j->what == JOB_TIME) {
        take_time(s, j);
    }
    bool broken = pj->code == TRIAL_BROKEN || pj->code > TRIAL_PAST;
    if (broken) {
        char key[16] = "E0";
        bool known = known_has(s->known, arena_printf(s->a, "%s %s", key, name_of(j)));
        s->bad += !known;
        s->n_found += !known;
        s->n_known_found += known;
        printf("# %s: %s: code %d\n", known ? "known, broken" : "BROKEN", name_of(j), pj->code);
        if (!known) {
            say_again(j);
        }
    }
    if (s->verbose || (broken && s->bad < 3)) {
        pool_print_story(pj);
    }
    (void)unlink(pj->file);
}

/* ---- one kind -------------------------------------------------------------------------------- */

struct jobs {
    struct pool_job *at;
    size_t n;
};

static void add(struct sweep *s, struct jobs *jobs, const struct job *j)
{
    jobs->at = xrealloc(jobs->at, (jobs->n + 1) * sizeof(jobs->at[0]));
    jobs->at[jobs->n] =
        (struct pool_job){.fn = child,
                          .arg = arena_memdup(s->a, j, sizeof(*j)),
                          .file = arena_printf(s->a, "%s/out.%zu", s->dir, jobs->n)};
    jobs->n++;
}

static void run(struct sweep *s, struct jobs *jobs)
{
    pool_run(jobs->at, jobs->n, s->parallel, job_ended, s);
    free(jobs->at);
    *jobs = (struct jobs){0};
}

static bool is_about(const struct edit *e, const char *field, const char *value)
{
    return (field == NULL || str_glob(field, e->field->name)) &&
           (value == NULL || strstr(e->value->json, value) != NULL);
}

static bool is_chosen(const struct sweep *s, const struct edit *e)
{
    return is_about(e, s->field, s->value) &&
           (s->kind != NULL || sample_takes(&s->edits, edit_name(s->a, e)));
}

static void add_faults(struct sweep *s, struct jobs *jobs, const struct job *of)
{
    char *text = NULL;
    size_t n = 0;
    const char *path = arena_printf(s->a, "%s/%s.calls", s->dir, of->args.file);
    if (file_read(s->a, path, STORY_MAX, &text, &n, NULL) != ERR_OK) {
        return; /* the API server did not take the edit, or the trial broke */
    }
    char **calls = str_split(s->a, text, '\n', &n);
    for (size_t c = 0; c < n; c++) {
        for (const struct fault_kind *k = edit_faults; *text != '\0' && k->name != NULL; k++) {
            bool wanted = s->fault != NULL ? str_eq(s->fault, "all") || str_eq(s->fault, k->name)
                                           : s->kind == NULL;
            struct job j = *of;
            j.what = JOB_FAULT;
            j.number = c + 1;
            j.args.call = calls[c];
            j.args.fault = k;
            if (!wanted || !fault_call_writes(calls[c]) || !fault_kind_fits(k, calls[c]) ||
                (s->call != NULL && strtoul(s->call, NULL, 10) != c + 1) ||
                (s->fault == NULL &&
                 !sample_takes(&s->faults, arena_printf(s->a, "%s %s", name_of(&j), calls[c])))) {
                continue;
            }
            s->n_points++;
            add(s, jobs, &j);
        }
    }
}

static bool make_start(struct sweep *s, const struct edit_kind *k)
{
    struct jobs jobs = {0};
    char *text = NULL;
    size_t n = 0;
    struct job j = {.s = s,
                    .what = JOB_START,
                    .args = {.dir = s->dir,
                             .edit = {.kind = k,
                                      .field = &edit_fields_spec[0],
                                      .value = &edit_fields_spec[0].values[0]},
                             .file = k->name}};
    add(s, &jobs, &j);
    run(s, &jobs);
    const char *path = arena_printf(s->a, "%s/%s.start", s->dir, k->name);
    if (file_read(s->a, path, WORLD_MAX, &text, &n, NULL) != ERR_OK ||
        json_parse_arena(s->a, text, n, NULL, &s->start, NULL) != ERR_OK) {
        return false;
    }
    j.what = JOB_NODES;
    j.args.start = s->start;
    add(s, &jobs, &j);
    run(s, &jobs);
    return access(arena_printf(s->a, "%s/%s.nodes", s->dir, k->name), R_OK) == 0;
}

struct chosen {
    struct job *at;
    size_t n;
};

static void choose(struct sweep *s, struct chosen *c, const struct edit *e)
{
    struct job j = {.s = s,
                    .what = JOB_EDIT,
                    .args = {.dir = s->dir, .edit = *e, .start = s->start, .verbose = s->verbose}};
    j.args.file = arena_printf(s->a, "%s-%zu", e->kind->name, c->n);
    c->at = xrealloc(c->at, (c->n + 1) * sizeof(*c->at));
    c->at[c->n++] = j;
}

static size_t count_pairs(const struct sweep *s)
{
    return s->pairs != NULL  ? strtoul(s->pairs, NULL, 10)
           : s->kind != NULL ? 0
           : s->all          ? PAIRS_ALL
                             : PAIRS;
}

/* Pairs by the turn; with --and-field those that were asked for. */
static void choose_pairs(struct sweep *s, struct chosen *c, const struct edit_kind *k)
{
    struct edit one, other, both;
    size_t n = 0;
    while (edit_at(k, n, &one)) {
        n++;
    }
    struct rng *rng = rng_seeded_new(s->edits.turn + 1);
    for (size_t i = 0; i < count_pairs(s);) {
        (void)edit_at(k, rng_below(rng, n), &one);
        (void)edit_at(k, rng_below(rng, n), &other);
        if (edit_pair(&one, &other, &both)) {
            choose(s, c, &both);
            i++;
        }
    }
    for (size_t i = 0; s->field2 != NULL && i < n; i++) {
        (void)edit_at(k, i, &one);
        for (size_t m = 0; is_chosen(s, &one) && m < n; m++) {
            (void)edit_at(k, m, &other);
            if (is_about(&other, s->field2, s->value2) && edit_pair(&one, &other, &both)) {
                choose(s, c, &both);
            }
        }
    }
    rng_free(rng);
}

static void choose_edits(struct sweep *s, struct chosen *c, const struct edit_kind *k)
{
    struct edit e;
    bool alone = s->field2 == NULL && s->pairs == NULL;
    for (size_t i = 0; alone && edit_at(k, i, &e); i++) {
        if (is_chosen(s, &e)) {
            choose(s, c, &e);
        }
    }
    if (!s->time) {
        choose_pairs(s, c, k);
    }
}

static const struct {
    enum job_what what;
    const char *name; /* for --fault */
    bool not_good;    /* only of edits that are not good */
} others[] = {{JOB_COLD, "cold", false}, {JOB_FULL, "full", false}, {JOB_NEW, "new", true}};

/* Of the edits of a usual run one in six has a part that costs a run of its own. */
#define TURNS 6
static bool has_turn(const struct sweep *s, size_t nth, size_t part)
{
    return s->all || s->kind != NULL || (nth + part) % TURNS == 0;
}

static void add_others(struct sweep *s, struct jobs *jobs, const struct job *of, size_t nth)
{
    bool taken = access(arena_printf(s->a, "%s/%s.end", s->dir, of->args.file), R_OK) == 0;
    for (size_t i = 0; taken && i < ARRAY_LEN(others); i++) {
        struct job j = *of;
        j.what = others[i].what;
        bool turn = j.what == JOB_COLD || has_turn(s, nth, i);
        if (turn && (s->fault == NULL || str_eq(s->fault, others[i].name)) &&
            !(others[i].not_good && edit_is_good(&j.args.edit))) {
            add(s, jobs, &j);
        }
    }
}

static void try_edits(struct sweep *s, const struct chosen *c)
{
    struct jobs first = {0};
    struct jobs second = {0};
    for (size_t i = 0; i < c->n; i++) {
        c->at[i].args.plans = has_turn(s, i, 0);
        add(s, &first, &c->at[i]);
    }
    run(s, &first);
    for (size_t i = 0; i < c->n; i++) {
        add_others(s, &second, &c->at[i], i);
        add_faults(s, &second, &c->at[i]);
    }
    run(s, &second);
    s->n_edits += c->n;
}

static void try_times(struct sweep *s, const struct chosen *c)
{
    struct jobs jobs = {0};
    for (size_t i = 0; i < c->n; i++) {
        struct job *j = &c->at[i];
        j->what = JOB_TIME;
        if (edit_is_good(&j->args.edit) && (edit_effects(&j->args.edit) & EDIT_LEAVES) == 0) {
            add(s, &jobs, j);
            s->n_edits++;
        }
    }
    run(s, &jobs);
}

static void try_kind(struct sweep *s, const struct edit_kind *k)
{
    struct chosen c = {0};
    double cpu_s = pool_cpu_s();
    size_t points = s->n_points;
    s->bad = 0;
    bool ok = make_start(s, k);
    if (ok) {
        choose_edits(s, &c, k);
        (s->time ? try_times : try_edits)(s, &c);
    }
    free(c.at);
    s->n_kinds++;
    ok = ok && s->bad == 0;
    s->n_failed_kinds += !ok;
    printf("# %s: %zu edits, %zu faults, %zu findings, %.1f CPU s\n", k->name, c.n,
           s->n_points - points, s->bad, pool_cpu_s() - cpu_s);
    printf("%s %zu - %s\n", ok ? "ok" : "not ok", s->n_kinds, k->name);
    (void)fflush(stdout);
}

/* ---- the command line ------------------------------------------------------------------------ */

static void list(void)
{
    struct arena *a = arena_new();
    for (const struct edit_kind *k = edit_kinds; k->name != NULL; k++) {
        struct edit e;
        for (size_t i = 0; edit_at(k, i, &e); i++) {
            printf("%-11s %s\n", edit_nature_name(e.value->nature), edit_name(a, &e));
        }
    }
    for (const struct fault_kind *f = edit_faults; f->name != NULL; f++) {
        printf("fault       %s\n", f->name);
    }
    arena_free(a);
}

/* Each edit with all that is made of it, but for faults of calls. */
static void count(void)
{
    struct tally tally = {0};
    for (const struct edit_kind *k = edit_kinds; k->name != NULL; k++) {
        size_t natures[EDIT_CASE + 1] = {0};
        struct job j = {.args = {.plans = true}};
        size_t n = 0;
        for (; edit_at(k, n, &j.args.edit); n++) {
            natures[j.args.edit.value->nature]++;
            j.what = JOB_EDIT;
            tally_case(&tally, k, asserted(&j));
            for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                j.what = others[i].what;
                if (!others[i].not_good || !edit_is_good(&j.args.edit)) {
                    tally_case(&tally, k, asserted(&j));
                }
            }
        }
        printf("# edits: %-20s %zu", k->name, n);
        for (size_t i = EDIT_GOOD; i < ARRAY_LEN(natures); i++) {
            printf(" %s %zu", edit_nature_name((enum edit_nature)i), natures[i]);
        }
        printf("\n");
    }
    tally_print(&tally);
}

static const char *value_of(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc) {
        fprintf(stderr, "%s wants a value\n", argv[*i]);
        exit(2);
    }
    return argv[++*i];
}

static void parse(struct sweep *s, int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (sample_from_env(PART_CI, PART_QUICK, &s->edits, &err) != ERR_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(2);
    }
    const struct {
        const char *flag;
        const char **value;
    } flags[] = {{"--cloud", &s->cloud},      {"--kind", &s->kind},        {"--field", &s->field},
                 {"--value", &s->value},      {"--fault", &s->fault},      {"--call", &s->call},
                 {"--and-field", &s->field2}, {"--and-value", &s->value2}, {"--pairs", &s->pairs},
                 {"--jobs", &s->jobs}};
    for (int i = 1; i < argc; i++) {
        bool taken = false;
        for (size_t k = 0; k < ARRAY_LEN(flags) && !taken; k++) {
            taken = str_eq(argv[i], flags[k].flag);
            if (taken) {
                *flags[k].value = value_of(argc, argv, &i);
            }
        }
        s->all = s->all || str_eq(argv[i], "--all");
        s->list = s->list || str_eq(argv[i], "--list");
        s->count = s->count || str_eq(argv[i], "--count");
        s->time = s->time || str_eq(argv[i], "--time");
        s->verbose = s->verbose || str_eq(argv[i], "--verbose");
        if (!taken && !str_eq(argv[i], "--all") && !str_eq(argv[i], "--list") &&
            !str_eq(argv[i], "--count") && !str_eq(argv[i], "--time") &&
            !str_eq(argv[i], "--verbose")) {
            fprintf(stderr, "unknown argument %s\n", argv[i]);
            exit(2);
        }
    }
    s->parallel = s->jobs != NULL ? (unsigned)strtoul(s->jobs, NULL, 10) : s->parallel;
    s->edits.parts = s->all ? 1 : s->edits.parts;
    s->all = s->edits.parts == 1;
    s->faults = s->edits;
    s->faults.parts = s->all ? 1 : FAULTS_FACTOR;
    s->faults.turn =
        s->edits.turn / s->edits.parts; /* another part each time that the edits begin again */
    if (s->kind != NULL && edit_kind_find(s->kind) == NULL) {
        fprintf(stderr, "no kind %s; see --list\n", s->kind);
        exit(2);
    }
    if (s->parallel == 0) {
        fprintf(stderr, "--jobs wants a number\n");
        exit(2);
    }
}

static bool takes_kind(const struct sweep *s, const struct edit_kind *k)
{
    return s->kind != NULL ? str_eq(s->kind, k->name) : str_eq(s->cloud, k->cloud);
}

/* With --all a line of known.txt about this cloud that nothing met is a failure; but for one about
 * a pair, as pairs are drawn. */
static void judge_known(struct sweep *s)
{
    bool ok = true;
    for (size_t i = 0; s->all && !s->time && s->kind == NULL && i < s->known->n; i++) {
        const char *line = s->known->lines[i];
        bool ours = str_glob(arena_printf(s->a, "E? %s-*", s->cloud), line);
        if (ours && !s->known->met[i] && strstr(line, " & ") == NULL) {
            ok = false;
            printf("# known.txt: nothing meets \"%s\" any more: take it out\n", s->known->lines[i]);
        }
    }
    s->n_kinds++;
    s->n_failed_kinds += !ok;
    printf("%s %zu - every line of known.txt is true\n", ok ? "ok" : "not ok", s->n_kinds);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/trimtab-edits-XXXXXX";
    struct sweep s = {.a = arena_new(), .cloud = "gce", .parallel = PARALLEL};
    struct err err = ERR_INIT;
    size_t planned = 1;
    parse(&s, argc, argv);
    if (s.list || s.count) {
        (s.list ? list : count)();
        arena_free(s.a);
        return 0;
    }
    (void)setenv("TRIMTAB_TEST_DATA", TRIMTAB_TEST_DATA, 0); /* meson test has set it */
    s.known = known_read(s.a, &err);
    if (s.known == NULL) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        return 1;
    }
    s.dir = dir;
    for (const struct edit_kind *k = edit_kinds; k->name != NULL; k++) {
        planned += takes_kind(&s, k);
    }
    printf("1..%zu\n", planned);
    if (s.kind == NULL) {
        sample_print(&s.edits, stdout);
    }
    for (const struct edit_kind *k = edit_kinds; k->name != NULL; k++) {
        if (takes_kind(&s, k)) {
            try_kind(&s, k);
        }
    }
    tally_print(&s.tally);
    judge_known(&s);
    printf("# %zu edits (%zu refused by the API server), %zu faults (%zu did not come), %zu "
           "findings, %zu known, %.1f CPU s\n",
           s.n_edits, s.n_refused, s.n_points, s.n_past, s.n_found, s.n_known_found, pool_cpu_s());
    pool_remove_dir(dir);
    arena_free(s.a);
    return s.n_failed_kinds == 0 ? 0 : 1;
}
