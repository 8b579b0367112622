#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The choice of tests for each sanitizer (scripts/lib/chosen_tests.py): none is left out for long.

    chosen_tests_test.py SOURCE
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(sys.argv[1], "scripts/lib"))
import chosen_tests  # noqa: E402
import tap  # noqa: E402
from chosen_tests import Test  # noqa: E402

SIM = [f"sim-{i}" for i in range(80)]
UNIT = {"gce-lb": "test_gce", "sim-kube-lists": "test_sim_kube", "aws-call": "test_aws", "azure-auth": "test_azure", "url": "test_net",
        "new": "test_anew", "interop-promtool": "test_serve", "cmd-plan": "test_cmd"}
WAITING = ("lint-tree", "fault-sweep", "guest-ipvs")
TESTS = [Test("golden", {"trimtab:golden"}, "golden_runner"), Test("bench", {"trimtab:bench"}, "python3"),
         *(Test(name, {"trimtab:" + name.split("-", maxsplit=1)[0]}, "python3") for name in WAITING[:2]),
         *(Test(name, {"trimtab:unit"}, program) for name, program in UNIT.items()),
         *(Test(name, {"trimtab:sim"}, "trimtab-sim") for name in SIM)]
INTEROP = ("interop-gcloud", "interop-azure-sdk", "interop-boto3", "interop-moto", "interop-http2", "interop-kubectl")
TESTS += [Test(name, {"trimtab:interop"}, "python3") for name in INTEROP] + [Test("guest-ipvs", {"trimtab:interop", "trimtab:guest"}, "python3")]
OURS = {*UNIT, *SIM, "golden"}
SANITIZERS = ("address", "thread")
TURNS = (0, 7, 899, 2**63)


def names(sanitizer, turn, everything=False, clouds=()):
    return [t.name for t in chosen_tests.CHOOSE[sanitizer](TESTS, everything, turn, clouds)]


def quarters(chosen):
    return {chosen_tests.quarter_of(t) for t in TESTS if t.name in chosen}


def test_each_commit_runs_each_test_once_or_under_a_sanitizer_in_its_place():
    for turn in range(900, 920):
        for clouds in ((), ("aws",), ("gce", "azure")):
            under, plain = names("address", turn, clouds=clouds), names("none", turn, clouds=clouds)
            assert (set(under) | set(plain)) - set(INTEROP) == OURS | set(WAITING)
            assert set(under) & set(plain) <= set(SIM) <= set(plain)


def test_four_consecutive_commits_run_each_program_of_unit_and_golden_once_under_each():
    for first in TURNS:
        for sanitizer in SANITIZERS:
            played = [name for turn in range(first, first + 4) for name in names(sanitizer, turn)]
            assert all(played.count(name) == 1 for name in OURS - set(SIM)), (sanitizer, first)


def test_twenty_consecutive_commits_run_all_of_sim_once_under_each():
    for first in TURNS:
        for sanitizer in SANITIZERS:
            played = [name for turn in range(first, first + 20) for name in names(sanitizer, turn)]
            assert all(played.count(name) == 1 for name in SIM), (sanitizer, first)


def test_a_commit_runs_one_quarter_under_each_and_two_different_ones():
    for turn in range(900, 920):
        first, second = (quarters(names(sanitizer, turn)) for sanitizer in SANITIZERS)
        assert len(first) == len(second) == 1 and first != second, (first, second)


def test_a_change_of_one_cloud_runs_its_programs_under_the_first_whatever_the_turn():
    for clouds, name in ((("gce",), "gce-lb"), (("aws",), "aws-call"), (("azure",), "azure-auth")):
        for turn in range(4):
            under = names("address", turn, clouds=clouds)
            assert name in under and set(names("address", turn)) <= set(under)
            assert len(quarters(under)) <= 2
            assert names("address", turn, clouds=(*clouds, "other")) == names("address", turn)


def test_four_consecutive_commits_run_each_of_interop_once():
    for first in TURNS:
        played = [name for turn in range(first, first + 4) for name in names("none", turn)]
        assert all(played.count(name) == 1 for name in INTEROP), first


def test_a_change_of_one_cloud_runs_what_is_about_it_of_interop():
    for turn in range(4):
        assert {"interop-boto3", "interop-moto"} <= set(names("none", turn, clouds=("aws",)))
        assert "interop-gcloud" in names("none", turn, clouds=("gce",)) and "interop-azure-sdk" in names("none", turn, clouds=("azure",))


def test_parts_of_sim_are_about_even():
    sizes = [len(set(names("address", turn)) & set(SIM)) for turn in range(900, 920, 4)]
    assert sum(sizes) == len(SIM) and max(sizes) < len(SIM) / 2, sizes


def test_program_of_a_command():
    for words, want in ((["/b/tests/unit/test_gce", "lb"], "test_gce"), (["/usr/bin/python3", "/s/promtool_test.py", "b/test_serve"], "test_serve"),
                        (["/usr/bin/python3", "/s/test_names.py", "./trimtab-sim"], "python3")):
        assert chosen_tests.program_of(words) == want, words


def test_two_tests_of_one_name_are_refused():
    try:
        chosen_tests.check_names([Test("flows", {"trimtab:unit"}, "a"), Test("flows", {"trimtab:sim"}, "b")])
    except SystemExit as e:
        assert str(e) == "two tests have the name flows"
    else:
        raise AssertionError("not refused")


def test_all_names_every_one():
    for sanitizer in SANITIZERS:
        assert set(names(sanitizer, 7, everything=True)) == OURS
    assert set(names("none", 7, everything=True)) == OURS | set(WAITING) | set(INTEROP)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals())))
