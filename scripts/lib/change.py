#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The change under test, for the tests that run a part of their cases: prints shell assignments.

    eval "$(scripts/lib/change.py)"

    export TRIMTAB_SAMPLE_TURN=804              which part of the cases runs (tests/support/sample.h): the number of the commit;
                                                in a shallow clone a hash, without git the days since 1970
    export TRIMTAB_SWEEP_WHOLE='gce aws'        clouds that the change touches: their flows marked whole run more points
                                                (none if TRIMTAB_SAMPLE=quick)

Says in a line each on stderr where both come from.  The change is all that differs between the files of the work tree and
its base, which is the first of these that exists:

    TRIMTAB_BASE                                a revision, set by hand or by CI
    the merge base with origin/main, then with main, if HEAD has commits of its own
    the 20th first-parent ancestor of HEAD, or the oldest one
"""
import os
import re
import subprocess
import sys
import time

DAY_S = 86400
LAST = 20
EVERY = ("gce", "azure", "aws")
# The parts of the flows of a cloud; the first pattern that a path matches counts.
CLOUDS = (
    (r"providers/gce/|sim/compute/|tests/fault/[a-z0-9_]*_gce[_.]", ("gce",)),
    (r"providers/azure/|sim/arm/|tests/fault/[a-z0-9_]*_azure[_.]", ("azure",)),
    (r"providers/aws/|sim/aws/|tests/fault/[a-z0-9_]*_aws[_.]", ("aws",)),
    (r"common/(lb|cloud)/|tests/fault/|tests/support/rig", EVERY),
)


def git(*words):
    """Returns what git prints, without the last newline; None if it fails or is absent.  The folder may be another user's, as it
    often is in a container."""
    try:
        done = subprocess.run(("git", "-c", "safe.directory=*", *words), capture_output=True, text=True, errors="surrogateescape", check=False)
    except OSError:
        return None
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


def clouds_of(paths):
    """Returns the clouds that a change of these files touches, in the order of EVERY."""
    touched = set()
    for path in paths:
        touched.update(next((clouds for pattern, clouds in CLOUDS if re.match(pattern, path)), ()))
    return [c for c in EVERY if c in touched]


def turn():
    """Returns the number for TRIMTAB_SAMPLE_TURN and where it comes from."""
    head = git("rev-parse", "HEAD")
    if head is None:
        return int(time.time() // DAY_S), "the day, for there is no git history"
    if git("rev-parse", "--is-shallow-repository") != "false":
        return int(head[:8], 16), "from the hash of HEAD, for the history is cut off"
    return int(git("rev-list", "--count", "--first-parent", "HEAD")), "the number of the commit"


def base():
    """Returns the revision with which the work tree is compared, and its description; None: there is none."""
    given = os.environ.get("TRIMTAB_BASE")
    if given:
        if git("rev-parse", "--verify", "--quiet", given + "^{commit}") is None:
            raise SystemExit(f"TRIMTAB_BASE={given}: no such revision")
        return given, f"TRIMTAB_BASE {given}"
    head = git("rev-parse", "HEAD")
    for main in ("refs/remotes/origin/main", "refs/heads/main"):
        common = git("merge-base", main, "HEAD")
        if common and common != head:
            return common, f"the merge base with {main.split('/', 2)[2]}"
    older = (git("rev-list", "--first-parent", f"--max-count={LAST + 1}", "HEAD") or "").split()
    if len(older) < 2:
        return None, "no older commit"
    return older[-1], f"{len(older) - 1} commits ago"


def changed(revision):
    """Returns the files that differ between the revision and the work tree, new ones included; None: git fails."""
    listed = git("diff", "--name-only", "--no-renames", "-z", revision)
    new = git("ls-files", "--others", "--exclude-standard", "-z")
    return None if listed is None or new is None else [p for p in (listed + "\0" + new).split("\0") if p]


def main():
    top = git("rev-parse", "--show-toplevel")
    if top:
        os.chdir(top)
    number, why = turn()
    revision, since = base()
    paths = None if revision is None else changed(revision)
    quick = os.environ.get("TRIMTAB_SAMPLE") == "quick"
    clouds = [] if quick else clouds_of(paths or ())
    print(f"export TRIMTAB_SAMPLE_TURN={number}")
    print(f"export TRIMTAB_SWEEP_WHOLE='{' '.join(clouds)}'")
    said = "unknown" if paths is None else f"{len(paths)} files"
    print(f"sample: turn {number}, {why}", file=sys.stderr)
    print(f"change: {said} since {since}; more points of the flows of: {' '.join(clouds) or 'no cloud'}"
          f"{' (quick)' if quick else ''}", file=sys.stderr)


if __name__ == "__main__":
    main()
