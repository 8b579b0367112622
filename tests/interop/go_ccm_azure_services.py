# SPDX-License-Identifier: Apache-2.0
"""The Services of the hand-over test in Azure: what each is, and how it is edited.

`{one}` and the like stand for public addresses that are made before the Services (RESERVED).  An edit is a merge patch; None
leaves the Service as it is.
"""
from go_ccm_services import port, ports

AZURE = "service.beta.kubernetes.io/azure-"
INTERNAL = {AZURE + "load-balancer-internal": "true"}
RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
PROBE, PATH = AZURE + "load-balancer-health-probe-protocol", AZURE + "load-balancer-health-probe-request-path"
IDLE, LABEL = AZURE + "load-balancer-tcp-idle-timeout", AZURE + "dns-label-name"

RESERVED = ("one", "two", "named")


def annotated(**annotations):
    return {"metadata": {"annotations": annotations}}


# name: (annotations, spec, edit)
SERVICES = {
    "tcp": ({}, {}, {"spec": {"ports": ports(81)}}),
    "quiet": ({}, {"ports": ports(70)}, None),
    "udp": ({}, {"ports": ports(53, protocol="UDP")}, {"spec": {"ports": ports(53, 54, protocol="UDP")}}),
    "mixed": ({}, {"ports": [port(53), port(53, "UDP")]}, {"spec": {"ports": ports(53)}}),
    "many": ({}, {"ports": ports(80, 443, 8080, 8081)}, {"spec": {"ports": ports(80, 443)}}),
    "local": ({}, {"externalTrafficPolicy": "Local"}, {"spec": {"externalTrafficPolicy": "Cluster"}}),
    "local-quiet": ({}, {"externalTrafficPolicy": "Local", "ports": ports(82, 83)}, None),
    "to-local": ({}, {}, {"spec": {"externalTrafficPolicy": "Local"}}),
    "sticky": ({}, {"sessionAffinity": "ClientIP"}, {"spec": {"sessionAffinity": "None"}}),
    "ranges": ({}, {"loadBalancerSourceRanges": ["10.1.0.0/16", "192.0.2.0/24"]},
               {"spec": {"loadBalancerSourceRanges": ["192.0.2.0/25"]}}),
    "ranges-open": ({}, {"loadBalancerSourceRanges": ["10.1.0.0/16"]}, {"spec": {"loadBalancerSourceRanges": None}}),
    "ranges-close": ({}, {}, {"spec": {"loadBalancerSourceRanges": ["10.2.0.0/16"]}}),
    "ranges-note": ({RANGES: "10.1.0.0/16, 10.2.0.0/16"}, {}, annotated(**{RANGES: "10.2.0.0/16"})),
    "tags": ({AZURE + "allowed-service-tags": "AzureCloud,Storage"}, {}, annotated(**{AZURE + "allowed-service-tags": None})),
    "idle": ({IDLE: "10"}, {}, annotated(**{IDLE: "20"})),
    "probe": ({PROBE: "Http", PATH: "/ready"}, {}, annotated(**{PATH: "/live"})),
    "label": ({LABEL: "label-one"}, {}, annotated(**{LABEL: "label-two"})),
    "pip-tags": ({AZURE + "pip-tags": "a=b,c=d"}, {}, None),
    "pinned": ({}, {"loadBalancerIP": "{one}"}, {"spec": {"ports": ports(84)}}),
    "shares-a": ({}, {"loadBalancerIP": "{two}", "ports": ports(85)}, None),
    "shares-b": ({}, {"loadBalancerIP": "{two}", "ports": ports(86)}, {"spec": {"ports": ports(87)}}),
    "named": ({AZURE + "pip-name": "named"}, {}, None),
    "int": (INTERNAL, {}, {"spec": {"ports": ports(81)}}),
    "int-fixed": (INTERNAL, {"loadBalancerIP": "10.240.7.7", "ports": ports(88)}, None),
    "int-ranges": (INTERNAL, {"loadBalancerSourceRanges": ["10.1.0.0/16"]}, None),
    "to-int": ({}, {"ports": ports(89)}, annotated(**INTERNAL)),
    "to-ext": (INTERNAL, {"ports": ports(90)}, annotated(**{AZURE + "load-balancer-internal": "false"})),
    "goes": ({}, {}, {"spec": {"type": "ClusterIP"}}),
    "comes": ({}, {"type": "NodePort"}, {"spec": {"type": "LoadBalancer"}}),
    "other-class": ({}, {"loadBalancerClass": "example.com/x"}, None),
    "no-balancer": ({}, {"type": "ClusterIP"}, None),
}
# With basic balancers there is one for each availability set.
BASIC = {
    "mode": ({AZURE + "load-balancer-mode": "as-b"}, {"ports": ports(91)}, {"spec": {"ports": ports(92)}}),
    "mode-int": ({**INTERNAL, AZURE + "load-balancer-mode": "as-b"}, {"ports": ports(93)}, None),
}
# Those whose address is another one after the edit: what trimtab makes for them has tags that the old Go program cannot read.
MOVES = ("to-int", "to-ext", "goes", "comes")
