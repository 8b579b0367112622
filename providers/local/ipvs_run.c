/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_run.c: how changes of virtual services and destinations are carried out: those of a wave in
 * one call, a code for each. */
#include "providers/local/plan/deeds.h"
#include "providers/local/provider.h"

#include <errno.h>

#include "common/lb/exec.h"

/* The sentence of one operation among several, of which the kernel's words were kept for
 * the first that failed. */
static void say(struct lb_op_run *run, int code, const struct err *first)
{
    const struct local_ipvs_change *c = run->op->arg;
    int error = code == ERR_CONFLICT  ? EEXIST
                : code == ERR_INVALID ? ENOENT
                : code == ERR_AUTH    ? EPERM
                                      : 0;

    if (error == 0 || local_ipvs_said(c, error, run->err) != code) {
        err_copy(run->err, first);
        run->err->code = code;
    }
}

static void run_ipvs(struct lb_op_run *const *runs, size_t n)
{
    struct local_provider *p = runs[0]->provider;
    struct local_ipvs_change *changes = ARENA_ARRAY(runs[0]->a, struct local_ipvs_change, n);
    int *codes = ARENA_ARRAY(runs[0]->a, int, n);
    struct err first = ERR_INIT;

    if (!local_may_write(runs[0])) {
        for (size_t i = 1; i < n; i++) {
            err_copy(runs[i]->err, runs[0]->err);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        changes[i] = *(const struct local_ipvs_change *)runs[i]->op->arg;
    }
    (void)p->kernel->ops->ipvs_change(p->kernel, changes, n, codes, &first);
    for (size_t i = 0; i < n; i++) {
        if (codes[i] == ERR_OK) {
            local_mirror_ipvs_change(p->mirror, &changes[i], clock_now_ms(p->clock));
        } else {
            say(runs[i], codes[i], &first);
        }
    }
}

const struct lb_op_type local_ipvs_type = {.name = "ipvs", .run_many = run_ipvs};
