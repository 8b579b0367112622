/* SPDX-License-Identifier: Apache-2.0 */
/* stuck_preload.c: a library for LD_PRELOAD that takes threads and names away while a file exists.
 *
 * Limits of tasks do not bind root, and tests may run as root.  EAGAIN is what the kernel says at
 * such a limit.  A name is answered when $STUCK/names is gone, as by a name server that comes back;
 * sim.test is this machine.  $STUCK/names is a FIFO: opening it blocks until the test opens it for
 * writing, which wakes all who wait. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

/* Writes where the file of that name is, if it exists. */
static bool is_taken(const char *what, char path[PATH_SIZE])
{
    const char *folder = getenv("STUCK");
    if (folder == NULL) {
        return false;
    }
    snprintf(path, PATH_SIZE, "%s/%s", folder, what);
    return access(path, F_OK) == 0;
}

/* Until the names are given back; a FIFO that cannot be opened is as good as gone. */
static void wait_for_names(void)
{
    char path[PATH_SIZE];
    bool taken = is_taken("names", path);
    while (taken) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            (void)close(fd);
        }
        taken = (fd >= 0 || errno == EINTR) && is_taken("names", path);
    }
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attr,
                                                          void *(*run)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    char path[PATH_SIZE];
    if (is_taken("threads", path)) {
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
    bool is_sim = name != NULL && strcmp(name, "sim.test") == 0;
    if (is_sim) {
        wait_for_names();
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    }
    return real(is_sim ? "127.0.0.1" : name, port, hints, ret);
}
