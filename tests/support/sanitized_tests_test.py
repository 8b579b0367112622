#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests run under which sanitizer (scripts/lib/sanitized_tests.py): none is left out for long.

    sanitized_tests_test.py SOURCE
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(sys.argv[1], "scripts/lib"))
import sample  # noqa: E402
import sanitized_tests  # noqa: E402
import tap  # noqa: E402

SIM = [f"sim-{i}" for i in range(60)]
TESTS = [("url", ["trimtab:unit"]), ("golden", ["trimtab:golden"]), ("lint-tree", ["trimtab:lint"]),
         ("promtool", ["trimtab:interop", "trimtab:unit"])] + [(name, ["trimtab:sim"]) for name in SIM]


def names(turn, shift, parts=sanitized_tests.PARTS):
    return sanitized_tests.chosen(TESTS, sample.Sample(parts, turn), shift)


def test_unit_and_golden_always_run_others_never():
    for turn in range(4):
        for shift in range(2):
            assert [n for n in names(turn, shift) if n not in SIM] == ["url", "golden", "promtool"]


def test_two_sanitizers_run_different_quarters_of_the_whole_programs():
    for turn in (0, 899, 2**63):
        first, second = (set(names(turn, shift)) & set(SIM) for shift in (0, 2))
        assert not first & second
        for part in (first, second):
            assert len(SIM) / 8 < len(part) < len(SIM) * 3 / 8, len(part)


def test_four_consecutive_commits_run_each_under_both():
    for shift in (0, 2):
        played = set().union(*(names(turn, shift) for turn in range(7, 7 + sanitized_tests.PARTS)))
        assert played == {n for n, suites in TESTS if suites != ["trimtab:lint"]}


def test_all_names_every_one():
    assert set(names(7, 0, parts=1)) == set(names(7, 1, parts=1)) >= set(SIM)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals())))
