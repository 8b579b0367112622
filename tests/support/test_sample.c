/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample.c: consecutive turns take every case once, parts are even, and the hash is
 * that of sample.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/file.h"
#include "common/base/str.h"
#include "tests/support/sample.h"
#include "tests/support/unit.h"

#define CASES     20000
#define CASE_MAX  100
#define FILE_MAX  65536
#define QUICK     200
#define FIRST     804 /* any commit's number */
#define TIMES_MAX 2   /* so much larger or smaller than the mean no part is */

static const uint64_t counts[] = {1, 5, 20, QUICK};

/* Names as the sweep has them: many that differ in one digit. */
static void name_of(uint64_t i, char *ret)
{
    static const char *const calls[] = {"insert", "get", "delete", "list"};
    (void)snprintf(ret, CASE_MAX,
                   "flow-%llu gce compute.firewalls.%s projects/p #%llu refused-%llu",
                   (unsigned long long)(i / 400), calls[i % 4], (unsigned long long)(i / 4 % 10),
                   (unsigned long long)(i / 40 % 10));
}

static void sample__any_consecutive_turns__take_every_case_once(void **state)
{
    (void)state;
    char name[CASE_MAX];
    for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
        for (uint64_t first = FIRST; first < FIRST + counts[c]; first += 1 + counts[c] / 5) {
            for (uint64_t i = 0; i < CASES; i += 37) {
                int taken = 0;
                name_of(i, name);
                for (uint64_t turn = first; turn < first + counts[c]; turn++) {
                    taken += sample_takes(&(struct sample){.parts = counts[c], .turn = turn}, name);
                }
                assert_int_equal(taken, 1);
            }
        }
    }
}

/* Counts how many of so many turns from `first` on take the i-th case, whose group is `group`. */
static int times_taken(uint64_t parts, uint64_t groups, uint64_t first, uint64_t group, uint64_t i)
{
    char name[CASE_MAX];
    int taken = 0;
    name_of(i, name);
    for (uint64_t turn = first; turn < first + parts; turn++) {
        const struct sample s = {.parts = parts, .turn = turn};
        struct sample of_groups = {0};
        struct sample of_cases = {0};
        sample_split(&s, groups, &of_groups, &of_cases);
        assert_int_equal(of_groups.parts * of_cases.parts, parts);
        taken += sample_takes_number(&of_groups, group) && sample_takes(&of_cases, name);
    }
    return taken;
}

/* The splits of tests/fault/sweep.c: of all flows (quick, ci), and of those marked whole when two
 * or three clouds are touched. */
static void sample_split__any_consecutive_turns__take_every_case_of_every_group_once(void **state)
{
    (void)state;
    static const struct {
        uint64_t parts, groups;
    } rows[] = {{QUICK, 10}, {20, 2}, {6, 2}, {12, 2}};
    for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
        for (uint64_t i = 0; i < CASES; i += 37) {
            uint64_t first = FIRST + i % 3;
            assert_int_equal(times_taken(rows[r].parts, rows[r].groups, first, i / 400, i), 1);
        }
    }
}

static void sample_split__fewer_parts_than_groups__takes_every_group(void **state)
{
    (void)state;
    struct sample groups = {0};
    struct sample cases = {0};
    sample_split(&(struct sample){.parts = 5, .turn = 13}, 10, &groups, &cases);
    assert_int_equal(groups.parts, 1);
    assert_int_equal(cases.parts, 5);
    assert_int_equal(cases.turn, 13);
}

static void sample__many_cases__parts_are_even(void **state)
{
    (void)state;
    char name[CASE_MAX];
    for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
        uint64_t sizes[QUICK] = {0};
        uint64_t mean = CASES / counts[c];
        for (uint64_t i = 0; i < CASES; i++) {
            name_of(i, name);
            sizes[sample_hash(name) % counts[c]]++;
        }
        for (uint64_t part = 0; part < counts[c]; part++) {
            assert_in_range(sizes[part], mean / TIMES_MAX, mean * TIMES_MAX);
        }
    }
}

static void sample__numbers__parts_differ_by_one_at_most(void **state)
{
    (void)state;
    for (uint64_t turn = 0; turn < 12; turn++) {
        const struct sample s = {.parts = 12, .turn = turn};
        int taken = 0;
        for (uint64_t number = 1; number <= 30; number++) {
            taken += sample_takes_number(&s, number);
        }
        assert_in_range(taken, 2, 3);
    }
}

