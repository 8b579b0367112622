#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/edits-tests.md has the numbers of cases that `fault-edits --count` prints.

    cases_page_test.py FAULT-EDITS PAGE
    cases_page_test.py FAULT-EDITS PAGE --write    writes them into the page"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

NATURES = ("good", "bad", "impossible", "blank", "case")
PART = re.compile(r"(<!-- cases: begin[^\n]*\n)(.*?)(<!-- cases: end)", re.S)


def table(program):
    text = subprocess.run([program, "--count"], capture_output=True, text=True, check=True).stdout
    lines = [f"| kind | edits | {' | '.join(NATURES)} | {' | '.join(f'E{i}' for i in range(1, 9))} |", "|---" * 15 + "|"]
    sums = [0] * 14
    for kind, numbers in re.findall(r"^# edits: (\S+)\s+(.*)$", text, re.M):
        words = numbers.split()
        assert tuple(words[1::2]) == NATURES, words
        cases = re.findall(r"(\d+) \(0\)", re.search(rf"^# {kind} +\|(.*)$", text, re.M).group(1))
        row = [int(n) for n in [words[0], *words[2::2], *cases]]
        sums = [a + b for a, b in zip(sums, row)]
        lines.append(f"| {kind} | {' | '.join(map(str, row))} |")
    lines.append(f"| all | {' | '.join(map(str, sums))} |")
    return "\n".join(lines) + "\n\n"


def main():
    program, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as f:
        page = f.read()
    want = table(program)
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(PART.sub(lambda m: m.group(1) + "\n" + want + m.group(3), page))
        return
    report = tap.Report(1)
    there = PART.search(page).group(2).strip().splitlines()
    report.check("the page has the cases of fault-edits", [f"not there: {line}" for line in want.strip().splitlines() if line not in there])
    sys.exit(report.end())


if __name__ == "__main__":
    main()
