# SPDX-License-Identifier: Apache-2.0
"""The tree that is looked at, and programs that look: for the tests of what is shipped."""
import os
import subprocess


def read(tree, *path):
    with open(os.path.join(tree, *path), encoding="utf-8") as f:
        return f.read()


def run(*command, code=0, **kw):
    """Ends with `code`, or the test has failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **kw)
    assert done.returncode == code, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done
