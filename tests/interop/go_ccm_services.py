# SPDX-License-Identifier: Apache-2.0
"""The Services of the hand-over test: what each is, how it is edited, and what is special about it.

Names say the kind: ext-* external with a target pool, int-* internal with instance groups, other-* somebody else's.
`{premium}` and the like stand for addresses that are reserved before the Services are made (RESERVED).
"""
INTERNAL = {"networking.gke.io/load-balancer-type": "Internal"}
TIER = "cloud.google.com/network-tier"
RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"

RESERVED = {
    "premium": {"networkTier": "PREMIUM"},
    "premium-two": {"networkTier": "PREMIUM"},
    "premium-three": {"networkTier": "PREMIUM"},
    "premium-four": {"networkTier": "PREMIUM"},
    "standard": {"networkTier": "STANDARD"},
    "standard-two": {"networkTier": "STANDARD"},
    "inside": {"addressType": "INTERNAL", "subnetwork": "regions/us-central1/subnetworks/default"},
}


def port(number, protocol="TCP"):
    return {"name": f"{protocol.lower()}-{number}", "port": number, "protocol": protocol}


def ports(*numbers, protocol="TCP"):
    return [port(n, protocol) for n in numbers]


# name: (annotations, spec, edit).  An edit is a merge patch on the Service; None leaves it as it is.
EXTERNAL = {
    "ext-tcp": ({}, {}, {"spec": {"ports": ports(81)}}),
    "ext-udp": ({}, {"ports": ports(53, protocol="UDP")}, {"spec": {"ports": ports(53, 54, protocol="UDP")}}),
    "ext-protocol": ({}, {"ports": ports(70)}, {"spec": {"ports": ports(70, protocol="UDP")}}),
    "ext-many": ({}, {"ports": ports(80, 443, 8080, 8081, 8082, 9000)}, {"spec": {"ports": ports(80, 443)}}),
    "ext-quiet": ({}, {}, None),
    "ext-label": ({}, {}, {"metadata": {"labels": {"a": "b"}, "annotations": {"example.com/note": "x"}}}),
    "ext-target-port": ({}, {"ports": ports(80)}, {"spec": {"ports": [{**port(80), "targetPort": 8080}]}}),
    "ext-local": ({}, {"externalTrafficPolicy": "Local"}, {"spec": {"externalTrafficPolicy": "Cluster"}}),
    "ext-to-local": ({}, {}, {"spec": {"externalTrafficPolicy": "Local"}}),
    "ext-local-quiet": ({}, {"externalTrafficPolicy": "Local", "ports": ports(5000, protocol="UDP")}, None),
    "ext-sticky": ({}, {"sessionAffinity": "ClientIP"}, {"spec": {"sessionAffinity": "None"}}),
    "ext-to-sticky": ({}, {}, {"spec": {"sessionAffinity": "ClientIP"}}),
    "ext-ranges": ({}, {"loadBalancerSourceRanges": ["10.0.0.0/8", "192.0.2.0/24"]},
                   {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/25"]}}),
    "ext-ranges-open": ({}, {"loadBalancerSourceRanges": ["10.0.0.0/8"]}, {"spec": {"loadBalancerSourceRanges": None}}),
    "ext-ranges-note": ({RANGES: "10.1.0.0/16, 10.2.0.0/16"}, {}, {"metadata": {"annotations": {RANGES: "10.3.0.0/16"}}}),
    "ext-static": ({}, {"loadBalancerIP": "{premium}"}, {"spec": {"loadBalancerIP": "{premium-two}"}}),
    "ext-static-given-up": ({}, {"loadBalancerIP": "{premium-three}"}, {"spec": {"loadBalancerIP": None}}),
    "ext-static-later": ({}, {}, {"spec": {"loadBalancerIP": "{premium-four}"}}),
    "ext-static-standard": ({TIER: "Standard"}, {"loadBalancerIP": "{standard}"}, {"spec": {"ports": ports(82)}}),
    "ext-static-wrong": ({}, {"loadBalancerIP": "{standard-two}"}, {"metadata": {"annotations": {TIER: "Standard"}}}),
    "ext-ip-nobodys": ({}, {"loadBalancerIP": "192.0.2.77"}, {"spec": {"loadBalancerIP": None}}),
    "ext-standard": ({TIER: "Standard"}, {}, {"metadata": {"annotations": {TIER: "Premium"}}}),
    "ext-premium": ({TIER: "Premium"}, {}, {"metadata": {"annotations": {TIER: "Standard"}}}),
    "ext-standard-silent": ({TIER: "Standard"}, {}, {"metadata": {"annotations": {TIER: None}}}),
    "ext-tier-bad": ({TIER: "Gold"}, {}, {"metadata": {"annotations": {TIER: "Premium"}}}),
    "ext-no-node-ports": ({}, {"allocateLoadBalancerNodePorts": False}, {"spec": {"ports": ports(83)}}),
    "ext-goes": ({}, {"externalTrafficPolicy": "Local"}, {"spec": {"type": "ClusterIP"}}),
    "ext-comes": ({}, {"type": "NodePort"}, {"spec": {"type": "LoadBalancer"}}),
}
INTERNAL_KINDS = {
    "int-tcp": (INTERNAL, {}),
    "int-udp": (INTERNAL, {"ports": ports(53, protocol="UDP")}),
    "int-local": (INTERNAL, {"externalTrafficPolicy": "Local"}),
    "int-global": ({**INTERNAL, "networking.gke.io/internal-load-balancer-allow-global-access": "true"}, {}),
    "int-static": (INTERNAL, {"loadBalancerIP": "{inside}"}),
    "int-many": (INTERNAL, {"ports": ports(1, 2, 3, 4, 5, 6)}),
    "int-shared": ({**INTERNAL, "alpha.cloud.google.com/load-balancer-backend-share": "true"},
                   {"sessionAffinity": "ClientIP"}),
    "int-old": ({"cloud.google.com/load-balancer-type": "internal"}, {"loadBalancerSourceRanges": ["10.0.0.0/8"]}),
}
OTHERS = {
    "other-rbs": ({"cloud.google.com/l4-rbs": "enabled"}, {}),
    "other-class": ({}, {"loadBalancerClass": "example.com/x"}),
    "other-class-gke": ({}, {"loadBalancerClass": "networking.gke.io/l4-regional-external"}),
    "other-cluster-ip": ({}, {"type": "ClusterIP"}),
}
# The Go program never gets these done as they are; trimtab refuses them before the first write.
ODD = {
    "odd-mixed": ({}, {"ports": [port(80), port(53, "UDP")]}, {"spec": {"ports": ports(80)}}),
    "odd-sctp": ({}, {"ports": ports(90, protocol="SCTP")}, None),
}
