#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One lease, a Go cloud-controller-manager and trimtab, a real API server: each takes over from the other.

    TRIMTAB_KUBE_APISERVER=PROGRAM TRIMTAB_ETCD=PROGRAM TRIMTAB_GO_CCM=PROGRAM real_kube_go_test.py TRIMTAB_SIM TRIMTAB MANIFESTS
    (TAP on stdout; skipped when a variable is unset or kubectl is absent; go_ccm_world.py says which Go program)
"""
import os
import shutil
import signal
import subprocess
import sys

from real_kube_world import APISERVER, ETCD, LIMIT_S, free_port
from real_kube_control_world import SHORT, ControlPlane, lease_writes
import tap  # real_kube_world.py put its folder on the path

PROGRAMS, MANIFESTS = sys.argv[1:3], sys.argv[3]
GO_CCM = os.environ.get("TRIMTAB_GO_CCM", "")
NAMES = ("one", "two", "three")


class Shared(ControlPlane):
    """Also runs the Go program, as the administrator."""

    audited = (*ControlPlane.audited, "admin")

    def __init__(self):
        self.go = None
        super().__init__(PROGRAMS, MANIFESTS)

    def start_go(self):
        self.go = subprocess.Popen(
            [GO_CCM, "--cloud-provider=gce", f"--cloud-config={self.conf}/gce.conf", f"--kubeconfig={self.admin_config}",
             "--leader-elect=true", "--leader-elect-resource-name=trimtab", *SHORT, "--secure-port=0",
             "--webhook-bind-address=127.0.0.1", f"--webhook-secure-port={free_port()}", "--controllers=service,-route",
             "--concurrent-service-syncs=5", "-v=2"], stderr=self.file("go.log"), env=self.environment())

    def go_log(self):
        with open(self.path("go.log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def go_said(self, text):
        """How often; older releases of Kubernetes begin with a small letter."""
        return self.go_log().lower().count(text)

    def log(self):
        go = self.go_log() if self.go is not None else ""
        return super().log() + "\n--- Go\n" + "\n".join(line for line in go.splitlines() if "FLAG" not in line)

    def end_go(self, number=signal.SIGTERM):
        if self.go is not None and self.go.poll() is None:
            self.go.send_signal(number)
            self.go.wait(LIMIT_S)

    def until_go(self, text, before=0):
        """`text` stands in its log more often than `before` times."""
        self.until(f"the Go program says {text}", lambda: self.go_said(text) > before or self.go.poll() is not None)
        assert self.go.poll() is None, self.go_log()

    def end_replicas(self):
        self.end_go(signal.SIGKILL)
        super().end_replicas()

    def holder(self):
        return self.lease().get("holderIdentity") or ""


def finalizers(w):
    return {n: sorted(w.get(n)["metadata"].get("finalizers", [])) for n in NAMES}


def test_both_ways__one_lease_no_change(w):
    """Go leads, trimtab stands by; Go ends: trimtab; trimtab ends: Go; Go is killed: trimtab."""
    w.start_go()
    w.until_go("successfully acquired lease")
    for name in NAMES:
        w.create(name)
    for name in NAMES:
        w.until_address(name)
    addresses, first = {n: w.address(n) for n in NAMES}, w.holder()
    ours = w.launch(*SHORT).stands_by()
    ours.until("The lease is held by another process", f'holder="{first}"')
    w.quiet()
    w.forget_calls()
    before = finalizers(w)
    w.end_go()
    ours.leads()
    for name in NAMES:
        ours.until(f'"Synced" service="default/{name}"')
    assert w.mutations() == {} and w.lease()["leaseTransitions"] == 1, (w.mutations(), w.lease())
    added = {f for n in NAMES for f in finalizers(w)[n] if f not in before[n]}
    assert added <= {"gke.networking.io/l4-netlb-v1"}, added  # older Go programs do not know it

    w.start_go()
    w.until_go("attempting to acquire leader lease", 1)
    count = w.go_said("successfully acquired lease")
    w.quiet()
    w.forget_calls()
    assert ours.end() == 0
    w.until_go("successfully acquired lease", count)
    w.until("it has looked at all of them", lambda: w.calls()["gce"].get("compute.forwardingRules.get", 0) >= len(NAMES))
    w.quiet()
    assert {n: w.address(n) for n in NAMES} == addresses
    assert w.lease()["leaseTransitions"] == 2, w.lease()

    later = w.launch(*SHORT).stands_by()
    w.quiet()
    w.forget_calls()
    w.end_go(signal.SIGKILL)
    later.leads()
    for name in NAMES:
        later.until(f'"Synced" service="default/{name}"')
    assert w.mutations() == {} and {n: w.address(n) for n in NAMES} == addresses, w.mutations()
    print("#", [(write[0].split("_")[0], write[3]) for i, write in enumerate(lease_writes(w.entries()))
                if i == 0 or write[0] != lease_writes(w.entries())[i - 1][0]])
    for name in NAMES:
        w.delete(name)
    w.until("all are gone", lambda: not w.all_services())
    assert w.cloud("forwardingRules") == {} and w.cloud("addresses") == {}


def main():
    if not (APISERVER and ETCD and GO_CCM and shutil.which("kubectl")):
        return tap.skip("TRIMTAB_KUBE_APISERVER, TRIMTAB_ETCD and TRIMTAB_GO_CCM do not name programs, or kubectl is absent")
    with Shared() as w:
        return tap.run([(name, w.with_books(test)) for name, test in tap.tests_of(globals(), sys.argv[4:])])


if __name__ == "__main__":
    sys.exit(main())
