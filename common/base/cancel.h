/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.h: asking running work to stop.
 *
 * Why: SIGTERM must end every blocking call within 100 ms, and a lost lease must stop a worker
 * before its next mutation.  Usage: the owner makes one `struct cancel`, passes non-const pointers
 * to its workers, and calls cancel_fire() once; workers check cancel_fired(), and a worker that
 * blocks in something other than a condition registers a hook that interrupts it (http does:
 * curl_multi_wakeup).  Thread-safe.  A parent passes its firing on to its children. */
#ifndef TRIMTAB_BASE_CANCEL_H
#define TRIMTAB_BASE_CANCEL_H

#include "common/base/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct cancel;
struct clock;

struct cancel *cancel_new(struct cancel *parent)
    _warn_unused_;                   /* parent may be NULL; must live longer */
void cancel_free(struct cancel *c);  /* NULL is fine */
void cancel_fire(struct cancel *c);  /* once is enough; more is harmless */
bool cancel_fired(struct cancel *c); /* false for NULL */
/* fn(arg) runs in the firing thread, at once when already fired.  Returns a handle for
 * cancel_unhook().  fn must be quick and must not call back into this cancel. */
int cancel_hook(struct cancel *c, void (*fn)(void *arg), void *arg);
/* After it returns, fn is not running and will not run. */
void cancel_unhook(struct cancel *c, int handle);
/* A pause: blocks until clock_now_ms(clock) >= until_ms, or until `c` (may be NULL) has fired. */
void cancel_nap(struct cancel *c, struct clock *clock, int64_t until_ms);

#endif