/* Each line of the file: the parts of 5, 20 and 200, and the name. */
static void sample__names_of_the_file__parts_that_python_has(void **state)
{
    (void)state;
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const char *path =
        arena_printf(a, "%s/sample/parts.txt", str_nonnull(getenv("TRIMTAB_TEST_DATA")));
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(file_read(a, path, FILE_MAX, &text, &n, NULL), ERR_OK);
    size_t n_lines = 0;
    size_t n_cases = 0;
    char **lines = str_split(a, text, '\n', &n_lines);
    for (size_t i = 0; i < n_lines; i++) {
        char *at = lines[i];
        if (*at == '\0' || *at == '#') {
            continue;
        }
        for (size_t c = 1; c < ARRAY_LEN(counts); c++) {
            uint64_t part = strtoull(at, &at, 10);
            const char *name = strchr(lines[i], '|');
            assert_non_null(name);
            if (sample_hash(name + 1) % counts[c] != part) {
                fail_msg("%s: of %llu", name, (unsigned long long)counts[c]);
            }
        }
        n_cases++;
    }
    assert_true(n_cases > 5);
}

static void set(const char *variable, const char *value)
{
    if (value == NULL) {
        unsetenv(variable);
    } else {
        setenv(variable, value, 1);
    }
}

static void sample_from_env__modes_and_numbers__parts_and_turn(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *turn;
        uint64_t parts, want_turn;
        bool by_hand;
    } rows[] = {
        {NULL, NULL, 20, 0, true},
        {"ci", "7", 20, 7, false},
        {"quick", "804", QUICK, 804, false},
        {"all", "804", 1, 804, false},
        {"3", "0", 3, 0, false},
        {"1", "", 1, 0, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sample s = {0};
        set("TRIMTAB_SAMPLE", rows[i].mode);
        set("TRIMTAB_SAMPLE_TURN", rows[i].turn);
        assert_int_equal(sample_from_env(20, QUICK, &s, NULL), ERR_OK);
        assert_int_equal(s.parts, rows[i].parts);
        assert_int_equal(s.turn, rows[i].want_turn);
        assert_int_equal(s.by_hand, rows[i].by_hand);
    }
}

static void sample_from_env__words_without_meaning__refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"tenth", "1"}, {"0", "1"}, {"-5", "1"}, {"ci", "x"}, {"ci", "-1"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sample s = {0};
        struct err err = ERR_INIT;
        set("TRIMTAB_SAMPLE", rows[i][0]);
        set("TRIMTAB_SAMPLE_TURN", rows[i][1]);
        assert_int_equal(sample_from_env(20, QUICK, &s, &err), ERR_INVALID);
        assert_non_null(strstr(err.message, "expected a number from"));
        assert_int_equal(s.parts, 0);
    }
}

static void printed(const struct sample *s, const char *want)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    sample_print(s, to);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, want);
    free(text);
}

static void sample_print__says_part_and_how_to_repeat(void **state)
{
    (void)state;
    printed(&(struct sample){.parts = 20, .turn = 1065},
            "# sample: turn 1065, part 5 of 20 (repeat: TRIMTAB_SAMPLE_TURN=1065); every case: "
            "TRIMTAB_SAMPLE=all\n");
    printed(&(struct sample){.parts = 20, .by_hand = true},
            "# sample: turn 0, part 0 of 20 (run by hand, no TRIMTAB_SAMPLE_TURN); every case: "
            "TRIMTAB_SAMPLE=all\n");
    printed(&(struct sample){.parts = 1, .turn = 5}, "# sample: every case\n");
}

UNIT_MAIN(sample)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample__any_consecutive_turns__take_every_case_once),
        cmocka_unit_test(sample_split__any_consecutive_turns__take_every_case_of_every_group_once),
        cmocka_unit_test(sample_split__fewer_parts_than_groups__takes_every_group),
        cmocka_unit_test(sample__many_cases__parts_are_even),
        cmocka_unit_test(sample__numbers__parts_differ_by_one_at_most),
        cmocka_unit_test(sample__names_of_the_file__parts_that_python_has),
        cmocka_unit_test(sample_from_env__modes_and_numbers__parts_and_turn),
        cmocka_unit_test(sample_from_env__words_without_meaning__refused),
        cmocka_unit_test(sample_print__says_part_and_how_to_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
