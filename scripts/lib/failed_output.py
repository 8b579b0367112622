#!/usr/bin/env python3
"""Prints what the programs said that failed in a run of `meson test`: meson itself shows only their stderr.

    failed_output.py FOLDER/meson-logs/testlog.json

For each of them the failed cases and the lines around them that TAP calls diagnostics ("# …"), at most MOST_LINES.
"""
import json
import sys

FINE = ("OK", "SKIP", "EXPECTEDFAIL")
MOST_LINES = 60


def telling(stdout):
    """The lines of a TAP stream that say what is wrong: everything but the cases that passed."""
    return [line for line in stdout.splitlines() if line.strip() and not line.startswith(("ok ", "1.."))]


def shown(lines):
    """The first of them, where the first failure stands, and the last."""
    if len(lines) <= MOST_LINES:
        return lines
    half = MOST_LINES // 2
    return lines[:half] + ["… %d lines left out" % (len(lines) - 2 * half)] + lines[-half:]


def main(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        tests = [json.loads(line) for line in f if line.strip()]
    for test in tests:
        if test["result"] not in FINE:
            print("-- %s (%s) said:" % (test["name"], test["result"]))
            for line in shown(telling(test.get("stdout", ""))):
                print("   " + line)


if __name__ == "__main__":
    main(sys.argv[1])
