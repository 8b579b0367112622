#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check refuses to run twice in one tree at the same time.

    check_lock_test.py SOURCE     (TAP on stdout)

The tree is a copy of the scripts alone.  No run of it begins to build.
"""
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

SOURCE = sys.argv[1]


def check(tree):
    # Without a PATH to git, dpkg and meson a run that goes on ends at once.
    return subprocess.run(["/bin/bash", os.path.join(tree, "scripts/check"), "--quick"], cwd=tree, capture_output=True, text=True,
                          check=False, env={"PATH": os.path.join(tree, "bin")})


def test_second_run__says_so_and_fails():
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(os.path.realpath(folder), "tree")
        shutil.copytree(os.path.join(SOURCE, "scripts"), os.path.join(tree, "scripts"))
        os.mkdir(os.path.join(tree, "bin"))
        for name in ("dirname", "flock", "mktemp", "rm"):
            os.symlink(shutil.which(name), os.path.join(tree, "bin", name))
        want = f"error: another scripts/check runs in {tree}; wait for its end, or check another worktree\n"
        first = os.open(tree, os.O_RDONLY)
        fcntl.flock(first, fcntl.LOCK_EX)
        second = check(tree)
        assert (second.returncode, second.stderr, second.stdout) == (1, want, ""), second
        os.close(first)  # its end is enough
        third = check(tree)
        assert want not in third.stderr and third.returncode != 0, third


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[2:])))
