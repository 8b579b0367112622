/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_rest.c: rests within an episode of fault-chaos, and the quiet stretch after each.
 *
 * What is wrong in the middle of an episode may have been fixed at its end by an edit that came
 * later.  So an episode comes to rest now and then: its faults end, and every allowed client must
 * reach its Service (reached.h), at its former address.  Then follow some actions without faults
 * and without other writers, and each moment of these is checked: clients that were served and are
 * still allowed are served.  Which actions are preceded by a rest depends on the episode's seed. */
#include "tests/fault/chaos.h"

#define ONE_OF      24 /* actions is preceded by a rest, a large cluster's: */
#define ONE_OF_MANY 60
#define MANY        40 /* Services */
#define QUIET_MAX   8  /* actions of a stretch */
#define MIX         0x9e3779b97f4a7c15ULL

void chaos_rest_choose(struct chaos *c, uint64_t seed)
{
    c->rests = rng_seeded_new(seed ^ MIX);
}

static void others(struct chaos *c, bool act)
{
    if (c->cloud->others != NULL) {
        c->cloud->others(c, act);
    }
}

static int settle(struct chaos *c)
{
    int rc = c->cloud->calm == NULL ? ERR_OK : c->cloud->calm(c);
    return rc == ERR_OK ? stage_settle(&c->s, RIG_LATER) : rc;
}

static int check_moved(struct chaos *c)
{
    const char *moved = probe_moved(c->s.probe, c->s.a);
    return moved == NULL ? ERR_OK
                         : err_set(c->s.err, ERR_CONFLICT, "the address changed: %s", moved);
}

static int play_quietly(struct chaos *c)
{
    uint64_t n = rng_below(c->rests, QUIET_MAX);
    int rc = ERR_OK;
    str_appendf(&c->story, "quiet %llu\n", (unsigned long long)n);
    reached_begin(c->s.reached);
    for (uint64_t i = 0; i < n && rc == ERR_OK; i++) {
        rc = chaos_act(c);
    }
    rc = rc == ERR_OK ? settle(c) : rc;
    rc = rc == ERR_OK ? reached_check(c->s.reached, c->s.err) : rc;
    return rc == ERR_OK ? check_moved(c) : rc;
}

int chaos_rest(struct chaos *c, int i)
{
    uint64_t one_of = c->n_services > MANY ? ONE_OF_MANY : ONE_OF;
    if (rng_below(c->rests, one_of) != 0) {
        return ERR_OK;
    }
    str_appendf(&c->story, "rest before action %d\n", i);
    int rc = chaos_heal(c);
    others(c, false);
    c->quiet = true;
    rc = rc == ERR_OK ? settle(c) : rc;
    rc = rc == ERR_OK ? reached_rest(c->s.reached, "default/svc-", c->s.err) : rc;
    rc = rc == ERR_OK ? check_moved(c) : rc;
    rc = rc == ERR_OK ? play_quietly(c) : rc;
    c->quiet = false;
    others(c, true);
    return rc;
}
