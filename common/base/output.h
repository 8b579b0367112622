/* SPDX-License-Identifier: Apache-2.0 */
/* output.h: the end of standard output, and of other streams that a program writes.
 *
 * stdio keeps text in memory and reports a full disk only when that text is written.  A program
 * therefore closes standard output itself, once, at the end of main(), and its exit code follows
 * from that:
 *
 *     return output_close(run(argc, argv));
 *
 * A child process must not come through here: text that waits in its copy of the buffer would
 * appear twice.  run.h starts children with posix_spawn(), so there is none.  For the main thread;
 * no other thread prints to stdout at that time. */
#ifndef TRIMTAB_BASE_OUTPUT_H
#define TRIMTAB_BASE_OUTPUT_H

#include "common/base/err.h"

#include <stdio.h>

#define OUTPUT_FAILED 1 /* exit code of a program whose answer was lost */
#define OUTPUT_BROKEN_PIPE                                                                         \
    141 /* 128 + SIGPIPE: what a shell shows of a program that the signal ended */
#define OUTPUT_REASON_BROKEN "broken-pipe"

/* Writes the text that waits in stdout.  ERR_TRANSIENT with "cannot write the output: No space left
 * on device"; the reason is OUTPUT_REASON_BROKEN when the reader has gone.  Fails again once it has
 * failed.  May block. */
int output_flush(struct err *err) _warn_unused_;
/* Closes `f`; errors as above, of this write or of an earlier one: "cannot write NAME: No space
 * left on device".  A stream that never had a descriptor and got no text closes well. */
int output_close_stream(FILE *f, const char *name, struct err *err) _warn_unused_;
/* Closes stdout and returns the exit code of the program: `status` when all of the text was
 * written.  Otherwise it prints "error: cannot write the output: WHY" to stderr and returns
 * OUTPUT_FAILED.  A broken pipe is quiet: the reader has what it wants, as in
 * `trimtab plan | head -1`.  A program whose status was 0 or 2 then ends by SIGPIPE, as other
 * programs of a pipeline do, also where the signal was ignored; status 1 stays, for that
 * error was printed. */
int output_close(int status) _warn_unused_;

#endif
