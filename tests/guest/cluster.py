# SPDX-License-Identifier: Apache-2.0
"""The clusters that the guest plays: Services of each kind, pods on two nodes, clients, and the packets that are sent.

One description in IPv4; the one in IPv6 is made of it, address by address.  A world has the form in which trimtab-eval takes
it.  Network namespaces: NODE (node-1, that is looked at), out (clients), far (node-2 with its pods), pod-N (each pod of node-1).
"""
import copy
import json
import re

NODE, FAR, OUT = "192.168.7.11", "192.168.7.12", "192.168.7.1"
NEAR_PODS, FAR_PODS = ["10.244.1.5", "10.244.1.6"], ["10.244.2.5", "10.244.2.6"]
CLIENT, STRANGER = "203.0.113.5", "198.18.0.9"   # the second one is in no source range
IPV6 = {"192.168.7.": "fd00:7::", "10.244.1.": "fd00:244:1::", "10.244.2.": "fd00:244:2::", "203.0.113.": "2001:db8:113::",
        "198.18.0.": "2001:db8:18::", "10.96.0.": "fd00:96::", "198.51.100.": "2001:db8:51::", "192.0.2.": "2001:db8:2::"}
RANGES = {"203.0.113.0/24": "2001:db8:113::/64", "192.168.7.0/24": "fd00:7::/64", "10.244.0.0/16": "fd00:244::/32",
          "10.96.0.0/24": "fd00:96::/64", "198.51.100.0/24": "2001:db8:51::/64", "192.0.2.0/24": "2001:db8:2::/64"}
PORT = 8080


def service(name, number, pods, **more):
    """A LoadBalancer Service with the addresses 10.96.0.NUMBER and 198.51.100.NUMBER, and its slice."""
    protocol = more.pop("protocol", "TCP")
    spec = {"type": "LoadBalancer", "clusterIP": f"10.96.0.{number}", "clusterIPs": [f"10.96.0.{number}"],
            "ipFamilies": ["IPv4"], "selector": {"app": name}, "externalTrafficPolicy": "Cluster",
            "ports": [{"protocol": protocol, "port": 80, "targetPort": PORT, "nodePort": 30000 + number}], **more}
    endpoints = [{"addresses": [p], "conditions": {"ready": True, "serving": True, "terminating": False},
                  "nodeName": "node-1" if p in NEAR_PODS else "node-2"} for p in pods]
    return ({"metadata": {"namespace": "demo", "name": name}, "spec": spec,
             "status": {"loadBalancer": {"ingress": [{"ip": f"198.51.100.{number}"}]}}},
            {"metadata": {"namespace": "demo", "name": name + "-abcde", "labels": {"kubernetes.io/service-name": name}},
             "addressType": "IPv4", "ports": [{"name": "", "protocol": protocol, "port": PORT}], "endpoints": endpoints})


ALL = NEAR_PODS + FAR_PODS
SERVICES = (
    service("cluster", 10, ALL, externalIPs=["192.0.2.10"]),
    service("local", 11, ALL, externalTrafficPolicy="Local", healthCheckNodePort=32011),
    service("away", 12, FAR_PODS, externalTrafficPolicy="Local", healthCheckNodePort=32012, externalIPs=["192.0.2.12"]),
    service("ranges", 13, ALL, loadBalancerSourceRanges=["203.0.113.0/24"]),
    service("names", 14, ALL, protocol="UDP"),
    service("sticky", 15, ALL, sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 600}}),
    service("empty", 16, []),
    service("inside", 17, FAR_PODS + NEAR_PODS[:1], internalTrafficPolicy="Local"),
    service("sctp", 18, ALL, protocol="SCTP", externalTrafficPolicy="Local", healthCheckNodePort=32018),
    service("ranges-node", 19, ALL, loadBalancerSourceRanges=["192.168.7.0/24"]),
    service("own-pod", 20, NEAR_PODS[:1]),
    service("names-away", 21, FAR_PODS, protocol="UDP", externalTrafficPolicy="Local", healthCheckNodePort=32021),
)
ROUTED = {"services": ["10.96.0.0/24", "198.51.100.0/24", "192.0.2.0/24"]}


def world(**proxy):
    services, slices = zip(*SERVICES)
    return {"node": {"name": "node-1", "ip": NODE, "addresses": [NODE]},
            "proxy": {"family": "IPv4", "masquerade_bit": 14, "random_fully": True, **proxy},
            "services": copy.deepcopy(list(services)), "slices": copy.deepcopy(list(slices))}


def in_ipv6(value):
    """The same with IPv6 addresses, whatever it is."""
    text = json.dumps(value).replace('"IPv4"', '"IPv6"')
    for old, new in RANGES.items():
        text = text.replace(old, new)
    for old, new in IPV6.items():
        text = re.sub(r"\b" + re.escape(old) + r"(?=\d)", new, text)
    return json.loads(text)


DETECTED = {"detect_local": {"mode": "ClusterCIDR", "value": "10.244.0.0/16"}}
WORLDS = {
    "IPv4": world(**DETECTED),
    "IPv6": in_ipv6(world(**DETECTED)),
    "IPv4 with masquerade-all and mh": world(masquerade_all=True, scheduler="mh"),
}


def packets():
    """(namespace, protocol, source, destination, port), in IPv4."""
    for one, _ in SERVICES:
        number, spec = int(one["spec"]["clusterIP"].rsplit(".", 1)[1]), one["spec"]
        protocol = spec["ports"][0]["protocol"].lower()
        if protocol == "sctp":
            continue
        for namespace, source in (("out", CLIENT), ("out", STRANGER), ("pod-0", NEAR_PODS[0]), ("node", NODE)):
            yield namespace, protocol, source, spec["clusterIP"], 80
            yield namespace, protocol, source, f"198.51.100.{number}", 80
            for external in spec.get("externalIPs", ()):
                yield namespace, protocol, source, external, 80
            yield namespace, protocol, source, NODE, 30000 + number
    for namespace, source in (("out", CLIENT), ("pod-0", NEAR_PODS[0])):
        yield namespace, "tcp", source, "10.96.0.10", 81          # a port that the address does not have
        yield namespace, "tcp", source, "198.51.100.10", 443
