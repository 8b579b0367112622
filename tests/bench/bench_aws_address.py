# SPDX-License-Identifier: Apache-2.0
"""How long a user of AWS' balancers waits: from the first write of a flow to its end, beside the longest chain of it.

As bench_gce_address.py.  Rules of security groups that come are changes of a "security group", as are those that leave.
"""
from bench_gce_address import longest, of_service, timed
from bench_rig import READ, took_ms

NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
APIS = ("aws",)
TOGETHER = 5
GROUP = "target group"
CREATE = (
    (f"create {GROUP}", "create listener"),
    ("create load balancer", "create listener"),
    (f"create {GROUP}", "create targets"),
    ("change security group", "create targets"),
)
CREATE_CLASSIC = (
    ("create security group", "create classic load balancer", "change classic load balancer"),
    ("create security group", "change security group", "change classic load balancer"),
)
PORT = (
    (f"create {GROUP}", "create targets"),
    (f"(create {GROUP}|change security group)", "create listener", "delete listener", f"(delete {GROUP}|change security group)"),
)
NODE_PORT = ((f"(create {GROUP}|change security group)", "create targets", "change listener", f"(delete {GROUP}|change security group)"),)
POLICY = ((f"change {GROUP}",), ("change security group", f"change {GROUP}"))
SET = "change classic load balancer"  # listeners, health check, policies
PORT_CLASSIC = ((SET, SET, "change security group"),)  # the new listener, the old one, the rules of that
NODE_PORT_CLASSIC = ((SET, SET, SET),)  # one like it on a spare port, the old listener, the new one
POLICY_CLASSIC = ((SET,),)
DELETE = (("delete load balancer", f"(delete {GROUP}|change security group)"),)
DELETE_CLASSIC = (("delete classic load balancer", "change security group", "delete security group"),)


def edited_together(rig, names, chains, node_port):
    """Edits of different Services do not wait for each other: all of them take as long as one."""
    def count(message):
        return {name: len(of_service(rig, message, name)) for name in names}

    synced, done, requests = count("Synced"), count("Done"), len(rig.messages("Cloud request"))
    for i, name in enumerate(names):
        rig.patch({"namespace": "default", "name": name}, {"spec": {"ports": [{"port": 90, "protocol": "TCP", "nodePort": node_port + i}]}})
    rig.until("all edits", lambda: all(len(of_service(rig, "Synced", n)) > synced[n] for n in names))
    begun = min(line["ts"] - took_ms(line) for line in rig.messages("Cloud request")[requests:]
                if line["api"] == "aws" and not READ.search(line["operation"]))
    end = max(line["ts"] for n in names for line in of_service(rig, "Synced", n)[synced[n]:])
    chain = max(longest(of_service(rig, "Done", n)[done[n]:], chains) for n in names)
    return f"chain {chain:.1f} s; today {(end - begun) / 1000:.1f} s; ratio {(end - begun) / 1000 / chain:.2f}"


def bench_aws_address(row, programs):
    """With the simulator's cloud-like latency."""
    with programs.rig("--nodes=6", "--zones=us-east-1a,us-east-1b,us-east-1c", "--latency=cloud", cloud="aws") as rig:
        rig.start("-v=4")

        def measure(what, name, chains, act):
            row(f"{what}, seconds from the first write", "–", timed(rig, name, (chains, None), act, APIS))

        def ports(name, port, node_port):
            rig.patch({"namespace": "default", "name": name},
                      {"spec": {"ports": [{"port": port, "protocol": "TCP", "nodePort": node_port}]}})

        def policy(name, value):
            rig.patch({"namespace": "default", "name": name}, {"spec": {"externalTrafficPolicy": value}})

        def gone(name):
            rig.call("DELETE", "/api/v1/namespaces/default/services/" + name)

        measure("NLB: create, first", "a", CREATE, lambda: rig.create("a", NLB))
        measure("NLB: create, a further one", "b", CREATE, lambda: rig.create("b", NLB))
        measure("NLB: another port", "b", PORT, lambda: ports("b", 81, 32001))
        measure("NLB: another node port", "b", NODE_PORT, lambda: ports("b", 81, 32002))
        measure("NLB: policy Local", "b", POLICY, lambda: policy("b", "Local"))
        measure("NLB: delete", "b", DELETE, lambda: gone("b"))
        measure("classic: create", "c", CREATE_CLASSIC, lambda: rig.create("c", {}))
        measure("classic: another port", "c", PORT_CLASSIC, lambda: ports("c", 81, 32003))
        measure("classic: another node port", "c", NODE_PORT_CLASSIC, lambda: ports("c", 81, 32004))
        measure("classic: policy Local", "c", POLICY_CLASSIC, lambda: policy("c", "Local"))
        measure("classic: delete", "c", DELETE_CLASSIC, lambda: gone("c"))
        rig.stop()
    with programs.rig("--nodes=6", "--zones=us-east-1a,us-east-1b,us-east-1c", "--latency=cloud", cloud="aws") as rig:
        rig.start("-v=4")
        for kind, annotations, chains, port in (("NLB", NLB, PORT, 32100), ("classic", {}, PORT_CLASSIC, 32200)):
            names = [f"{kind.lower()}{i}" for i in range(TOGETHER)]
            for name in names:
                rig.create(name, annotations)
            rig.until_synced(TOGETHER if kind == "NLB" else 2 * TOGETHER)
            rig.until_quiet()
            row(f"{kind}: another port of {TOGETHER} Services at once, seconds from the first write", "–",
                edited_together(rig, names, chains, port))
        rig.stop()
