/* SPDX-License-Identifier: Apache-2.0 */
/* no_threads.h: a system that refuses threads, for tests in one process. */
#ifndef TRIMTAB_TESTS_SUPPORT_NO_THREADS_H
#define TRIMTAB_TESTS_SUPPORT_NO_THREADS_H

/* From now on pthread_create() without attributes returns EAGAIN, also for root, which a limit of
 * tasks does not bind.  Threads that run continue.  Under valgrind it returns EINVAL. */
void no_threads_begin(void);
/* Threads are given again.  Must follow each no_threads_begin(). */
void no_threads_end(void);

#endif
