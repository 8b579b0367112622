# SPDX-License-Identifier: Apache-2.0
"""Scenarios of moto_test.py: each changes Services, yields the name of the step, and continues.

Between two steps everything is settled and looked at, in the simulator and in moto.  A step may be (name, Services that are
refused in it).  Each scenario leaves nothing behind.
"""
NLB = {"type": "nlb"}
RANGES = {"spec": {"loadBalancerSourceRanges": ["10.1.0.0/16", "192.0.2.0/24"]}}
CERTIFICATE = "arn:aws:iam::123456789012:server-certificate/x"


def ports(*numbers, protocol="TCP"):
    return [{"name": f"p{n}", "port": n, "protocol": protocol} for n in numbers]


def spec(**members):
    return {"spec": members}


def node_port(c, name):
    """Another node port for the Service's first port."""
    first = dict(c.get(name)["spec"]["ports"][0])
    first["nodePort"] = 32700 if first["nodePort"] != 32700 else 32701
    rest = c.get(name)["spec"]["ports"][1:]
    c.change(name, spec(ports=[first, *rest]))


def gone(c, name):
    c.remove(name)


# --- the table of calls: what docs/performance.md says -------------------------------------------------------

def counted_nlb(c):
    c.service("one", NLB, ports=ports(80, 81))
    yield "NLB create, first, 2 ports"
    gone(c, "one")
    yield "NLB delete, 2 ports"
    c.service("two", NLB)
    yield "NLB create, further, 1 port"
    c.nudge("two")
    yield "NLB no change"
    c.nudge("two")
    yield "NLB no change, again"
    c.add_node()
    yield "NLB node added"
    c.drop_node()
    yield "NLB node gone"
    c.change("two", RANGES)
    yield "NLB source ranges"
    gone(c, "two")
    yield "NLB delete, source ranges"
    c.service("three", NLB)
    yield "NLB create, again, 1 port"
    gone(c, "three")
    yield "NLB delete"


def counted_classic(c):
    c.service("one")
    yield "classic create"
    c.nudge("one")
    yield "classic no change"
    c.add_node()
    yield "classic node added"
    c.drop_node()
    yield "classic node gone"
    c.change("one", RANGES)
    yield "classic source ranges"
    gone(c, "one")
    yield "classic delete"


def counted_restart(c):
    for name in ("n1", "n2", "n3"):
        c.service(name, NLB)
    for name in ("c1", "c2"):
        c.service(name)
    yield "3 NLBs and 2 classic made"
    for name in ("n1", "n2", "n3", "c1", "c2"):
        c.nudge(name)
    yield "3 NLBs and 2 classic, no change"
    c.restart()
    yield "restart, 3 NLBs and 2 classic"
    for name in ("n1", "n2", "n3", "c1", "c2"):
        gone(c, name)
    yield "3 NLBs and 2 classic deleted"


# --- NLBs ----------------------------------------------------------------------------------------------------

def nlb_ports(c):
    c.service("web", NLB, ports=ports(80, 81))
    yield "two ports"
    c.change("web", spec(ports=[*c.get("web")["spec"]["ports"], *ports(82)]))
    yield "a third"
    c.change("web", spec(ports=c.get("web")["spec"]["ports"][1:]))
    yield "the first dropped"
    node_port(c, "web")
    yield "another node port"
    c.nudge("web")
    yield "nothing to do"
    c.restart()
    yield "a restart"
    gone(c, "web")
    yield "gone"


def nlb_udp(c):
    c.service("dns", NLB, ports=ports(53, protocol="UDP"))
    yield "UDP"
    c.nudge("dns")
    yield "nothing to do"
    node_port(c, "dns")
    yield "another node port"
    c.change("dns", RANGES)
    yield "source ranges"
    c.change("dns", spec(ports=ports(53)))
    yield "TCP"
    gone(c, "dns")
    yield "gone"


def nlb_local(c):
    c.service("web", NLB, externalTrafficPolicy="Local")
    yield "Local"
    c.nudge("web")
    yield "nothing to do"
    c.change("web", spec(externalTrafficPolicy="Cluster"))
    yield "Cluster"
    c.change("web", spec(externalTrafficPolicy="Local"))
    yield "Local again"
    c.add_node()
    yield "a node more"
    c.drop_node()
    yield "and gone"
    gone(c, "web")
    yield "gone"


