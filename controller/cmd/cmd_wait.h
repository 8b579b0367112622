/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_wait.h: the patience of a command that answers once: one deadline for all that it waits for,
 * one line of progress.
 *
 *     struct cmd_wait *w = cmd_wait_new(args.timeout_ms);
 *     cmd_wait_for(w, "reading the cluster");         the work gets cmd_wait_cancel(w), and
 *                                                     cmd_wait_left_ms(w)
 *     …
 *     cmd_wait_end(w);                                before anything is printed
 *     if (code != ERR_OK) cmd_wait_blame(w, err);     "timed out after 30s while reading the
 *                                                     cluster: …"
 *
 * The controller tries again forever; a person wants to know what is wrong.  A thread fires the
 * cancel at the deadline, and once a second tells on stderr, when that is a terminal, what is
 * waited for and since when, in one line of it.  cmd_wait_* are for the command's one thread. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_WAIT_H
#define TRIMTAB_CONTROLLER_CMD_CMD_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/cancel.h"
#include "common/base/err.h"
#include "common/base/str.h"

struct cmd_wait;

/* `timeout_ms` from now on; at least 1. */
struct cmd_wait *cmd_wait_new(int64_t timeout_ms) _warn_unused_;
/* Ends the thread and the line of progress.  NULL is fine. */
void cmd_wait_free(struct cmd_wait *w);
/* Names the work that begins, as "reading the cluster"; its seconds begin again.  `what` is copied;
 * NULL waits for nothing. */
void cmd_wait_for(struct cmd_wait *w, const char *what);
/* How much of it is done: "planning 20 of 1000, 3 s". */
void cmd_wait_count(struct cmd_wait *w, size_t done, size_t all);
/* The text of the line, at most `columns` wide (0: of any width): a long `what` is cut, what
 * follows it is not.  Pure. */
void cmd_wait_line(struct str_buf *b, const char *what, size_t done, size_t all, int64_t took_ms,
                   size_t columns);
/* Whether a line that was drawn at `drawn_ms` may be drawn again: twice a second at most.  Pure. */
bool cmd_wait_is_due(int64_t drawn_ms, int64_t now_ms);
/* Clears the line.  The name of the work stays for cmd_wait_blame(). */
void cmd_wait_end(struct cmd_wait *w);
/* Gives back the time that a person took for an answer: the deadline is `ms` later. */
void cmd_wait_extend(struct cmd_wait *w, int64_t ms);
/* Fires at the deadline; lives as long as the wait. */
struct cancel *cmd_wait_cancel(struct cmd_wait *w);
/* Returns the time until the deadline, in ms; at least 1. */
int64_t cmd_wait_left_ms(struct cmd_wait *w);
bool cmd_wait_expired(struct cmd_wait *w);
/* After a failure: when the deadline has passed, *err says so, with the work and the trouble so
 * far.  Returns its code. */
int cmd_wait_blame(struct cmd_wait *w, struct err *err);

#endif
