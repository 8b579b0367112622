#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of the tests that scripts/check runs in one of its builds, one a line, for `meson test`.

    chosen_tests.py BUILD address|thread|none              names
    chosen_tests.py BUILD address|thread|none --targets    what ninja has to build for them

What a sanitizer can look at is in four quarters, see QUARTERS: the suites sim (of which a fifth runs) and golden with two programs of
unit, and the other programs of unit in three parts.  A commit runs one quarter under each sanitizer, another one under each, and compiles only what these tests link.

address: of all tests of a quarter.  If the change touches one cloud, the quarter with that cloud's programs runs, too.
thread:  of those that have threads, for the build holds no others.
none:    all others, for the build without a sanitizer: not bench, and of unit and golden not what runs under the first this time.
         Of those that are of interop alone, where clients and emulators of others take most of the time, a quarter by the hash of the
         name; if the change touches one cloud, all that are about it.

TRIMTAB_SAMPLE_TURN says which part (tests/support/sample.py): 20 consecutive commits run all under both; TRIMTAB_SWEEP_WHOLE
names the clouds that the change touches (scripts/lib/change.py).  TRIMTAB_SAMPLE=all names every test.
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/support"))
import sample  # noqa: E402

GOLDEN = {"trimtab:golden"}
WHOLE = {"trimtab:unit", *GOLDEN}  # run in one build
SHARED = {"trimtab:sim"}  # runs without a sanitizer, and a part of it under one
FIGURES = {"trimtab:bench"}  # no verdicts
INTEROP = {"trimtab:interop"}  # not those that are of another suite as well
INTEROP_PARTS = 4
INTEROP_OF = {"gce": ("gcloud",), "azure": ("azure",), "aws": ("aws", "boto3", "moto")}  # in names
# By the beginning of a program's name; those that no quarter names are in the last.  The first are also the suites sim and golden:
# all that links every provider.
QUARTERS = (("test_cmd", "test_serve"), ("test_gce", "test_sim"), ("test_aws", "test_azure"), ())
SIM_PARTS = 5  # of that quarter
AHEAD = 2  # of the quarter under the first sanitizer, so that at most one compiles all that sim links

Test = collections.namedtuple("Test", "name suites program")


def check_names(tests):
    """Two of one name would end meson before it has written what it counted."""
    twice = [name for name, n in collections.Counter(t.name for t in tests).items() if n > 1]
    if twice:
        raise SystemExit(f"two tests have the name {', '.join(twice)}")


def quarter_of(test):
    if (SHARED | GOLDEN) & test.suites:
        return 0
    return next((i for i, begins in enumerate(QUARTERS) if test.program.startswith(begins)), len(QUARTERS) - 1)


def of_quarters(tests, quarters, turn):
    """Returns the tests of unit, golden and sim that are in one of these quarters; of sim the fifth of this turn."""
    part = sample.Sample(SIM_PARTS, turn // len(QUARTERS))
    return [t for t in tests if (WHOLE | SHARED) & t.suites and quarter_of(t) in quarters and (not SHARED & t.suites or part.takes(t.name))]


def address(tests, everything, turn, clouds):
    """Returns those of `tests` that run under ASan and UBSan, in their order."""
    if everything:
        return [t for t in tests if (WHOLE | SHARED) & t.suites]
    quarters = {turn % len(QUARTERS)}
    if len(clouds) == 1:
        quarters.update(i for i, begins in enumerate(QUARTERS) if f"test_{clouds[0]}" in begins)
    return of_quarters(tests, quarters, turn)


def thread(tests, everything, turn, clouds):
    """Returns those of `tests` that run under TSan, in their order."""
    if everything:
        return [t for t in tests if (WHOLE | SHARED) & t.suites]
    return of_quarters(tests, {(turn + AHEAD) % len(QUARTERS)}, turn + AHEAD)


def none(tests, everything, turn, clouds):
    """Returns those of `tests` that run without a sanitizer, in their order."""
    if everything:
        return [t for t in tests if not FIGURES & t.suites]
    elsewhere = [t for t in address(tests, everything, turn, clouds) if WHOLE & t.suites]
    part = sample.Sample(INTEROP_PARTS, turn)
    words = INTEROP_OF.get(clouds[0], ()) if len(clouds) == 1 else ()
    return [t for t in tests if not FIGURES & t.suites and t not in elsewhere
            and (t.suites != INTEROP or part.takes(t.name) or any(word in t.name for word in words))]


CHOOSE = {"address": address, "thread": thread, "none": none}


def introspect(build, what):
    return json.loads(subprocess.run(["meson", "introspect", build, f"--{what}"], check=True, capture_output=True, text=True).stdout)


def program_of(words):
    """The first word of a command that lies in the build folder as a program of tests does, without its folder."""
    names = [os.path.basename(word) for word in words]
    return next((name for name in names if name.startswith("test_") and "." not in name), names[0])


def targets_of(build, needed, idle=()):
    """Returns the files of the targets with these ids, as ninja names them; for no ids, of all that ninja builds by itself but `idle`."""
    top = os.path.abspath(build)
    wanted = [t for t in introspect(build, "targets") if (t["id"] in needed if needed else t["build_by_default"] and t["id"] not in idle)]
    return [os.path.relpath(f, top) for t in wanted for f in t["filename"]]


def main(build, sanitizer, form=""):
    listed = introspect(build, "tests")
    tests = [Test(t["name"], set(t["suite"]), program_of(t["cmd"])) for t in listed]
    check_names(tests)
    sampled = sample.from_env(ci=SIM_PARTS, quick=SIM_PARTS)
    clouds = os.environ.get("TRIMTAB_SWEEP_WHOLE", "").split()
    names = {t.name for t in CHOOSE[sanitizer](tests, sampled.parts == 1, sampled.turn, clouds)}
    if not names:
        raise SystemExit(f"{build} has no test for {sanitizer}")
    if form == "--targets":
        needed = {d for t in listed if t["name"] in names for d in t["depends"]}
        idle = {d for t in listed if t["name"] not in names and WHOLE & set(t["suite"]) for d in t["depends"]} - needed
        print("\n".join(targets_of(build, set() if sanitizer == "none" else needed, idle)))
    else:
        print("\n".join(t.name for t in tests if t.name in names))


if __name__ == "__main__":
    main(*sys.argv[1:])
