# SPDX-License-Identifier: Apache-2.0
"""How long a user of AWS' balancers waits: from the first write of a flow to its end, beside the longest chain of it.

As bench_gce_address.py.  Rules of security groups that come are changes of a "security group", as are those that leave.
"""
from bench_gce_address import timed

NLB = {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}
APIS = ("aws",)
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
DELETE = (("delete load balancer", f"(delete {GROUP}|change security group)"),)
DELETE_CLASSIC = (("delete classic load balancer", "change security group", "delete security group"),)


def bench_aws_address(row, programs):
    """With the simulator's cloud-like latency."""
    with programs.rig("--nodes=6", "--zones=us-east-1a,us-east-1b,us-east-1c", "--latency=cloud", cloud="aws") as rig:
        rig.start("-v=4")

        def measure(what, name, chains, act):
            row(f"{what}, seconds from the first write", "–", timed(rig, name, (chains, None), act, APIS))

        def ports(name, port, node_port):
            rig.patch({"namespace": "default", "name": name},
                      {"spec": {"ports": [{"port": port, "protocol": "TCP", "nodePort": node_port}]}})

        def gone(name):
            rig.call("DELETE", "/api/v1/namespaces/default/services/" + name)

        measure("NLB: create, first", "a", CREATE, lambda: rig.create("a", NLB))
        measure("NLB: create, a further one", "b", CREATE, lambda: rig.create("b", NLB))
        measure("NLB: another port", "b", PORT, lambda: ports("b", 81, 32001))
        measure("NLB: another node port", "b", NODE_PORT, lambda: ports("b", 81, 32002))
        measure("NLB: delete", "b", DELETE, lambda: gone("b"))
        measure("classic: create", "c", CREATE_CLASSIC, lambda: rig.create("c", {}))
        measure("classic: delete", "c", DELETE_CLASSIC, lambda: gone("c"))
        rig.stop()
