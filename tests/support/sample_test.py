#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sample.py: consecutive turns take every case once, parts are even, and the hash is that of sample.c.

    sample_test.py FOLDER_OF_TEST_DATA      (TAP on stdout)
    sample_test.py --write NAME…            lines for tests/data/sample/parts.txt
"""
import os
import sys

import sample
import tap

NAMES = [f"row-{i // 40}: {word} {i % 40}" for i in range(4000) for word in ("endless body", "NULs", "401")]
HASHES = [sample.name_hash(name) for name in NAMES]
COUNTS = (1, 5, 20, 200)
DATA = sys.argv[1] if len(sys.argv) > 1 else ""


def test_any_consecutive_turns_take_every_case_once():
    for n in COUNTS:
        for first in (804, 804 + n // 3):
            turns = [sample.Sample(n, turn) for turn in range(first, first + n)]
            for name in NAMES[::211]:
                assert sum(s.takes(name) for s in turns) == 1, (n, first, name)


def test_parts_are_even():
    for n in COUNTS:
        sizes = [0] * n
        for h in HASHES:
            sizes[h % n] += 1
        assert min(sizes) * 2 >= len(NAMES) / n >= max(sizes) / 2, (n, sizes)


def test_names_of_the_file_have_the_parts_that_c_has():
    with open(os.path.join(DATA, "sample", "parts.txt"), encoding="utf-8") as lines:
        cases = [line.rstrip("\n").split("|", 1) for line in lines if line.strip() and not line.startswith("#")]
    assert len(cases) > 5
    for parts, name in cases:
        assert [int(p) for p in parts.split()] == parts_of(name), name


def test_modes_and_numbers():
    for mode, turn, want in ((None, None, (20, 0, True)), ("ci", "7", (20, 7, False)), ("all", "804", (1, 804, False)),
                             ("quick", "804", (200, 804, False)), ("3", "0", (3, 0, False)), ("1", "", (1, 0, True))):
        env = {k: v for k, v in (("TRIMTAB_SAMPLE", mode), ("TRIMTAB_SAMPLE_TURN", turn)) if v is not None}
        s = sample.from_env(20, 200, env)
        assert (s.parts, s.turn, s.by_hand) == want, (mode, turn, vars(s))


def test_words_without_meaning_are_refused():
    for mode, turn in (("tenth", "1"), ("0", "1"), ("-5", "1"), ("ci", "x"), ("ci", "-1"), ("ci", "١")):
        try:
            s = sample.from_env(20, 200, {"TRIMTAB_SAMPLE": mode, "TRIMTAB_SAMPLE_TURN": turn})
        except SystemExit as e:
            assert "expected a number from" in str(e), e
        else:
            raise AssertionError((mode, turn, vars(s)))


def test_line_says_part_and_how_to_repeat():
    for s, want in (
            (sample.Sample(20, 1065), "# sample: turn 1065, part 5 of 20 (repeat: TRIMTAB_SAMPLE_TURN=1065); "
                                      "every case: TRIMTAB_SAMPLE=all"),
            (sample.Sample(20, 0, True), "# sample: turn 0, part 0 of 20 (run by hand, no TRIMTAB_SAMPLE_TURN); "
                                         "every case: TRIMTAB_SAMPLE=all"),
            (sample.Sample(1, 5), "# sample: every case")):
        assert s.line() == want, s.line()


def parts_of(name):
    return [sample.name_hash(name) % n for n in COUNTS[1:]]


if __name__ == "__main__":
    if DATA == "--write":
        for one in sys.argv[2:]:
            print(*parts_of(one), end=f" |{one}\n")
    else:
        sys.exit(tap.run(tap.tests_of(globals())))
