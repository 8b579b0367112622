/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h: what a fuzz target is.
 *
 * A target is one file with LLVMFuzzerTestOneInput(): it feeds the bytes to a parser and checks what must
 * hold for every input (FUZZ_CHECK).  The same file is built twice: with libFuzzer (option fuzzers=true,
 * clang) to search, and with replay_main.c to run the corpus as an ordinary test.  Targets touch no files,
 * no network and no clock, so that a finding can be replayed. */
#ifndef TRIMTAB_TESTS_FUZZ_FUZZ_H
#define TRIMTAB_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process with a message when something that must hold does not. */
#define FUZZ_CHECK(what)                                                                           \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
