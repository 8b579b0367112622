/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h: tells the service manager (systemd, Type=notify) how this process fares.
 *
 *     notify_new(&args)           reads nothing itself: the caller hands in the environment
 *     notify_send(n, "READY=1")   when it serves and competes
 *     wait = notify_pulse(n)      once when its loop turns, and again after each `wait`
 *     notify_send(n, "STOPPING=1")
 *
 * notify_pulse() sends WATCHDOG=1 at half of the time that the manager allows, and only when
 * `alive` says yes; else it sends STATUS= with the reason and the manager ends the process when its
 * time is over.  So it belongs into the loop that it vouches for.  One datagram per message to a
 * socket of the machine (sd_notify(3)); nothing waits for an answer.  notify_pulse() belongs to one
 * thread; notify_send() may be called from any. */
#ifndef TRIMTAB_CONTROLLER_NOTIFY_H
#define TRIMTAB_CONTROLLER_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/clock.h"

struct notify;

struct notify_args {
    const char *socket;        /* $NOTIFY_SOCKET: "/path" or "@abstract"; NULL or "": no manager */
    const char *watchdog_usec; /* $WATCHDOG_USEC: decimal; NULL, "" or no number: no watchdog */
    /* $WATCHDOG_PID: the process that the watchdog is for; NULL or "": this process */
    const char *watchdog_pid;
    struct clock *clock; /* NULL: the real one */
    /* True: alive.  Else `why` (n bytes) holds one line.  Called by notify_pulse();
     * quick.  NULL: always alive. */
    bool (*alive)(void *arg, char *why, size_t n);
    void *arg;
};

/* Copies what it needs.  Returns NULL without a manager, and logs a warning for an address that it
 * cannot reach.  All functions below take NULL and do nothing then. */
struct notify *notify_new(const struct notify_args *args) _warn_unused_;
void notify_free(struct notify *n);
/* Sends one message, "NAME=VALUE" lines.  False: it was not sent; a warning says why.
 * Does not block. */
bool notify_send(struct notify *n, const char *message);
/* Sends WATCHDOG=1 if it is due.  Returns in how many ms it wants to be called again; CLOCK_NEVER:
 * there is no watchdog. */
int64_t notify_pulse(struct notify *n) _warn_unused_;

#endif
