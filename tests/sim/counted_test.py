#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every request on the wire is counted: the simulator's totals, operation by operation, beside a scrape of /metrics.

    counted_test.py TRIMTAB_SIM TRIMTAB CLOUD [TEST…]     (TAP on stdout)

A life of a cloud's Services: they are made, edited, lose a node, are re-synced, meet faults, and go; trimtab starts anew
in between.  Then both sides must have the same numbers; each request stands in the log at its level, has been timed, and
no log line shows a secret.  A request that finds a way past the counting shows here as a difference.
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import aws_shapes  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position
from https_port import Port  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = sys.argv[1:3]
CLOUD = sys.argv[3]
CREDENTIALS = ("metadata", "token")
# The verbs of the API server's rights, as methods on the wire.
METHODS = {"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "patch": "PATCH", "update": "PUT",
           "delete": "DELETE"}
AWS = "service.beta.kubernetes.io/aws-load-balancer-type"
# Services of each cloud's kinds, and the operations that a fault befalls.
KINDS = {
    "gce": ({}, {"networking.gke.io/load-balancer-type": "Internal"}, {"cloud.google.com/l4-rbs": "enabled"}),
    "azure": ({}, {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}),
    "aws": ({}, {AWS: "nlb"}),
}
FLAGS = {"gce": ["--run-l4-controller", "--run-l4-netlb-controller"], "azure": [], "aws": []}
FAULTY = {
    "gce": ("compute.firewalls.insert", "compute.forwardingRules.get", "compute.addresses.insert"),
    "azure": ("PublicIPAddresses.CreateOrUpdate", "NetworkSecurityGroups.Get", "LoadBalancers.Get"),
    "aws": ("ec2.CreateSecurityGroup", "ec2.DescribeInstances", "ec2.DescribeSecurityGroups"),
}
SERIES = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Scrape:
    """One answer of /metrics."""

    def __init__(self, text):
        self.series = []
        for line in text.splitlines():
            found = SERIES.match(line)
            if found:
                self.series.append((found[1], dict(LABEL.findall(found[2] or "")), float(found[3])))

    def sums(self, name, *labels):
        """{values of the labels: sum}"""
        sums = collections.Counter()
        for series, at, value in self.series:
            if series == name:
                sums[tuple(at.get(label, "") for label in labels)] += int(value)
        return sums


class Life(World):
    """One cluster, and its HTTPS port."""

    def __init__(self, *sim_flags):
        self.changed = {}  # of the environment; None: without it
        self.own = collections.Counter()  # the test's own requests to the API server, by method
        super().__init__(PROGRAMS, "--nodes=3", *sim_flags, cloud=CLOUD)
        self.port = Port(self.kubeconfig)
        self.names = []

    def call(self, method, path, body=None, content_type="application/json"):
        if path.startswith(("/api/", "/apis/")):
            self.own[method] += 1
        return super().call(method, path, body, content_type)

    def forget_calls(self):
        super().forget_calls()
        self.own.clear()

    def run(self, *flags):
        self.start(*self.port.flags, *FLAGS[CLOUD], "-v=10", *flags)
        self.until("the port is open", self.port.is_up)
        return self

    def environment(self):
        env = {**super().environment(), **self.changed}
        return {name: value for name, value in env.items() if value is not None}

    def scrape(self):
        return Scrape(self.port.get("/metrics"))

    def make(self, *suffixes):
        for suffix in suffixes:
            for i, annotations in enumerate(KINDS[CLOUD]):
                name = f"{suffix}{i}"
                self.create(name, {"annotations": annotations})
                self.names.append(name)
        for name in self.names:
            self.until_address(name)

    def remove(self):
        for name in self.names:
            self.delete(name)
        for name in self.names:
            self.until_gone(name)
        self.names = []

    def look(self):
        """The simulator's totals, a scrape and the log, of one moment; None when a request came in between."""
        before, scrape, log = self.calls(), self.scrape(), self.log()
        return ((seen_of_cloud(before), seen_of_kube(before) - self.own, sum(before["metadata"].values())), scrape,
                log) if self.calls() == before else None

    def rest(self):
        """A look at which both sides agree; the last one when they never do."""
        last = [None]

        def agree():
            last[0] = self.look() or last[0]
            return last[0] is not None and not differences(*last[0])
        try:
            self.until("both sides agree", agree)
        except AssertionError:
            pass
        return last[0]


def seen_of_cloud(calls):
    return +collections.Counter(calls[CLOUD])


def seen_of_kube(calls):
    seen = collections.Counter()
    for op, n in calls["kubernetes"].items():
        seen[METHODS.get(op.split(".")[-1], "GET")] += n
    return +seen


def seen_in_log(log):
    """{(api, operation): lines}, and the lines about the API server."""
    cloud = collections.Counter(re.findall(r'"Cloud request" api="([^"]*)" operation="([^"]*)"', log))
    return cloud, log.count('"API request"')


def differences(seen, scrape, log):
    """Lines: operation, what the simulator saw, what was counted, timed, logged."""
    counted = scrape.sums("trimtab_cloud_requests_total", "api", "operation")
    cloud = collections.Counter({op: n for (api, op), n in counted.items() if api == CLOUD})
    credentials = sum(n for (api, _), n in counted.items() if api in CREDENTIALS)
    kube = collections.Counter({m: n for (m,), n in scrape.sums("rest_client_requests_total", "method").items()})
    logged, n_kube = seen_in_log(log)
    pairs = (("cloud", seen[0], cloud), ("kubernetes", seen[1], kube),
             ("credentials", {"all": seen[2]}, {"all": credentials}),
             ("timed", counted, scrape.sums("trimtab_cloud_request_duration_seconds_count", "api", "operation")),
             ("timed, kubernetes", {(m,): n for m, n in kube.items()},
              scrape.sums("rest_client_request_duration_seconds_count", "verb")),
             ("logged", counted, logged), ("logged, kubernetes", {"all": sum(kube.values())}, {"all": n_kube}))
    wrong = [f"{where} {op}: {left.get(op, 0)} seen, {right.get(op, 0)} told" for where, left, right in pairs
             for op in sorted({*left, *right}) if left.get(op, 0) != right.get(op, 0)]
    strangers = {api for api, _ in counted} - {CLOUD, *CREDENTIALS}
    return wrong + [f"requests of an API without a name: {api}" for api in sorted(strangers)]


