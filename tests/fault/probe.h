/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h: sits in the simulator, writes down the controller's calls, and lets one of them fail.
 *
 * A call is known by what it is, not by when it comes: API, operation, path (names.h) and how many
 * of the same came before.  Calls that run at the same time may arrive in any order; their names
 * stay.  The test's own calls do not count. */
#ifndef TRIMTAB_TESTS_FAULT_PROBE_H
#define TRIMTAB_TESTS_FAULT_PROBE_H

#include "tests/fault/names.h"
#include "tests/support/rig.h"

/* Faults of a call. */
enum fault_effect {
    EFFECT_REFUSED = 0, /* this one */
    EFFECT_DOWN, /* this one and all like it, until healed; refused as `fault` says, if it does */
    EFFECT_WITHOUT, /* the same, and so are those like it that come before it */
    /* this one and all that ask for the same (body), until healed: others of its kind go through */
    EFFECT_NEVER,
    EFFECT_LOST, /* it is done, its answer never comes */
    EFFECT_KILLED_BEFORE,
    EFFECT_KILLED_AFTER,
    /* The controller dies before it, and the next process is refused as by EFFECT_NEVER.  This and
     * the next: not of a call that asks for what stood at first (probe_stood()), word for word: a
     * cloud that takes that no more takes nothing back. */
    EFFECT_KILLED_NEVER,
    /* as EFFECT_NEVER, and until the controller is started again others like it are refused, too */
    EFFECT_STUCK,
    EFFECT_FAULT, /* what `fault` says befalls this one */
};
enum fault_scope {
    SCOPE_ALL = 0,
    SCOPE_BUT_AWS,
    SCOPE_WRITES_BUT_AWS, /* calls that change something */
    SCOPE_MAKES_BUT_AWS,  /* the same without deletions: no cloud says "not found" of what it has */
    SCOPE_CLOUD_WRITES,   /* in Google's or Azure's cloud */
    SCOPE_CLOUD,
    SCOPE_WRITES_OF_ANY, /* that change something in a cloud */
    SCOPE_WATCHES,       /* LIST and WATCH of Kubernetes */
    SCOPE_GOOGLE_WRITES,
    SCOPE_AZURE,
    SCOPE_AZURE_WRITES,
    SCOPE_AWS,
    SCOPE_EC2_WRITES,
    SCOPE_ELB_WRITES, /* of both kinds of balancers */
    SCOPE_EC2_ADDS,   /* that name something which may be new */
    SCOPE_ELB_ADDS,
    SCOPE_AWS_ADDS,
};
struct fault_kind {
    const char *name; /* "refused-503"; NULL ends the table */
    enum fault_effect effect;
    int status; /* of the refusal */
    enum fault_scope scope;
    /* JSON, as POST /sim/faults takes it; EFFECT_FAULT and, without match and count,
     * refusals that last */
    const char *fault;
};
extern const struct fault_kind fault_kinds[];
/* It is over only when the probe is healed. */
bool fault_lasts(const struct fault_kind *k);
const struct fault_kind *fault_kind_find(const char *name); /* NULL: no such kind */

/* One call: "gce compute.firewalls.insert projects/p/global/firewalls #1". */
/* The call changes something in a cloud. */
bool fault_call_writes(const char *call);
bool fault_kind_fits(const struct fault_kind *k, const char *call);

struct probe;

/* Listens from now on; `names` is borrowed. */
struct probe *probe_new(struct rig *r, struct names *names) _warn_unused_;
void probe_free(struct probe *p); /* the rig must be gone */
/* `fn` is called in the simulator's thread before each call of the controller. */
void probe_listen(struct probe *p, void (*fn)(void *arg, const struct sim_call *call), void *arg);
/* The same after each of its calls has had its effect, before it hears of it. */
void probe_watch(struct probe *p, void (*fn)(void *arg, const struct sim_call *call), void *arg);
/* The same after each call, beside who watches: `call->status` tells how it ended. */
void probe_listen_done(struct probe *p, void (*fn)(void *arg, const struct sim_call *call),
                       void *arg);
/* The same after every call, of the test, too. */
void probe_overhear(struct probe *p, void (*fn)(void *arg, const struct sim_call *call), void *arg);
/* The cloud did what the call asks for; false: it was refused, or its operation will fail. */
bool probe_did(const struct sim_call *call);
/* For who listens: that fault befalls this very call. */
void probe_strike_now(const struct sim_call *call, const char *fault);
/* Forgets what was written down, and lets that call fail when it comes (NULL: none). */
void probe_begin(struct probe *p, const struct fault_kind *kind, const char *call);
/* All calls since then, sorted, in the arena. */
const char **probe_calls(struct probe *p, struct arena *a, size_t *ret_n);
int64_t probe_count(struct probe *p);
/* Writes to a cloud since then that were not refused; the first one's name, in the arena,
 * if there was one. */
size_t probe_writes_done(struct probe *p, struct arena *a, const char **ret_first);
/* Counts them from now on. */
void probe_forget_writes(struct probe *p);
/* The cloud calls since the last such call, as digests, in the arena; and that made what stood
 * first, in such a text. */
const char *probe_asked(struct probe *p, struct arena *a);
void probe_stood(struct probe *p, const char *asked); /* NULL: nothing is known */
bool probe_fired(struct probe *p);                    /* the call came */
/* the controller's requests are no longer answered */
bool probe_is_dead(struct probe *p);
/* Faults are over; the controller that died must be gone. */
void probe_heal(struct probe *p);
/* The same before a new controller starts; a refusal that outlives the old one
 * (EFFECT_KILLED_NEVER, EFFECT_STUCK) stays. */
void probe_bury(struct probe *p);
/* Kills the controller around its `nth` call from now (1 is the next). */
void probe_kill_at(struct probe *p, int64_t nth, enum fault_effect before_or_after);
/* From now on each call has that chance to be refused, lost, cut off, slowed down, in a way that
 * `seed` chooses; 0: none.  Healing ends it. */
void probe_storm(struct probe *p, unsigned per_mille, uint64_t seed);
/* From now on that Service's address may change (the user asked for it), until it has been
 * published again. */
void probe_may_move(struct probe *p, const char *uid);
/* The first Service whose published address changed without an edit: "web: 203.0.113.1, then
 * 203.0.113.2"; or NULL. */
const char *probe_moved(struct probe *p, struct arena *a);

#endif