def nlb_attributes(c):
    c.service("web", {**NLB, "target-group-attributes": "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true"},
              ports=ports(80, 81))
    yield "attributes of target groups"
    c.nudge("web")
    yield "nothing to do"
    c.note("web", target_group_attributes="preserve_client_ip.enabled=true")
    yield "other ones"
    c.note("web", target_group_attributes=None, cross_zone_load_balancing_enabled="true")
    yield "all zones"
    c.note("web", cross_zone_load_balancing_enabled=None)
    yield "each zone"
    gone(c, "web")
    yield "gone"


def nlb_health(c):
    c.service("web", {**NLB, "healthcheck-protocol": "HTTP", "healthcheck-path": "/ready", "healthcheck-interval": "10"})
    yield "HTTP check"
    c.nudge("web")
    yield "nothing to do"
    c.note("web", healthcheck_path="/live", healthcheck_healthy_threshold="4", healthcheck_unhealthy_threshold="4")
    yield "path and thresholds"
    c.note("web", healthcheck_interval="30", healthcheck_port="8080")
    yield "interval and port"
    c.note("web", healthcheck_protocol="TCP", healthcheck_path=None, healthcheck_port=None)
    yield "TCP check"
    c.restart()
    yield "a restart"
    gone(c, "web")
    yield "gone"


def nlb_inside(c):
    subnets = [s for s, zone in sorted(c.zones().items(), key=lambda item: item[1])][:2]
    c.service("web", {**NLB, "internal": "true", "subnets": ",".join(subnets),
                      "additional-resource-tags": "team=blue,cost=7"}, **RANGES["spec"])
    yield "internal, two subnets, tags, ranges"
    c.change("web", spec(loadBalancerSourceRanges=["192.0.2.0/25"]))
    yield "narrower"
    c.change("web", spec(loadBalancerSourceRanges=None))
    yield "open"
    gone(c, "web")
    yield "gone"


def nlb_tls(c):
    c.service("web", {**NLB, "ssl-cert": CERTIFICATE, "ssl-ports": "443"}, ports=ports(80, 443))
    yield "TLS on one port"
    c.nudge("web")
    yield "nothing to do"
    c.note("web", ssl_negotiation_policy="ELBSecurityPolicy-TLS13-1-2-2021-06")
    yield "a policy"
    c.change("web", spec(ports=c.get("web")["spec"]["ports"][1:]))
    yield "TLS only"
    gone(c, "web")
    yield "gone"


def nlb_turns_into_none(c):
    c.service("web", NLB)
    yield "there"
    c.change("web", spec(type="ClusterIP"))
    yield "no balancer wanted"
    c.change("web", spec(type="LoadBalancer"))
    yield "wanted again"
    gone(c, "web")
    yield "gone"


def type_refused(c):
    c.service("web", NLB)
    c.service("old")
    yield "one of each type"
    c.note("web", type=None)
    c.note("old", type="nlb")
    yield "both of the other type", ("web", "old")
    c.note("web", type="nlb")
    c.note("old", type=None)
    yield "taken back"
    gone(c, "web")
    gone(c, "old")
    yield "gone"


# --- classic -------------------------------------------------------------------------------------------------

def classic_ports(c):
    c.service("web", ports=ports(80, 81))
    yield "two ports"
    c.change("web", spec(ports=[*c.get("web")["spec"]["ports"], *ports(82)]))
    yield "a third"
    c.change("web", spec(ports=c.get("web")["spec"]["ports"][1:]))
    yield "the first dropped"
    node_port(c, "web")
    yield "another node port"
    c.nudge("web")
    yield "nothing to do"
    c.restart()
    yield "a restart"
    gone(c, "web")
    yield "gone"


