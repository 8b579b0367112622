#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests run under which sanitizer (scripts/lib/sanitized_tests.py): none is left out for long.

    sanitized_tests_test.py SOURCE
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(sys.argv[1], "scripts/lib"))
import sanitized_tests  # noqa: E402
import tap  # noqa: E402
from sanitized_tests import Test  # noqa: E402

SIM = [f"sim-{i}" for i in range(80)]
UNIT = {"gce-lb": "test_gce", "sim-kube-lists": "test_sim_kube", "aws-call": "test_aws", "azure-auth": "test_azure", "url": "test_net",
        "new": "test_anew", "interop-promtool": "test_serve"}
TESTS = [Test("golden", {"trimtab:golden"}, "golden_runner"), Test("lint-tree", {"trimtab:lint"}, "python3"),
         *(Test(name, {"trimtab:unit"}, program) for name, program in UNIT.items()),
         *(Test(name, {"trimtab:sim"}, "trimtab-sim") for name in SIM)]
OURS = {t.name for t in TESTS if t.name != "lint-tree"}
TURNS = (0, 7, 899, 2**63)


def names(sanitizer, turn, everything=False):
    return [t.name for t in sanitized_tests.CHOOSE[sanitizer](TESTS, everything, turn)]


def test_unit_and_golden_always_run_under_the_first_others_never():
    for turn in range(4):
        assert set(names("address", turn)) - set(SIM) == OURS - set(SIM)


def test_sixteen_consecutive_commits_run_each_under_the_first():
    for first in TURNS:
        assert set().union(*(names("address", turn) for turn in range(first, first + 16))) == OURS


def test_twenty_consecutive_commits_run_each_under_the_second():
    for first in TURNS:
        played = [name for turn in range(first, first + 20) for name in names("thread", turn)]
        assert set(played) == OURS
        assert all(played.count(name) == 1 for name in SIM)
        assert all(played.count(name) == 5 for name in UNIT)


def test_a_commit_runs_one_quarter_under_the_second():
    sizes = []
    for turn in range(900, 920):
        chosen = names("thread", turn)
        assert len({sanitized_tests.quarter_of(t) for t in TESTS if t.name in chosen}) == 1, chosen
        sizes.append(len(set(chosen) & set(SIM)))
    assert 0 < min(s for s in sizes if s > 0) and max(sizes) < len(SIM) / 2 and sizes.count(0) == 15, sizes


def test_parts_of_whole_programs_are_about_even():
    sizes = [len(set(names("address", turn)) & set(SIM)) for turn in range(16)]
    assert sum(sizes) == len(SIM) and max(sizes) < len(SIM) / 4, sizes


def test_program_of_a_command():
    for words, want in ((["/b/tests/unit/test_gce", "lb"], "test_gce"), (["/usr/bin/python3", "/s/promtool_test.py", "b/test_serve"], "test_serve"),
                        (["/usr/bin/python3", "/s/test_names.py", "./trimtab-sim"], "python3")):
        assert sanitized_tests.program_of(words) == want, words


def test_two_tests_of_one_name_are_refused():
    try:
        sanitized_tests.check_names([Test("flows", {"trimtab:unit"}, "a"), Test("flows", {"trimtab:sim"}, "b")])
    except SystemExit as e:
        assert str(e) == "two tests have the name flows"
    else:
        raise AssertionError("not refused")


def test_all_names_every_one():
    for sanitizer in sanitized_tests.CHOOSE:
        assert set(names(sanitizer, 7, everything=True)) == OURS


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals())))
