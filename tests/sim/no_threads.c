/* SPDX-License-Identifier: Apache-2.0 */
/* no_threads.c: a library for LD_PRELOAD that refuses threads as long as the file $NO_THREADS exists.
 *
 * Limits of tasks do not bind root, and tests may run as root.  EAGAIN is what the kernel says at such a limit. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attr,
                                                          void *(*run)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    const char *file = getenv("NO_THREADS");
    if (file != NULL && access(file, F_OK) == 0) {
        return EAGAIN;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    }
    return real(thread, attr, run, arg);
}
