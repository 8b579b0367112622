/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h: what a fuzz target is.
 *
 * A target is one file with a function that FUZZ_TARGET opens: it feeds the bytes to a parser and
 * checks what must hold for every input (FUZZ_CHECK).  The same file is built twice: with libFuzzer
 * (option fuzzers=true, clang), a program for each target, to search; and for replay_main.c, one
 * program with all targets, which runs the corpora as ordinary tests.  Targets touch no files, no
 * network and no clock, so that a finding can be replayed. */
#ifndef TRIMTAB_TESTS_FUZZ_FUZZ_H
#define TRIMTAB_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs a target over `size` bytes, which it borrows.  Returns 0; ends the process at a finding. */
typedef int fuzz_run_fn(const uint8_t *data, size_t size);

/* Opens the definition of the target `name`, that of its file without "fuzz_":
 *
 *     FUZZ_TARGET(json, const uint8_t *data, size_t size)
 *     {
 *         …
 *         return 0;
 *     }
 *
 * FUZZ_REPLAY, set by the build, chooses between an entry for replay_main.c and
 * libFuzzer's own name. */
#ifdef FUZZ_REPLAY
struct fuzz_target {
    const char *name;
    fuzz_run_fn *run;
    struct fuzz_target *next; /* set by fuzz_register() */
};

/* Adds `t`, which must live as long as the process; called before main(), by one thread. */
void fuzz_register(struct fuzz_target *t);

#define FUZZ_TARGET(name, data, size)                                                              \
    static fuzz_run_fn fuzz_##name##_run;                                                          \
    __attribute__((constructor)) static void fuzz_##name##_register(void)                          \
    {                                                                                              \
        static struct fuzz_target target = {#name, fuzz_##name##_run, NULL};                       \
        fuzz_register(&target);                                                                    \
    }                                                                                              \
    static int fuzz_##name##_run(data, size)
#else
fuzz_run_fn LLVMFuzzerTestOneInput;
#define FUZZ_TARGET(name, data, size) int LLVMFuzzerTestOneInput(data, size)
#endif

/* Ends the process with a message when something that must hold does not. */
#define FUZZ_CHECK(what)                                                                           \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
