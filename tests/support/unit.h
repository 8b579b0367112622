/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h: how a file of tests becomes part of its folder's test program.
 *
 * A folder of tests is one program (tests/unit/meson.build), because a link costs more than a
 * compilation.  `meson test` runs it once for each file, with the file's name as argument, so that
 * a file still has a process, a time limit and a place in the report of its own:
 *
 *     test_azure pools      runs the cases of tests/unit/azure/test_pools.c
 *     test_azure            lists the names and exits with 2
 *
 * Everything in a file of tests is static; the program is linked from all files of its folder. */
#ifndef TRIMTAB_TESTS_SUPPORT_UNIT_H
#define TRIMTAB_TESTS_SUPPORT_UNIT_H

#include <stddef.h>

/* Runs the cases of a file and prints them as TAP.  Returns the process's exit code: 0
 * if all passed. */
typedef int unit_run_fn(void);

struct unit_file {
    const char *name; /* the file's name without "test_" and ".c" */
    unit_run_fn *run;
    struct unit_file *next; /* set by unit_register() */
};

/* Adds `f`, which must live as long as the process.  UNIT_MAIN calls it before main(),
 * in one thread. */
void unit_register(struct unit_file *f);

/* Opens the main function of tests/…/test_NAME.c, in place of `int main(void)`:
 *
 *     UNIT_MAIN(pools)
 *     {
 *         const struct CMUnitTest tests[] = {…};
 *         return cmocka_run_group_tests(tests, NULL, NULL);
 *     }
 */
#define UNIT_MAIN(name)                                                                            \
    static unit_run_fn unit_##name##_run;                                                          \
    __attribute__((constructor)) static void unit_##name##_register(void)                          \
    {                                                                                              \
        static struct unit_file file = {#name, unit_##name##_run, NULL};                           \
        unit_register(&file);                                                                      \
    }                                                                                              \
    static int unit_##name##_run(void)

#endif
