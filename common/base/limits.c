/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c: see limits.h.
 *
 * Owns the pause between two attempts to start a thread, and the words about limits.
 * Must not know which thread it is.  Any thread may call. */
#include "common/base/limits.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPTS       6
#define FIRST_PAUSE_MS 16 /* doubled after each attempt: 496 ms in all */

static int refused(int no, const char *purpose, struct err *err)
{
    char text[128];
    return err_set(err, ERR_TRANSIENT, "no thread for %s can be started: %s; " LIMITS_MORE_TASKS,
                   purpose, strerror_r(no, text, sizeof text));
}

int thread_try(pthread_t *ret, void *(*run)(void *arg), void *arg, const char *purpose,
               struct err *err)
{
    int no = pthread_create(ret, NULL, run, arg);
    return no == 0 ? ERR_OK : refused(no, purpose, err);
}

int thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg, const char *purpose,
                 struct err *err)
{
    long pause_ms = FIRST_PAUSE_MS;
    int no = pthread_create(ret, NULL, run, arg);
    for (int i = 1; no == EAGAIN && i < ATTEMPTS; i++, pause_ms *= 2) {
        const struct timespec pause = {.tv_nsec = pause_ms * 1000000};
        (void)nanosleep(&pause, NULL); /* a signal only makes the pause shorter */
        no = pthread_create(ret, NULL, run, arg);
    }
    return no == 0 ? ERR_OK : refused(no, purpose, err);
}

bool limits_no_descriptor(void)
{
    int before = errno;
    int fd = eventfd(0, EFD_CLOEXEC);
    bool none = fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = before;
    return none;
}
