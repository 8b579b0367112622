/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: runs a program that is to print something small, and never waits for it without an end.
 *
 * The program gets its arguments as they are (no shell), the given environment, no file descriptor
 * but the first three, a clean signal mask, and a process group of its own, so that what it started
 * dies with it.  What it prints is capped, and so is its time; both are real.  Source:
 * controller.md §4.4. */
#ifndef TRIMTAB_BASE_RUN_H
#define TRIMTAB_BASE_RUN_H

#include "common/base/arena.h"
#include "common/base/cancel.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_args {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH unless it has a '/' */
    const char *const *envp; /* NULL-terminated "NAME=value" */
    /* a person answers: stdin and stderr are ours, and it stays in our process group */
    bool interactive;
    int64_t timeout_ms;
    size_t out_max;        /* more on stdout ends it */
    size_t err_max;        /* more on stderr is read and dropped */
    struct cancel *cancel; /* may be NULL */
};
struct run_result {
    const char *out; /* in the arena, NUL-terminated */
    size_t out_len;
    const char *err; /* of stderr; "" when interactive */
    bool err_cut;    /* it wrote more */
    int exit_code;   /* 0…255; -1: a signal ended it */
};

/* ERR_OK when it ended by itself, whatever its exit code.  ERR_NOT_FOUND: no such program, or it
 * may not be run.  ERR_TRANSIENT: it took too long, or could not be started.  ERR_INVALID: too much
 * on stdout.  ERR_CANCELLED.  After any error ret->err is what it wrote to stderr, the other
 * members are empty; it and its group are gone.  Blocks. */
int run_program(struct arena *a, const struct run_args *args, struct run_result *ret,
                struct err *err) _warn_unused_;

#endif
