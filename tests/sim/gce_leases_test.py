#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The leases of ingress-gce's that a process with its parts holds while it writes.  Whole programs against the simulator.

    gce_leases_test.py TRIMTAB_SIM TRIMTAB [TEST…]     (TAP on stdout)
"""
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402
from controller_world import LIMIT_S, World  # noqa: E402

PROGRAMS = sys.argv[1:3]
FLAGS = ["--run-l4-controller", "--run-l4-netlb-controller", "--enable-l4-neg"]
INTERNAL = {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
L4 = "l4-lb-controller-gce-lock"
NEG = "ingress-gce-neg-lock"
OTHER = "ingress-gce-0_1234"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def lease(w, name=L4):
    status, found = w.call("GET", f"{LEASES}/{name}")
    return found if status == 200 else None


def hold(w, name=L4):
    """Somebody else has it, for an hour."""
    return w.must("POST", LEASES, {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {"holderIdentity": OTHER, "leaseDurationSeconds": 3600, "leaseTransitions": 1,
                 "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z"}})


def waits_for(w, name=L4):
    return w.logged('"The lease is held by another process"', f'lock="kube-system/{name}"')


def lease_calls(w):
    return {op: n for op, n in w.calls()["kubernetes"].items() if op.startswith("leases.")}


def log_of_first(w):
    with open(os.path.join(w.folder, "run-1"), encoding="utf-8") as f:
        return f.read()


def test_two_processes__one_writes_and_the_other_takes_over():
    with World(PROGRAMS, "--nodes=3") as w:
        first = w.start(*FLAGS).trimtab
        try:
            w.create("one", INTERNAL)
            w.until_address("one")
            holder = lease(w)["spec"]["holderIdentity"]
            assert re.fullmatch(re.escape(socket.gethostname()) + "_" + UUID, holder), holder
            w.start(*FLAGS)
            w.until("the second one waits", lambda: waits_for(w))
            assert holder in waits_for(w)[0], waits_for(w)
            w.create("two", INTERNAL)
            w.create("pool")
            w.until_address("two")
            w.until_address("pool")
            w.until("the first one has ended its syncs", lambda: all(
                re.search(f'"Synced" service="default/{name}"', log_of_first(w)) for name in ("one", "two", "pool")))
            assert not w.logged('"Synced"'), "the second one writes, too"
            w.forget_calls()
        finally:
            first.send_signal(signal.SIGTERM)
            assert first.wait(LIMIT_S) == 0
        w.until("the second one looks at all", lambda: all(
            w.logged('"Synced"', f'service="default/{name}"') for name in ("one", "two", "pool")))
        spec = lease(w)["spec"]
        assert spec["holderIdentity"] not in ("", holder) and spec["leaseTransitions"] == 1, spec
        assert not w.mutations() and not w.service_writes(), w.calls()
        # A busy machine may not get the release out in its 200 ms; then the lease runs out.
        assert re.search('"Released lease"|"Failed to release lease".*no answer from', log_of_first(w)), log_of_first(w)
        w.create("three", INTERNAL)
        w.until_address("three")


def test_held_by_ingress_gce__nothing_is_written_and_the_log_says_by_whom():
    with World(PROGRAMS, "--nodes=3") as w:
        hold(w)
        w.create("web", INTERNAL)
        w.forget_calls()
        w.start(*FLAGS)
        w.until("it waits", lambda: waits_for(w))
        assert f'holder="{OTHER}"' in waits_for(w)[0], waits_for(w)
        w.until("it has asked again", lambda: lease_calls(w)["leases.get"] >= 2)
        assert not w.mutations() and not w.service_writes(), w.calls()
        assert w.stop()[0] == 0
        assert lease(w)["spec"]["holderIdentity"] == OTHER
        w.start(*FLAGS, "--gate-l4-by-lock=false")
        w.until_address("web")


def test_lost__it_ends_with_an_error():
    with World(PROGRAMS, "--nodes=3") as w:
        w.start(*FLAGS)
        w.create("web", INTERNAL)
        w.until_address("web")
        w.must("PATCH", f"{LEASES}/{L4}", {"spec": {"holderIdentity": OTHER, "leaseDurationSeconds": 3600}},
               content_type="application/merge-patch+json")
        assert w.trimtab.wait(LIMIT_S) == 1
        assert w.logged(f"error: the lease {L4} is lost", OTHER), w.log()
        assert lease(w)["spec"]["holderIdentity"] == OTHER


def test_flags__say_which_are_needed():
    rows = (
        ("the legacy part alone", [], set()),
        ("an L4 part", ["--run-l4-netlb-controller"], {L4}),
        ("NEGs", [*FLAGS, "--gate-neg-by-lock"], {L4, NEG}),
        ("no NEGs", ["--run-l4-netlb-controller", "--gate-neg-by-lock"], {L4}),
        ("NEGs alone gated", [*FLAGS, "--gate-neg-by-lock", "--gate-l4-by-lock=false"], {NEG}),
        ("none", [*FLAGS, "--gate-l4-by-lock=false"], set()),
    )
    for name, flags, want in rows:
        with World(PROGRAMS, "--nodes=1") as w:
            w.start(*flags)
            w.create("pool")
            w.until_address("pool")

            def taken(w=w):
                return {one for one in (L4, NEG) if lease(w, one)}
            w.until("it takes its leases", lambda want=want, taken=taken: taken() >= want)
            assert taken() == want, name


def test_plan__takes_no_lease():
    with World(PROGRAMS, "--nodes=3") as w:
        hold(w)
        w.create("web", INTERNAL)
        w.forget_calls()
        for command in ("plan", "check-config"):
            flags = [f for f in w.flags() if "leader" not in f and "port" not in f]
            kube = [] if command == "check-config" else [f"--kubeconfig={w.kubeconfig}"]
            done = subprocess.run([w.trimtab_exe, command, *flags, *kube, *FLAGS], env=w.environment(),
                                  capture_output=True, check=False, timeout=LIMIT_S)
            assert done.returncode in (0, 2), (command, done)
        assert not lease_calls(w), w.calls()


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
