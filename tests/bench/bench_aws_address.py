# SPDX-License-Identifier: Apache-2.0
"""How long a user of AWS' balancers waits: from the first write of a flow to its end, beside the longest chain of it.

As bench_gce_address.py.  Rules of security groups that come are changes of a "security group", as are those that leave, and all
settings of a classic balancer are changes of it: there the reason of an operation says which step it is.
"""
import concurrent.futures

from bench_gce_address import longest, of_service, timed
from bench_rig import READ, took_ms

PREFIX = "service.beta.kubernetes.io/aws-load-balancer-"
NLB = {PREFIX + "type": "nlb"}
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/"
APIS = ("aws",)
TOGETHER = 5
GROUP = "target group"
OPEN = ("change security group", "(are in it|ask for it|lets? .* in)")  # rules that come
CLOSE = ("change security group", "(no longer needs it|goes|asks for it$)")  # rules that leave
CREATE = (
    (f"create {GROUP}", "create listener"),
    ("create load balancer", "create listener"),
    (f"create {GROUP}", "create targets"),
    (OPEN, "create targets"),
)
CREATE_CLASSIC = (
    ("create security group", "create classic load balancer", "change classic load balancer"),
    ("create security group", OPEN, "change classic load balancer"),
)
# Before a listener leads to a group of targets, its nodes let the traffic in and are registered; what leaves goes last.
GONE = (f"delete {GROUP}", CLOSE)
FILLED = ((f"create {GROUP}", "create targets"), (OPEN, "create targets"), (f"create {GROUP}",), (OPEN,))
PORT = tuple((*before, "create listener", "delete listener", last) for before in ((f"create {GROUP}",), (OPEN,)) for last in GONE)
NODE_PORT = tuple((*before, "change listener", last) for before in FILLED for last in GONE)
PROTOCOL = tuple((*before, "delete listener", "create listener", last) for before in FILLED[2:] for last in GONE)
POLICY = ((OPEN, f"change {GROUP}", CLOSE),)
RANGES = ((OPEN, CLOSE),)
LISTENER, TARGETS, BALANCER = (("change listener",),), ((f"change {GROUP}",),), (("change load balancer",),)
SET = "change classic load balancer"
NEW, OLD = (SET, "has this port"), (SET, "(has no such port|it is made anew)")
TRIED = (SET, "AWS says only then")  # a listener like it on a spare port
PORT_CLASSIC = ((OPEN, OLD, CLOSE), (NEW, OLD, CLOSE))
ANEW_CLASSIC = ((TRIED, OLD, NEW), (OPEN, OLD, NEW))
SETTING = ((SET,),)
PROXY = (("create load balancer policy", SET),)
DELETE = (("delete load balancer", f"(delete {GROUP}|change security group)"),)
DELETE_CLASSIC = (("delete classic load balancer", "change security group", "delete security group"),)
ZONES = "--zones=us-east-1a,us-east-1b,us-east-1c"


def ports(port, node_port, protocol="TCP"):
    return {"spec": {"ports": [{"port": port, "protocol": protocol, "nodePort": node_port}]}}


def policy(value):
    return {"spec": {"externalTrafficPolicy": value}}


def notes(**annotations):
    return {"metadata": {"annotations": {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}}}


