/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: work in processes of its own, several at a time.
 *
 * The parent must have one thread.  Whatever a child does to itself (crash, hang) is the outcome of
 * its job alone. */
#ifndef TRIMTAB_TESTS_FAULT_POOL_H
#define TRIMTAB_TESTS_FAULT_POOL_H

#include <stddef.h>
#include <sys/types.h>

#define POOL_LIMIT_S 240 /* real time; then the child is killed by its own alarm */

struct pool_job {
    int (*fn)(void *arg); /* runs in the child; returns its exit code, 0…99 */
    void *arg;
    /* outcome */
    int code;         /* fn's; 100 + signal when it died of one */
    const char *file; /* what it wrote to stdout and stderr; set by the caller */
    pid_t pid;
    int end; /* a file descriptor that becomes readable at the end of the process (pidfd_open(2)) */
};
/* Runs all; returns when the last has ended.  `ended` is called in the parent after each. */
void pool_run(struct pool_job *jobs, size_t n, unsigned parallel,
              void (*ended)(void *arg, struct pool_job *job), void *arg);
/* CPU seconds, user and system, of all jobs that have ended. */
double pool_cpu_s(void);
/* Prints a job's output as TAP comments on stdout. */
void pool_print_story(const struct pool_job *job);
/* Removes a folder of such files with those that are left in it. */
void pool_remove_dir(const char *dir);

#endif
