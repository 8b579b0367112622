/* SPDX-License-Identifier: Apache-2.0 */
/* trial_internal.h: the steps that trials share.  Private to trial*.c. */
#ifndef TRIMTAB_TESTS_EDITS_TRIAL_INTERNAL_H
#define TRIMTAB_TESTS_EDITS_TRIAL_INTERNAL_H

#include <stdatomic.h>

#include "tests/edits/deed.h"
#include "tests/edits/history.h"
#include "tests/edits/judge.h"
#include "tests/edits/trial.h"
#include "tests/fault/stage.h"

#define SOON_MS   60000 /* nodes come and go within it, whatever else is wrong */
#define STATE_MAX (64 << 20)

struct trial {
    struct stage s;
    struct err err;
    const struct trial_args *args;
    struct history *h;
    struct deed *d;
    size_t found;
    const char *unfit;     /* why trimtab plan -f takes the manifest for none; NULL: it does not */
    atomic_bool announced; /* a plan of the edit said that traffic is interrupted */
};

void open_trial(struct trial *t, const struct trial_args *args);
/* Ends the rig.  Returns `code`, or what `rc` or the findings make of it. */
enum trial_code close_trial(struct trial *t, int rc, enum trial_code code);
int open_kind(struct trial *t, const struct edit_kind *k, struct json_object *world);
/* The kind's world, with a history and a deed. */
int begin(struct trial *t);
/* The controller starts, and has nothing to do. */
int run_start(struct trial *t);
const char *file_of(struct trial *t, const char *name, const char *ext);
/* The file of this edit with that extension. */
int write_text(struct trial *t, const char *ext, const char *text);
int read_text(struct trial *t, const char *ext, char **ret);
/* The present Service, also while the controller is dead; arena. */
struct json_object *service_now(struct trial *t, const char *name);
/* Sends the patch, if need be to a new controller; the status of the last answer. */
int edit_now(struct trial *t, const char *patch);
/* E3: a node comes and another goes, and web follows as near does. */
int nodes_come_and_go(struct trial *t, const struct judge *j);
/* E2: as it was before; then nothing is left to do. */
int take_back(struct trial *t, const struct judge *j, const char *patch);
/* One finding; `arg` is the trial. */
void report(void *arg, const char *line);
/* E4: the cloud and its Services are as after the edit without a fault. */
void compare_end(struct trial *t, const char *want, const char *when);
/* E8: tries of the next `ms` write nothing; `why` begins the finding. */
int further_tries(struct trial *t, int64_t ms, const char *why);
/* Takes a reference to `reach`. */
struct judge judge_of(struct trial *t, struct json_object *before, struct json_object *reach);

#endif