TWO_RANGES = {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24", "198.51.100.0/24"]}}
EDITS = (
    ("NLB", NLB, CREATE, DELETE, (
        ("another port", PORT, ports(81, 32001)),
        ("another node port", NODE_PORT, ports(81, 32002)),
        ("source ranges", RANGES, TWO_RANGES),
        ("a certificate", LISTENER, notes(ssl_cert=CERTIFICATE + "one")),
        ("another certificate", LISTENER, notes(ssl_cert=CERTIFICATE + "two")),
        ("no certificate", LISTENER, notes(ssl_cert=None)),
        ("health checks by HTTP", TARGETS, notes(healthcheck_protocol="HTTP", healthcheck_path="/up")),
        ("health checks by TCP", TARGETS, notes(healthcheck_protocol=None, healthcheck_path=None)),
        ("across zones", BALANCER, notes(cross_zone_load_balancing_enabled="true")),
        ("attributes of target groups", TARGETS, notes(target_group_attributes="proxy_protocol_v2.enabled=true")),
        ("policy Local", POLICY, policy("Local")),
        ("policy Cluster", POLICY, policy("Cluster")),
        ("UDP", PROTOCOL, ports(81, 32002, "UDP")),
    )),
    ("classic", {}, CREATE_CLASSIC, DELETE_CLASSIC, (
        ("another port", PORT_CLASSIC, ports(81, 32003)),
        ("another node port", ANEW_CLASSIC, ports(81, 32004)),
        ("source ranges", RANGES, TWO_RANGES),
        ("a certificate", ANEW_CLASSIC, notes(ssl_cert=CERTIFICATE + "one")),
        ("another certificate", SETTING, notes(ssl_cert=CERTIFICATE + "two")),
        ("proxy protocol", PROXY, notes(proxy_protocol="*")),
        ("health checks by HTTP", SETTING, notes(healthcheck_protocol="http", healthcheck_path="/up")),
        ("attributes", SETTING, notes(connection_idle_timeout="120", connection_draining_enabled="true")),
        ("policy Local", SETTING, policy("Local")),
        ("policy Cluster", SETTING, policy("Cluster")),
    )),
)


def edited_together(rig, names, chains, node_port):
    """Edits of different Services do not wait for each other: all of them take as long as the longest."""
    def count(message):
        return {name: len(of_service(rig, message, name)) for name in names}

    synced, done, requests = count("Synced"), count("Done"), len(rig.messages("Cloud request"))
    for i, name in enumerate(names):
        rig.patch({"namespace": "default", "name": name}, ports(90, node_port + i))
    rig.until("all edits", lambda: all(len(of_service(rig, "Synced", n)) > synced[n] for n in names))
    begun = min(line["ts"] - took_ms(line) for line in rig.messages("Cloud request")[requests:]
                if line["api"] == "aws" and not READ.search(line["operation"]))
    end = max(line["ts"] for n in names for line in of_service(rig, "Synced", n)[synced[n]:])
    chain = max(longest(of_service(rig, "Done", n)[done[n]:], chains) for n in names)
    return f"chain {chain:.1f} s; today {(end - begun) / 1000:.1f} s; ratio {(end - begun) / 1000 / chain:.2f}"


def of_kind(programs, kind):
    title, annotations, create, delete, edits = kind
    rows = []
    with programs.rig("--nodes=6", ZONES, "--latency=cloud", cloud="aws") as rig:
        rig.start("-v=4")

        def measure(what, name, chains, act):
            rows.append((f"{title}: {what}", timed(rig, name, (chains, None), act, APIS)))
            rig.until_quiet()

        measure("create, first", "a", create, lambda: rig.create("a", annotations))
        measure("create, a further one", "b", create, lambda: rig.create("b", annotations))
        for what, chains, body in edits:
            measure(what, "b", chains, lambda: rig.patch({"namespace": "default", "name": "b"}, body))
        measure("delete", "b", delete, lambda: rig.call("DELETE", "/api/v1/namespaces/default/services/b"))
        rig.stop()
    return rows


def of_many(programs, kind):
    title, annotations, chains, node_port = kind
    with programs.rig("--nodes=6", ZONES, "--latency=cloud", cloud="aws") as rig:
        rig.start("-v=4")
        names = [f"s{i}" for i in range(TOGETHER)]
        for name in names:
            rig.create(name, annotations)
        rig.until_synced(TOGETHER)
        rig.until_quiet()
        figure = edited_together(rig, names, chains, node_port)
        rig.stop()
    return [(f"{title}: another port of {TOGETHER} Services at once", figure)]


def bench_aws_address(row, programs):
    """With the simulator's cloud-like latency."""
    many = (("NLB", NLB, PORT, 32100), ("classic", {}, PORT_CLASSIC, 32200))
    runs = [(of_kind, kind) for kind in EDITS] + [(of_many, kind) for kind in many]
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        for rows in pool.map(lambda run: run[0](programs, run[1]), runs):
            for what, here in rows:
                row(what + ", seconds from the first write", "–", here)
