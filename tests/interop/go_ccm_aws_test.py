#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handing a cluster in AWS over: from the Go cloud-controller-manager to trimtab and back.

    TRIMTAB_GO_CCM_AWS=PROGRAM go_ccm_aws_test.py TRIMTAB_SIM TRIMTAB DATA [FLAVOUR…]
                                                      (TAP on stdout; skipped when the variable is unset)

For each flavour (NLBs without security groups, and with groups of their own) two simulated clusters get the same Services
from the Go program.  In the first trimtab takes over, with not one write; then the same edits are made in both, one under
trimtab, one under Go, and the accounts must end alike; nodes come and go in both; trimtab makes further Services; then Go
takes the first cluster back, and trimtab takes it over again.  At last half of the Services are deleted under each, and
nothing may be left.

What Go writes at each of its passes, although nothing changed, is in EACH_PASS; where edits end otherwise under trimtab, on
purpose, in OTHERWISE.
"""
import os
import re
import subprocess
import sys
import traceback

from aws_view import differences
from go_ccm_aws_services import MADE, SERVICES
from go_ccm_aws_world import GO_CCM_AWS, AwsCluster
import tap  # go_ccm_world.py put its folder on the path

PROGRAMS, DATA = sys.argv[1:3], sys.argv[3]
FLAVOURS = {"no groups": "", "managed groups": "Managed"}
# Service (pattern): what Go writes for it at each pass (docs/spec/aws.md §13).
EACH_PASS = {
    r"(made-)?classic.*": ["ModifyLoadBalancerAttributes"],                        # row 10
    r"(made-)?classic-internal": ["AddTags"],                                      # additional-resource-tags
    r"(made-)?classic-policy": ["SetLoadBalancerPoliciesOfListener"],              # row 11
    r"(made-)?classic-proxy": ["CreateLoadBalancerPolicy"],                        # row 12
    r"(made-)?nlb-(check|local|to-local)": ["ModifyTargetGroup"],                  # row 7: path of HTTP checks
    r"made-nlb-tls": ["ModifyListener"],                                           # row 9: TLS without a policy
}
# Lines of differences (patterns) that edits may leave between a cluster under trimtab and one under Go.
OTHERWISE = [
    # row 24: Go leaves rules for health checks that nobody needs any more
    r"^/group nodes/rules/.*rule/nlb/health=<nlb-(open|local)>: None / 1$",
]


def expected(write):
    service, action, _ = write
    return any(re.fullmatch(pattern, service) and action in actions for pattern, actions in EACH_PASS.items())


def intended(line):
    return any(re.search(pattern, line) for pattern in OTHERWISE)


def lines_of(writes):
    return [f"{service or '?'}: {action}: {text[:400]}" for service, action, text in writes]


# --- steps -------------------------------------------------------------------------------------------

def served(table, mode):
    """Go never gets NLBs with TLS and groups of their own done (row 5)."""
    return {name: row for name, row in table.items() if not (mode and name.endswith("nlb-tls"))}


def populate(cluster, table):
    for name, row in table.items():
        cluster.make(name, row[0], row[1])


def edit(cluster, table):
    for name, (_, _, change) in table.items():
        if change is not None:
            cluster.patch(name, change)


def taking_over(t, what, one):
    before, statuses = one.view(), one.addresses()
    one.stop_go()
    one.forget_calls()
    mark = one.log_size()
    one.start()
    one.at_rest()
    t.check(f"{what}: {len(statuses)} Services without one write to the cloud", lines_of(one.writes_since(mark)))
    t.check(f"{what}: nor to the cluster", [str(w) for w in one.service_writes().items()])
    t.check(f"{what}: all is as it was", differences((before, statuses), (one.view(), one.addresses())))
    t.check(f"{what}: each Service is well", one.failed())
    plan = subprocess.run([PROGRAMS[1], "plan", "--cloud-provider=aws", f"--cloud-config={one.conf}/aws.conf",
                           f"--kubeconfig={one.kubeconfig}"], capture_output=True, text=True, check=False,
                          env=one.environment())
    t.check(f"{what}: the plan is empty", [] if plan.returncode == 0 else (plan.stdout + plan.stderr).splitlines())


def alike(t, what, one, two):
    for cluster in (one, two):
        cluster.at_rest()
    lines = differences(one.view(), two.view())
    t.check(f"{what} under trimtab as under Go", [line for line in lines if not intended(line)])
    for cluster in (one, two):
        t.check(f"{what}: each Service is well in cluster {cluster.label}", cluster.failed())
    return lines


def changing_nodes(t, what, one, two):
    for cluster in (one, two):
        cluster.must("POST", "/sim/nodes", {"count": 2})
    alike(t, f"{what}: two nodes come", one, two)
    for cluster in (one, two):
        name = cluster.must("GET", "/api/v1/nodes")["items"][1]["metadata"]["name"]
        cluster.must("DELETE", f"/sim/nodes/{name}")
    alike(t, f"{what}: one goes", one, two)


def going_back(t, what, one):
    before, statuses = one.view(), one.addresses()
    one.stop()
    mark = one.log_size()
    one.start_go()
    one.at_rest()
    writes = one.writes_since(mark)
    for action in sorted({w[1] for w in writes}):
        print(f"# Go writes {action} for {', '.join(sorted({w[0] or '?' for w in writes if w[1] == action}))}")
    t.check(f"{what}: of {len(statuses)} Services only what Go writes at each pass", lines_of(w for w in writes if not expected(w)))
    t.check(f"{what}: all is as it was", differences((before, statuses), (one.view(), one.addresses())))
    t.check(f"{what}: each Service is well", one.failed())


def deleting(t, what, one, start):
    """One half under Go, the other under trimtab."""
    first = sorted(one.all_services())[::2]
    one.stop()
    one.start_go()
    for name in first:
        one.delete(name)
    one.until("the first half is gone", lambda: not set(first) & set(one.all_services()), lambda: len(one.all_services()))
    one.stop_go()
    one.start()
    for name in one.all_services():
        one.delete(name)
    one.until("the second half is gone", lambda: not one.all_services(), lambda: len(one.all_services()))
    one.at_rest()
    t.check(f"{what}: nothing is left", differences(start, one.view()))
    one.stop()


def check_traffic(t, what, log):
    run = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", log], capture_output=True, text=True, check=False)
    words = (run.stdout + run.stderr).strip().splitlines()
    t.check(f"{what}: {words[-1]}", words if run.returncode == 1 else [],
            "SKIP python3-jsonschema is not installed" if run.returncode == 2 else "")


def hand_over(t, flavour):
    mode = FLAVOURS[flavour]
    services, made = served(SERVICES, mode), served(MADE, mode)
    flags = ["--nodes=4", "--quota=rules_per_group=500"]     # more Services than 60 rules are enough for
    with AwsCluster(PROGRAMS, "one", mode, *flags) as one, AwsCluster(PROGRAMS, "two", mode, *flags) as two:
        start = one.view()
        for cluster in (one, two):
            populate(cluster, services)
            cluster.start_go()
        for cluster in (one, two):
            cluster.at_rest()
            t.check(f"{flavour}: each Service is well under Go in cluster {cluster.label}", cluster.failed())
        t.check(f"{flavour}: Go makes the same in both clusters", differences(one.view(), two.view()))
        taking_over(t, f"{flavour}: trimtab takes over", one)
        for cluster in (one, two):
            edit(cluster, services)
        lines = alike(t, f"{flavour}: edits of {sum(row[2] is not None for row in services.values())} Services end", one, two)
        t.check(f"{flavour}: the deviations are there", [
            pattern for pattern in OTHERWISE if not any(re.search(pattern, line) for line in lines)])
        changing_nodes(t, flavour, one, two)
        populate(one, made)
        one.at_rest()
        going_back(t, f"{flavour}: Go takes over what trimtab has edited, and {len(made)} Services that it has made", one)
        taking_over(t, f"{flavour}: trimtab takes over again", one)
        deleting(t, f"{flavour}: deleted", one, start)
        two.stop_go()
        for cluster in (one, two):
            check_traffic(t, f"{flavour}: traffic in cluster {cluster.label}", cluster.traffic_log)


def main():
    if not GO_CCM_AWS:
        return tap.skip("TRIMTAB_GO_CCM_AWS does not name a Go cloud-controller-manager")
    t = tap.Report()
    for flavour in sys.argv[4:] or FLAVOURS:
        try:
            hand_over(t, flavour)
        except Exception:  # pylint: disable=broad-except  a flavour that breaks is one failed line
            t.check(flavour, traceback.format_exc().splitlines())
    return t.end()


if __name__ == "__main__":
    assert os.path.isdir(DATA)
    sys.exit(main())
