/* SPDX-License-Identifier: Apache-2.0 */
/* http_sleep.c: how a handle waits for its sockets.
 *
 * A thread of its own sleeps in curl_multi_poll().  A task (common/base/task.h) hands the same sockets to task_poll(), so that
 * the handles of all tasks of a thread are polled together.  libcurl 7.88 tells its sockets by curl_multi_fdset() alone, which
 * leaves out descriptors from FD_SETSIZE on: a handle that ever got one looks by itself (HIGH_LOOK_MS).
 * Must not know jobs and deadlines (http_drive.c). */
#include <stdlib.h>
#include <sys/select.h>

#include "common/base/task.h"
#include "common/net/http_internal.h"

#define HIGH_LOOK_MS ((int64_t)10) /* between two looks at sockets that fd_set cannot name */
#define NO_SOCKET_MS                                                                               \
    ((int64_t)100) /* libcurl waits for something without one; its manual's value */

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* libcurl's sockets and `wake_fd` into h->fds; returns how many. */
static size_t list_fds(struct http *h, int wake_fd, int *ret_max)
{
    fd_set in, out, special;
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_ZERO(&special);
    *ret_max = -1;
    (void)curl_multi_fdset(h->multi, &in, &out, &special,
                           ret_max); /* fails for a bad handle only */
    size_t n = 0;
    for (int fd = -1; fd <= *ret_max; fd++) {
        bool reads = fd < 0 ? wake_fd >= 0 : FD_ISSET(fd, &in);
        bool writes = fd >= 0 && FD_ISSET(fd, &out);
        if (!reads && !writes) {
            continue;
        }
        if (n == h->cap_fds) {
            h->cap_fds = h->cap_fds == 0 ? 4 : h->cap_fds * 2;
            h->fds = xrealloc(h->fds, h->cap_fds * sizeof *h->fds);
        }
        short events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
        h->fds[n++] = (struct pollfd){.fd = fd < 0 ? wake_fd : fd, .events = events};
    }
    return n;
}

static void sleep_as_task(struct http *h, int wake_fd, int64_t ms)
{
    int max;
    long timer_ms = -1; /* libcurl's own next moment */
    size_t n = list_fds(h, wake_fd, &max);
    (void)curl_multi_timeout(h->multi, &timer_ms);
    ms = timer_ms >= 0 ? min_ms(ms, timer_ms) : ms;
    ms = h->n_running > 0 && max < 0 ? min_ms(ms, NO_SOCKET_MS) : ms;
    ms = h->has_high_fd ? min_ms(ms, HIGH_LOOK_MS) : ms;
    (void)task_poll(h->fds, n, ms);
}

void http_sleep(struct http *h, int wake_fd, int64_t ms)
{
    if (task_current() != NULL) {
        sleep_as_task(h, wake_fd, ms);
        return;
    }
    struct curl_waitfd wake = {.fd = wake_fd, .events = CURL_WAIT_POLLIN};
    int n_ready;
    curl_multi_poll(h->multi, &wake, wake_fd < 0 ? 0 : 1, (int)ms, &n_ready);
}

void http_sleep_note_socket(struct http *h, int fd)
{
    h->has_high_fd |= fd >= FD_SETSIZE;
}
