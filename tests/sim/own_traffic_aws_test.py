#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that trimtab says to AWS and to the API server, and what it is answered, against both APIs' schemas.

    own_traffic_aws_test.py TRIMTAB_SIM TRIMTAB TESTS      (TAP on stdout)

A scripted life: Services of both kinds with most annotations, edits, nodes, refusals, deletions, a restart, a plan, a look for
orphans.  Then tests/support/check_kube_log.py and tests/data/schemas/check_traffic.py judge the logs; the last line shows that
what the script is about was really said.  Without python3-jsonschema the test is skipped.
"""
import json
import os
import shutil
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import CLEANUP, World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS, TESTS = sys.argv[1:3], sys.argv[3]
PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"
OTHER_CERTIFICATE = CERTIFICATE[:-1] + "3"
THIRD_CERTIFICATE = CERTIFICATE[:-1] + "4"
TWO = [{"name": "a", "port": 80}, {"name": "b", "port": 443}]
# Calls without which the log would show little.
SAID = {"CreateLoadBalancer", "DeleteLoadBalancer", "CreateTargetGroup", "DeleteTargetGroup", "ModifyTargetGroup", "CreateListener",
        "ModifyListener", "DeleteListener", "RegisterTargets", "DeregisterTargets", "ModifyTargetGroupAttributes",
        "ModifyLoadBalancerAttributes", "CreateSecurityGroup", "DeleteSecurityGroup", "AuthorizeSecurityGroupIngress",
        "RevokeSecurityGroupIngress", "RegisterInstancesWithLoadBalancer", "DeregisterInstancesFromLoadBalancer",
        "ConfigureHealthCheck", "CreateLoadBalancerListeners", "DeleteLoadBalancerListeners", "CreateLoadBalancerPolicy",
        "SetLoadBalancerPoliciesForBackendServer", "SetLoadBalancerPoliciesOfListener",
        "SetLoadBalancerListenerSSLCertificate", "AddTags", "DescribeTags",
        "DescribeInstances", "DescribeSubnets", "DescribeRouteTables", "DescribeSecurityGroups", "DescribeTargetHealth"}


def annotated(**annotations):
    return {"annotations": {PREFIX + k.replace("_", "-"): v for k, v in annotations.items()}}


SERVICES = {
    "nlb": (annotated(type="nlb"), {"ports": TWO}),
    "local": (annotated(type="nlb"), {"externalTrafficPolicy": "Local"}),
    "udp": (annotated(type="nlb"), {"ports": [{"port": 53, "protocol": "UDP"}]}),
    "tls": (annotated(type="nlb", ssl_cert=CERTIFICATE, ssl_ports="443", internal="true", cross_zone_load_balancing_enabled="true",
                      target_group_attributes="preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true",
                      additional_resource_tags="team=a,env=b"), {"ports": TWO}),
    "classic": ({}, {"ports": TWO}),
    "elb": (annotated(proxy_protocol="*", ssl_cert=CERTIFICATE, ssl_ports="443", backend_protocol="http",
                      ssl_negotiation_policy="ELBSecurityPolicy-TLS-1-2-2017-01", connection_idle_timeout="120",
                      connection_draining_enabled="true", additional_resource_tags="team=a"),
            {"ports": TWO, "loadBalancerSourceRanges": ["10.0.0.0/8", "192.0.2.0/24"]}),
}


def synced(w, name):
    return w.log().count(f'"Synced" service="default/{name}"')


# A node leaves a classic balancer, and a network balancer's target group.
DEREGISTER = ("DeregisterInstancesFromLoadBalancer", "DeregisterTargets")


def calls(w, action):
    aws = w.must("GET", "/sim/calls")["aws"]
    return sum(aws.get(f"{api}.{action}", 0) for api in ("elb", "elbv2"))


def certificate_of_elb(w):
    """The certificate of port 443 of the one classic balancer that has any."""
    balancers = w.must("GET", "/sim/state")["aws"]["elb"]["LoadBalancerDescriptions"]
    found = [li["Listener"]["SSLCertificateId"] for b in balancers for li in b["ListenerDescriptions"]
             if li["Listener"]["LoadBalancerPort"] == 443 and li["Listener"].get("SSLCertificateId")]
    assert len(found) == 1, found
    return found[0]


def certificates(w):
    """A classic listener's certificate is exchanged in place; who lacks the right for that gets the listener made anew."""
    made = calls(w, "CreateLoadBalancerListeners")
    w.edit("elb", {"metadata": annotated(ssl_cert=OTHER_CERTIFICATE)})
    assert certificate_of_elb(w) == OTHER_CERTIFICATE
    assert calls(w, "SetLoadBalancerListenerSSLCertificate") == 1
    assert calls(w, "CreateLoadBalancerListeners") == made, "the listener was made anew"
    w.fault(match={"op": "elb.SetLoadBalancerListenerSSLCertificate"}, do="refuse", status=403, count=0,
            body={"Code": "AccessDenied", "Message": "not authorized to perform: SetLoadBalancerListenerSSLCertificate"})
    w.edit("elb", {"metadata": annotated(ssl_cert=THIRD_CERTIFICATE)})
    assert certificate_of_elb(w) == THIRD_CERTIFICATE
    assert calls(w, "SetLoadBalancerListenerSSLCertificate") == 2, "it was asked again, although it was refused"
    assert calls(w, "CreateLoadBalancerListeners") > made
    w.must("DELETE", "/sim/faults")


