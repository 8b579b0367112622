/* SPDX-License-Identifier: Apache-2.0 */
/* kube_test.h: what the tests of controller/kube share: recorded answers, and arenas per test.
 *
 * Recorded answers are tests/data/kube-1.36 (see its README). */
#ifndef TRIMTAB_TESTS_KUBE_TEST_H
#define TRIMTAB_TESTS_KUBE_TEST_H

#include "common/base/arena.h"
#include "common/data/json.h"
#include "controller/kube/store/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The whole file of that name or prefix ("151-") as a tree in the arena.  A missing file
 * fails the test. */
struct json_object *recorded(struct arena *a, const char *name);
/* Its answer: body as compact text, status; and a watch's lines, one per line. */
const char *recorded_body(struct arena *a, const char *name);
int recorded_status(struct arena *a, const char *name);
const char *recorded_lines(struct arena *a, const char *name, size_t *ret_n);
/* Names of all recorded files, sorted; NULL-terminated. */
const char **recorded_names(struct arena *a, size_t *ret_n);
/* A decoded object of a JSON text; single quotes stand for double ones.  Fails the test when it
 * does not decode. */
struct kube_object *decode_text(enum kube_kind kind, const char *json);
/* Single quotes to double ones, so that JSON is readable in C. */
char *quoted(struct arena *a, const char *json);

/* "At once", in real time: below the limits of all requests (30 s and more), yet enough for
 * a busy machine. */
#define AT_ONCE_MS 20000

int arena_setup(void **state);
int arena_teardown(void **state);
#define KUBE_TEST(fn) cmocka_unit_test_setup_teardown(fn, arena_setup, arena_teardown)

#endif
