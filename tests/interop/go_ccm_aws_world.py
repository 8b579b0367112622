# SPDX-License-Identifier: Apache-2.0
"""A simulated cluster in AWS that the Go cloud-controller-manager and trimtab serve in turns.

The Go program comes from TRIMTAB_GO_CCM_AWS: any build of aws-cloud-controller-manager, such as one of the public Go module
k8s.io/cloud-provider-aws (v1.36.2), whose pkg/providers/v1 a main of a few lines hands to k8s.io/cloud-provider/app.  It signs
with the keys of env-aws and finds the simulator by the sections ServiceOverride of aws.conf.
"""
import json
import os
import tempfile
import urllib.parse

from aws_view import View
from aws_view import World as State
from go_ccm_world import GoWorld

READS = ("Describe", "Get", "Assume")
SERVICE = "kubernetes.io/service-name"
GO_CCM_AWS = os.environ.get("TRIMTAB_GO_CCM_AWS", "")


class AwsCluster(GoWorld):
    """One in AWS; `mode` is what aws.conf says of security groups of NLBs."""

    def __init__(self, programs, label, mode, *flags):
        handle, self.traffic_log = tempfile.mkstemp(prefix="trimtab-go-", suffix=".log")
        os.close(handle)
        super().__init__(programs, GO_CCM_AWS, label, f"--traffic-log={self.traffic_log}", *flags, cloud="aws")
        path = f"{self.conf}/aws.conf"
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if mode:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace("[Global]\n", f"[Global]\nNLBSecurityGroupMode = {mode}\n"))

    def __exit__(self, kind, value, trace):
        try:
            super().__exit__(kind, value, trace)
        finally:
            os.remove(self.traffic_log)

    def make(self, name, notes, spec):
        self.create(name, {"annotations": notes} if notes else None, **spec)

    # --- what is there ---
    def view(self):
        """The account in words that two clusters share."""
        machines = {n["spec"]["providerID"].split("/")[-1]: n["metadata"]["name"]
                    for n in self.must("GET", "/api/v1/nodes")["items"]}
        return View(State(self.must("GET", "/sim/state")["aws"]), self.must("GET", self.services())["items"], machines).all()

    def addresses(self):
        return {name: s["status"] for name, s in self.all_services().items()}

    def failed(self):
        """Services whose last sync did not end well, by their events."""
        last = {}
        for name in self.all_services():
            for kind, reason, message in self.events(name):
                if reason in ("EnsuredLoadBalancer", "SyncLoadBalancerFailed", "UpdatedLoadBalancer"):
                    last[name] = (kind, message)
        return [f"{name}: {message}" for name, (kind, message) in sorted(last.items()) if kind == "Warning"]

    # --- what happened ---
    def log_size(self):
        with open(self.traffic_log, encoding="utf-8") as f:
            return len(f.readlines())

    def writes_since(self, mark):
        """(Service, action, request) of each write behind line `mark` of the traffic log that was carried out."""
        owners = {"a" + s["metadata"]["uid"].replace("-", "")[:31]: name for name, s in self.all_services().items()}
        for tagged in self.must("GET", "/sim/state")["aws"].get("elbv2", {}).get("Tags", []):
            name = next((t["Value"] for t in tagged["Tags"] if t["Key"] == SERVICE), "/")
            owners[tagged["ResourceArn"]] = name.split("/")[1]
        found = []
        with open(self.traffic_log, encoding="utf-8") as f:
            for entry in [json.loads(line) for line in f.readlines()[mark:]]:
                form = urllib.parse.parse_qs(entry["request"] or "")
                action = form.get("Action", [""])[0]
                words = [w for values in form.values() for w in values]
                if not action.startswith(READS) and (entry["status"] or 500) < 300:
                    owner = next((name for key, name in owners.items() if any(key in w for w in words)), "")
                    found.append((owner, action, urllib.parse.unquote_plus(entry["request"])))
        return found

    def mutations(self):
        return {op: n for op, n in self.calls()["aws"].items() if not op.split(".")[-1].startswith(READS)}
