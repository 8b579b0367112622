/* SPDX-License-Identifier: Apache-2.0 */
/* asleep.h: whether the other threads of this process wait for something.
 *
 * For tests with a fake clock and real sockets: moving the clock while a request is in progress
 * makes seconds pass that the code under test never waited for, as soon as the machine has more
 * work than processors. */
#ifndef TESTS_SUPPORT_ASLEEP_H
#define TESTS_SUPPORT_ASLEEP_H

#include <stdbool.h>

/* No other thread of this process runs, or would if a processor were free: all wait for something.
 * Does not block. */
bool others_sleep(void);

#endif