def compare(life):
    """All that must agree now; the table of what was seen and counted goes into the test's output."""
    seen, scrape, log = life.rest()
    apis = {api: n for (api,), n in sorted(scrape.sums("trimtab_cloud_requests_total", "api").items())}
    print(f"# {CLOUD}: seen {sum(seen[0].values())}, kubernetes {sum(seen[1].values())}, "
          f"credentials {seen[2]}; counted {apis}, "
          f"rest_client {sum(scrape.sums('rest_client_requests_total').values())}", flush=True)
    wrong = differences(seen, scrape, log)
    assert not wrong, "\n".join(wrong)
    return seen, scrape


def secrets_of(life):
    """Texts of files and environment that no log line may hold."""
    found = [v for k, v in life.environment().items() if re.search("SECRET|TOKEN$|KEY", k) and not v.startswith(("/", "http"))]
    with open(f"{life.conf}/{ {'gce': 'gce.conf', 'azure': 'azure.json', 'aws': 'aws.conf'}[CLOUD] }", encoding="utf-8") as f:
        found += re.findall(r'(?i)(?:secret|token-body|password)[\w"]*\s*[:=]\s*"?([^"\s,]+)', f.read())
    with open(life.kubeconfig, encoding="utf-8") as f:
        found += re.findall(r"token: (\S+)", f.read())
    return [s.strip('"') for s in found if len(s) > 5]


# --- a life ---------------------------------------------------------------------------------------------

def test_made_edited_and_gone__each_request_is_counted():
    with Life() as life:
        life.forget_calls()
        life.run("--leader-elect=true")
        life.make("a")
        life.patch("a0", {"spec": {"ports": [{"name": "p", "port": 81}], "loadBalancerSourceRanges": ["10.0.0.0/8"]}})
        life.must("DELETE", "/sim/nodes/node-2")
        life.must("POST", "/sim/nodes", {"count": 1})
        compare(life)
        life.remove()
        compare(life)


def test_a_start_with_services__each_request_is_counted():
    with Life() as life:
        life.run()
        life.make("a")
        life.stop()
        life.forget_calls()
        life.run("--resync-period=2s")
        life.until("it has looked twice", lambda: sum(life.scrape().sums("trimtab_syncs_total").values()) >= 2 * len(life.names))
        compare(life)
        life.remove()
        compare(life)


def test_refused_lost_and_throttled__each_request_is_counted():
    with Life() as life:
        life.forget_calls()
        life.run()
        for op in FAULTY[CLOUD]:
            for number, do in enumerate(({"do": "throttle", "status": 429, "retry_after": 1}, {"do": "lose"}, {"do": "close"},
                                         {"do": "refuse", "status": 503})):
                life.fault(match={"api": CLOUD, "op": op}, count=1, **{"from": number + 1}, **do)
        for op in ("services.patch", "events.create", "services.status.patch"):
            life.fault(match={"api": "kubernetes", "op": op}, count=1, do="refuse", status=500)
        life.make("a", "b")
        life.heal()
        seen, scrape = compare(life)
        codes = {code for (code,) in scrape.sums("trimtab_cloud_requests_total", "code")}
        assert {"0", "503"} <= codes and (CLOUD == "aws" or "429" in codes), codes
        # The status document names the kind of request that was refused, and is still as its schema says.
        kinds = [b for b in life.port.status()["budget"] if "kind" in b]
        assert CLOUD == "azure" or kinds
        assert all(b["api"] in (CLOUD, "kubernetes") and b["throttled"] + b["held"] > 0 for b in kinds), kinds
        assert CLOUD == "aws" or seen[2] > 0
        secrets, log = secrets_of(life), life.log()
        assert not [s for s in secrets if s in log], "a secret stands in the log"
        life.remove()
        compare(life)


# How credentials are had: faults of their requests, and for AWS the environment.
ROLE = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
WEB = {**ROLE, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/trimtab"}
WAYS = {
    "gce": [("token", {}, "metadata")],
    "azure": [("identityToken", {}, "metadata")],
    "aws": [("*security-credentials*", ROLE, "metadata"), ("*AssumeRole*", WEB, "token")],
}


def test_credentials__each_request_is_counted():
    """Under APIs of their own, those that are refused and sent again, too."""
    for op, environment, api in WAYS[CLOUD]:
        with Life() as life:
            life.changed = dict(environment)
            if "AWS_ROLE_ARN" in environment:
                path = life.changed["AWS_WEB_IDENTITY_TOKEN_FILE"] = os.path.join(life.folder, "token")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(aws_shapes.identity_token("system:serviceaccount:kube-system:trimtab"))
            life.forget_calls()
            life.fault(match={"api": "metadata", "op": op}, count=1, do="refuse", status=503)
            life.run()
            life.make("a")
            seen, scrape = compare(life)
            counted = scrape.sums("trimtab_cloud_requests_total", "api", "code")
            assert seen[2] >= 2 and counted[api, "503"] == 1, (seen, counted)


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
