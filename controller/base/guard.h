/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h: the last words of a process that dies inside a provider.
 *
 * A provider is code in this process: its SIGSEGV, abort() (a C++ exception is one) or exit() ends
 * everything.  The guard knows which call each thread is in; when such an end comes, it writes one
 * log line with provider, call and Service, closes the fence, lets a program of the same file count
 * the death (quarantine.h), and lets the process die as it would have: same signal, same status.
 * The handler uses async-signal-safe functions alone; in the healthy case a call costs two stores.
 *
 * The state is the process's, because signals are: it lives in guard.c. */
#ifndef TRIMTAB_CONTROLLER_GUARD_H
#define TRIMTAB_CONTROLLER_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <trimtab/types.h>

/* A call that this thread, or this task (common/base/task.h), is in; on the caller's stack, or in
 * memory that lives as long as the call. */
struct guard_mark {
    const char *function; /* "ensure_load_balancer" */
    const char *key; /* for people: "namespace/name", "namespace/name and 3 more"; NULL: none */
    /* under which key a death in it is counted (quarantine_rules.h); NULL: it is not */
    const char *counted;
    uint64_t digest; /* with `counted` */
    struct guard_mark *outer;
};

/* The environment variable by which a dying process tells the one that counts:
 * "FUNCTION DIGEST KEY". */
#define GUARD_DEATH_ENV "TRIMTAB_DEATH"

struct guard_args {
    const char *provider; /* its name; must live as long as the process, as all here */
    bool json;            /* the last line is JSON */
    int fd;               /* where it goes */
    /* The command line of this process, to be run again with GUARD_DEATH_ENV set; NULL:
     * deaths are not counted. */
    char *const *argv;
};
/* Installs handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, and of exit().  Main thread,
 * once; further calls only change the arguments. */
void guard_install(const struct guard_args *args);
/* A flag that is set before a death is counted: a fence.  NULL: nothing. */
void guard_set_fence(atomic_bool *closed);

/* "namespace/name", cut to the buffer; NULL for no Service. */
#define GUARD_KEY_MAX 320
const char *guard_key(char text[GUARD_KEY_MAX], const struct tt_service *svc);

/* Around each call into the provider, by the thread or task that makes it.  `m` is filled
 * but for `outer`. */
void guard_enter(struct guard_mark *m);
void guard_leave(struct guard_mark *m);

#endif
