/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c: see notify.h. */
#include "controller/sync/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/str.h"

#define WHY_MAX 512

struct notify {
    int fd;
    struct sockaddr_un address;
    socklen_t address_len;
    int64_t period_ms; /* half of what the manager allows; 0: no watchdog */
    int64_t due_ms;    /* by the clock: when the next WATCHDOG=1 is to be sent */
    bool ailing;       /* the last look found it not alive */
    struct clock *clock;
    bool (*alive)(void *arg, char *why, size_t n);
    void *arg;
};

/* The address of "/path" or "@abstract"; false for anything else. */
static bool read_address(const char *socket, struct notify *n)
{
    size_t len = strlen(socket);

    if ((socket[0] != '/' && socket[0] != '@') || len >= sizeof(n->address.sun_path)) {
        return false;
    }
    n->address.sun_family = AF_UNIX;
    memcpy(n->address.sun_path, socket, len);
    if (socket[0] == '@') {
        n->address.sun_path[0] = '\0';
    }
    n->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

/* A whole decimal number above 0, else 0. */
static int64_t read_number(const char *s)
{
    char *end = NULL;

    if (str_is_empty(s)) {
        return 0;
    }
    errno = 0;
    long long value = strtoll(s, &end, 10);
    return errno == 0 && *end == '\0' && value > 0 ? value : 0;
}

static int64_t read_period(const struct notify_args *args)
{
    bool for_us = str_is_empty(args->watchdog_pid) || read_number(args->watchdog_pid) == getpid();
    int64_t usec = read_number(args->watchdog_usec);

    if (!for_us || usec == 0) {
        return 0;
    }
    int64_t ms = usec / 2 / 1000;
    return ms > 0 ? ms : 1;
}

struct notify *notify_new(const struct notify_args *args)
{
    if (str_is_empty(args->socket)) {
        return NULL;
    }
    struct notify *n = xcalloc(1, sizeof(*n));
    n->fd = -1;
    if (!read_address(args->socket, n)) {
        log_warning(
            "The service manager's socket is not on this machine: no notifications are sent",
            LOG_S("NOTIFY_SOCKET", args->socket));
        notify_free(n);
        return NULL;
    }
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd < 0) {
        log_warning("The service manager gets no notifications", LOG_S("reason", strerror(errno)));
        notify_free(n);
        return NULL;
    }
    n->clock = args->clock == NULL ? clock_real() : args->clock;
    n->alive = args->alive;
    n->arg = args->arg;
    n->period_ms = read_period(args);
    n->due_ms = clock_now_ms(n->clock);
    return n;
}

void notify_free(struct notify *n)
{
    if (n == NULL) {
        return;
    }
    if (n->fd >= 0) {
        close(n->fd);
    }
    free(n);
}

bool notify_send(struct notify *n, const char *message)
{
    if (n == NULL) {
        return false;
    }
    ssize_t sent = sendto(n->fd, message, strlen(message), MSG_NOSIGNAL,
                          (const struct sockaddr *)&n->address, n->address_len);
    if (sent < 0) {
        log_warning("The service manager could not be told", LOG_S("message", message),
                    LOG_S("reason", strerror(errno)));
    }
    return sent >= 0;
}

/* Tells the reason when it begins to ail, and takes it back when it is well again. */
static bool is_alive(struct notify *n)
{
    char why[WHY_MAX] = "";
    char status[WHY_MAX + 32];
    bool alive = n->alive == NULL || n->alive(n->arg, why, sizeof(why));

    if (!alive) {
        log_warning("The watchdog is not fed", LOG_S("reason", why));
        (void)snprintf(status, sizeof(status), "STATUS=not alive: %s", why);
        (void)notify_send(n, status);
    } else if (n->ailing) {
        (void)notify_send(n, "STATUS=");
    }
    n->ailing = !alive;
    return alive;
}

int64_t notify_pulse(struct notify *n)
{
    if (n == NULL || n->period_ms == 0) {
        return CLOCK_NEVER;
    }
    int64_t now_ms = clock_now_ms(n->clock);
    if (now_ms < n->due_ms) {
        return n->due_ms - now_ms;
    }
    bool fed = is_alive(n) && notify_send(n, "WATCHDOG=1");
    /* A failed notification is retried a few times within the manager's time-out. */
    int64_t wait_ms = fed ? n->period_ms : n->period_ms / 4 + 1;
    n->due_ms = now_ms + wait_ms;
    return wait_ms;
}
