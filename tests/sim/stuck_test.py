#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""File descriptors, threads, the answers of the name server, the reader of the log or the room on its disk are missing: at the
start, while Services are synced, when a standby takes over, and at the end.  trimtab says so, never aborts, and goes on when
they are there again.

    stuck_test.py TRIMTAB_SIM TRIMTAB PRELOADED_LIBRARY [TEST…]     (TAP on stdout)
"""
import fcntl
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import LIMIT_S, World  # noqa: E402  pylint: disable=wrong-import-position

SIM, TRIMTAB, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:4])
NO_DESCRIPTOR = "no file descriptor is free: raise the limit of open files"
NO_THREAD = re.compile(r"no thread for [^:]+ can be started: [^;]+; raise the limit of tasks")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"


def instrumented():
    """A sanitizer wants to be the first library, and opens files of its own."""
    with open(TRIMTAB, "rb") as program: # clang's are part of the program
        text = program.read()
    return any(name in text for name in (b"__asan_init", b"__tsan_init", b"__ubsan_handle"))


class Replica:
    """One process and what it says."""

    def __init__(self, world, log=None):
        self.world = world
        world.runs += 1
        self.path = os.path.join(world.folder, f"run-{world.runs}")
        with open(self.path, "ab") as own:
            self.process = subprocess.Popen([TRIMTAB, *world.flags(), f"--kubeconfig={world.kubeconfig}", *world.more],
                                            stderr=own if log is None else log, env=world.environment())

    def log(self):
        with open(self.path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def until_logged(self, text):
        self.world.until(f"{text} is logged", lambda: text in self.log() or self.process.poll() is not None)
        assert text in self.log(), self.process.poll()

    def until_it_leads(self):
        """No third process competes for the lease."""
        def leads():
            assert self.process.poll() is None, self.process.poll()
            return self.world.holder() not in ("", self.world.before)
        self.world.until("it leads", leads)
        self.world.before = self.world.holder()

    def until_refused(self):
        """It says that it has no descriptor.  What it closes meanwhile is taken away, too: it might get on with that."""
        def refused():
            self.world.take_descriptors()
            return NO_DESCRIPTOR in self.log() or self.process.poll() is not None
        self.world.until("a descriptor is refused", refused)
        assert NO_DESCRIPTOR in self.log(), self.process.poll()

    def limit_descriptors(self, most):
        if self.process.poll() is None:
            _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (most, hard))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(LIMIT_S)
        assert code == 0, code


class Stuck(World):
    """A world of several replicas that can be deprived of something while they run."""

    def __init__(self, *more):
        super().__init__((SIM, TRIMTAB), "--nodes=1")
        self.more, self.replicas = more, []
        self.before = ""  # the holder of the lease as the test knows it

    def environment(self):
        return {**super().environment(), "LD_PRELOAD": LIBRARY, "STUCK": self.folder}

    def flags(self):
        return [f for f in super().flags() if f != "--leader-elect=false"]

    def launch(self, log=None):
        self.replicas.append(Replica(self, log))
        return self.replicas[-1]

    def __exit__(self, kind, value, trace):
        for r in self.replicas:
            if r.process.poll() is None:
                r.process.kill()
                r.process.wait(LIMIT_S)
            if kind is not None:
                print("# " + "\n# ".join(line for line in r.log().splitlines() if '"FLAG"' not in line))
        super().__exit__(kind, value, trace)

    def holder(self):
        status, lease = self.call("GET", LEASE)
        return (lease["spec"].get("holderIdentity") or "") if status == 200 else ""

    def run(self, *command, descriptors=None):
        """A command, or without one a controller that cannot start: the finished process."""
        flags = self.flags() if not command else [f for f in self.flags() if not f.startswith("--secure-port")]

        def limit():
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        return subprocess.run([TRIMTAB, *command, *flags, f"--kubeconfig={self.kubeconfig}"], capture_output=True, text=True,
                              env=self.environment(), preexec_fn=limit, timeout=LIMIT_S, check=False)

    # --- what is taken ---
    def take_descriptors(self):
        """Those that are open stay; there are no more, but for those that are closed afterwards."""
        for r in self.replicas:
            if r.process.poll() is None:
                used = {int(name) for name in os.listdir(f"/proc/{r.process.pid}/fd")}
                r.limit_descriptors(min(set(range(len(used) + 1)) - used))

    def give_descriptors(self):
        for r in self.replicas:
            r.limit_descriptors(1024)

    def take(self, what):
        os.mkfifo(os.path.join(self.folder, what))

    def give(self, what):
        """A reader sleeps in open() until there is a writer."""
        path = os.path.join(self.folder, what)
        writer = os.open(path, os.O_RDWR)  # waits for no reader
        os.unlink(path)
        os.close(writer)

    def name_everything(self):
        """Clients ask for the simulator by a name."""
        for base, _, names in os.walk(self.folder):
            for path in (os.path.join(base, name) for name in names):
                with open(path, "r+", encoding="utf-8") as f:
                    text = f.read().replace("127.0.0.1", "sim.test")
                    f.seek(0)
                    f.write(text)
                    f.truncate()


def pair(w, log=None):
    """A leader and a standby."""
    leader = w.launch(log)
    leader.until_it_leads()
    standby = w.launch(log)
    if log is None:
        standby.until_logged("The lease is held by another process")
    return leader, standby


def test_no_descriptors__at_the_start__an_error_and_never_an_abort():
    """The loader needs the fourth one; with that alone no request can be sent."""
    with Stuck() as w:
        done = w.run("plan", "--timeout=1s", descriptors=4)
        assert done.returncode == 1 and NO_DESCRIPTOR in done.stderr, done
        for most in (5, 7):
            done = w.run(descriptors=most)
            assert done.returncode in (1, 127) and done.stderr.strip(), (most, done.returncode, done.stderr)


def test_no_descriptors__sync_hand_over_and_end():
    with Stuck() as w:
        leader, standby = pair(w)
        w.take_descriptors()
        w.create("web")
        leader.until_refused()
        w.give_descriptors()
        w.until_address("web")
        w.take_descriptors()
        leader.end()
        standby.until_it_leads()
        w.create("late")
        standby.until_refused()
        w.give_descriptors()
        w.until_address("late")
        w.take_descriptors()
        standby.end()


def test_no_threads__at_the_start__an_error():
    with Stuck() as w:
        w.take("threads")
        done = w.run()
        assert done.returncode == 1, (done.returncode, done.stderr)
        assert NO_THREAD.search(done.stderr), done.stderr


def test_no_threads__sync_hand_over_and_end():
    with Stuck() as w:
        leader, standby = pair(w)
        w.take("threads")
        w.create("web")
        w.until_address("web")
        leader.end()
        assert standby.process.wait(LIMIT_S) == 1  # another machine may have some
        assert NO_THREAD.search(standby.log()) and w.holder() == "", standby.log()
        w.give("threads")
        third = w.launch()
        third.until_it_leads()
        w.create("late")
        w.until_address("late")
        w.take("threads")
        third.end()


def test_frozen_names__at_the_start__a_command_ends_and_the_controller_waits():
    with Stuck() as w:
        w.name_everything()
        w.take("names")
        done = w.run("plan", "--timeout=1s")
        assert done.returncode == 1 and "timed out after 1s (--timeout) while reading the cluster" in done.stderr, done
        late = w.launch()
        late.until_logged("Attempting to acquire leader lease")
        w.give("names")
        late.until_it_leads()


def test_frozen_names__sync_hand_over_and_end():
    with Stuck() as w:
        w.name_everything()
        leader, standby = pair(w)
        w.take("names")
        w.create("web")
        leader.end()
        standby.until_it_leads()
        w.give("names")
        w.until_address("web")
        w.take("names")
        standby.end()


def test_log_that_nobody_reads__hand_over_and_end():
    """Start and sync: sim-process."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with Stuck("-v=9") as w, os.fdopen(reader), os.fdopen(writer, "wb") as log:
        hand_over(w, log)


def test_full_disk__start_sync_hand_over_and_end():
    with open("/dev/full", "wb", buffering=0) as log, Stuck("-v=9") as w:
        hand_over(w, log)


def hand_over(w, log):
    leader, standby = pair(w, log)
    w.create("web")
    w.until_address("web")
    leader.end()
    standby.until_it_leads()
    w.create("late")
    w.until_address("late")
    standby.end()


if __name__ == "__main__":
    if instrumented():
        print("1..0 # SKIP this program has a sanitizer, which opens files of its own")
        sys.exit(0)
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
