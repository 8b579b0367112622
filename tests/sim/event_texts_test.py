#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A failure that comes twice is one Event that counts to two: the whole program against the simulator.

    event_texts_test.py TRIMTAB_SIM TRIMTAB CLOUD [TEST…]     (TAP on stdout)

Clouds name the request, the operation and the moment in their errors.  Each row is such an error, in the cloud's own form, and
its second time has other names and another moment.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS, CLOUD = sys.argv[1:3], sys.argv[3]
UUIDS = ("8bd7f0a4-0c1d-4e2f-8a3b-1234567890ab", "0e5d2c77-91aa-4b0c-b7de-ba0987654321")
TIMES = ("2026-11-28 17:00:01Z", "2026-11-28 17:00:46Z")
ZULU = ("20261128T170001Z", "20261128T170046Z")
CODES = ("-7385829367295163", "4128873096541207")
SECONDS = ("13", "7")
FLAGS = ["--run-l4-controller"] if CLOUD == "gce" else []
INTERNAL = {"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}
NLB = {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}}


def google_operation(code, text):
    return {"do": "fail", "body": {"code": code, "message": text}}


def azure(code, text):
    return {"do": "refuse", "status": 400, "body": {"error": {"code": code, "message": text}}}


def azure_operation(code, text):
    return {"do": "fail", "body": {"status": "Failed", "error": {"code": code, "message": text}}}


def aws(code, text, status=403):
    return {"do": "refuse", "status": status, "body": {"Code": code, "Message": text}}


# name: (operation, metadata of the Service, the error of the turn)
ROWS = {
    "gce": {
        "target_pool": ("compute.forwardingRules.insert", {}, lambda i: google_operation(
            "INTERNAL_ERROR", f"Internal error. Please try again or contact Google Support. (Code: '{CODES[i]}')")),
        "internal": ("compute.forwardingRules.insert", INTERNAL, lambda i: google_operation(
            "INTERNAL_ERROR", f"Internal error. Please try again or contact Google Support. (Code: '{CODES[i]}')")),
        "not_ready": ("compute.regionBackendServices.insert", INTERNAL, lambda i: google_operation(
            "RESOURCE_NOT_READY", f"The resource 'projects/p/global/operations/operation-171339234{i}001-61{i}-9a-1' is not ready")),
    },
    "azure": {
        "superseded": ("LoadBalancers.CreateOrUpdate", {}, lambda i: azure_operation(
            "RetryableError", f"Operation PutLoadBalancerOperation ({UUIDS[i]}) was refused by operation "
            f"PutVirtualNetworkOperation ({UUIDS[1 - i]}).")),
        "another_operation": ("LoadBalancers.CreateOrUpdate", {}, lambda i: azure_operation(
            "AnotherOperationInProgress", "Another operation on this or dependent resource is in progress. To retrieve status of "
            "the operation use uri: https://management.azure.com/subscriptions/s/providers/Microsoft.Network/locations/eastus/"
            f"operations/{UUIDS[i]}?api-version=2024-05-01.")),
        "internal_error": ("PublicIPAddresses.CreateOrUpdate", {}, lambda i: azure(
            "BadRequest", "Encountered internal server error. Diagnostic information: timestamp "
            f"'{ZULU[i]}', subscription id 's', tracking id '{UUIDS[i]}', request correlation id '{UUIDS[1 - i]}'.")),
        "throttled": ("SecurityGroups.CreateOrUpdate", {}, lambda i: azure(
            "BadRequest", f"Number of 'write' requests exceeded. Please try again after '{SECONDS[i]}' seconds. "
            f"x-ms-request-id: {UUIDS[i]} Correlation ID: {UUIDS[1 - i]} Timestamp: {TIMES[i]}")),
    },
    "aws": {
        "classic": ("elb.CreateLoadBalancer", {}, lambda i: aws(
            "SignatureDoesNotMatch", f"Signature expired: {ZULU[i]} is now earlier than {ZULU[1 - i]} ({ZULU[i]} - 5 min.)")),
        "nlb": ("elbv2.CreateLoadBalancer", NLB, lambda i: aws(
            "AccessDenied", f"(Service: ElasticLoadBalancingV2; Status Code: 403; Request ID: {UUIDS[i]}; Proxy: null)")),
        "group": ("ec2.CreateSecurityGroup", {}, lambda i: aws(
            "UnauthorizedOperation", f"You are not authorized. Encoded authorization failure message: {'aB-' * 30}{i}")),
    },
}[CLOUD]

