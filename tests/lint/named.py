# SPDX-License-Identifier: Apache-2.0
"""The rule of lint.py about tests that pages name: a promise counts for what its test shows, so the test has to be there."""
import fnmatch
import re

TEST = re.compile(r"`([a-z0-9_*]+__[A-Za-z0-9_*]*)`")  # `module__condition__outcome`, also a glob
PATH = re.compile(r"`(tests/[\w./-]+\.(?:c|h|py|txt))`")
NAME = re.compile(r"\b[a-z0-9_]+__[A-Za-z0-9_]+\b")


def rule_named(tree):
    """Tests that pages name are there."""
    names, bad = set(), []
    for f in tree.files:
        if f.startswith("tests/") and f.endswith((".c", ".h", ".py")):
            names.update(NAME.findall(tree.text(f)))
    for f in tree.files:
        if not f.startswith("docs/") or f.startswith("docs/spec/") or not f.endswith(".md"):
            continue
        for number, line in enumerate(tree.text(f).splitlines(), 1):
            gone = [n for n in TEST.findall(line) if n not in names and not ("*" in n and fnmatch.filter(names, n))]
            gone += [p for p in PATH.findall(line) if p not in tree.files]
            bad += ["%s:%d: there is no test %s" % (f, number, n) for n in gone]
    return bad
