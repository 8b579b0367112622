/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h: threads and file descriptors when the system has none left.
 *
 * Both run out because of a limit or of another process, and both come back.  So the process
 * continues: a thread is asked for again for half a second, and the error says which limit to
 * raise.  Memory is different: CONTRIBUTING.md. */
#ifndef TRIMTAB_BASE_LIMITS_H
#define TRIMTAB_BASE_LIMITS_H

#include <pthread.h>
#include <stdbool.h>

#include "common/base/attr.h"
#include "common/base/err.h"

#define LIMITS_NO_DESCRIPTOR                                                                       \
    "no file descriptor is free: raise the limit of open files (LimitNOFILE= in a unit, ulimit "   \
    "-n) or close some"
#define LIMITS_MORE_TASKS                                                                          \
    "raise the limit of tasks (TasksMax= in a unit, pids.max of a container, ulimit -u)"

/* Starts a thread that runs run(arg).  `purpose` is a noun for the error ("the HTTPS port").
 * Blocks for up to half a second of real time while the system refuses; then TRANSIENT, and
 * *ret is not valid. */
int thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg, const char *purpose,
                 struct err *err) _warn_unused_;
/* The same, but asks once and does not wait: for callers that hold a lock and ask
 * again by themselves. */
int thread_try(pthread_t *ret, void *(*run)(void *arg), void *arg, const char *purpose,
               struct err *err) _warn_unused_;
/* Returns true if no file descriptor can be opened at this moment.  Keeps errno. */
bool limits_no_descriptor(void);

#endif
