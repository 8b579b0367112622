/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c: waits until packets that the kernel had begun to look up are through (real.h).
 *
 * A packet is looked up within a section that readers of RCU declare, and membarrier's command
 * GLOBAL waits for all of these: 20 to 90 ms on a busy machine, without a privilege, in any
 * namespace.  It cannot be interrupted and has no time-out, so a thread of its own makes the
 * call; the caller, who holds a lock, goes on after LOCAL_SETTLE_MS. */
#include "providers/local/kernel/real.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/limits.h"

#define THREADS_MAX 4 /* all but one: their callers have gone on */

/* Shared by the handle of the kernel and its threads. */
struct local_settler {
    atomic_int users;
    atomic_int threads;
    atomic_int refused; /* an errno: the kernel does not have the call, or we may not make it */
};
/* Of one call: shared by its thread and its caller. */
struct settling {
    atomic_int users;
    atomic_int error;
    int done_fd;
    struct local_settler *of;
};

struct local_settler *local_settler_new(void)
{
    struct local_settler *s = xcalloc(1, sizeof *s);

    atomic_store(&s->users, 1);
    return s;
}

void local_settler_free(struct local_settler *s)
{
    if (s != NULL && atomic_fetch_sub(&s->users, 1) == 1) {
        free(s);
    }
}

static void leave(struct settling *x)
{
    struct local_settler *of = x->of;

    if (atomic_fetch_sub(&x->users, 1) == 1) {
        close(x->done_fd);
        free(x);
        local_settler_free(of);
    }
}

static void *settle_main(void *arg)
{
    struct settling *x = arg;

    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) {
        atomic_store(&x->error, errno);
    }
    (void)eventfd_write(x->done_fd, 1);
    (void)atomic_fetch_sub(&x->of->threads, 1);
    leave(x);
    return NULL;
}

static bool is_done(const struct settling *x)
{
    struct pollfd p = {.fd = x->done_fd, .events = POLLIN};
    int n;

    do {
        n = poll(&p, 1, LOCAL_SETTLE_MS);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

static int wait_for(struct settling *x, struct err *err)
{
    pthread_t thread;

    (void)atomic_fetch_add(&x->of->threads, 1);
    (void)atomic_fetch_add(&x->users, 1);
    int rc = thread_try(&thread, settle_main, x, "packets under way", err);
    if (rc != ERR_OK) {
        (void)atomic_fetch_sub(&x->of->threads, 1);
        leave(x);
        return rc;
    }
    (void)pthread_detach(thread);
    if (!is_done(x)) {
        return err_set(err, ERR_TRANSIENT,
                       "the kernel did not say within %d ms that packets under way are through: a "
                       "client may be refused once while source ranges or slots change",
                       LOCAL_SETTLE_MS);
    }
    atomic_store(&x->of->refused, atomic_load(&x->error));
    return ERR_OK;
}

static int say_refused(int error, struct err *err)
{
    return err_set(
        err, ERR_INVALID,
        "this kernel does not say when packets under way are through (membarrier: %s): a "
        "client may be refused once while source ranges or slots change",
        strerror(error));
}

int local_settle(struct local_settler *s, struct err *err)
{
    if (atomic_load(&s->refused) != 0) {
        return say_refused(atomic_load(&s->refused), err);
    }
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0 || atomic_load(&s->threads) >= THREADS_MAX) {
        int error = fd < 0 ? errno : EAGAIN;
        if (fd >= 0) {
            close(fd);
        }
        return err_set(err, ERR_TRANSIENT,
                       "nothing can wait for packets under way (%s): a client may be refused once "
                       "while source ranges or slots change",
                       strerror(error));
    }
    struct settling *x = xcalloc(1, sizeof *x);
    x->done_fd = fd;
    x->of = s;
    atomic_store(&x->users, 1);
    (void)atomic_fetch_add(&s->users, 1);
    int rc = wait_for(x, err);
    leave(x);
    return rc != ERR_OK || atomic_load(&s->refused) == 0
               ? rc
               : say_refused(atomic_load(&s->refused), err);
}
