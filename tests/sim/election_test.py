#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replicas that elect a leader: hand-over, loss, chaos.  Whole programs against the simulator with Google.

    election_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)

What took how long is printed and never asserted; asserted is the order of requests, and who sent them.
"""
import collections
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402
from controller_world import LIMIT_S  # noqa: E402
from replicas import LEASE, NAME, SHORT, SHORTER, Replicas  # noqa: E402

PROGRAMS = sys.argv[1:3]
OTHER = "somebody_else"
LONG = ["--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=50s", "--leader-elect-retry-period=300ms"]
AT_ONCE = 6  # points of a sweep; most of the time they wait for a renewal


def say(text):
    print(f"# {text}", flush=True)


def three_services(w):
    for name in ("one", "two", "three"):
        w.create(name)
    for name in ("one", "two", "three"):
        w.until_address(name)


def until_quiet(w, who):
    """Nothing was sent by it but for its lease, over some of its renewals."""
    def lease_writes():
        return len([r for r in w.sent(who) if r.is_lease_write()])

    while True:
        others, renewals = len([r for r in w.sent(who) if not r.is_lease()]), lease_writes()
        w.until("the lease is renewed", lambda n=renewals: lease_writes() > n)
        if len([r for r in w.sent(who) if not r.is_lease()]) == others:
            return


def until_synced(w, who, *names):
    for name in names:
        who.until_logged(f'"Synced" service="default/{name}"')


def lease_events(w):
    items = w.must("GET", "/api/v1/namespaces/kube-system/events")["items"]
    return [e for e in items if e["involvedObject"]["kind"] == "Lease"]


def assert_nothing_planned(w):
    done = subprocess.run([w.trimtab_exe, "plan", f"--kubeconfig={w.kubeconfig}", "--cloud-provider=gce",
                           f"--cloud-config={w.conf}/gce.conf"],
                          env=w.environment(), capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done


def test_standby__warm_and_silent__takes_over_at_once_when_the_leader_ends():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a = w.launch("-v=2")
        three_services(w)
        first = w.lease()["holderIdentity"]
        b = w.launch("-v=2").stands_by().until_logged('"Watching"')
        assert f'holder="{first}"' in b.log() and 'duration="15s"' in b.log(), b.log()
        until_quiet(w, a)
        assert not w.mutations_of(b), w.mutations_of(b)
        assert a.end() == 0
        b.until_logged("Successfully acquired lease")
        until_synced(w, b, "one", "two", "three")
        leases = [r for r in w.sent() if r.is_lease()]
        at = next(i for i, r in enumerate(leases) if r.is_lease_write() and not r.holder())
        release = leases[at]
        follow = [(r.who, r.method, r.status) for r in leases[at + 1:at + 3]]
        assert release.who == a.who and follow == [(b.who, "GET", 200), (b.who, "PUT", 200)], (release, follow)
        assert "timeout=" in leases[at + 2].path, leases[at + 2]
        say(f"hand-over: {1000 * (leases[at + 2].sent - release.sent):.0f} ms from the release to the write of the next")
        assert not w.mutations_of(b), w.mutations_of(b)
        assert not w.overlaps(), w.overlaps()
        spec = w.lease()
        assert spec["holderIdentity"] not in ("", first) and spec["leaseTransitions"] == 1, spec
        want = [("LeaderElection", what, NAME) for what in ("became leader", "stopped leading", "became leader")]
        w.until("both have told of it", lambda: len(lease_events(w)) >= len(want))
        said = [(e["reason"], e["message"].split(" ", 1)[1], e["source"]["component"]) for e in lease_events(w)]
        assert sorted(said) == sorted(want), said
        w.create("four")
        w.until_address("four")
        assert b.end() == 0
        assert_nothing_planned(w)


def test_leader_killed__taken_over_when_the_lease_has_run_out():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a = w.launch("-v=2", *SHORT)
        three_services(w)
        b = w.launch("-v=2", *SHORT).stands_by()
        until_quiet(w, a)
        a.send(signal.SIGKILL)
        a.process.wait(LIMIT_S)
        b.until_logged("Successfully acquired lease")
        until_synced(w, b, "one", "two", "three")
        writes = [r for r in w.sent() if r.is_lease_write()]
        last, taken = [r for r in writes if r.who == a.who][-1], [r for r in writes if r.who == b.who][0]
        say(f"kill: taken over {taken.sent - last.sent:.1f} s after the last renewal (lease 8 s, retry 0.5 to 1.1 s)")
        assert taken.sent - last.sent >= 8, (last, taken)
        assert not w.mutations_of(b) and not w.overlaps(), (w.mutations_of(b), w.overlaps())


def test_leader_stopped__wakes_up_when_another_leads__sends_nothing_and_ends():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a = w.launch("-v=2", *SHORT)
        w.create("one")
        w.until_address("one")
        b = w.launch("-v=2", *SHORT).stands_by()
        w.fault(match={"api": "gce", "method": "POST"}, do="delay", ms=1500, count=0)
        w.create("two")
        w.create("three")
        w.until("it is at work", lambda: len(w.mutations_of(a)) > 0 and w.cloud("firewalls"))
        a.send(signal.SIGSTOP)
        b.until_logged("Successfully acquired lease")
        taken = [r for r in w.sent(b) if r.is_lease_write()][0]
        w.until_address("two")
        a.send(signal.SIGCONT)
        assert a.process.wait(LIMIT_S) == 1
        assert f"error: leaderelection lost: the lease {NAME} is lost" in a.log(), a.log()
        assert not w.mutations_of(a, taken.sent), w.mutations_of(a, taken.sent)
        assert not w.overlaps(), w.overlaps()
        w.heal()
        w.until_address("three")
        assert w.lease()["holderIdentity"] in b.log()


def test_lease_taken_by_force__ends_with_status_1_and_leaves_the_lease_alone():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a = w.launch("-v=2")
        w.create("one")
        w.until_address("one")
        w.must("PATCH", f"{LEASE}/{NAME}", {"spec": {"holderIdentity": OTHER, "leaseDurationSeconds": 3600}},
               content_type="application/merge-patch+json")
        assert a.process.wait(LIMIT_S) == 1
        assert f"error: leaderelection lost: the lease {NAME} is lost" in a.log() and OTHER in a.log(), a.log()
        assert w.lease()["holderIdentity"] == OTHER
        assert not [e for e in lease_events(w) if "stopped" in e["message"]]


def test_renewals_fail__ends_before_anybody_else_may_begin():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a = w.launch("-v=2", *SHORT)
        w.create("one")
        w.until_address("one")
        b = w.launch("-v=2", *SHORT).stands_by()
        a.proxy.before = lambda r: r.is_lease()  # its requests get lost, those to the cloud do not
        ended = a.process.wait(LIMIT_S)
        last = [r for r in w.sent(a) if r.is_lease_write()][-1]
        say(f"no renewal gets through: ended {time.monotonic() - last.sent:.1f} s after the last one (deadline 6 s, lease 8 s)")
        assert ended == 1 and "leaderelection lost" in a.log(), a.log()
        b.until_logged("Successfully acquired lease")
        assert not w.overlaps(), w.overlaps()


def test_watching_is_refused__asks_as_upstream_does():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        w.fault(match={"api": "kubernetes", "op": "leases.watch"}, do="refuse", status=403, count=0)
        a = w.launch("-v=2", *SHORT)
        w.create("one")
        w.until_address("one")
        b = w.launch("-v=2", *SHORT).stands_by().until_logged("The lease is not watched; it is asked for instead")
        assert a.end() == 0
        b.until_logged("Successfully acquired lease")
        assert not w.overlaps(), w.overlaps()


def test_api_server_down__waits_for_it_and_says_so():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a = w.launch("-v=2", down=True).until_logged('"Waiting for the API server"')
        assert 'waited="' in a.log() and '"Acquiring the lease did not succeed' in a.log(), a.log()
        assert a.log().count("Acquiring the lease did not succeed") <= 3, a.log()
        a.proxy.is_down = False
        a.until_logged("Successfully acquired lease")
        w.create("one")
        w.until_address("one")
        b = w.launch("-v=2", down=True).until_logged('"Acquiring the lease did not succeed')
        assert b.end() == 0, "while it waits"


def test_no_rights_on_the_lease__stands_by_and_says_why():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        w.fault(match={"api": "kubernetes", "op": "leases.get"}, do="refuse", status=403, count=0)
        a = w.launch("-v=2").until_logged('"Watching"').until_logged('"Acquiring the lease did not succeed')
        a.until_logged('code="forbidden"').until_logged("(403): the account needs the role that 'trimtab rbac' prints")
        w.create("one")
        assert not w.mutations_of(a)
        w.heal()
        w.until_address("one")


def test_release_gets_no_answer__ends_all_the_same():
    with Replicas(PROGRAMS, "--nodes=3") as w:
        a = w.launch("-v=2")
        w.create("one")
        w.until_address("one")
        a.proxy.before = lambda r: r.is_lease_write() and not r.holder()  # the release gets no answer
        before = time.monotonic()
        assert a.end() == 0, a.log()
        say(f"the release gets no answer: ended after {time.monotonic() - before:.1f} s")
        assert '"Failed to release lease"' in a.log(), a.log()
        assert w.lease()["holderIdentity"], w.lease()


class Supervisor:
    """Keeps three replicas running, hurts them by a seeded choice, and edits Services meanwhile."""

    def __init__(self, w, seed):
        self.w, self.rng, self.running, self.stopped = w, random.Random(seed), [], []
        self.services, self.made, self.done = [], 0, []

    def fill(self):
        """Those that ended are replaced; an end with another status than 0, 1 or a kill is none of ours."""
        for r in list(self.running):
            code = r.process.poll()
            if code is not None:
                assert code in (0, 1, -signal.SIGKILL), (r.who, code, r.log())
                self.running.remove(r)
                self.stopped = [s for s in self.stopped if s is not r]
        while len(self.running) < 3:
            self.running.append(self.w.launch("-v=2", *SHORTER))

    def leader(self):
        holder = self.w.lease().get("holderIdentity") or "nobody"
        return next((r for r in self.running if f'identity="{holder}"' in r.log()), None)

    def hurt(self):
        victim = (self.rng.random() < 0.7 and self.leader()) or self.rng.choice(self.running)
        what = self.rng.choice(("kill", "term", "stop", "stop", "wake"))
        if what == "wake" or (what == "stop" and len(self.stopped) == 2):
            for r in self.stopped:
                r.send(signal.SIGCONT)
            self.stopped = []
            what = "wake"
        elif what == "stop":
            victim.send(signal.SIGSTOP)
            self.stopped.append(victim)
        else:
            victim.send(signal.SIGCONT)
            victim.send({"kill": signal.SIGKILL, "term": signal.SIGTERM}[what])
            victim.process.wait(LIMIT_S)
        self.done.append(what)

    def edit(self):
        choice = self.rng.random()
        if choice < 0.4 or not self.services:
            self.made += 1
            self.services.append(f"s{self.made}")
            self.w.create(self.services[-1])
        elif choice < 0.8:
            self.w.patch(self.rng.choice(self.services), {"spec": {"ports": [
                {"name": "p", "port": self.rng.randrange(1000, 2000)}]}})
        else:
            self.w.delete(self.services.pop(self.rng.randrange(len(self.services))))

    def until_led(self):
        """Somebody renews the lease: the next blow meets a leader."""
        def led():
            self.fill()
            leader = self.leader()
            return leader is not None and leader not in self.stopped and leader.process.poll() is None
        for r in self.stopped[1:]:
            r.send(signal.SIGCONT)
        self.stopped = self.stopped[:1]
        self.w.until("somebody leads", led)


def chaos(seed, rounds):
    with Replicas(PROGRAMS, "--nodes=3") as w:
        w.fault(match={"api": "gce", "method": "POST"}, do="delay", ms=100, count=0)
        s = Supervisor(w, seed)
        for _ in range(rounds):
            s.until_led()
            for _ in range(s.rng.randrange(1, 4)):
                s.edit()
            seen = len(w.sent())
            w.until("something was sent", lambda n=seen: len(w.sent()) > n)
            s.hurt()
        w.heal()
        for r in s.stopped:
            r.send(signal.SIGCONT)
        s.stopped = []
        s.fill()
        for name in s.services:
            w.until(f"{name} has an address", lambda n=name: s.fill() or w.address(n))
        want = {n: w.get(n)["spec"]["ports"][0]["port"] for n in s.services}
        w.until("rules follow the last edits", lambda: s.fill() or all(
            any(rule["IPAddress"] == w.address(n) and rule["portRange"].startswith(f"{port}-")
                for rule in w.cloud("forwardingRules").values()) for n, port in want.items()))
        w.until("what was deleted is gone", lambda: s.fill() or
                len(w.cloud("forwardingRules")) == len(s.services) == len(w.cloud("targetPools")))
        for r in s.running:
            if r.process.poll() is None:
                r.end()
        assert not w.overlaps(), "\n".join(w.overlaps())
        mutations = [r for r in w.sent() if r.is_mutation()]
        who = sorted({r.who for r in mutations})
        say(f"seed {seed}: {' '.join(s.done)}; {len(mutations)} changes by {len(who)} of {len(w.all)} processes, none overlaps")
        assert len(who) >= 2, "only one ever wrote: nothing was tested"
        assert_nothing_planned(w)


def test_chaos__never_two_writers__seed_1():
    chaos(1, 10)


def test_chaos__never_two_writers__seed_2():
    chaos(2, 10)


def let_go(w, dead):
    """Empties the lease if the process that was killed holds it: nobody need wait until it has run out, and it may be so
    long that no busy machine ends it before."""
    names = {r.holder() for r in w.sent(dead) if r.is_lease_write()} - {""}
    status, lease = w.call("GET", f"{LEASE}/{NAME}")
    if status == 200 and lease["spec"].get("holderIdentity") in names:
        w.call("PATCH", f"{LEASE}/{NAME}", {"metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]},
                                            "spec": {"holderIdentity": ""}}, content_type="application/merge-patch+json")


def op_of(record):
    """The purpose of a request to the API server; None: another request, or one that only reads or watches."""
    path = record.path.split("?")[0]
    if not path.startswith("/api"):
        return None
    if "watch=true" in record.path:
        return f"stream {path.split('/')[-1]}" if "sendInitialEvents=true" in record.path else None
    if record.is_lease_write() and record.method == "PUT":
        return "lease renewed" if record.holder() else "lease let go"
    return f"{record.method} {path.split('/')[-1]}"


def killed_at(op, late, nth=1, lists=False, tries=3):
    """A replica starts, serves a Service and ends; it is killed at its nth call of that kind, before the call is carried
    out or (`late`) after, without an answer.  Another one must find all in order.  `lists`: it is told to ask for no
    streaming lists.  A release that a busy machine did not get out kills none: it is tried again.  Returns how many calls of each
    kind there were until then; `op` None: none is killed."""
    with Replicas(PROGRAMS, "--nodes=1") as w:
        w.create("one")
        a = w.launch("-v=2", *LONG, held=True)
        a.env["KUBE_FEATURE_WatchListClient"] = str(not lists).lower()
        seen, at = collections.Counter(), []

        def hook(record):
            if at:
                return True  # it is dead: nothing of it gets through
            seen[op_of(record)] += 1
            if op is not None and op_of(record) == op and seen[op] == nth:
                at.append(record)
                a.send(signal.SIGKILL)
            return bool(at)

        setattr(a.proxy, "after" if late else "before", hook)
        a.run()
        w.until("it served or died", lambda: at or (
            w.address("one") and '"Synced"' in a.log() and "lease renewed" in seen))
        b = w.launch("-v=2", *LONG)
        if not at:
            b.stands_by()
            a.send(signal.SIGTERM)
        code = a.process.wait(LIMIT_S)
        assert code == (-signal.SIGKILL if at else 0), (op, nth, late, code, a.log())
        if not at and op == "lease let go" and tries > 1 and '"Failed to release lease"' in a.log():
            say("the release got no answer in its half second: once more")
            return killed_at(op, late, nth, lists, tries - 1)
        assert at or op is None or nth > 1, (op, late)  # as often as that it need not come in each run
        let_go(w, a)
        b.until_logged("Successfully acquired lease")
        until_synced(w, b, "one")
        w.until_address("one")
        w.create("two")
        w.until_address("two")
        until_synced(w, b, "two")  # the address is there before the last operation is over
        assert b.end() == 0
        assert not w.overlaps(), (op, nth, late, w.overlaps())
        assert len(w.cloud("forwardingRules")) == 2 and not w.cloud("addresses"), (op, nth, late)
        assert_nothing_planned(w)
        del seen[None]
        return seen


def sweep(late):
    ops = killed_at(None, late)
    points = [(op, nth + 1) for op in sorted(ops) for nth in range(ops[op])]
    assert {"POST leases", "lease renewed", "lease let go", "POST events", "stream services"} <= set(ops), ops
    assert "GET services" not in ops, ops
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:  # an assertion that failed comes out here
        runs = list(pool.map(lambda point: killed_at(point[0], late, point[1]), points))
    missed = [point for point, seen in zip(points, runs) if seen[point[0]] < point[1]]
    assert all(op == "lease renewed" for op, _ in missed), missed  # how often it is renewed depends on the machine
    seen = killed_at("GET services", late, lists=True)
    assert "GET services" in seen and "stream services" not in seen, seen
    say(f"killed {'after' if late else 'before'} each of {len(points) - len(missed)}: {', '.join(sorted(ops))}"
        + (f"; {len(missed)} renewals did not come" if missed else ""))


def test_killed_before_each_call__the_next_one_goes_on():
    sweep(False)


def test_killed_after_each_call__the_next_one_goes_on():
    sweep(True)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
