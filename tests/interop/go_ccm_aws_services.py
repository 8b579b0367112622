# SPDX-License-Identifier: Apache-2.0
"""The Services of the hand-over test in AWS: what each is, and how it is edited.

An edit is a merge patch; None leaves the Service as it is.
"""
from go_ccm_services import ports

AWS = "service.beta.kubernetes.io/aws-load-balancer-"
CERTIFICATE = "arn:aws:iam::123456789012:server-certificate/x"
OTHER_CERTIFICATE = "arn:aws:iam::123456789012:server-certificate/y"


def annotated(**notes):
    """Annotations by the end of their names, with _ for -."""
    return {AWS + k.replace("_", "-"): v for k, v in notes.items()}


def nlb(**notes):
    return annotated(type="nlb", **notes)


def noted(**notes):
    return {"metadata": {"annotations": annotated(**notes)}}


def spec(**members):
    return {"spec": members}


TWO_RANGES = {"loadBalancerSourceRanges": ["10.1.0.0/16", "192.0.2.0/24"]}

# name: (annotations, spec, edit)
SERVICES = {
    # NLBs
    "nlb": (nlb(), {}, spec(ports=ports(81))),
    "nlb-quiet": (nlb(), {"ports": ports(70)}, None),
    "nlb-two": (nlb(), {"ports": ports(80, 443)}, spec(ports=ports(80, 8080))),
    "nlb-udp": (nlb(), {"ports": ports(53, protocol="UDP")}, spec(ports=ports(53, 54, protocol="UDP"))),
    "nlb-local": (nlb(), {"externalTrafficPolicy": "Local"}, spec(externalTrafficPolicy="Cluster")),
    "nlb-to-local": (nlb(), {}, spec(externalTrafficPolicy="Local")),
    "nlb-ranges": (nlb(), TWO_RANGES, spec(loadBalancerSourceRanges=["192.0.2.0/25"])),
    "nlb-open": (nlb(), TWO_RANGES, spec(loadBalancerSourceRanges=None)),
    "nlb-close": (nlb(), {}, spec(**TWO_RANGES)),
    "nlb-check": (nlb(healthcheck_protocol="HTTP", healthcheck_path="/ready"), {}, noted(healthcheck_path="/live")),
    "nlb-check-often": (nlb(), {}, noted(healthcheck_interval="10")),
    "nlb-attributes": (nlb(target_group_attributes="preserve_client_ip.enabled=false"), {},
                       noted(target_group_attributes="preserve_client_ip.enabled=true")),
    "nlb-zones": (nlb(cross_zone_load_balancing_enabled="true"), {}, noted(cross_zone_load_balancing_enabled="false")),
    "nlb-internal": (nlb(internal="true"), {"ports": ports(71)}, spec(ports=ports(72))),
    "nlb-tls": (nlb(ssl_cert=CERTIFICATE, ssl_ports="443"), {"ports": ports(80, 443)},
                noted(ssl_negotiation_policy="ELBSecurityPolicy-TLS13-1-2-2021-06")),
    "nlb-tags": (nlb(additional_resource_tags="team=blue,cost=7"), {}, None),
    "nlb-goes": (nlb(), {"externalTrafficPolicy": "Local"}, spec(type="ClusterIP")),
    "nlb-comes": (nlb(), {"type": "NodePort"}, spec(type="LoadBalancer")),
    # classic load balancers
    "classic": ({}, {}, spec(ports=ports(81))),
    "classic-quiet": ({}, {"ports": ports(70)}, None),
    "classic-two": ({}, {"ports": ports(80, 443)}, spec(ports=ports(80, 8080))),
    "classic-local": ({}, {"externalTrafficPolicy": "Local"}, spec(externalTrafficPolicy="Cluster")),
    "classic-ranges": ({}, TWO_RANGES, spec(loadBalancerSourceRanges=["192.0.2.0/25"])),
    "classic-open": ({}, TWO_RANGES, spec(loadBalancerSourceRanges=None)),
    "classic-idle": (annotated(connection_idle_timeout="90"), {}, noted(connection_idle_timeout="30")),
    "classic-draining": (annotated(connection_draining_enabled="true", connection_draining_timeout="20"), {},
                         noted(connection_draining_timeout="40")),
    "classic-check": (annotated(healthcheck_interval="20", healthcheck_unhealthy_threshold="3"), {},
                      noted(healthcheck_interval="30")),
    "classic-proxy": (annotated(proxy_protocol="*"), {}, noted(proxy_protocol=None)),
    "classic-tls": (annotated(ssl_cert=CERTIFICATE, backend_protocol="http", ssl_ports="443"), {"ports": ports(80, 443)},
                    noted(ssl_cert=OTHER_CERTIFICATE)),
    "classic-policy": (annotated(ssl_cert=CERTIFICATE, ssl_negotiation_policy="ELBSecurityPolicy-TLS-1-2-2017-01"),
                       {"ports": ports(443)}, None),
    "classic-internal": (annotated(internal="true", additional_resource_tags="team=blue"), {}, spec(ports=ports(73))),
    "classic-goes": ({}, {}, spec(type="ClusterIP")),
    "classic-comes": ({}, {"type": "NodePort"}, spec(type="LoadBalancer")),
    # nobody's
    "other-class": ({}, {"loadBalancerClass": "example.com/x"}, None),
    "other-type": (annotated(type="nlb-ip"), {}, None),
    "no-balancer": ({}, {"type": "ClusterIP"}, None),
}
# Made by trimtab, for Go to take over: the same kinds, as they are before their edits, and some as they are after them.
MADE = {f"made-{name}": SERVICES[name][:2] for name in (
    "nlb", "nlb-two", "nlb-udp", "nlb-local", "nlb-ranges", "nlb-check", "nlb-check-often", "nlb-attributes", "nlb-zones",
    "nlb-internal", "nlb-tls", "nlb-tags", "classic", "classic-two", "classic-local", "classic-ranges", "classic-idle",
    "classic-draining", "classic-check", "classic-proxy", "classic-tls", "classic-policy", "classic-internal")}
