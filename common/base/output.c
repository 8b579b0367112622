/* SPDX-License-Identifier: Apache-2.0 */
/* output.c: see output.h.  Touches stdout, stderr and, at a broken pipe, the action of SIGPIPE. */
#include "common/base/output.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "common/base/str.h"

#define STDOUT_NAME "the output"

/* stdio keeps that an earlier write failed, but not why.  One more line end, behind text with a gap
 * in it, meets the same cause again.  0: it does not. */
static int cause_of_earlier(FILE *f)
{
    return write(fileno(f), "\n", 1) < 0 ? errno : 0;
}

static int set_failure(const char *name, int number, struct err *err)
{
    int code = err_set(err, ERR_TRANSIENT, "cannot write %s: %s", name,
                       number == 0 ? "an earlier write failed" : strerror(number));
    if (number == EPIPE && err != NULL) {
        (void)snprintf(err->reason, sizeof err->reason, "%s", OUTPUT_REASON_BROKEN);
    }
    return code;
}

int output_flush(struct err *err)
{
    bool failed_before = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) != 0) {
        return set_failure(STDOUT_NAME, errno, err);
    }
    return failed_before ? set_failure(STDOUT_NAME, cause_of_earlier(stdout), err) : ERR_OK;
}

int output_close_stream(FILE *f, const char *name, struct err *err)
{
    bool waits = __fpending(f) > 0;
    bool failed_before = ferror(f) != 0;
    int earlier = failed_before ? cause_of_earlier(f) : 0;
    errno = 0;
    if (fclose(f) != 0 && (waits || failed_before || errno != EBADF)) {
        return set_failure(name, errno, err);
    }
    return failed_before ? set_failure(name, earlier, err) : ERR_OK;
}

/* Ends the process as the signal would have.  Returns where the signal cannot end it: process
 * 1 of a container. */
static void end_by_sigpipe(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(SIGPIPE);
}

int output_close(int status)
{
    struct err err = ERR_INIT;
    if (output_close_stream(stdout, STDOUT_NAME, &err) == ERR_OK) {
        return status;
    }
    if (!str_eq(err.reason, OUTPUT_REASON_BROKEN)) {
        fprintf(stderr, "error: %s\n", err.message);
        return OUTPUT_FAILED;
    }
    if (status == OUTPUT_FAILED) {
        return status;
    }
    end_by_sigpipe();
    return OUTPUT_BROKEN_PIPE;
}
