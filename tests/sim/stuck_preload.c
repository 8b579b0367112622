/* SPDX-License-Identifier: Apache-2.0 */
/* stuck_preload.c: a library for LD_PRELOAD that takes threads and names away while a file exists.
 *
 * Limits of tasks do not bind root, and tests may run as root.  EAGAIN is what the kernel says at such a limit.  A name is
 * answered when $STUCK/names is gone, as by a name server that comes back; sim.test is this machine. */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 20000000

static bool is_taken(const char *what)
{
    char path[4096];
    const char *folder = getenv("STUCK");
    if (folder == NULL) {
        return false;
    }
    snprintf(path, sizeof path, "%s/%s", folder, what);
    return access(path, F_OK) == 0;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attr,
                                                          void *(*run)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (is_taken("threads")) {
        return EAGAIN;
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    }
    return real(thread, attr, run, arg);
}

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *port,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    bool is_sim = name != NULL && strcmp(name, "sim.test") == 0;
    while (is_sim && is_taken("names")) {
        (void)nanosleep(&pause, NULL);
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    }
    return real(is_sim ? "127.0.0.1" : name, port, hints, ret);
}
