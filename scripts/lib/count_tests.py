#!/usr/bin/env python3
"""Adds up the test cases of a JUnit file written by `meson test`: prints "passed failed skipped".

A test program that died without a single case counts as one failure, so that a crash is never silent.
"""
import sys
import xml.etree.ElementTree as ET


def main(path):
    passed = failed = skipped = 0
    root = ET.parse(path).getroot()
    for suite in root.iter("testsuite"):
        cases = list(suite.findall("testcase"))
        bad = sum(1 for c in cases if c.find("failure") is not None or c.find("error") is not None)
        skip = sum(1 for c in cases if c.find("skipped") is not None)
        if int(suite.get("errors") or 0) > 0 and bad == 0:
            bad_extra = 1
        else:
            bad_extra = 0
        failed += bad + bad_extra
        skipped += skip
        passed += len(cases) - bad - skip
    print(passed, failed, skipped)


if __name__ == "__main__":
    main(sys.argv[1])