def classic_settings(c):
    c.service("web", {"cross-zone-load-balancing-enabled": "true", "connection-idle-timeout": "90",
                      "connection-draining-enabled": "true", "connection-draining-timeout": "20",
                      "additional-resource-tags": "team=blue,cost=7"})
    yield "attributes and tags"
    c.nudge("web")
    yield "nothing to do"
    c.note("web", cross_zone_load_balancing_enabled=None, connection_idle_timeout="30", connection_draining_timeout="40")
    yield "others"
    c.note("web", healthcheck_interval="20", healthcheck_unhealthy_threshold="3", healthcheck_protocol="HTTP",
           healthcheck_path="/ready")
    yield "another check"
    c.note("web", proxy_protocol="*")
    yield "proxy protocol"
    c.nudge("web")
    yield "still nothing to do"
    c.note("web", proxy_protocol=None)
    yield "without"
    gone(c, "web")
    yield "gone"


def classic_local(c):
    c.service("web", {"internal": "true"}, externalTrafficPolicy="Local")
    yield "internal, Local"
    c.change("web", spec(externalTrafficPolicy="Cluster"))
    yield "Cluster"
    c.change("web", RANGES)
    yield "ranges"
    c.change("web", spec(loadBalancerSourceRanges=None))
    yield "open"
    gone(c, "web")
    yield "gone"


def classic_groups(c):
    mine = c.make_group("mine")
    c.service("web", {"extra-security-groups": mine})
    yield "a group more"
    c.note("web", extra_security_groups=None)
    yield "not any more"
    c.note("web", security_groups=mine)
    yield "only the user's own"
    gone(c, "web")
    yield "gone"
    c.drop_group(mine)


def classic_tags(c):
    c.service("web", {"additional-resource-tags": "team=blue"})
    yield "a tag"
    c.note("web", additional_resource_tags=",".join(f"k{i}={i}" for i in range(12)))
    yield "more than may be", ("web",)
    c.note("web", additional_resource_tags="team=red")
    yield "another value"
    gone(c, "web")
    yield "gone"


def deleted_by_hand(c):
    c.service("new", NLB)
    c.service("old")
    yield "one of each type"
    c.lose_balancers()
    c.nudge("new")
    c.nudge("old")
    yield "gone, and made again"
    c.restart()                   # who has made a balancer waits a minute for AWS to show it, before it takes it for gone
    yield "a restart"
    c.lose_balancers()
    gone(c, "new")
    gone(c, "old")
    yield "gone, and not wanted any more"


# --- NLBs with security groups (NLBSecurityGroupMode = Managed) --------------------------------------------------

def managed(c):
    c.service("web", NLB, ports=ports(80, 81))
    yield "NLB create, managed group, 2 ports"
    c.nudge("web")
    yield "NLB no change, managed group, 2 ports"
    c.change("web", RANGES)
    yield "NLB source ranges, managed group"
    c.change("web", spec(ports=c.get("web")["spec"]["ports"][1:]))
    yield "a port dropped"
    c.add_node()
    yield "a node more"
    c.drop_node()
    yield "and gone"
    c.restart()
    yield "a restart"
    gone(c, "web")
    yield "NLB delete, managed group"


def managed_udp(c):
    c.service("dns", NLB, ports=ports(53, protocol="UDP"), externalTrafficPolicy="Local")
    yield "UDP, Local"
    c.change("dns", spec(externalTrafficPolicy="Cluster"))
    yield "Cluster"
    gone(c, "dns")
    yield "gone"


def managed_own(c):
    mine = c.make_group("mine")
    c.service("web", {**NLB, "security-groups": mine})
    yield "the user's own group"
    c.note("web", security_groups=None)
    yield "a generated one"
    c.note("web", security_groups=mine)
    yield "the user's own again"
    gone(c, "web")
    yield "gone"
    c.drop_group(mine)


# (NLBSecurityGroupMode, scenarios that run one after the other in one account).  Those that are counted stand together: the first
# one reads the network for the others.
ACCOUNTS = (
    ("", (counted_nlb, counted_classic, counted_restart, nlb_ports, nlb_udp, nlb_local)),
    ("", (nlb_attributes, nlb_health, nlb_inside, nlb_tls, nlb_turns_into_none, type_refused)),
    ("", (classic_ports, classic_settings, classic_local, classic_groups, classic_tags, deleted_by_hand)),
    ("Managed", (managed, managed_udp, managed_own)),
)
