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


def names(turn, shift, parts=2):
    return sanitized_tests.chosen(TESTS, sample.Sample(parts, turn), shift)


def test_unit_and_golden_always_run_others_never():
    for turn in range(4):
        for shift in range(2):
            assert [n for n in names(turn, shift) if n not in SIM] == ["url", "golden", "promtool"]


def test_two_sanitizers_share_the_whole_programs():
    for turn in (0, 899, 2**63):
        first, second = (set(names(turn, shift)) & set(SIM) for shift in range(2))
        assert first | second == set(SIM) and not first & second
        assert len(SIM) / 4 < len(first) < len(SIM) * 3 / 4, len(first)


def test_two_consecutive_commits_run_each_under_both():
    for shift in range(2):
        assert set(names(7, shift)) | set(names(8, shift)) == {n for n, suites in TESTS if suites != ["trimtab:lint"]}


def test_all_names_every_one():
    assert set(names(7, 0, parts=1)) == set(names(7, 1, parts=1)) >= set(SIM)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals())))
