#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/lib/change.py in small git repositories: the turn, the base of the change, and the clouds that it touches.

    change_test.py CHANGE_PY      (TAP on stdout)
"""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
sys.dont_write_bytecode = True
import change  # noqa: E402
import tap  # noqa: E402


class Repo:
    """A repository in a folder of its own, untouched by the user's settings."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="trimtab-change-")
        self.path = os.path.join(self.folder.name, "work")
        os.mkdir(self.path)
        self.env = {**os.environ, "HOME": self.folder.name, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": self.folder.name}
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "TRIMTAB_BASE", "TRIMTAB_SAMPLE"):
            self.env.pop(name, None)
        for who in ("AUTHOR", "COMMITTER"):
            self.env |= {f"GIT_{who}_NAME": "t", f"GIT_{who}_EMAIL": "t@example.com", f"GIT_{who}_DATE": "2024-01-01T00:00:00Z"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def git(self, *words):
        return subprocess.run(("git", *words), cwd=self.path, env=self.env, check=True, capture_output=True,
                              text=True).stdout.strip()

    def start(self):
        self.git("init", "-q", "-b", "main")
        self.commit("README.md")

    def write(self, path):
        full = os.path.join(self.path, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "a", encoding="utf-8") as f:
            f.write("line\n")

    def commit(self, *paths):
        for path in paths:
            self.write(path)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def ask(self, **env):
        """Returns (turn, clouds, stderr); the shell reads the assignments, as scripts/check does."""
        script = f'eval "$("{sys.executable}" "{os.path.abspath(sys.argv[1])}")" && echo "$TRIMTAB_SAMPLE_TURN|$TRIMTAB_SWEEP_WHOLE"'
        done = subprocess.run(("bash", "-c", script), cwd=self.path, env={**self.env, **env}, check=True,
                              capture_output=True, text=True)
        number, clouds = done.stdout.strip().split("|")
        return int(number), clouds, done.stderr


def expect(got, number, clouds, *words):
    assert got[:2] == (number, clouds), got
    for word in words:
        assert word in got[2], (word, got[2])


def test_paths_name_clouds():
    for paths, want in (((), ""), (("docs/x.md", "common/base/str.c", "providersx/gce/a.c"), ""), (("providers/gce/gce_lb.c",), "gce"),
                        (("sim/arm/arm.c", "README.md"), "azure"), (("sim/compute/x.c", "providers/aws/y.c"), "gce aws"),
                        (("tests/fault/flows_aws_many.c",), "aws"), (("tests/fault/chaos_gce_l4.c",), "gce"),
                        (("tests/fault/world_azure.h",), "azure"), (("tests/fault/play.c",), "gce azure aws"),
                        (("common/lb/exec.c",), "gce azure aws"), (("tests/support/rig_settle.c",), "gce azure aws")):
        assert " ".join(change.clouds_of(paths)) == want, (paths, want)


def test_consecutive_commits_have_consecutive_turns():
    with Repo() as r:
        r.start()
        for number in range(1, 4):
            assert r.ask()[0] == number
            r.commit("a")


def test_a_merge_is_one_turn():
    with Repo() as r:
        r.start()
        r.git("checkout", "-q", "-b", "side")
        r.commit("a")
        r.commit("b")
        r.git("checkout", "-q", "main")
        r.git("merge", "-q", "--no-ff", "-m", "m", "side")
        assert r.ask()[0] == 2


def test_a_branch_is_compared_with_main():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c")
        r.git("checkout", "-q", "-b", "work")
        r.commit("providers/azure/x.c")
        r.commit("docs/x.md")
        r.git("checkout", "-q", "main")
        r.commit("providers/aws/x.c")  # main goes on: no change of the branch
        r.git("checkout", "-q", "work")
        expect(r.ask(), 4, "azure", "2 files since the merge base with main", "more points of the flows of: azure")


def test_origin_comes_before_the_local_main():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c")
        r.git("update-ref", "refs/remotes/origin/main", "HEAD")
        r.commit("providers/aws/x.c")
        expect(r.ask(), 3, "aws", "1 files since the merge base with origin/main")
        expect(r.ask(TRIMTAB_SAMPLE="quick"), 3, "", "1 files since", "more points of the flows of: no cloud (quick)")


def test_main_itself_is_compared_with_20_commits_ago():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c")
        r.commit("providers/aws/x.c")
        for _ in range(19):
            r.commit("docs/x.md")
        expect(r.ask(), 22, "aws", "since 20 commits ago")
        r.git("update-ref", "refs/remotes/origin/main", "HEAD")
        expect(r.ask(), 22, "aws", "since 20 commits ago")


def test_few_commits_are_compared_with_the_oldest():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c")
        expect(r.ask(), 2, "gce", "since 1 commits ago")


def test_the_work_tree_counts():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c", "sim/aws/old.c")
        for _ in range(20):
            r.commit("docs/x.md")
        expect(r.ask(), 22, "")
        r.write("sim/arm/new.c")
        expect(r.ask(), 22, "azure")
        os.makedirs(os.path.join(r.path, "docs"), exist_ok=True)
        r.git("mv", "sim/aws/old.c", "docs/old.c")
        expect(r.ask(), 22, "azure aws")


def test_a_base_by_hand():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c")
        r.commit("providers/aws/x.c")
        expect(r.ask(TRIMTAB_BASE="HEAD~1"), 3, "aws", "since TRIMTAB_BASE HEAD~1")
        try:
            subprocess.run((sys.executable, os.path.abspath(sys.argv[1])), cwd=r.path, check=True, capture_output=True, text=True,
                           env={**r.env, "TRIMTAB_BASE": "nonsense"})
        except subprocess.CalledProcessError as e:
            assert "TRIMTAB_BASE=nonsense: no such revision" in e.stderr, e.stderr
        else:
            raise AssertionError("a base that is not there was taken")


def test_a_cut_off_history_says_so():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c")
        shallow = os.path.join(r.folder.name, "shallow")
        r.git("clone", "-q", "--depth=1", "file://" + r.path, shallow)
        r.path = shallow
        head = r.git("rev-parse", "HEAD")
        expect(r.ask(), int(head[:8], 16), "", "the history is cut off", "change: unknown since no older commit", "no cloud")


def test_without_git_the_day_is_the_turn():
    with Repo() as r:
        first = int(time.time() // 86400)
        got = r.ask()
        assert first <= got[0] <= int(time.time() // 86400), got
        expect(got, got[0], "", "the day, for there is no git history", "change: unknown")


def test_a_folder_of_somebody_else():
    with Repo() as r:
        r.start()
        r.commit("providers/gce/x.c")
        expect(r.ask(GIT_TEST_ASSUME_DIFFERENT_OWNER="1"), 2, "gce", "the number of the commit")


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals())))
