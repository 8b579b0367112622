#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of the tests that scripts/check runs under a sanitizer, one a line, for `meson test`.

    sanitized_tests.py BUILD SHIFT

All of the suites unit and golden, and every fourth one of the suite sim: whole programs are slow there, and each of them
runs without a sanitizer anyway.  A test of sim is named if hash(name) and SHIFT + turn leave the same remainder divided by
four (TRIMTAB_SAMPLE_TURN, tests/support/sample.py).  Two SHIFTs name different tests, and four consecutive commits run each
under both sanitizers.  TRIMTAB_SAMPLE=all names every test.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/support"))
import sample  # noqa: E402

WHOLE = {"trimtab:unit", "trimtab:golden"}
SHARED = {"trimtab:sim"}
PARTS = 4


def chosen(tests, sampled, shift):
    """Returns the names of `tests`, pairs of a name and its suites, in their order."""
    part = sample.Sample(sampled.parts, sampled.turn + shift)
    return [name for name, suites in tests if WHOLE & set(suites) or SHARED & set(suites) and part.takes(name)]


def main(build, shift):
    listed = subprocess.run(["meson", "introspect", build, "--tests"], check=True, capture_output=True, text=True).stdout
    names = chosen([(t["name"], t["suite"]) for t in json.loads(listed)], sample.from_env(ci=PARTS, quick=PARTS), int(shift))
    if not names:
        raise SystemExit(f"{build} has no test of unit, golden or sim")
    print("\n".join(names))


if __name__ == "__main__":
    main(*sys.argv[1:])