SUBSETTING = ["--run-l4-controller", "--enable-l4-neg"]
REFUSED = {  # name: (operations, metadata of the Service, flags)
    "gce": {"target_pool": (["addresses.insert", "firewalls.insert", "targetPools.insert", "forwardingRules.insert"], {}, []),
            "subsetting": (["networkEndpointGroups.insert", "networkEndpointGroups.attachNetworkEndpoints",
                            "regionBackendServices.insert", "forwardingRules.insert"], INTERNAL, SUBSETTING)},
    "azure": {"external": (["LoadBalancers.CreateOrUpdate", "PublicIPAddresses.CreateOrUpdate", "SecurityGroups.CreateOrUpdate",
                            "PublicIPAddresses.List", "LoadBalancers.List", "VirtualMachineScaleSetVMs.Update"], {}, [])},
    "aws": {"nlb": (["elbv2.CreateLoadBalancer", "elbv2.CreateTargetGroup", "elbv2.CreateListener", "elbv2.RegisterTargets",
                     "ec2.AuthorizeSecurityGroupIngress", "elbv2.DescribeLoadBalancers"], NLB, []),
            "classic": (["elb.CreateLoadBalancer", "ec2.CreateSecurityGroup", "elb.RegisterInstancesWithLoadBalancer",
                         "elb.ConfigureHealthCheck"], {}, [])},
}[CLOUD]
# Names and ids of resources: long words with a digit.  In an ARN the name is one of several parts.
NAME = re.compile(r"[A-Za-z0-9-]*\d[A-Za-z0-9-]*")


def warnings(w):
    items = w.must("GET", "/api/v1/namespaces/default/events")["items"]
    return [(e["reason"], e["message"], e.get("count", 1)) for e in items if e["type"] == "Warning"]


def told_twice(found):
    """The events, once those of each reason count two together."""
    sums = {reason: sum(n for r, _, n in found if r == reason) for reason, _, _ in found}
    return found if sums and set(sums.values()) == {2} else None


def failed_twice(row):
    op, meta, error = row
    with World(PROGRAMS, "--nodes=2", cloud=CLOUD) as w:
        w.start(*FLAGS)
        for i in range(2):
            w.fault(match={"op": op}, **{"from": i + 1}, **error(i))
        w.create("web", meta)
        w.until("both have happened", lambda: [f["hits"] for f in w.must("GET", "/sim/faults")] == [1, 1])
        w.until_made("web")
        found = w.until("both are told", lambda: told_twice(warnings(w)))
        assert {n for _, _, n in found} == {2}, found
        for text in UUIDS + CODES + TIMES + ZULU:
            assert not any(text in message for _, message, _ in found), (text, found)


def said_once(op, meta, flags):
    """An event about a refused request names each resource once."""
    with World(PROGRAMS, "--nodes=2", cloud=CLOUD) as w:
        w.fault(match={"op": "compute." + op if CLOUD == "gce" else op}, count=0, do="refuse", status=403)
        w.start(*flags)
        w.create("web", meta)
        for _, message, _ in w.until(f"a Warning about {op}", lambda: warnings(w)):
            names = [n for n in NAME.findall(message) if len(n) > 9]
            assert len(names) == len(set(names)), message
            assert not re.search(r"\b(\w+ )?address \w+Addresses\b|\b(\w{6,}) \2\b", message), message


if __name__ == "__main__":
    TESTS = [(f"{name}__the_same_failure_twice__one_event", lambda row=row: failed_twice(row)) for name, row in ROWS.items()]
    TESTS += [(f"{name}__{op.split('.')[-1]}_{op.split('.')[0]}_refused__each_resource_is_named_once",
               lambda op=op, row=row: said_once(op, *row[1:])) for name, row in REFUSED.items() for op in row[0]]
    sys.exit(tap.run([t for t in TESTS if not sys.argv[4:] or t[0] in sys.argv[4:]]))
