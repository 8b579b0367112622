#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/lib/failed_output.py shows what failed programs said, and nothing of the others.

    failed_output_test.py SOURCE     (TAP on stdout)
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

PROGRAM = os.path.join(sys.argv[1], "scripts/lib/failed_output.py")


def shown(*tests):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.writelines(json.dumps(test) + "\n" for test in tests)
        f.flush()
        return subprocess.run([sys.executable, PROGRAM, f.name], capture_output=True, text=True, check=True).stdout.splitlines()


def test_failed_program__cases_that_passed_are_left_out():
    got = shown({"name": "a", "result": "OK", "stdout": "not ok 1 - known\n"},
                {"name": "b", "result": "FAIL", "stdout": "1..2\nok 1 - fine\n# why\n\nnot ok 2 - bad\n"},
                {"name": "c", "result": "TIMEOUT"})
    assert got == ["-- b (FAIL) said:", "   # why", "   not ok 2 - bad", "-- c (TIMEOUT) said:"], got


def test_long_story__begin_and_end_are_shown():
    got = shown({"name": "b", "result": "ERROR", "stdout": "".join(f"# {i}\n" for i in range(100))})
    assert got[1] == "   # 0" and got[-1] == "   # 99" and "   … 40 lines left out" in got and len(got) == 62, got


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[2:])))
