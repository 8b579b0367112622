#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/metrics as Prometheus' own checker reads it.  Skipped where promtool is absent.

Usage: promtool_test.py TEST_SERVE BUILD
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import promtool  # noqa: E402  pylint: disable=wrong-import-position

# Upstream chose names that promtool would not; they cannot be changed without breaking dashboards.  Ours follow its rules.
UPSTREAM = ('counter metrics should have "_total" suffix',
            'non-histogram and non-summary metrics should not have "_count" suffix')


def counts(line):
    return line.startswith("trimtab_") or not line.endswith(UPSTREAM)


def main():
    print("TAP version 13\n1..1")
    program = promtool.find(sys.argv[2])
    if program is None:
        print(f"ok 1 - promtool # SKIP {promtool.ABSENT}")
        return 0
    text = subprocess.run([sys.argv[1], "print_metrics"], stdout=subprocess.PIPE, check=True).stdout
    r = subprocess.run([program, "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [l for l in r.stdout.decode().splitlines() if l and counts(l)]
    for line in lines:
        print("# " + line)
    ok = not lines and r.returncode in (0, 3)
    print("%sok 1 - promtool check metrics" % ("" if ok else "not "))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
