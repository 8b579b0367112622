/* SPDX-License-Identifier: Apache-2.0 */
/* deeds.c: fault-deeds, which compares plan and deed over the flows of the fault sweep (deed.h,
 * E5).
 *
 *     fault-deeds [--cloud azure]     this run's part of that cloud's flows (gce): a tenth
 *     fault-deeds --flow GLOB         those
 *     fault-deeds … --verbose         with the plan and the controller's log
 *
 * A flow's edits are made while no controller runs: creations, deletions, changes of kind, several
 * Services at once.  Then `trimtab plan` is asked, and the controller carries it out.  known.txt
 * names the known findings, as "E5 flow NAME".  Output is TAP, one test per flow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/str.h"
#include "tests/edits/deed.h"
#include "tests/edits/known.h"
#include "tests/fault/play.h"
#include "tests/fault/pool.h"
#include "tests/fault/stage.h"
#include "tests/support/sample.h"

#define PARALLEL   4
#define PART_CI    20
#define PART_QUICK 200
#define STORY_MAX  (4 << 20)

enum code { CODE_OK, CODE_FOUND, CODE_BROKEN };

struct deeds {
    struct arena *a;
    struct known *known;
    const char *cloud, *flow;
    bool verbose;
    size_t n, n_bad;
};

struct job {
    const struct deeds *all;
    const struct flow *flow;
};

/* ---- one flow, in a process of its own ------------------------------------------------------- */

struct run {
    const struct job *job;
    struct deed *d;
    size_t found;
};

static void report(void *arg, const char *line)
{
    struct run *r = arg;
    r->found++;
    printf("%s\n", line);
}

static int edited(void *arg, struct stage *s, struct err *err)
{
    struct run *r = arg;
    const struct flow *f = r->job->flow;
    r->d = deed_new(s->rig, s->probe, str_or(f->cloud, "gce"), f->flags);
    int rc = deed_plan(r->d, NULL, err);
    deed_begin(r->d);
    if (rc == ERR_OK && r->job->all->verbose) {
        printf("%s\n", json_text(s->a, deed_document(r->d), JSON_PRETTY));
    }
    return rc;
}

static int rested(void *arg, struct stage *s, struct err *err)
{
    struct run *r = arg;
    (void)err;
    if (r->job->all->verbose) {
        printf("%s", rig_log(s->rig));
    }
    deed_judge(r->d, (struct deed_ear){report, r});
    return ERR_OK;
}

static int child(void *arg)
{
    struct run r = {.job = arg};
    struct err err = ERR_INIT;
    const struct play_ear ear = {edited, rested, &r};
    int rc = play_cold(r.job->flow, &ear, &err);
    deed_free(r.d);
    if (rc != ERR_OK) {
        printf("%s\n", err.message);
        return CODE_BROKEN;
    }
    return r.found > 0 ? CODE_FOUND : CODE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void ended(void *arg, struct pool_job *pj)
{
    struct deeds *all = arg;
    const struct job *j = pj->arg;
    const char *key = arena_printf(all->a, "E5 flow %s", j->flow->name);
    bool known = pj->code != CODE_OK && known_has(all->known, key);
    bool ok = pj->code == CODE_OK || known;
    all->n++;
    all->n_bad += !ok;
    if (pj->code != CODE_OK || all->verbose) {
        pool_print_story(pj);
    }
    printf("%s %zu - %s%s\n", ok ? "ok" : "not ok", all->n, j->flow->name, known ? " # known" : "");
    (void)fflush(stdout);
    (void)unlink(pj->file);
}

static bool is_chosen(const struct deeds *all, const struct sample *sample, const struct flow *f)
{
    return play_can_be_cold(f) &&
           (all->flow != NULL ? str_glob(all->flow, f->name) : sample_takes(sample, f->name));
}

static void parse(struct deeds *all, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char **to = str_eq(argv[i], "--cloud")  ? &all->cloud
                          : str_eq(argv[i], "--flow") ? &all->flow
                                                      : NULL;
        all->verbose = all->verbose || str_eq(argv[i], "--verbose");
        if (to != NULL && i + 1 < argc) {
            *to = argv[++i];
        } else if (!str_eq(argv[i], "--verbose")) {
            fprintf(stderr, "unknown argument %s\n", argv[i]);
            exit(2);
        }
    }
}

static size_t choose(struct deeds *all, const struct sample *sample, const char *dir,
                     struct pool_job **ret)
{
    const struct flow *f;
    size_t n = 0;
    for (size_t i = 0; (f = flow_at(all->cloud, i)) != NULL; i++) {
        if (is_chosen(all, sample, f)) {
            struct job *j = ARENA_NEW(all->a, struct job);
            *j = (struct job){all, f};
            *ret = xrealloc(*ret, (n + 1) * sizeof **ret);
            (*ret)[n] = (struct pool_job){
                .fn = child, .arg = j, .file = arena_printf(all->a, "%s/out.%zu", dir, n)};
            n++;
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    struct deeds all = {.a = arena_new()};
    struct err err = ERR_INIT;
    struct sample sample;
    struct pool_job *jobs = NULL;
    char dir[] = "/tmp/trimtab-deeds.XXXXXX";
    parse(&all, argc, argv);
    (void)setenv("TRIMTAB_TEST_DATA", TRIMTAB_TEST_DATA, 0);
    if (sample_from_env(PART_CI, PART_QUICK, &sample, &err) != ERR_OK ||
        (all.known = known_read(all.a, &err)) == NULL || mkdtemp(dir) == NULL) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    sample_print(&sample, stdout);
    size_t n = choose(&all, &sample, dir, &jobs);
    printf("1..%zu\n", n);
    pool_run(jobs, n, PARALLEL, ended, &all);
    printf("# %zu flows, %zu of them bad, %.1f CPU s\n", n, all.n_bad, pool_cpu_s());
    pool_remove_dir(dir);
    free(jobs);
    arena_free(all.a);
    return all.n_bad > 0 ? 1 : 0;
}
