#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of the tests that scripts/check runs under a sanitizer, one a line, for `meson test`.

    sanitized_tests.py BUILD address|thread              names
    sanitized_tests.py BUILD address|thread --targets    what ninja has to build for them

address: all of the suites unit and golden, and a sixteenth of the suite sim, by the hash of the name: whole programs are slow
there, and each of them runs without a sanitizer anyway.

thread: a quarter of what has threads, so that a commit compiles only what these tests link (they run under the other sanitizer,
too).  The suite sim is one quarter, of which a fifth runs; the programs of unit are three, see QUARTERS.

TRIMTAB_SAMPLE_TURN says which part (tests/support/sample.py): 16 consecutive commits run all under the first, 20 under the
second.  TRIMTAB_SAMPLE=all names every test.
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/support"))
import sample  # noqa: E402

WHOLE = {"trimtab:unit", "trimtab:golden"}
SHARED = {"trimtab:sim"}
ADDRESS_PARTS = 16
# By the beginning of a program's name; those that no quarter names are in the last.
QUARTERS = (None, ("test_gce", "test_sim"), ("test_aws", "test_azure"), ())  # the first is the suite sim
SIM_PARTS = 5  # of that quarter

Test = collections.namedtuple("Test", "name suites program")


def check_names(tests):
    """Two of one name would end meson before it has written what it counted."""
    twice = [name for name, n in collections.Counter(t.name for t in tests).items() if n > 1]
    if twice:
        raise SystemExit(f"two tests have the name {', '.join(twice)}")


def address(tests, everything, turn):
    """Returns those of `tests` that run under ASan and UBSan, in their order."""
    part = sample.Sample(1 if everything else ADDRESS_PARTS, turn)
    return [t for t in tests if WHOLE & t.suites or SHARED & t.suites and part.takes(t.name)]


def quarter_of(test):
    if SHARED & test.suites:
        return 0
    return next((i for i, begins in enumerate(QUARTERS) if begins and test.program.startswith(begins)), len(QUARTERS) - 1)


def thread(tests, everything, turn):
    """Returns those of `tests` that run under TSan, in their order."""
    ours = [t for t in tests if (WHOLE | SHARED) & t.suites]
    if everything:
        return ours
    part = sample.Sample(SIM_PARTS, turn // len(QUARTERS))
    ours = [t for t in ours if quarter_of(t) == turn % len(QUARTERS)]
    return [t for t in ours if not SHARED & t.suites or part.takes(t.name)]


CHOOSE = {"address": address, "thread": thread}


def introspect(build, what):
    return json.loads(subprocess.run(["meson", "introspect", build, f"--{what}"], check=True, capture_output=True, text=True).stdout)


def program_of(words):
    """The first word of a command that lies in the build folder as a program of tests does, without its folder."""
    names = [os.path.basename(word) for word in words]
    return next((name for name in names if name.startswith("test_") and "." not in name), names[0])


def targets_of(build, needed):
    """Returns the files of the targets with these ids, as ninja names them."""
    top = os.path.abspath(build)
    return [os.path.relpath(f, top) for t in introspect(build, "targets") if t["id"] in needed for f in t["filename"]]


def main(build, sanitizer, form=""):
    listed = introspect(build, "tests")
    tests = [Test(t["name"], set(t["suite"]), program_of(t["cmd"])) for t in listed]
    check_names(tests)
    sampled = sample.from_env(ci=ADDRESS_PARTS, quick=ADDRESS_PARTS)
    names = {t.name for t in CHOOSE[sanitizer](tests, sampled.parts == 1, sampled.turn)}
    if not names:
        raise SystemExit(f"{build} has no test of unit, golden or sim")
    if form == "--targets":
        print("\n".join(targets_of(build, {d for t in listed if t["name"] in names for d in t["depends"]})))
    else:
        print("\n".join(t.name for t in tests if t.name in names))


if __name__ == "__main__":
    main(*sys.argv[1:])