def scripted_life(w):
    w.start()
    for name, (meta, spec) in SERVICES.items():
        w.create(name, meta, **spec)
    for name in SERVICES:
        w.until(f"{name} is done", lambda n=name: synced(w, n))
    w.create("refused", annotated(type="nlb", healthcheck_interval="often"))
    w.until_event("refused", "SyncLoadBalancerFailed", "often")
    for name in ("nlb", "classic"):
        w.edit(name, {"spec": {"loadBalancerSourceRanges": ["198.51.100.0/24"]}})
        w.edit(name, {"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 8443}]}})
        w.edit(name, {"spec": {"ports": [{"name": "a", "port": 80, "nodePort": 32001 if name == "nlb" else 32002}]}})
    w.edit("nlb", {"metadata": annotated(healthcheck_interval="10", healthcheck_protocol="http", healthcheck_path="/x")})
    w.edit("classic", {"metadata": annotated(additional_resource_tags="a=b", connection_idle_timeout="90")})
    certificates(w)
    before = {action: calls(w, action) for action in DEREGISTER}
    w.must("POST", "/sim/nodes", {"count": 2})
    w.must("DELETE", "/sim/nodes/node-0")
    w.until("balancers of both kinds follow", lambda: all(calls(w, action) > n for action, n in before.items()))
    for name in SERVICES:
        w.until_at_rest(f"default/{name}")
    w.fault(match={"op": "elbv2.DeleteTargetGroup"}, do="refuse", status=403, count=1)
    w.delete("udp")
    w.until_gone("udp")


def restart_and_end(w):
    assert w.stop()[0] == 0
    for command in ("plan", "orphans"):
        done = subprocess.run([w.trimtab_exe, command, "--cloud-provider=aws", f"--cloud-config={w.conf}/aws.conf",
                               f"--kubeconfig={w.kubeconfig}"], check=False, capture_output=True, env=w.environment())
        assert done.returncode in ((0, 1) if command == "plan" else (0,)), done    # one Service is refused
    w.start()
    w.patch("local", {"spec": {"type": "ClusterIP", "externalTrafficPolicy": None}})
    w.until("local is let go of", lambda: CLEANUP not in w.get("local")["metadata"].get("finalizers", ()))
    left = [name for name in SERVICES if name not in ("udp", "local")] + ["refused"]
    for name in left:
        w.delete(name)
    for name in left:
        w.until_gone(name)
    assert w.stop()[0] == 0


def said(path):
    with open(path, encoding="utf-8") as f:
        return [urllib.parse.parse_qs(json.loads(line)["request"])["Action"][0] for line in f]


def judge(*args):
    r = subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False)
    lines = (r.stdout + r.stderr).strip().splitlines()
    return lines[-1], lines[:-1] if r.returncode else []


def main():
    try:
        import jsonschema  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        return tap.skip("python3-jsonschema is not installed")
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"trimtab-own-aws-{os.getpid()}")
    os.makedirs(folder)
    kube, cloud = f"{folder}/kube.log", f"{folder}/cloud.log"
    try:
        with World(PROGRAMS, "--nodes=3", f"--kube-log={kube}", f"--traffic-log={cloud}", cloud="aws") as w:
            scripted_life(w)
            restart_and_end(w)
        report = tap.Report()
        last, wrong = judge(f"{TESTS}/support/check_kube_log.py", f"{TESTS}/data/schemas/kubernetes.json", kube)
        report.check(f"the API server's traffic: {last}", wrong)
        last, wrong = judge(f"{TESTS}/data/schemas/check_traffic.py", "--strict-errors", cloud)
        report.check(f"the cloud's traffic: {last}", wrong)
        actions = said(cloud)
        report.check(f"the script was played: {len(actions)} calls", sorted(SAID - set(actions)))
    finally:
        shutil.rmtree(folder)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
