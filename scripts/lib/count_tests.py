#!/usr/bin/env python3
"""Adds up the test cases of a run of `meson test`: prints "passed failed skipped".

    count_tests.py FOLDER/meson-logs/testlog.junit.xml

The cases stand in the JUnit file; whether a program as a whole was fine stands in the .json file of the same name.  One that was
not, and has no failed case (it crashed, ran out of time, ended too early), counts as one failure.
"""
import json
import os
import sys
import xml.etree.ElementTree as ET

FINE = ("OK", "SKIP", "EXPECTEDFAIL")


def has(case, *kinds):
    return any(case.find(kind) is not None for kind in kinds)


def programs_that_failed(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        tests = [json.loads(line) for line in f if line.strip()]
    return {t["name"] for t in tests if t["result"] not in FINE}


def main(path):
    passed = failed = skipped = 0
    broken = programs_that_failed(path.replace(".junit.xml", ".json"))
    for suite in ET.parse(path).getroot().iter("testsuite"):
        cases = suite.findall("testcase")
        bad = sum(has(c, "failure", "error") for c in cases)
        skip = sum(has(c, "skipped") for c in cases)
        name = suite.get("name", "").split(".", 1)[-1]
        if bad > 0:
            broken.discard(name)
        failed += bad
        skipped += skip
        passed += len(cases) - bad - skip
    print(passed, failed + len(broken), skipped)


if __name__ == "__main__":
    main(sys.argv[1])
