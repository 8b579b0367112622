/* SPDX-License-Identifier: Apache-2.0 */
/* trial_fault.c: an edit of which a call fails, once or until it is healed; see trial.h.
 *
 * While a refusal lasts, the edit is tried again by the controller's back-off.  These retries are
 * watched, too: they may neither interrupt nor write. */
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/edits/history.h"
#include "tests/edits/judge.h"
#include "tests/edits/opened.h"
#include "tests/edits/trial_internal.h"
#include "tests/fault/stage.h"
#include "tests/fault/world.h"

/* A plan stops at the first refusal, so each of the first tries may come one step further than the
 * one before: four make the longest chain.  They are five minutes apart after a refusal that says
 * "invalid".  Two more follow before the first pause of adr/0050 is over. */
#define CHAIN_MS   1000000
#define RETRIES_MS 700000

/* E4: after one refusal for a missing right the edit is carried out as soon as after any. */
#define ONCE_MS 310000

/* Does the cloud say, again and again, that it does not take this? */
static bool refuses_for_good(const struct fault_kind *k)
{
    bool lasts =
        k->effect == EFFECT_NEVER || k->effect == EFFECT_WITHOUT || k->effect == EFFECT_DOWN;
    return lasts && k->status != 429 && strstr(k->name, "throttled") == NULL;
}

/* Until the chain of tries is over that begins with the one that was refused: the call that fails
 * may be one of a later try, of an edit that the cloud refuses for another reason, too. */
static int settle_chain(struct trial *t)
{
    int rc = ERR_OK;
    bool met = false;
    for (int64_t ms = 0; rc == ERR_OK && !met && ms < 2 * RIG_LATER; ms += CHAIN_MS) {
        met = probe_fired(t->s.probe);
        rc = stage_settle(&t->s, CHAIN_MS);
    }
    return rc;
}

/* E1 and E8: retries of what is refused neither interrupt nor write. */
static int watch_retries(struct trial *t, struct judge *j)
{
    if (!refuses_for_good(t->args->fault)) {
        return ERR_OK;
    }
    t->s.kind = NULL; /* the stage would heal it meanwhile */
    int rc = settle_chain(t);
    rc = rc == ERR_OK ? further_tries(t, RETRIES_MS, "it is refused for good") : rc;
    t->s.kind = t->args->fault;
    if (rc != ERR_OK) {
        return rc;
    }
    if (t->args->fault->effect == EFFECT_NEVER && atomic_load(&t->announced)) {
        judge_once(j, service_now(t, "web"), history_now(t->h));
    }
    return ERR_OK;
}

/* Google has said that it may be made: the first request of the kind is that question
 * (docs/adr/0049).  "gce compute.forwardingRules.insert /… #2" */
static bool is_withdrawn_on_google(const char *call)
{
    const char *number = strrchr(call, '#');
    return str_has_prefix(call, "gce ") && strstr(call, ".insert ") != NULL && number != NULL &&
           strtol(number + 1, NULL, 10) > 1;
}

/* "aws elb.CreateLoadBalancerListeners /a0123,443 #1": not one on a spare port, which
 * stands as "nodeport" (names_aws.c). */
static bool makes_listener(const char *call)
{
    return strstr(call, " elb.CreateLoadBalancerListeners /") != NULL &&
           strstr(call, ",nodeport #") == NULL;
}

/* E1 while the fault lasts. */
static void judge_down(struct trial *t, const struct judge *j)
{
    struct json_object *web = service_now(t, "web");
    struct json_object *reach = history_now(t->h);
    bool down = t->args->fault->effect == EFFECT_DOWN;
    if (down && is_withdrawn_on_google(t->args->call)) {
        judge_held(j, rig_world(t->s.rig));
    } else if (down && makes_listener(t->args->call)) {
        judge_torn(j, web, reach, atomic_load(&t->announced));
    } else {
        judge_course(j, web, reach, atomic_load(&t->announced));
    }
    opened_course(j, web, reach);
}

/* E1 while the fault lasts and after; in the end the same as without it. */
static int run_fault(struct trial *t, struct judge *j, const char *patch)
{
    const struct trial_args *args = t->args;
    bool down = fault_lasts(args->fault);
    t->s.began_ms = clock_now_ms(rig_clock(t->s.rig));
    probe_begin(t->s.probe, args->fault, args->call);
    history_begin(t->h);
    if (edit_now(t, patch) / 100 != 2) {
        return err_set(&t->err, ERR_BUG, "the edit is not taken");
    }
    bool soon = args->fault->effect == EFFECT_REFUSED && args->fault->status == 403;
    int rc = stage_settle(&t->s, down ? STAGE_HEALED_MS / 2 : soon ? ONCE_MS : RIG_LATER);
    if (rc == ERR_OK && args->fault->effect == EFFECT_STUCK) {
        rc = stage_restart(&t->s);
        rc = rc == ERR_OK ? stage_settle(&t->s, STAGE_HEALED_MS / 2) : rc;
    }
    rc = rc == ERR_OK && down ? watch_retries(t, j) : rc;
    if (rc == ERR_OK && down) {
        judge_nobody(j, service_now(t, "web"), history_now(t->h));
        judge_down(t, j);
        history_begin(t->h);
        probe_heal(t->s.probe);
        rc = stage_settle(&t->s, RIG_LATER);
    }
    if (rc == ERR_OK) {
        judge_course(j, service_now(t, "web"), history_now(t->h), atomic_load(&t->announced));
        opened_course(j, service_now(t, "web"), history_now(t->h));
        opened_end(j, service_now(t, "web"), history_now(t->h));
    }
    return rc;
}

/* Reverting the edit restored the former state. */
static int read_asked(struct trial *t)
{
    char *text = NULL;
    bool leaves = (edit_effects(&t->args->edit) & EDIT_LEAVES) != 0; /* it was not taken back */
    int rc = leaves ? ERR_OK : read_text(t, "asked", &text);
    if (rc == ERR_OK) {
        probe_stood(t->s.probe, text);
    }
    return rc;
}

enum trial_code trial_fault(const struct trial_args *args)
{
    struct trial t;
    char *want = NULL;
    open_trial(&t, args);
    int rc = begin(&t);
    rc = rc == ERR_OK ? read_text(&t, "end", &want) : rc;
    rc = rc == ERR_OK ? read_asked(&t) : rc;
    rc = rc == ERR_OK ? run_start(&t) : rc;
    if (rc != ERR_OK) {
        return close_trial(&t, rc, TRIAL_OK);
    }
    struct judge j = judge_of(&t, service_now(&t, "web"), history_now(t.h));
    rc = run_fault(&t, &j, edit_patch(t.s.a, &args->edit));
    bool met = probe_fired(t.s.probe);
    if (rc == ERR_OK) {
        compare_end(&t, want, "the fault is over, and");
        rc = stage_check_log(&t.s);
    }
    json_object_put(j.reach_before);
    return close_trial(&t, rc, met || t.found > 0 ? TRIAL_OK : TRIAL_PAST);
}
