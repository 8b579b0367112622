#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration of `scripts/quickstart --cloud local`, with the programs of this build.

    quickstart_local_test.py TRIMTAB_SIM TRIMTAB      (TAP; skipped only where `unshare -Urnm` is not allowed)
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
sys.path.insert(0, HERE)
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position

SOURCE = os.path.join(HERE, "..", "..")
MARK = "TRIMTAB_QUICKSTART_LOCAL_TEST"
LIMIT_S = 180


def test_demonstration__ends_well_and_shows_what_it_says():
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(os.path.join(top, "build"))
        for name, program in zip(("trimtab-sim", "trimtab"), PROGRAMS):
            os.symlink(os.path.abspath(program), os.path.join(top, "build", name))
        for folder in ("examples", "tests"):
            os.symlink(os.path.join(os.path.abspath(SOURCE), folder), os.path.join(top, folder))
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts/lib/quickstart_local.py"), top, "--cloud", "local"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert "n1 answered 15, n2 answered 15" in said and "n1 answered 30" in said, said
    assert "the table has no element and no address is held" in said, said


def main():
    global PROGRAMS  # pylint: disable=global-statement
    PROGRAMS = sys.argv[1:3]
    for program in ("unshare", "nft", "ip", "curl"):
        if not shutil.which(program):
            return tap.skip(f"{program} is absent")
    if not world.here(MARK):
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    return tap.run(tap.tests_of(globals(), sys.argv[3:]))


PROGRAMS = None
if __name__ == "__main__":
    sys.exit(main())
