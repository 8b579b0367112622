#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""File descriptors and threads run out at the start, while Services are synced, and at the end: trimtab says so, never aborts,
and goes on when there are some again.

    stuck_test.py TRIMTAB_SIM TRIMTAB NO_THREADS_LIBRARY [TEST…]     (TAP on stdout)
"""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import LIMIT_S, World  # noqa: E402  pylint: disable=wrong-import-position

SIM, TRIMTAB, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:4])
NO_DESCRIPTOR = "no file descriptor is free: raise the limit of open files"
NO_THREAD = re.compile(r"no thread for [^:]+ can be started: [^;]+; raise the limit of tasks")


def instrumented():
    """A sanitizer wants to be the first library, and opens files of its own."""
    return re.search(r"lib(asan|tsan|ubsan)", subprocess.run(["ldd", TRIMTAB], capture_output=True, text=True, check=True).stdout)


class Stuck(World):
    """A world whose trimtab can be deprived of descriptors and threads while it runs."""

    @property
    def gate(self):
        return os.path.join(self.folder, "no-threads")

    def environment(self):
        return {**super().environment(), "LD_PRELOAD": LIBRARY, "NO_THREADS": self.gate}

    def take_threads(self):
        with open(self.gate, "wb"):
            pass

    def give_threads(self):
        os.unlink(self.gate)

    def limit_descriptors(self, most):
        _, hard = resource.prlimit(self.trimtab.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.trimtab.pid, resource.RLIMIT_NOFILE, (most, hard))

    def take_descriptors(self):
        """Those that are open stay; connections that end are not made again."""
        self.limit_descriptors(0)

    def give_descriptors(self):
        self.limit_descriptors(1024)

    def run(self, *command, descriptors=None):
        """A command, or without one a controller that cannot start: the finished process."""
        flags = self.flags() if not command else [f for f in self.flags() if not f.startswith(("--leader-elect", "--secure-port"))]

        def limit():
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        return subprocess.run([TRIMTAB, *command, *flags, f"--kubeconfig={self.kubeconfig}"], capture_output=True, text=True,
                              env=self.environment(), preexec_fn=limit, timeout=LIMIT_S, check=False)

    def assert_lives(self):
        assert self.trimtab.poll() is None, self.log()


def test_no_descriptors__at_the_start__an_error_and_never_an_abort():
    """The loader needs the fourth one; with that alone no request can be sent."""
    with Stuck((SIM, TRIMTAB), "--nodes=1") as w:
        done = w.run("plan", "--timeout=1s", descriptors=4)
        assert done.returncode == 1 and NO_DESCRIPTOR in done.stderr, done
        done = w.run("plan", descriptors=64)
        assert done.returncode == 0, done


def test_no_descriptors__controller__says_so_or_runs():
    with Stuck((SIM, TRIMTAB), "--nodes=1") as w:
        for most in range(4, 9):
            done = w.run(descriptors=most)
            assert done.returncode in (1, 127) and done.stderr.strip(), (most, done.returncode, done.stderr)


def test_no_descriptors__while_a_service_is_synced__retried_until_there_are_some():
    with Stuck((SIM, TRIMTAB), "--nodes=1") as w:
        w.start()
        w.take_descriptors()
        w.create("web")
        w.until("the lack is named", lambda: w.logged(NO_DESCRIPTOR))
        w.assert_lives()
        w.give_descriptors()
        w.until_address("web")


def test_no_descriptors__at_the_end__it_ends():
    with Stuck((SIM, TRIMTAB), "--nodes=1") as w:
        w.start()
        w.take_descriptors()
        code, _ = w.stop()
        assert code == 0, (code, w.log())


def test_no_threads__at_the_start__an_error():
    with Stuck((SIM, TRIMTAB), "--nodes=1") as w:
        w.take_threads()
        done = w.run()
        assert done.returncode == 1, (done.returncode, done.stderr)
        assert NO_THREAD.search(done.stderr), done.stderr


def test_no_threads__while_a_service_is_synced__the_work_is_done():
    with Stuck((SIM, TRIMTAB), "--nodes=1") as w:
        w.start()
        w.take_threads()
        w.create("web")
        w.until_address("web")
        w.assert_lives()
        w.give_threads()


def test_no_threads__at_the_end__it_ends():
    with Stuck((SIM, TRIMTAB), "--nodes=1") as w:
        w.start()
        w.take_threads()
        code, _ = w.stop()
        assert code == 0, (code, w.log())


if __name__ == "__main__":
    if instrumented():
        print("1..0 # SKIP this build has a sanitizer's library")
        sys.exit(0)
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
